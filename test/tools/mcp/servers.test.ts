/** Which server of a host a run gets, and with which environment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "../../../src/text/guards.ts";
import { addressOf, variablesOf } from "../../../src/tools/mcp/variables.ts";
import { call, makeMcpRig, never, ready, reasonOf, toolNamed, value } from "./rig.ts";

const starts = (log: readonly string[]): number =>
  log.filter((line) => line.startsWith("start")).length;

test("runs share a server of the same declaration, environment and folder, however many ask at once", async (t) => {
  const rig = await makeMcpRig(t);
  const docs = rig.misbehaving("none");
  const [one, other] = [rig.run(), rig.run()];
  for (const found of await Promise.all([
    one.toolsOf("docs", docs, never),
    one.toolsOf("docs", docs, never),
    other.toolsOf("manual", { ...docs, tools: ["call"] }, never),
  ])) {
    ready(found);
  }
  assert.equal(starts(rig.log()), 1);
  ready(await one.toolsOf("docs", { ...docs, env: { A: "1" } }, never));
  assert.equal(starts(rig.log()), 2);
  const elsewhere = rig.servers.forRun({ workingDirectory: "/", variables: {} });
  ready(await elsewhere.toolsOf("docs", docs, never));
  assert.equal(starts(rig.log()), 3);
});

test("a value of a variable makes it another server", async (t) => {
  const rig = await makeMcpRig(t);
  const docs = rig.misbehaving("none", { env: { KEY: "env:NAME" } });
  ready(await rig.run({ NAME: "a" }).toolsOf("docs", docs, never));
  ready(await rig.run({ NAME: "b" }).toolsOf("docs", docs, never));
  assert.equal(starts(rig.log()), 2);
  const reason = reasonOf(await rig.run().toolsOf("docs", docs, never));
  assert.match(reason, /variable NAME, which is not set/);
});

test("who waits for a start that another has canceled still gets the server", async (t) => {
  const rig = await makeMcpRig(t);
  const abort = new AbortController();
  const canceled = rig.run().toolsOf("docs", rig.misbehaving("none"), abort.signal);
  const kept = rig.run().toolsOf("docs", rig.misbehaving("none"), never);
  abort.abort();
  assert.equal(reasonOf(await canceled), "The start was canceled.");
  ready(await kept);
  assert.equal(starts(rig.log()), 1);
});

test("a server sees the allow-list, its own environment, the marks, and nothing else", async (t) => {
  const environment = {
    PATH: process.env["PATH"],
    HOME: "/home/somebody",
    TOKEN: "t0ken-of-the-runner",
    NODE_OPTIONS: "--no-warnings",
    OTHER: "allowed, but not named",
  };
  const rig = await makeMcpRig(t, { environment });
  const docs = rig.misbehaving("environment", { env: { KEY: "env:NAME", PLAIN: "plain" } });
  const found = await rig.run({ NAME: "v", OTHER: "o" }).toolsOf("docs", docs, never);
  const seen: unknown = JSON.parse(String(value(await call(toolNamed(found, "docs/call")))));
  assert.ok(isRecord(seen));
  assert.deepEqual(
    Object.keys(seen).toSorted(),
    "AGENT_JOBS_RUN AGENT_JOBS_SERVER HOME KEY PATH PLAIN".split(" "),
  );
  assert.equal(seen["KEY"], "v");
  assert.equal(seen["PLAIN"], "plain");
  assert.equal(seen["AGENT_JOBS_RUN"], rig.mark);
});

test("env:NAME is a whole value of env, and a word of a header", () => {
  const program = { command: "x", env: { A: "env:ONE", B: "is env:TWO", C: "env:ONE" } };
  assert.deepEqual(variablesOf(program), ["ONE"]);
  assert.deepEqual(addressOf(program, { ONE: "1" }), {
    kind: "program",
    command: "x",
    args: [],
    env: { A: "1", B: "is env:TWO", C: "1" },
  });
  const server = { url: "http://x", headers: { a: "Bearer env:ONE", b: "env:TWO", c: "noenv:X" } };
  assert.deepEqual(variablesOf(server), ["ONE", "TWO"]);
  assert.deepEqual(addressOf(server, { ONE: "$& env:TWO", TWO: "2" }), {
    kind: "url",
    url: "http://x",
    headers: { a: "Bearer $& env:TWO", b: "2", c: "noenv:X" },
  });
  const incomplete: Record<string, string>[] = [{ ONE: "1" }, { ONE: "1", TWO: "" }];
  for (const variables of incomplete) {
    assert.deepEqual(addressOf(server, variables), { kind: "incomplete", missing: "TWO" });
  }
  assert.equal(addressOf({ command: "x", env: { A: "env:toString" } }, {}).kind, "incomplete");
});
