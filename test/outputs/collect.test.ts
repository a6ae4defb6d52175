import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEventBody, WorkOutcome } from "../../src/events/event.ts";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { collectOutputs } from "../../src/outputs/collect.ts";

const work = { workId: 0, taskId: "review", iteration: 1 };

/** Whether an earlier finding that is no longer reported counts as gone. */
function isComplete(outcome: WorkOutcome, ...others: readonly RunEventBody[]): boolean {
  const view = createRunView();
  const events: readonly RunEventBody[] = [
    { type: "work.started", work, modelId: "m" },
    ...others,
    { type: "work.ended", work, outcome },
    { type: "run.ended", outcome: { kind: "succeeded" } },
  ];
  for (const event of events) applyEvent(view, { at: 0, runId: "r", ...event });
  return collectOutputs(view).complete;
}

test("findings are complete only if every work succeeded, and nothing was left out or refused", () => {
  const succeeded = { kind: "succeeded" } as const;
  assert.equal(isComplete(succeeded), true);
  assert.equal(isComplete({ kind: "failed", reason: "x" }), false);
  assert.equal(isComplete({ kind: "skipped", reason: "no changed file matches" }), false);
  const decision = { kind: "left-out", reason: "shard 2 is missing" } as const;
  assert.equal(isComplete(succeeded, { type: "decision", work, decision }), false);
  const refused = { kind: "finding", reason: "`line` is beyond the end." } as const;
  assert.equal(isComplete(succeeded, { type: "output.refused", work, refused }), false);
});
