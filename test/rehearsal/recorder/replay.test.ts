/** A recording replays to the same result: the real engine, random jobs, a model that does as it likes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { validateEntry } from "../../../src/entry/prepare.ts";
import type { Entry, PreparedEntry, Task, Work } from "../../../src/entry/model.ts";
import { rounds } from "../../rig/nightly.ts";
import { behaviors, recordAndReplay } from "./replay-rig.ts";

const names = ["plain", "checked", "apart", "guarded"] as const;
const tasks: Entry["tasks"] = {
  plain: { prompt: "Do plain work\nwith $reported-document\nuntil it is done" },
  checked: {
    prompt: "Do checked work",
    criteria: {
      toolExecuted: ["job_boolean_true"],
      condition: "Is it done? Call job_boolean_true if so.",
      failureAction: { retryTimes: 1, additionalPrompt: "because: $reported-false-reason" },
    },
  },
  apart: {
    prompt: "Do work apart",
    criteria: {
      condition: "Is work apart done? Call job_boolean_true if so.",
      runConditionInSameSession: false,
      failureAction: { retryTimes: 2 },
    },
  },
  guarded: {
    prompt: "Do guarded work",
    availability: { condition: "May it start? Call job_boolean_true if so." },
  } satisfies Task,
};

const works = fc.letrec<{ work: Work }>((tie) => {
  const work = tie("work");
  const some = fc.array(work, { minLength: 1, maxLength: 3 });
  const condition = fc.option(fc.tuple(fc.boolean(), work), { nil: undefined });
  return {
    work: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc
        .constantFrom(...names)
        .map((taskId): Work => ({ kind: "Ref", taskId, modelOverride: { category: "work" } })),
      some.map((children): Work => ({ kind: "Seq", works: children })),
      some.map((children): Work => ({ kind: "Par", works: children })),
      fc
        .tuple(work, work)
        .map(([first, second]): Work => ({ kind: "Alt", condition: first, trueWork: second })),
      fc.tuple(work, condition).map(([body, post]): Work => ({
        kind: "Loop",
        body,
        postCondition: post ?? [
          false,
          { kind: "Ref", taskId: "plain", modelOverride: { category: "work" } },
        ],
      })),
    ),
  };
}).work;

function entryOf(work: Work): PreparedEntry {
  return validateEntry(
    { models: { driving: "driver", work: "worker" }, tasks, jobs: { job: { work } } },
    "",
  );
}

test("whatever a model does, the recording of the run replays to the same result", async () => {
  await fc.assert(
    fc.asyncProperty(
      works,
      fc.array(fc.constantFrom(...behaviors), { maxLength: 25 }),
      async (work, list) => {
        const { problems, recording, log } = await recordAndReplay(entryOf(work), list);
        assert.deepEqual(problems, [], `\n${recording}\n${log}`);
      },
    ),
    { includeErrorInReport: true, ...rounds(150, 10) },
  );
});
