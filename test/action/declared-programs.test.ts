/** What a job may start, and change, counts the tasks that it may delegate to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { declaredPrograms, mayRunCommands } from "../../src/action/job-bounds.ts";
import { loadEntry } from "../../src/run/entry-files.ts";
import { mayChangeFiles } from "../../src/run/callers.ts";

test("a job may do what the tasks may do that its own may delegate to", () => {
  const tool = { description: "d", parameters: { type: "object" }, command: ["node", "x.mjs"] };
  const task = { model: { category: "driving" }, prompt: "Go" };
  const jobNames = ["delegates", "alone"];
  const loaded = loadEntry(
    JSON.stringify({
      models: { driving: "m" },
      tools: { x: tool },
      mcpServers: { s: { command: "npx", args: ["s"] }, web: { url: "https://example.com/mcp" } },
      tasks: {
        boss: { ...task, protocol: "actions" },
        reader: task,
        worker: { ...task, permissions: { preset: "workspace", tools: ["x", "s/*", "web/*"] } },
      },
      jobs: {
        delegates: { work: { kind: "Ref", taskId: "boss" } },
        alone: { work: { kind: "Ref", taskId: "reader" } },
        worker: { work: { kind: "Ref", taskId: "worker" } },
      },
    }),
    "e.json",
  );
  if (loaded.kind === "rejected") assert.fail(JSON.stringify(loaded.diagnostics));
  const seen = jobNames.map((jobName) => {
    const job = {
      entry: loaded.entry,
      jobName,
      permissions: undefined,
      loaded: { ...loaded, file: "e.json", flows: {} },
    };
    return [
      declaredPrograms(job),
      mayRunCommands(job),
      mayChangeFiles(loaded.entry, jobName, undefined),
    ];
  });
  assert.deepEqual(seen, [
    [
      [
        { kind: "tool", field: "tools.x" },
        { kind: "server", field: "mcpServers.s", command: ["npx", "s"] },
      ],
      true,
      true,
    ],
    [[], false, false],
  ]);
});
