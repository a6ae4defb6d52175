import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defaultLimits, type Entry } from "../../src/entry/model.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import type { Origin } from "../../src/events/output-shapes.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { runSpec } from "../../src/run/run-spec.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { makeRepository } from "../rig/workspace.ts";

const ofPush: Origin = {
  repository: "octo/shop",
  server: "https://github.com",
  workflowRun: "1",
  attempt: 1,
  event: "push",
  head: "f".repeat(40),
};
const task = { prompt: ["x"], model: { category: "driving" } } as const;

interface Place {
  readonly kind?: "pull_request" | "push";
  /** The origin of the run. Given the commit that is checked out. */
  readonly origin?: (commit: string) => Partial<Origin>;
  readonly rehearses?: boolean;
}

/** Returns what `job_propose` answers, after a file of src and one of docs have changed. */
async function proposed(
  test: TestContext,
  entry: Partial<Entry>,
  { kind = "pull_request", origin, rehearses = false }: Place = {},
): Promise<string> {
  const workspace = await makeRepository(test, { "src/a.ts": "1\n", "docs/a.md": "1\n" });
  const commit = (await workspace.git("rev-parse", "HEAD")).trim();
  await workspace.write("src/a.ts", "2\n");
  await workspace.write("docs/a.md", "2\n");
  const spec = runSpec(
    { environment: process.env, clock: systemClock, redactor: createRedactor([]), rehearses },
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
      origin: origin && { ...ofPush, ...origin(commit) },
    },
  );
  const proposal = { kind, title: "Fix", body: "It is fixed.", branch: "fix" };
  const checked = await spec.outputChecks?.proposal(
    proposal,
    { pull_request: { paths: ["**"] }, push: { paths: ["**"] } },
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

describe("a proposed push", () => {
  const isPullRequest = true;
  const cases: readonly (readonly [string, Place, RegExp])[] = [
    ["of the head", { origin: (head) => ({ head, isPullRequest }) }, /^accepted$/],
    [
      "of the merge commit of its head",
      { origin: () => ({ isPullRequest }) },
      /the head .* is f{40}/,
    ],
    ["of a run without a pull request", { origin: () => ({}) }, /no pull request to push to/],
    ["of a run that isn't on GitHub", {}, /^accepted$/],
    ["of a rehearsal", { origin: () => ({}), rehearses: true }, /^accepted$/],
  ];
  for (const [name, place, answer] of cases)
    it(`${name} is ${answer.source === "^accepted$" ? "accepted" : "refused"}`, async (test) => {
      const all = { permissions: { preset: "read-only", write: ["**"] } } as const;
      assert.match(await proposed(test, all, { kind: "push", ...place }), answer);
    });
});
