/** Tools of an entry in an application: on the real runtime, as real commands. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobHost } from "../../src/live/job-host.ts";
import type { ToolDeclaration } from "../../src/entry/model.ts";
import { startModelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

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
    const server = await startModelServer(({ toolResults }) =>
      toolResults.length > 0
        ? { text: "Done" }
        : {
            toolCalls: ["alone", "beside", "alone", "beside"].map((name, index) => ({
              name,
              id: `call-${index}`,
            })),
          },
    );
    t.after(() => server.close());
    const host = new JobHost({ provider: { baseUrl: server.baseUrl } });
    t.after(() => host.close());
    const workspace = await makeWorkspace(t);
    const task = { model: { category: "driving" }, prompt: "Go" } as const;
    await host.installJobsEntry({
      models: { driving: "m" },
      permissions: { preset: "workspace", tools: ["*"] },
      tools: { alone: tool(alone), beside: tool(beside, { parallelSafe: true }) },
      tasks: { first: task, second: task },
      jobs: {
        job: {
          work: {
            kind: "Par",
            works: [
              { kind: "Ref", taskId: "first" },
              { kind: "Ref", taskId: "second" },
            ],
          },
        },
      },
    });
    const { outcome } = await host.runJob("job", { workingDirectory: workspace.path });
    assert.equal(outcome.kind, "succeeded");
    assert.equal(await workspace.read("alone"), "<><><><>");
    assert.equal(await workspace.read("beside"), "<<<<");
  });
});
