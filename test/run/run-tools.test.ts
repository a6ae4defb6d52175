/** What a run makes of the declarations of its entry. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTools } from "../../src/run/run-tools.ts";
import { isRecord } from "../../src/document/guards.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { entryWith, entryWithTask, prepared } from "../entry/rig.ts";
import { makeWorkspace } from "../rig/workspace.ts";

test("the relics of an entry read the working directory of the run, redacted", async (t) => {
  const { path: workingDirectory } = await makeWorkspace(t, {
    "docs/a.md": "The password is hunter2hunter2.\n",
    "docs/b.md": "Denied.\n",
  });
  const options = {
    workingDirectory,
    environment: {},
    redact: () => createRedactor(["hunter2hunter2"]).stream(),
    clock: systemClock,
  };
  assert.equal(runTools({ ...options, entry: prepared(entryWith()) }), undefined);
  const relics = { docs: { description: "x", files: ["docs/*"] } };
  const tools = runTools({
    ...options,
    entry: prepared(entryWithTask({ protocol: "actions" }, { relics })),
  });
  assert.ok(tools !== undefined);
  t.after(() => tools.close());
  const [relic] = (await tools.open()).toolbox.relicsFor(["docs"], { read: ["!docs/b.md"] });
  const signal = new AbortController().signal;
  const outcome = await relic?.read("password", { signal, onProgress: () => {} });
  assert.deepEqual(outcome, {
    kind: "succeeded",
    value:
      "docs/a.md:1\nThe password is ***.\n\nLeft out of these files: 1 that this task may not read, without text, or too large.",
  });
});

test("tools see what the caller allows of the environment, but not what a server of the entry names", async (t) => {
  const { path: workingDirectory } = await makeWorkspace(t);
  const print = "process.stdin.resume(); console.log(JSON.stringify(process.env))";
  const tools = runTools({
    workingDirectory,
    environment: { PATH: process.env["PATH"], LEVEL: "debug", TOKEN: "t1", KEY: "k1", OTHER: "o1" },
    env: ["LEVEL", "TOKEN", "KEY"],
    redact: () => createRedactor([]).stream(),
    clock: systemClock,
    entry: prepared(
      entryWith({
        tools: {
          print: { description: "x", parameters: {}, command: [process.execPath, "-e", print] },
        },
        mcpServers: {
          a: { command: "server", env: { ANY: "env:TOKEN" } },
          b: { url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer env:KEY" } },
        },
      }),
    ),
  });
  assert.ok(tools !== undefined);
  t.after(() => tools.close());
  const { signal } = new AbortController();
  const offered = await (await tools.open()).toolbox.toolsFor({ tools: ["print"] }, signal);
  const call = { id: "p", tool: "print", params: {} };
  const outcome = await offered.tools[0]?.run(call, { signal, onProgress: () => {} });
  assert.ok(outcome?.kind === "succeeded" && isRecord(outcome.value));
  const { LEVEL, TOKEN, KEY, OTHER } = outcome.value;
  assert.deepEqual([LEVEL, TOKEN, KEY, OTHER], ["debug", undefined, undefined, undefined]);
});
