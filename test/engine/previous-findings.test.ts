/** The tools with which a task says what has become of the findings of earlier runs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task } from "../../src/entry/model.ts";
import type { PreviousFinding } from "../../src/events/output-shapes.ts";
import type { ToolAnswer } from "../../src/engine/ports.ts";
import { previousFinding } from "../rig/conversation.ts";
import { outputChecks } from "../rig/engine.ts";
import { play, type Played } from "../rig/engine.ts";

const review: Task = {
  model: { category: "work" },
  prompt: "$previous-findings Call job_annotate, job_resolve or job_reply.",
};
const mona = { author: "mona", text: "Why?" };
const own = { author: "github-actions", text: "Because.", own: true } as const;
const previous: readonly PreviousFinding[] = [
  previousFinding("F1"),
  previousFinding("F2", { replies: [mona] }),
  previousFinding("F3", { replies: [mona, own] }),
  previousFinding("F4", { thread: "resolved", resolvedBy: "mona", byPerson: true }),
];

type Call = readonly [name: string, given: unknown];

function played(calls: readonly Call[], more: object = { previous }): Promise<Played> {
  const act = () => ({ calls });
  return play({ tasks: { review }, outputChecks, play: act, ...more });
}

const given = ({ events }: Played): unknown[] =>
  events.flatMap((event) =>
    event.type === "finding.resolved"
      ? [[event.finding, event.reason]]
      : event.type === "reply.given"
        ? [[event.finding, event.message]]
        : [],
  );

/** What the model is told. */
async function answer([name, value]: Call): Promise<ToolAnswer> {
  const { sessions } = await played([]);
  const tool = sessions.opened[0]?.tools?.find((one) => one.name === name);
  const { signal } = new AbortController();
  const call = { toolCallId: "c", sessionId: "s", signal, onProgress() {} };
  return (await tool?.run(value, call)) ?? assert.fail(`there is no ${name}`);
}

describe("job_resolve and job_reply", () => {
  it("name an earlier finding by its id, and events have its key", async () => {
    const calls: readonly Call[] = [
      ["job_resolve", { finding: "F1", reason: "It is fixed." }],
      ["job_reply", { finding: "F2", message: "It may be null." }],
    ];
    assert.deepEqual(given(await played(calls)), [
      ["key-of-F1", "It is fixed."],
      ["key-of-F2", "It may be null."],
    ]);
  });

  const refusals: readonly (readonly [why: string, call: Call, answer: RegExp])[] = [
    ["an unknown id", ["job_resolve", { finding: "F9", reason: "x" }], /"F9".*F1, F2, F3, F4\.$/],
    ["a key", ["job_reply", { finding: "key-of-F2", message: "x" }], /is not the id/],
    ["no id", ["job_resolve", { reason: "x" }], /is not the id/],
    ["no reason", ["job_resolve", { finding: "F1", reason: " " }], /needs a text in "reason"/],
    ["a long one", ["job_reply", { finding: "F2", message: "x".repeat(2_001) }], /at most 2000/],
    ["a thread of a person", ["job_resolve", { finding: "F2", reason: "x" }], /theirs.*job_reply/],
    ["a closed thread", ["job_resolve", { finding: "F4", reason: "x" }], /resolved already/],
    ["a thread without replies", ["job_reply", { finding: "F1", message: "x" }], /Nobody/],
    ["an answered thread", ["job_reply", { finding: "F3", message: "x" }], /answered already/],
  ];
  for (const [why, call, reason] of refusals)
    it(`refuse ${why}, and say what to do`, async () => {
      const { succeeded, text } = await answer(call);
      assert.deepEqual([succeeded, given(await played([call]))], [false, []]);
      assert.match(text, reason);
    });

  const toolsWith = async (more: object): Promise<readonly unknown[]> => {
    const { sessions } = await played([], more);
    const tools = sessions.opened[0]?.tools ?? [];
    const annotate = tools.find(({ name }) => name === "job_annotate")?.parameters["properties"];
    return [tools.map(({ name }) => name), Object.hasOwn(Object(annotate), "sameAs")];
  };

  it("are offered like `sameAs`, where there are earlier findings", async () => {
    const all = ["job_annotate", "job_resolve", "job_reply"];
    assert.deepEqual(await toolsWith({ previous }), [all, true]);
    assert.deepEqual(await toolsWith({ previous: [] }), [["job_annotate"], false]);
    assert.deepEqual(await toolsWith({}), [["job_annotate"], false]);
  });

  it("are replaced by a further round, as findings are", async () => {
    const criteria = { toolExecuted: ["job_reply"], failureAction: { retryTimes: 1 } };
    const turns: readonly (readonly Call[])[] = [
      [["job_resolve", { finding: "F1", reason: "One." }]],
      [
        ["job_resolve", { finding: "F1", reason: "Two." }],
        ["job_reply", { finding: "F2", message: "x" }],
      ],
    ];
    const left = [...turns];
    const { events } = await played([], {
      previous,
      tasks: { review: { ...review, criteria } },
      play: () => ({ calls: left.shift() ?? [] }),
    });
    const resolved = events.filter((event) => event.type === "finding.resolved");
    assert.deepEqual(
      resolved.map(({ reason, first }) => [reason, first]),
      [
        ["One.", undefined],
        ["Two.", true],
      ],
    );
  });
});

describe("$findings-of-TASK", () => {
  it("says which earlier finding each is", async () => {
    const next: Task = { model: { category: "work" }, prompt: "$findings-of-review" };
    const { sessions } = await played([], {
      previous,
      tasks: { review, next },
      work: {
        kind: "Seq",
        works: [
          { kind: "Ref", taskId: "review" },
          { kind: "Ref", taskId: "next" },
        ],
      },
      play: ({ label }: { label: { taskId: string } }) =>
        label.taskId === "review"
          ? {
              calls: [
                ["job_annotate", { message: "key-of-F2" }],
                ["job_annotate", { message: "new" }],
              ],
            }
          : {},
    });
    const prompt = sessions.prompts.at(-1) ?? "";
    assert.equal(prompt.match(/"sameAs":"F2"/g)?.length, 1);
    assert.doesNotMatch(prompt, /fingerprint|sameAs":"new/);
  });
});
