import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Task, Work } from "../../src/entry/model.ts";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { RunView } from "../../src/events/view.ts";
import { collectOutputs } from "../../src/outputs/collect.ts";
import { sessionCrash } from "../rig/crashes.ts";
import { emptyData, outputChecks, play, ref, type Played, type Setup } from "../rig/engine.ts";
import { viewOf } from "../rig/tell.ts";

const outputs: Outputs = { proposals: { comment: {} } };

const review: Task = {
  model: { category: "work" },
  prompt: "Call job_annotate, job_verdict and job_propose.",
  criteria: { toolExecuted: ["job_verdict"], failureAction: { retryTimes: 2 } },
};
type Call = readonly [name: string, given: unknown];
const found = (message: string): Call => ["job_annotate", { message }];
const verdict = (word = "pass"): Call => ["job_verdict", { verdict: word, reason: "It is so." }];

interface Reviewed extends Played {
  readonly messages: readonly string[];
  readonly view: RunView;
}

/** `turns`: what each calls; a text is a crash. */
async function reviewed(
  turns: readonly (readonly Call[] | "crash")[],
  setup: Partial<Setup> = {},
): Promise<Reviewed> {
  const left = [...turns];
  const played = await play({
    tasks: { review },
    entry: { outputs },
    outputChecks,
    play() {
      const turn = left.shift() ?? [];
      return turn === "crash" ? { crash: sessionCrash } : { calls: turn };
    },
    ...setup,
  });
  const view = viewOf(played.events);
  const messages = collectOutputs(view).findings.map(({ message }) => message);
  return { ...played, view, messages };
}

describe("the tools for findings, a verdict and proposals", () => {
  const namesIn = async (task: Task, entry: Partial<Entry>): Promise<readonly string[]> => {
    const { sessions } = await reviewed([], { tasks: { review: task }, entry });
    return (sessions.opened[0]?.tools ?? []).map(({ name }) => name);
  };

  it("are offered to tasks that name them; job_propose only where something is allowed", async () => {
    assert.deepEqual(await namesIn(review, {}), ["job_annotate", "job_verdict"]);
    assert.deepEqual(
      await namesIn({ model: { category: "work" }, prompt: "Look." }, { outputs }),
      [],
    );
    assert.deepEqual(await namesIn(review, { outputs: { proposals: { from: ["review"] } } }), [
      "job_annotate",
      "job_verdict",
    ]);
    assert.deepEqual(await namesIn(review, { outputs }), [
      "job_annotate",
      "job_verdict",
      "job_propose",
    ]);
  });

  it("a retry that reports findings replaces those before it, and one that reports none keeps them", async () => {
    const anew = await reviewed([
      [found("a"), found("b")],
      [found("c"), verdict()],
    ]);
    assert.deepEqual(anew.messages, ["c"]);
    const kept = await reviewed([[found("a"), found("b")], [verdict()]]);
    assert.deepEqual(kept.messages, ["a", "b"]);
  });

  it("a round replaces refused findings, too, and whatever begins it replaces all before it", async () => {
    const open = ({ view }: Reviewed): unknown => [
      collectOutputs(view).findings.map(({ message }) => message),
      collectOutputs(view).refused.map(({ message }) => message),
    ];
    const rounds: readonly (readonly [readonly (readonly Call[])[], unknown])[] = [
      [
        [[found("a"), found("no")], [verdict()]],
        [["a"], ["no"]],
      ],
      [
        [[found("no")], [found("b"), verdict()]],
        [["b"], []],
      ],
      [
        [[found("a")], [found("no"), found("b"), verdict()]],
        [["b"], ["no"]],
      ],
      [
        [
          [found("a"), found("no")],
          [found("no 2"), verdict()],
        ],
        [[], ["no 2"]],
      ],
    ];
    for (const [turns, expected] of rounds) {
      const played = await reviewed(turns);
      assert.deepEqual(open(played), expected);
      const data = emptyData();
      const work = { workId: 0, taskId: "review", iteration: 1 };
      const given = played.events.filter((event) => "finding" in event || "refused" in event);
      data.restore(work, given);
      const shown = data.valueOf("findings-of-review", { ...work, taskId: "next" }) ?? "";
      assert.equal(shown.includes('"b"'), JSON.stringify(expected).includes('"b"'), shown);
    }
  });

  it("an attempt after a crash replaces what the crashed one has reported", async () => {
    const { messages } = await reviewed([[found("a")], "crash", [found("b"), verdict()]]);
    assert.deepEqual(messages, ["b"]);
  });

  it("a run of a task counts alone: a loop publishes the findings of its last one", async () => {
    const work: Work = {
      kind: "Loop",
      body: ref("review"),
      atMost: 2,
      atMostReached: "succeed",
    };
    const { messages } = await reviewed(
      [
        [found("a"), verdict()],
        [found("b"), verdict("reject")],
      ],
      { work },
    );
    assert.deepEqual(messages, ["b"]);
  });
});
