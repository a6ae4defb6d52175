/** A recording of documents and actions replays to the same result: the real engine and executor, a random model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { DialogueSpec } from "../../../src/engine/dialogue.ts";
import type { Work } from "../../../src/entry/model.ts";
import { validateEntry } from "../../../src/entry/prepare.ts";
import { createActionDialogue } from "../../../src/protocol/dialogue.ts";
import type { FakeClock } from "../../rig/fake-clock.ts";
import { rounds } from "../../rig/nightly.ts";
import { behaviors, recordAndReplay, type Behavior, type DocumentBehavior } from "./replay-rig.ts";

const ref = (taskId: string): Work => ({
  kind: "Ref",
  taskId,
  modelOverride: { category: "work" },
});
const entryOf = (work: Work) =>
  validateEntry(
    {
      models: { driving: "driver", work: "worker" },
      permissions: { tools: ["*"] },
      tools: { quick: { description: "Quick", parameters: { type: "object" }, command: ["true"] } },
      tasks: {
        ship: {
          protocol: "actions",
          prompt: "Ship it",
          criteria: {
            toolExecuted: ["quick"],
            failureAction: { retryTimes: 1, additionalPrompt: "Again" },
          },
        },
        other: { protocol: "actions", prompt: "Do other things" },
        plain: { prompt: "Do plain work", model: { category: "work" } },
      },
      jobs: { job: { work } },
    },
    "",
  );

function dialoguesOf(clock: FakeClock): Readonly<Record<string, DialogueSpec>> {
  const seconds = { quick: 2, slow: 45, broken: 3 };
  const tools = Object.entries(seconds).map(([name, duration]) => ({
    name,
    parameters: { type: "object" },
    parallelSafe: true,
    run: async (_call: unknown, { signal }: { readonly signal: AbortSignal }) => {
      await clock.sleep(duration * 1000, signal);
      return name === "broken"
        ? ({ kind: "failed", reason: "It broke." } as const)
        : ({ kind: "succeeded", value: name } as const);
    },
  }));
  const start = createActionDialogue({ tools, delegates: ["plain"], iterations: 5 });
  const spec: DialogueSpec = { start: (context) => Promise.resolve(start(context)) };
  return { ship: spec, other: spec };
}

const parts = {
  quick: (id: string) => ({ action_id: id, action: "quick", type: "tool", params: {} }),
  broken: (id: string) => ({ action_id: id, action: "broken", type: "tool", params: {} }),
  slow: (id: string) => ({
    action_id: id,
    action: "slow",
    type: "tool",
    params: {},
    execution: "ASYNC",
  }),
  background: (id: string) => ({
    action_id: id,
    action: "quick",
    type: "tool",
    params: {},
    execution: "ASYNC",
  }),
  uses: (id: string, earlier: string) => ({
    action_id: id,
    action: "quick",
    type: "tool",
    params: { of: `\${{tasks.${earlier}.status}}` },
  }),
  needs: (id: string, earlier: string) => ({
    action_id: id,
    action: "quick",
    type: "tool",
    params: {},
    depends_on: earlier,
    execution: "ASYNC",
  }),
  cancel: (id: string, earlier: string) => ({
    action_id: id,
    action: "task_manager",
    type: "internal",
    params: { operation: "cancel", ids: [earlier] },
  }),
  wait: (id: string) => ({
    action_id: id,
    action: "task_manager",
    type: "internal",
    params: { operation: "wait", timeoutSeconds: 10 },
  }),
} satisfies Readonly<Record<string, (id: string, earlier: string) => object>>;

/** Not canceled by others: in a replay, a delegated task ends sooner than in the run. */
const delegate = (id: string): object => ({
  action_id: `${id}-task`,
  action: "delegate",
  type: "internal",
  params: { task: "plain", input: "now" },
  execution: "ASYNC",
});

type Part = (id: string, earlier: string) => object;

function documentsOf(actions: fc.Arbitrary<readonly Part[]>): fc.Arbitrary<DocumentBehavior> {
  return fc
    .record({ actions, stop: fc.boolean(), after: fc.constantFrom(0, 0, 1, 4_000, 50_000) })
    .map(({ actions: made, stop, after }) => ({
      after,
      document: (next) => ({
        status: "EXECUTING",
        thoughts: [],
        actions: made.map((part, index) =>
          part(`a${next}-${index}`, index > 0 ? `a${next}-0` : `a${next - 1}-0`),
        ),
        stop,
        response: null,
      }),
    }));
}

const anyParts = fc.array(fc.constantFrom<Part>(...Object.values(parts)), { maxLength: 3 });
const documents = documentsOf(anyParts);

const steps: fc.Arbitrary<Behavior | DocumentBehavior> = fc.oneof(
  { weight: 6, arbitrary: documents },
  { weight: 1, arbitrary: fc.constantFrom(...behaviors) },
);

/** One delegation at most: the sessions of two that run at once can't be told apart. */
const scripts = fc
  .record({
    list: fc.array(steps, { maxLength: 14 }),
    delegation: fc.option(
      fc.record({
        document: documentsOf(anyParts.map((made) => [...made, delegate])),
        at: fc.nat(14),
      }),
    ),
  })
  .map(({ list, delegation }) =>
    delegation === null ? list : list.toSpliced(delegation.at, 0, delegation.document),
  );

const jobs: fc.Arbitrary<Work> = fc.constantFrom<Work>(
  ref("ship"),
  { kind: "Seq", works: [ref("ship"), ref("other")] },
  { kind: "Loop", body: ref("other"), postCondition: [false, ref("ship")] },
);

test("whatever documents a model writes, the recording replays to the same result", async () => {
  await fc.assert(
    fc.asyncProperty(jobs, scripts, async (work, list) => {
      const { problems, recording, log } = await recordAndReplay(
        entryOf(work),
        list,
        undefined,
        undefined,
        dialoguesOf,
      );
      assert.deepEqual(problems, [], `\n${recording}\n${log}`);
    }),
    { includeErrorInReport: true, ...rounds(100, 10) },
  );
});
