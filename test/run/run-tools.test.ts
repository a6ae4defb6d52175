import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { isRecord } from "../../src/text/guards.ts";
import type { ToolDeclaration } from "../../src/entry/model.ts";
import { JobHost } from "../../src/host/job-host.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { runTools } from "../../src/run/run-tools.ts";
import { entryWith, entryWithTask, prepared } from "../entry/rig.ts";
import { ref } from "../rig/engine.ts";
import { modelServer } from "../rig/model-server.ts";
import { unconfined } from "../rig/sandbox.ts";
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

test("a tool of the application is offered and called", async (t) => {
  const given: unknown[] = [];
  const stamp = {
    name: "stamp",
    description: "x",
    parameters: { type: "object", properties: {} },
    skipPermission: true,
    handler: (args: unknown) => {
      given.push(args);
      return "stamped";
    },
  };
  const { baseUrl } = await modelServer(t, ({ toolResults: [said] }) =>
    said === undefined ? { toolCalls: [{ name: "stamp", arguments: { a: 1 } }] } : { text: said },
  );
  const host = new JobHost({ provider: { baseUrl }, tools: [stamp] });
  t.after(() => host.close());
  const { path: workingDirectory } = await makeWorkspace(t);
  const tasks = { t: { model: { category: "driving" }, prompt: "Go" } } as const;
  await host.installJobsEntry({ models: { driving: "m" }, tasks, jobs: { j: { work: ref("t") } } });
  const { works } = await host.runJob("j", { workingDirectory });
  assert.deepEqual(given, [{ a: 1 }]);
  assert.match(works[0]?.lastMessage ?? "", /stamped/);
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

function tool(script: string, more: Partial<ToolDeclaration> = {}): ToolDeclaration {
  const command = [process.execPath, "-e", script];
  return { description: "A tool.", parameters: { type: "object" }, command, ...more };
}

describe("a tool of an installed entry", () => {
  it("does not run twice at once in a run, unless it is parallelSafe", async (t) => {
    const alone = `
      const { appendFileSync } = require("node:fs");
      appendFileSync("alone", "<");
      setTimeout(() => appendFileSync("alone", ">"), 300);`;
    // Waits for another one to begin.
    const beside = `
      const { appendFileSync, readFileSync } = require("node:fs");
      appendFileSync("beside", "<");
      const end = Date.now() + 20_000;
      const look = () => {
        if (readFileSync("beside", "utf8").startsWith("<<")) return;
        if (Date.now() > end) appendFileSync("beside", ">");
        else setTimeout(look, 20);
      };
      look();`;
    const toolCalls = ["alone", "beside", "alone", "beside"].map((name) => ({ name }));
    const server = await modelServer(t, ({ toolResults }) =>
      toolResults.length > 0 ? { text: "Done" } : { toolCalls },
    );
    const host = new JobHost({ provider: { baseUrl: server.baseUrl } });
    t.after(() => host.close());
    const workspace = await makeWorkspace(t);
    const task = { model: { category: "driving" }, prompt: "Go" } as const;
    await host.installJobsEntry({
      models: { driving: "m" },
      permissions: unconfined({ preset: "workspace", tools: ["*"] }),
      tools: { alone: tool(alone), beside: tool(beside, { parallelSafe: true }) },
      tasks: { first: task, second: task },
      jobs: { job: { work: { kind: "Par", works: [ref("first"), ref("second")] } } },
    });
    const { outcome } = await host.runJob("job", { workingDirectory: workspace.path });
    assert.equal(outcome.kind, "succeeded");
    assert.equal(await workspace.read("alone"), "<><><><>");
    assert.equal(await workspace.read("beside"), "<<<<");
  });
});
