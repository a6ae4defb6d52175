import assert from "node:assert/strict";
import { createServer } from "node:http";
import { hostname } from "node:os";
import { describe, it, type TestContext } from "node:test";
import { ask, waitingCall } from "../host/http-rig.ts";
import { isRunning, processesMarked, sendSignal } from "../../src/platform/processes.ts";
import { until } from "../sessions/rig.ts";
import { startCli, cliExits, type CliChild } from "../rig/cli.ts";
import { listen } from "../rig/listen.ts";
import { startCollector } from "../rig/otlp-collector.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { bash, calls, entryOf, scriptOf } from "./rig.ts";

const rehearsed = ["--rehearse", "entries/hello.rehearsal.yml", "--entry", "entries/hello.yml"];
const cwd = new URL("../../../", import.meta.url).pathname;

interface Served {
  readonly child: CliChild;
  readonly port: number;
}

async function startServe(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const child = startCli(["serve", "--port", "0", ...args], { cwd, env });
  let over = false;
  void child.exited.then(() => (over = true));
  t.after(async () => {
    if (!over) child.signal("SIGKILL");
    await child.ended;
  });
  await child.printed("The API is at");
  const [, port = ""] = /http:\/\/[^/]*:(\d+)\/api\//.exec(child.output.stdout) ?? [];
  return { child, port: Number(port) };
}

async function api(
  { port }: Served,
  path: string,
  body = "",
  headers: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const { json } = await ask(port, `/api/${path}`, { method: "POST", body, headers });
  assert.ok(typeof json === "object" && json !== null);
  return { ...json };
}

/** A server of a job whose only task is played by this script, in the folder of the run. */
async function serveScript(
  t: TestContext,
  replies: readonly object[],
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Served & { readonly workspace: Workspace }> {
  const files = { "e.json": entryOf({ permissions: "all" }), "r.json": scriptOf(replies) };
  const workspace = await makeWorkspace(t, files);
  const { path } = workspace;
  const script = ["--entry", `${path}/e.json`, "--rehearse", `${path}/r.json`, "--in-place"];
  return { workspace, ...(await startServe(t, [...script, ...args], env)) };
}

describe("agent-jobs serve", () => {
  it("starts with the example entry, says where, and ends when it is told to", async (t) => {
    const served = await startServe(t, []);
    const { stdout } = served.child.output;
    assert.match(
      stdout,
      /^Serving the example examples\/recipes\/correct-docs\.yml\. .* agent-jobs serve FILE\nThe portal is at http:\/\/127\.0\.0\.1:\d+\/\n/,
    );
    assert.doesNotMatch(stdout, /token/i);
    const { jobs } = await api(served, "copilot/job");
    assert.deepEqual(Object.keys(Object(jobs)), ["maintain"]);
    assert.equal((await api(served, "config"))["repoRoot"], cwd.replace(/\/$/, ""));
    const refused = await ask(served.port, "/api/copilot/job/start/maintain", {
      method: "POST",
      body: `${cwd}\nthe last commit`,
    });
    assert.equal(refused.status, 409);
    assert.match(JSON.stringify(refused.json), /"NotStarted".*No model.*--provider-base-url/);
    assert.deepEqual(await api(served, "stop"), {});
    const { code, stderr } = await served.child.ended;
    assert.equal(code, 0);
    // A server that has no model still shows journals.
    assert.match(stderr, /^agent-jobs: warning: No model is configured.*--rehearse.*\n$/);
  });

  it("ends with 0 after a signal, with all that runs", async (t) => {
    const { workspace, ...served } = await serveScript(t, [{ delay: 60_000, text: "Done." }]);
    const { jobId } = await api(served, "copilot/job/start/job", workspace.path);
    assert.equal(typeof jobId, "string");
    const { callback } = await api(served, `copilot/job/${String(jobId)}/live`);
    assert.equal(callback, "workStarted");
    const { answer } = await waitingCall(() =>
      ask(served.port, `/api/copilot/job/${String(jobId)}/live`),
    );
    served.child.signal("SIGTERM");
    // Whoever waits is answered.
    assert.deepEqual((await answer).json, {
      callback: "workStopped",
      workId: 0,
      succeeded: false,
    });
    const { code, stderr } = await served.child.ended;
    assert.equal(code, 0);
    assert.equal(stderr, "");
  });

  it("ends at once after a second signal, and leaves no process", async (t) => {
    const user = `serve-${process.pid}`;
    // It only ends by force.
    const stubborn = "trap '' HUP INT TERM; echo started > started.txt; sleep 300";
    const replies = [calls(bash(stubborn)), { text: "Done." }];
    const { workspace, ...served } = await serveScript(t, replies, [], { USER: user });
    await api(served, "copilot/job/start/job", workspace.path);
    await workspace.holds("started.txt", "started");
    const others = (await processesMarked("USER", user)).filter((pid) => pid !== served.child.pid);
    // The runtime, and the agent's command.
    assert.ok(others.length > 1);
    // So that the runtime can't end them, and the server waits for it.
    for (const pid of others) sendSignal(pid, "SIGSTOP");
    served.child.signal("SIGTERM");
    await until(
      async () => (await api(served, "test"))["error"] === "ShuttingDown",
      "the server shuts down",
    );
    served.child.signal("SIGINT");
    assert.equal((await served.child.ended).code, 130);
    await until(() => others.every((pid) => !isRunning(pid)), "all processes have ended");
  });

  it("sends a trace of each run with --otlp", async (t) => {
    const collector = await startCollector(t);
    // Long enough to load what sends it.
    const work = { kind: "Run", run: "sleep 1", name: "note" };
    const entry = { models: { driving: "m" }, tasks: {}, jobs: { hello: { work } } };
    const workspace = await makeWorkspace(t, { "e.json": JSON.stringify(entry) });
    const args = [
      "--entry",
      `${workspace.path}/e.json`,
      "--provider-base-url",
      "http://127.0.0.1:9",
    ];
    const served = await startServe(t, [...args, "--otlp", collector.url]);
    for (let run = 0; run < 2; run += 1) {
      const { jobId } = await api(served, "copilot/job/start/hello", workspace.path);
      for (let error: unknown; error !== "JobsClosed";)
        ({ error } = await api(served, `copilot/job/${String(jobId)}/live`));
    }
    await api(served, "stop");
    const { code, stderr } = await served.child.ended;
    assert.equal(code, 0, stderr);
    const roots = collector.spans.filter(({ name }) => name === "invoke_workflow hello");
    assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, 2);
    for (const span of collector.spans)
      assert.equal(collector.pathOf(span)[0], "invoke_workflow hello");
  });

  it("listens on other addresses with a token from the environment, and prints it nowhere", async (t) => {
    const token = "a-token-that-is-a-secret";
    const args = [...rehearsed, "--host", "0.0.0.0"];
    const served = await startServe(t, args, { AGENT_JOBS_TOKEN: token });
    const headers = { Authorization: `Bearer ${token}` };
    for (const name of ["127.0.0.1", "0.0.0.0", hostname(), "localhost"]) {
      const host = { ...headers, Host: `${name}:${served.port}` };
      assert.deepEqual(await api(served, "test", "", host), { message: "Hello, world!" }, name);
    }
    assert.equal((await api(served, "test"))["error"], "Unauthorized");
    const foreign = { ...headers, Host: "evil.example" };
    assert.equal((await api(served, "test", "", foreign))["error"], "Forbidden");
    await api(served, "stop", "", headers);
    const { stdout, stderr } = await served.child.ended;
    assert.match(stdout, /\?token=TOKEN, or send it as the Bearer token$/m);
    assert.ok(!`${stdout}${stderr}`.includes(token));
  });

  it("keeps the token from agents: from their environment, and from what they repeat", async (t) => {
    const token = "a-token-that-is-a-secret";
    const replies = [calls(bash("env > env.txt; cat env.txt")), { text: `The token is ${token}.` }];
    const journals = await makeWorkspace(t);
    const args = ["--journals", `${journals.path}/new`, "--token", token];
    const { workspace, ...served } = await serveScript(t, replies, args);
    const headers = { Authorization: `Bearer ${token}` };
    const { jobId } = await api(served, "copilot/job/start/job", workspace.path, headers);
    const { text } = await ask(served.port, `/api/copilot/job/${String(jobId)}/journal`, {
      headers,
    });
    assert.match(text, /"jobsClosed"|"JobsClosed"/);
    assert.match(text, /"outcome":\{"kind":"succeeded"/);
    assert.match(text, /The token is/);
    assert.ok(!text.includes(token));
    assert.doesNotMatch(await workspace.read("env.txt"), /AGENT_JOBS_TOKEN|a-token/);
    const listed = await ask(served.port, "/api/copilot/journal", { headers });
    assert.match(listed.text, new RegExp(String(jobId)));
    const [, name = ""] = /"name":"([^"]+\.jsonl)"/.exec(listed.text) ?? [];
    const kept = await ask(served.port, `/api/copilot/journal/${name}`, { headers });
    assert.equal(kept.headers["content-type"], "application/x-ndjson; charset=utf-8");
    assert.match(kept.text, /"type":"run.ended"/);
    assert.ok(!kept.text.includes(token));
  });
});

describe("agent-jobs serve refuses, with 2 and a sentence,", () => {
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ["a token that is empty", "--token=", /must not be empty/],
    ["a short token", "--token T42 --host 0.0.0.0", /has 3 characters.* at least 16/],
    ["a short token behind a proxy", "--token T --allowed-host x.org", /at least 16/],
    ["a token with a tab", "--token a\tb", /without spaces/],
    ["a port that is none", "--port 70000", /0 to 65535/],
    ["a folder of journals that can't be made", "--journals missing/one", /--journals: ENOENT/],
    ["a folder of entries that isn't there", "--test --entries-dir no", /no is not a folder/],
    ["a folder of entries without --test", "--entries-dir entries", /requires --test/],
    ["a runtime that isn't there", "--runtime-path missing", /missing/],
    ["an entry with --test", "--test --entry entries/hello.yml", /Omit --entry/],
    ["an entry that isn't there", "--entry missing.yml", /The file doesn't exist/],
    ["--in-place without a rehearsal", "--in-place", /requires --rehearse/],
    [
      "an address that isn't this machine's",
      `--host 192.0.2.1 --token ${"T".repeat(16)}`,
      /192.0.2.1/,
    ],
  ];
  for (const [what, args, reason] of refused) {
    it(what, async () => {
      const port = args.includes("--port") ? "" : " --port 0";
      const { stdout, stderr } = await cliExits(2, `serve${port} ${args}`, { cwd });
      assert.match(stderr, reason);
      assert.doesNotMatch(stderr, /\n\s+at |bug in agent-jobs/);
      assert.equal(stdout, "");
    });
  }

  it("an address that others can reach, without a token", async () => {
    const { stderr } = await cliExits(2, "serve --host 0.0.0.0", { cwd });
    assert.match(stderr, /Set --token or AGENT_JOBS_TOKEN/);
  });

  it("a port that is in use", async (t) => {
    const address = new URL(await listen(t, createServer()));
    const { stderr } = await cliExits(2, ["serve", "--port", address.port], { cwd });
    assert.match(stderr, new RegExp(`Port ${address.port} is in use`));
  });
});
