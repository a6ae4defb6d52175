import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { endMarkedProcesses, processesMarked, sendSignal } from "../../src/platform/processes.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { startCli } from "../rig/cli.ts";
import { modelServer, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { bash } from "./rig.ts";

const said = (text: string): { text: string } => ({ text });

const hello = JSON.stringify({
  models: { driving: "driver", work: "worker" },
  permissions: "workspace",
  tasks: {
    greet: { prompt: "Greet $user-input", requireUserInput: true, model: { category: "work" } },
  },
  jobs: { hello: { work: { kind: "Ref", taskId: "greet" } } },
});

const inWorkspace = "run entry.json --user-input x --verbose".split(" ");

describe("agent-jobs run, when something ends it", () => {
  const script: Script = ({ prompt }) =>
    prompt.startsWith("Greet") ? { toolCalls: [bash("sleep 300 & sleep 301")] } : said("?");
  const kinds: [string, "signal" | "signalGroup", NodeJS.Signals][] = [
    ["Ctrl-C in a terminal (SIGINT to the process group)", "signalGroup", "SIGINT"],
    ["SIGHUP of a terminal that was closed", "signal", "SIGHUP"],
  ];
  for (const [name, send, signal] of kinds) {
    it(`ends with 130 after ${name}: a complete journal, no process left`, async (t) => {
      const server = await modelServer(t, script);
      const workspace = await makeWorkspace(t, { "entry.json": hello });
      const mark = `mark-${process.pid}-${signal}-${send}`;
      const child = startCli(
        [...inWorkspace, "--provider-base-url", server.baseUrl, "--journal", "j.jsonl"],
        // The allow-list lets USER through, so every process of the run carries our mark.
        { cwd: workspace.path, env: { USER: mark } },
      );
      await child.printed("tool bash");
      await waitFor(async () => (await processesMarked("USER", mark)).length >= 4);
      child[send](signal);
      const { code, stdout, stderr } = await child.ended;
      // After the five seconds of the contract, the process ends itself, and the journal lacks its last event.
      assert.equal(code, 130, stdout + stderr);
      assert.equal(
        stdout.trimEnd().split("\n").at(-1),
        `job hello canceled: canceled by ${signal}`,
      );
      assert.doesNotMatch(stdout, /SESSION CRASHED/, "a cancel is no crash");
      const { events, problems } = parseJournal(await workspace.read("j.jsonl"));
      assert.deepEqual(problems, []);
      assert.deepEqual(events.at(-1)?.type === "run.ended" && events.at(-1), {
        ...events.at(-1),
        outcome: { kind: "canceled", reason: `canceled by ${signal}` },
      });
      assert.deepEqual(
        events.filter((event) => event.type === "work.ended").map(({ outcome }) => outcome.kind),
        ["canceled"],
      );
      await assertNoneLeft(mark);
    });
  }

  it("leaves no process of a tool after a second signal, which ends it at once", async (t) => {
    const stubborn = `process.on("SIGTERM", () => {}); require("fs").writeFileSync("out/begun", ""); setInterval(() => {}, 1000);`;
    const server = await modelServer(t, () => ({ toolCalls: [{ name: "wait", arguments: {} }] }));
    const entry = {
      models: { driving: "driver" },
      permissions: { tools: ["wait"], write: ["out/**"] },
      tools: {
        wait: { description: "x", parameters: {}, command: [process.execPath, "-e", stubborn] },
      },
      tasks: { t: { prompt: "Wait", model: { category: "driving" } } },
      jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
    };
    const { path: cwd } = await makeWorkspace(t, {
      "entry.json": JSON.stringify(entry),
      "out/a": "",
    });
    const mark = `mark-${process.pid}-second`;
    t.after(() => endMarkedProcesses("MARK", mark));
    const args = ["run", "entry.json", "--provider-base-url", server.baseUrl, "--env", "MARK"];
    const child = startCli([...args, "--verbose"], { cwd, env: { USER: mark, MARK: mark } });
    await waitFor(() => Promise.resolve(existsSync(join(cwd, "out/begun"))));
    assert.ok((await processesMarked("MARK", mark)).length >= 2);
    child.signal("SIGTERM");
    child.signal("SIGINT");
    assert.equal((await child.ended).code, 130);
    await waitFor(async () => (await processesMarked("MARK", mark)).length === 0);
  });
});

/** A killed process may need a moment to be gone on a busy machine; one that was not killed stays. */
async function assertNoneLeft(mark: string): Promise<void> {
  const end = performance.now() + 30_000;
  for (;;) {
    const pids = await processesMarked("USER", mark);
    if (pids.length === 0) return;
    if (performance.now() > end) {
      const commands = pids.map((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "),
      );
      for (const pid of pids) process.kill(pid, "SIGKILL");
      assert.fail(`processes are left: ${commands.join(" | ")}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await holds())) {
    assert.ok(performance.now() < end, "it did not come to pass within a minute");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe("agent-jobs run, when nobody listens any more", () => {
  it("goes on to its end, and keeps its exit code, after its output was closed", async (t) => {
    const server = await modelServer(t, ({ index }) =>
      index === 0 ? { ...said("hi"), delay: 500 } : { status: 400, raw: "{}" },
    );
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const args = ["run", "entry.json", "--user-input", "x", "--provider-base-url", server.baseUrl];
    const child = startCli([...args, "--journal", "j.jsonl"], { cwd: workspace.path });
    await child.printed("job hello started");
    child.closeOutput();
    assert.equal((await child.ended).code, 0);
    const { events } = parseJournal(await workspace.read("j.jsonl"));
    assert.equal(events.at(-1)?.type, "run.ended");
    const failing = startCli(args, { cwd: workspace.path });
    await failing.printed("job hello started");
    failing.closeOutput();
    assert.equal((await failing.ended).code, 1);
  });
});

describe("agent-jobs run, when there is no time left", () => {
  it("ends all it started when it is told twice, although a shell ignores polite signals", async (t) => {
    const stubborn = `setsid sh -c 'trap "" TERM INT HUP; sleep 300' >/dev/null 2>&1 & sleep 301`;
    const server = await modelServer(t, ({ toolResults }) =>
      toolResults.length > 0 ? said("?") : { toolCalls: [bash(stubborn)] },
    );
    const { path: cwd } = await makeWorkspace(t, { "entry.json": hello });
    const temporary = await makeWorkspace(t);
    const mark = `mark-${process.pid}-twice`;
    const child = startCli([...inWorkspace, "--provider-base-url", server.baseUrl], {
      cwd,
      env: { USER: mark, TMPDIR: temporary.path },
    });
    await child.printed("tool bash");
    await waitFor(async () => (await processesMarked("USER", mark)).length >= 4);
    child.signal("SIGINT");
    child.signal("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 20));
    // Two that come at once may be one; it may also be gone by now.
    sendSignal(child.pid, "SIGTERM");
    const { code } = await child.ended;
    assert.equal(code, 130);
    await assertNoneLeft(mark);
    assert.deepEqual(await readdir(temporary.path), [], "its folder is left");
  });
});
