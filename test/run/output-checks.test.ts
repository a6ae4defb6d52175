import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defaultLimits, type Entry } from "../../src/entry/model.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { runSpec } from "../../src/run/run-spec.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { makeRepository } from "../rig/workspace.ts";

const task = { prompt: ["x"], model: { category: "driving" } } as const;

/** Returns what `job_propose` answers about a pull request, after a file of src and one of docs have changed. */
async function proposed(test: TestContext, entry: Partial<Entry>): Promise<string> {
  const workspace = await makeRepository(test, { "src/a.ts": "1\n", "docs/a.md": "1\n" });
  await workspace.write("src/a.ts", "2\n");
  await workspace.write("docs/a.md", "2\n");
  const spec = runSpec(
    { environment: process.env, clock: systemClock, redactor: createRedactor([]) },
    {
      entry: validateEntry(
        {
          models: { driving: "m" },
          promptVariables: {},
          tasks: { fix: task },
          jobs: { main: { work: { kind: "Ref", taskId: "fix" } } },
          grid: [],
          ...entry,
        },
        "",
      ),
      userInput: "",
      workingDirectory: workspace.path,
      limits: defaultLimits,
      permissions: undefined,
    },
  );
  const proposal = { kind: "pull_request", title: "Fix", body: "It is fixed.", branch: "fix" };
  const checked = await spec.outputChecks?.proposal(
    proposal,
    { pull_request: { paths: ["**"] } },
    new AbortController().signal,
  );
  return checked?.kind === "refused" ? checked.reason : (checked?.kind ?? "none");
}

describe("a proposed pull request", () => {
  it("is refused with a file that no task may write", async (test) => {
    const write = { preset: "read-only", write: ["src/**"] } as const;
    assert.equal(
      await proposed(test, { permissions: write }),
      '"docs/a.md" has changed, and no task may write it: it matches no pattern of permissions.write. Undo that, and call job_propose again.',
    );
  });

  it("may have files of any task", async (test) => {
    const tasks = {
      fix: { ...task, permissions: { preset: "read-only", write: ["src/**"] } },
      other: { ...task, permissions: { preset: "read-only", write: ["docs/**"] } },
    } as const;
    assert.equal(await proposed(test, { tasks }), "accepted");
  });

  it("may have any file if commands of the entry run, which may write what they like", async (test) => {
    const work = { kind: "Run", run: "npm update" } as const;
    assert.equal(
      await proposed(test, { permissions: "read-only", jobs: { main: { work } } }),
      "accepted",
    );
  });
});
