/** A program that embeds a host has records, too: file tools of its agents write to none of them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { JobHost } from "../../src/live/job-host.ts";
import { startModelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

test("file tools write to no journal, no feed and no file of the step of a host", async (t) => {
  const workspace = await makeWorkspace(t, { "step/a": "", "feeds/a": "", "journals/a": "" });
  const names = ["step/env", "journals/new.jsonl", "feeds/1", "notes.md"];
  const server = await startModelServer(({ toolResults }) => {
    if (toolResults.length > 0) return { text: "The end." };
    return {
      toolCalls: names.map((name) => ({
        name: "create",
        arguments: { path: join(workspace.path, name), file_text: "x" },
      })),
    };
  });
  t.after(() => server.close());
  const { PATH = "", HOME = "" } = process.env;
  const host = new JobHost({
    provider: { baseUrl: server.baseUrl },
    journals: join(workspace.path, "journals"),
    feedsFolder: join(workspace.path, "feeds"),
    environment: { PATH, HOME, GITHUB_ENV: join(workspace.path, "step/env") },
  });
  await host.installJobsEntry({
    models: { driving: "claude-test" },
    permissions: { write: ["**"] },
    tasks: { t: { prompt: "go", model: { category: "driving" } } },
    jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
  });
  const { outcome } = await host.runJob("j", { workingDirectory: workspace.path });
  assert.deepEqual(outcome, { kind: "succeeded" });
  const results = server.requests.at(-1)?.toolResults ?? [];
  assert.deepEqual(
    results.map((result) => /agent-jobs writes this file itself/.test(result)),
    [true, true, true, false],
    results.join("\n"),
  );
  assert.equal(await workspace.read("notes.md"), "x");
});
