import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { SESSION_CRASH_PREFIX } from "../../src/engine/attempt.ts";
import { processesMarked } from "../../src/platform/processes.ts";
import { parseJournal } from "../../src/reporters/journal.ts";
import { runCli, startCli } from "../rig/cli.ts";
import { startModelServer, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const yes = { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "so it is" } }] };
const no = { toolCalls: [{ name: "job_boolean_false", arguments: { argument: "not yet" } }] };
const said = (text: string): { text: string } => ({ text });

const hello = JSON.stringify({
  models: { driving: "driver", work: "worker" },
  tasks: {
    greet: { prompt: "Greet $user-input", requireUserInput: true, model: { category: "work" } },
  },
  jobs: { hello: { work: { kind: "Ref", taskId: "greet" } } },
});

describe("agent-jobs run, against a model server on loopback", () => {
  it("sends exactly the prompts of engine.md, in order, to the right models", async (t) => {
    const entry = {
      models: { driving: "driver", work: "worker", other: "third" },
      promptVariables: { ask: ["Is it so?", "Call job_boolean_true or job_boolean_false."] },
      drivingSessionRetries: [
        { modelId: "driver", retries: 0 },
        { modelId: "reserve", retries: 1 },
      ],
      tasks: {
        first: {
          model: { category: "work" },
          prompt: ["For $user-input on $task-model:", "write $$HOME"],
          requireUserInput: true,
          availability: { condition: "Before? $ask" },
          criteria: {
            toolExecuted: ["job_prepare_document"],
            condition: ["After $reported-document? $ask"],
            runConditionInSameSession: false,
            failureAction: { retryTimes: 2, additionalPrompt: "Because $reported-false-reason" },
          },
        },
        second: {
          model: { id: "exact" },
          prompt: "Second",
          availability: { previousTasks: ["first"] },
        },
      },
      jobs: {
        only: {
          work: {
            kind: "Seq",
            works: [
              { kind: "Ref", taskId: "first" },
              { kind: "Ref", taskId: "second", modelOverride: { category: "other" } },
            ],
          },
        },
      },
    };
    let checks = 0;
    const script: Script = ({ model, prompt, toolResults }) => {
      if (toolResults.length > 0) return said("done");
      if (prompt.startsWith("Before")) return yes;
      if (prompt.includes("After")) {
        if (model === "driver")
          return {
            status: 408,
            raw: '{"error":{"message":"slow"}}',
            headers: { "x-should-retry": "false" },
          };
        return ++checks === 1 ? no : yes;
      }
      if (prompt.startsWith("For") && !prompt.includes("##")) return said("nothing");
      return prompt.startsWith("For")
        ? { toolCalls: [{ name: "job_prepare_document", arguments: { argument: " a.md \nmore" } }] }
        : said("second");
    };
    const server = await startModelServer(script);
    t.after(() => server.close());
    const workspace = await makeWorkspace(t, { "entry.json": JSON.stringify(entry) });
    const { code, stdout, stderr } = await runCli(
      [
        "run",
        "entry.json",
        "--user-input",
        "you",
        "--provider-base-url",
        server.baseUrl,
        "--provider-api-key",
        "a-key",
      ],
      { cwd: workspace.path },
    );
    assert.equal(code, 0, stdout + stderr);
    assert.equal(stdout.trimEnd().split("\n").at(-1), "job only succeeded");
    const ask = "Is it so?\nCall job_boolean_true or job_boolean_false.";
    const prompt = "For you on worker:\nwrite $HOME";
    const missing = "\n\n## Required Tool Not Called: job_prepare_document";
    const stopped = "\n\n## You accidentally Stopped\nBecause ";
    const prompts = server.requests
      .filter(({ toolResults }) => toolResults.length === 0)
      .map((request) => `${request.model}: ${request.prompt}`)
      // The runtime repeats a 408 by itself.
      .filter((line, index, lines) => line !== lines[index - 1]);
    assert.deepEqual(prompts, [
      `driver: Before? ${ask}`,
      `worker: ${prompt}`,
      `worker: ${prompt}${missing}${stopped}<MISSING>`,
      `driver: After a.md? ${ask}`,
      `reserve: ${SESSION_CRASH_PREFIX}After a.md? ${ask}`,
      `worker: ${prompt}${stopped}not yet`,
      `driver: After a.md? ${ask}`,
      `reserve: ${SESSION_CRASH_PREFIX}After a.md? ${ask}`,
      "third: Second",
    ]);
    assert.equal(server.requests[0]?.headers["authorization"], "Bearer a-key");
  });

  it("exits with 1 when the job fails, and says why in the last line", async (t) => {
    const server = await startModelServer(() => ({
      status: 401,
      raw: '{"error":{"message":"bad key"}}',
    }));
    t.after(() => server.close());
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const { code, stdout } = await runCli(
      [
        "run",
        "entry.json",
        "hello",
        "--user-input-file",
        "-",
        "--provider-base-url",
        server.baseUrl,
      ],
      { cwd: workspace.path, stdin: "from stdin" },
    );
    assert.equal(code, 1, stdout);
    assert.match(
      stdout.trimEnd().split("\n").at(-1) ?? "",
      /^job hello failed: task "greet" crashed: /,
    );
    assert.match(stdout, /\[SESSION CRASHED\]/);
    assert.match(
      stdout,
      /\[DECISION\] Retry budget drained because of crashing: .*Check the token or the provider's API key/,
    );
    assert.equal(server.requests[0]?.prompt, "Greet from stdin");
  });

  const usage: [string, readonly string[], RegExp][] = [
    ["a missing user input", ["run", "entry.json"], /needs user input: give it with --user-input/],
    [
      "an unknown job",
      ["run", "entry.json", "nope"],
      /There is no job "nope"\. The entry has the jobs "hello"\./,
    ],
    ["a missing entry", ["run", "nope.json"], /^nope\.json: There is no such file\./],
    ["a folder as entry", ["run", "."], /^\.: This is a folder, not a file\./],
    ["an invalid entry", ["run", "bad.yml"], /^bad\.yml:1:9: entry\.models: Must be an object/],
    [
      "an unknown model category",
      ["run", "entry.json", "--user-input", "x", "--model", "nope=m"],
      /no model category "nope".*driving, work/,
    ],
    ["a malformed model", ["run", "entry.json", "--model", "nope"], /category=id/],
    ["an unknown option", ["run", "entry.json", "--nope"], /unknown option '--nope'/],
    [
      "an unknown preset",
      ["run", "entry.json", "--permissions", "root"],
      /read-only, workspace, all/,
    ],
    [
      "a limit that is no number",
      ["run", "entry.json", "--max-parallel", "0.5"],
      /whole number over 0/,
    ],
    [
      "a provider without an address",
      ["run", "entry.json", "--provider-type", "openai"],
      /need --provider-base-url/,
    ],
    [
      "an address that is none",
      ["run", "entry.json", "--provider-base-url", "localhost"],
      /not an http or https address/,
    ],
    [
      "a working directory that is not there",
      ["run", "entry.json", "--user-input", "x", "--working-directory", "nope"],
      /does not exist/,
    ],
    [
      "both kinds of user input",
      ["run", "entry.json", "--user-input", "x", "--user-input-file", "y"],
      /cannot be used with/,
    ],
    ["an unknown command", ["rum"], /unknown command 'rum'/],
    [
      "a recording where no folder can be made",
      ["run", "entry.json", "--user-input", "x", "--record", "/proc/nope/r.yml"],
      /recording \/proc\/nope\/r\.yml can't be written/,
    ],
    [
      "a journal that can't be written",
      ["run", "entry.json", "--user-input", "x", "--journal", "entry.json/j"],
      /journal entry\.json\/j can't be written/,
    ],
  ];
  for (const [name, args, message] of usage) {
    it(`exits with 2 and one clear message for ${name}`, async (t) => {
      const workspace = await makeWorkspace(t, {
        "entry.json": hello,
        "bad.yml": "models: [x]\ntasks: {}\njobs: {}\n",
      });
      const { code, stdout, stderr } = await runCli(args, { cwd: workspace.path });
      assert.equal(code, 2, stdout + stderr);
      assert.match(stderr, message);
      assert.doesNotMatch(stdout + stderr, /\n\s+at /, "no stack trace");
    });
  }

  it("says the three ways to reach a model when it has none", async (t) => {
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const { code, stdout } = await runCli(["run", "entry.json", "--user-input", "x"], {
      cwd: workspace.path,
    });
    assert.equal(code, 1);
    assert.match(stdout, /GitHub token.*--provider-base-url.*--rehearse/);
  });

  it("keeps an API key out of everything it prints and writes", async (t) => {
    const key = "canary-7f3a9c1e5b";
    const server = await startModelServer(({ toolResults }) =>
      toolResults.length > 0
        ? { text: `I saw ${toolResults.join()} and ${key}` }
        : { toolCalls: [{ name: "bash", arguments: { command: "env", description: "look" } }] },
    );
    t.after(() => server.close());
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const { code, stdout, stderr } = await runCli(
      [
        "run",
        "entry.json",
        "--user-input",
        key,
        "--permissions",
        "workspace",
        "--provider-base-url",
        server.baseUrl,
        "--verbose",
        "--journal",
        "out/j.jsonl",
        "--record",
        "out/r.yml",
      ],
      {
        cwd: workspace.path,
        env: { AGENT_JOBS_PROVIDER_API_KEY: key, SOME_TOKEN: "canary-token-41d0" },
      },
    );
    assert.equal(code, 0, stdout + stderr);
    assert.equal(server.requests[0]?.headers["authorization"], `Bearer ${key}`);
    const all = [
      stdout,
      stderr,
      await workspace.read("out/j.jsonl"),
      await workspace.read("out/r.yml"),
    ].join("\n");
    assert.ok(!all.includes(key), "the key is in the output");
    const results = server.requests.flatMap(({ toolResults }) => toolResults).join();
    assert.match(results, /PATH=/, "the shell ran");
    assert.ok(
      !results.includes(key) && !results.includes("canary-token"),
      "the shell saw a secret",
    );
  });
});

describe("agent-jobs run, when something ends it", () => {
  const script: Script = ({ prompt }) =>
    prompt.startsWith("Greet")
      ? {
          toolCalls: [
            { name: "bash", arguments: { command: "sleep 300 & sleep 301", description: "wait" } },
          ],
        }
      : said("?");
  const kinds: [string, "signal" | "signalGroup", NodeJS.Signals][] = [
    ["Ctrl-C in a terminal (SIGINT to the process group)", "signalGroup", "SIGINT"],
    ["SIGINT to the process alone", "signal", "SIGINT"],
    ["SIGTERM to the process alone", "signal", "SIGTERM"],
    ["SIGTERM to the process group", "signalGroup", "SIGTERM"],
  ];
  for (const [name, send, signal] of kinds) {
    it(`ends with 130 within 5 seconds after ${name}: a complete journal, no process left`, async (t) => {
      const server = await startModelServer(script);
      t.after(() => server.close());
      const workspace = await makeWorkspace(t, { "entry.json": hello });
      const mark = `mark-${process.pid}-${signal}-${send}`;
      const child = startCli(
        [
          "run",
          "entry.json",
          "--user-input",
          "x",
          "--permissions",
          "workspace",
          "--provider-base-url",
          server.baseUrl,
          "--verbose",
          "--journal",
          "j.jsonl",
        ],
        // The allow-list lets USER through, so every process of the run carries our mark.
        { cwd: workspace.path, env: { USER: mark } },
      );
      await child.printed("tool bash");
      await waitFor(async () => (await processesMarked("USER", mark)).length >= 4);
      const start = performance.now();
      child[send](signal);
      const { code, stdout, stderr } = await child.ended;
      const took = performance.now() - start;
      assert.equal(code, 130, stdout + stderr);
      assert.ok(took < 5_000, `it took ${took} ms`);
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

  it("goes on in a new runtime after the old one was killed in mid-turn, with the prefix before the prompt", async (t) => {
    const mark = `mark-${process.pid}-kill`;
    const server = await startModelServer(async ({ index }) => {
      if (index > 0) return said("hello again");
      const runtimes = await processesMarked("USER", mark);
      for (const pid of runtimes) if (pid !== child.pid) process.kill(pid, "SIGKILL");
      return { hang: "before" };
    });
    t.after(() => server.close());
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const child = startCli(
      ["run", "entry.json", "--user-input", "x", "--provider-base-url", server.baseUrl],
      { cwd: workspace.path, env: { USER: mark } },
    );
    const { code, stdout } = await child.ended;
    assert.equal(code, 0, stdout);
    assert.match(stdout, /\[SESSION CRASHED\]/);
    assert.deepEqual(
      server.requests.map(({ prompt }) => prompt),
      ["Greet x", `${SESSION_CRASH_PREFIX}Greet x`],
    );
    await assertNoneLeft(mark);
  });
});

/** A killed process may need a moment to be gone on a busy machine; one that was not killed stays. */
async function assertNoneLeft(mark: string): Promise<void> {
  const end = performance.now() + 2_000;
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
  const end = performance.now() + 10_000;
  while (!(await holds())) {
    assert.ok(performance.now() < end, "it did not come to pass within 10 seconds");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe("agent-jobs run, when there is no time left", () => {
  it("ends all it started when it is told twice, although a shell ignores polite signals", async (t) => {
    const server = await startModelServer(({ toolResults }) =>
      toolResults.length > 0
        ? said("?")
        : {
            toolCalls: [
              {
                name: "bash",
                arguments: {
                  command: "trap '' TERM INT HUP; sleep 300 & sleep 301",
                  description: "wait",
                },
              },
            ],
          },
    );
    t.after(() => server.close());
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const mark = `mark-${process.pid}-twice`;
    const child = startCli(
      [
        "run",
        "entry.json",
        "--user-input",
        "x",
        "--permissions",
        "workspace",
        "--provider-base-url",
        server.baseUrl,
        "--verbose",
      ],
      { cwd: workspace.path, env: { USER: mark } },
    );
    await child.printed("tool bash");
    await waitFor(async () => (await processesMarked("USER", mark)).length >= 4);
    child.signal("SIGINT");
    child.signal("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 20));
    child.signal("SIGTERM");
    const { code } = await child.ended;
    assert.equal(code, 130);
    await assertNoneLeft(mark);
  });
});
