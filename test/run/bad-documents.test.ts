/** Whatever a model answers instead of a sound document, on the real runtime: it hears why, and nothing runs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stopped } from "../protocol/dialogue-rig.ts";
import { action, documentOf, group } from "../protocol/rig.ts";
import { runActions, type Answer } from "./actions-rig.ts";

const touch = action("touch", { params: { file: "owned" } });
const good = documentOf([touch]);
const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

function nested(levels: number): ReturnType<typeof action> {
  return levels === 0 ? touch : group(`g${levels}`, [nested(levels - 1)]);
}

const documents: readonly (readonly [string, Answer, RegExp])[] = [
  ["prose", "Sure, I will build it!", /not_json/],
  ["two documents", `${good}\n${good}`, /not_json/],
  ["a fence within a fence", `\`\`\`json\n\`\`\`json\n${good}\n\`\`\`\n\`\`\``, /not_json/],
  ["a sentence before the fence", `Here it is:\n\`\`\`json\n${good}\n\`\`\``, /not_json/],
  ["2 MB", documentOf([touch], { response: "x".repeat(2e6) }), /too_large/],
  ["10 MB", documentOf([touch], { response: "x".repeat(1e7) }), /too_large/],
  ["10,000 actions", documentOf(Array.from({ length: 10_000 }, () => touch)), /too_large/],
  ["33 actions", documentOf(Array.from({ length: 33 }, () => touch)), /too_many_actions|schema/],
  ["groups 4 deep", documentOf([nested(4)]), /too_deep/],
  ["groups 50 deep", documentOf([nested(50)]), /Nested deeper than/],
  ["values 150 deep", deep(150), /not_json|too_large|nest/],
  [
    "a cycle",
    documentOf([
      { ...touch, action_id: "a", depends_on: "b" },
      { ...touch, action_id: "b", depends_on: "a" },
    ]),
    /cyclic_dependency/,
  ],
  ["an unknown tool", documentOf([touch, action("toch")]), /unknown_tool[^]*did you mean/],
  [
    "params of the wrong type",
    documentOf([touch, action("build", { params: { target: 7 } })]),
    /invalid_params/,
  ],
  ["__proto__", good.replace('"file"', '"__proto__"'), /forbidden_name/],
  [
    "references to nothing",
    documentOf([touch, action("echo", { params: { it: "${{results.none}} ${{variables.no}}" } })]),
    /unknown_reference/,
  ],
];

describe("a document that is not sound", () => {
  it("is rejected, and the model hears why", async (t) => {
    const sound = documentOf([action("echo")]);
    const { outcome, prompts, ended, calls } = await runActions(t, {
      task: { iterations: documents.length + 1 },
      answers: [...documents.flatMap(([, answer]) => [answer, sound]), stopped()],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    for (const [index, [name, , problem]] of documents.entries()) {
      const heard = prompts[2 * index + 1] ?? "";
      assert.match(heard, /nothing of it was run/, name);
      assert.match(heard, problem, name);
    }
    assert.equal(ended.length, documents.length);
    assert.deepEqual(new Set(await calls()), new Set(["echo"]));
  });

  it("is rejected if the model's output limit has cut it, sound or not", async (t) => {
    const cut = { text: good, finishReason: "length" };
    const { prompts, calls } = await runActions(t, {
      // The runtime lets the model continue twice.
      answers: [cut, cut, cut, stopped()],
    });
    assert.match(prompts[3] ?? "", /"code": "cut"/);
    assert.deepEqual(await calls(), []);
  });

  it("ends the task after two repairs", async (t) => {
    const { outcome, prompts, calls } = await runActions(t, {
      task: { criteria: { toolExecuted: ["touch"], failureAction: { retryTimes: 3 } } },
      answers: ["No."],
    });
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /protocol failure/);
    assert.equal(prompts.length, 3);
    assert.deepEqual(await calls(), []);
  });

  it("is told that its status is false, which changes nothing", async (t) => {
    const lie = documentOf([action("fail", { action_id: "f" })], {
      status: "SUCCESS",
      stop: true,
      response: "All is well.",
    });
    const { outcome, prompts } = await runActions(t, {
      task: { iterations: 2 },
      answers: [lie, lie, stopped()],
    });
    assert.match(prompts[1] ?? "", /The document claims the status SUCCESS, but it is ERROR/);
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /cap reached/);
  });
});
