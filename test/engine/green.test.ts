/** What must not be green, on the real runtime: the attacks as they were found, and their brothers. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Task, Work } from "../../src/entry/model.ts";
import { ref } from "../rig/engine.ts";
import type { RecordedRequest, Reply, ScriptedCall } from "../rig/model-server.ts";
import { runOn, type RealRun } from "../rig/real-engine.ts";
import { makeRig, type Rig } from "../sessions/rig.ts";

const model = { category: "driving" };
const call = (name: string, args: ScriptedCall["arguments"], id?: string): ScriptedCall => ({
  name,
  ...(args === undefined ? {} : { arguments: args }),
  ...(id === undefined ? {} : { id }),
});
const good = { argument: "because" };
const plain: Task = { model, prompt: "go" };
const needsTool = (retryTimes = 0): Task => ({
  model,
  prompt: "go",
  criteria: { toolExecuted: ["job_prepare_document"], failureAction: { retryTimes } },
});
const checked = (retryTimes = 0): Task => ({
  model,
  prompt: "go",
  criteria: { condition: "job_boolean_true?", failureAction: { retryTimes } },
});
const guarded: Task = { model, prompt: "go", availability: { condition: "job_boolean_true?" } };
const CUT = "the answer was cut at the model's output limit";
/** What the runtime itself asks after an answer that was cut, twice at most. */
const GO_ON = "continue from where you left off";
/** What the model says when nothing else is scripted. */
const done: Reply = { text: "done" };

interface Scripted {
  readonly replies: Readonly<Record<string, readonly Reply[]>>;
  readonly given: Map<string, number>;
  readonly requests: RecordedRequest[];
}

const scripts = new Map<string, Scripted>();
let rig: Rig;

/** One runtime for all tests: the id of the model tells whose request it is. */
before(async (t) => {
  assert.ok("after" in t);
  rig = await makeRig(t, (request) => {
    const script = scripts.get(request.model);
    assert.ok(script !== undefined);
    const { replies, given, requests } = script;
    requests.push(request);
    const prompt = request.messages.findLast(
      ({ role, content }) => role === "user" && !content.includes(GO_ON),
    )?.content;
    const key = Object.keys(replies).find((one) => prompt?.includes(one)) ?? "";
    const index = given.get(key) ?? 0;
    given.set(key, index + 1);
    return replies[key]?.[index] ?? done;
  });
});

/** Plays the replies to a prompt one after the other, whatever sends it. */
async function run(
  tasks: Readonly<Record<string, Task>>,
  work: Work,
  replies: Scripted["replies"],
  limits = {},
): Promise<RealRun & { readonly requests: readonly RecordedRequest[] }> {
  const modelId = `claude-${scripts.size}`;
  const requests: RecordedRequest[] = [];
  scripts.set(modelId, { replies, given: new Map(), requests });
  const played = await runOn(rig, { tasks, work, modelId, limits, permissions: "all" });
  return { ...played, requests };
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

function reasonOf({ outcome }: RealRun): string {
  assert.equal(outcome.kind, "failed", JSON.stringify(outcome));
  return outcome.kind === "failed" ? outcome.reason : "";
}

/** Every tool call that starts also ends, in every session, before its turn does. */
function assertToolsEnd({ events }: RealRun): void {
  const open = new Map<string, number>();
  for (const event of events) {
    if (event.type === "turn.ended") {
      for (const [id, count] of open)
        assert.equal(count, 0, `${id} is open at the end of its turn`);
    }
    if (event.type !== "activity") continue;
    const { activity } = event;
    if (activity.kind !== "tool.started" && activity.kind !== "tool.ended") continue;
    const count =
      (open.get(activity.toolCallId) ?? 0) + (activity.kind === "tool.started" ? 1 : -1);
    assert.ok(count >= 0, `${activity.toolCallId} ends without a start`);
    open.set(activity.toolCallId, count);
  }
}

const loopCall = { toolCalls: [call("view", { path: "." })] };

describe("a condition that did not answer fails its work", () => {
  const alt: Work = { kind: "Alt", condition: ref("check"), trueWork: ref("deploy") };
  const tasks = { check: { model, prompt: "check" }, deploy: { model, prompt: "deploy" } };

  it("fails an Alt whose condition exceeds modelCalls, and says why", async () => {
    const played = await run(tasks, alt, { check: times(9, loopCall) }, { modelCalls: 3 });
    assert.match(reasonOf(played), /condition did not answer.*check.*modelCalls/);
    assert.deepEqual(played.ended, ["check:failed"]);
  });
});

describe("a repeated id of a tool call", () => {
  it("makes both calls unsuccessful, and both end", async () => {
    const played = await run({ t: needsTool() }, ref("t"), {
      go: [
        {
          toolCalls: [
            call("bash", { command: "sleep 1", description: "d" }, "a"),
            call("job_prepare_document", {}, "a"),
          ],
        },
      ],
    });
    assert.match(reasonOf(played), /job_prepare_document/);
    assertToolsEnd(played);
    const ended = played.events.flatMap((event) =>
      event.type === "activity" && event.activity.kind === "tool.ended" ? [event.activity] : [],
    );
    assert.deepEqual(
      ended.map(({ succeeded }) => succeeded),
      [false, false],
    );
  });

  it("makes them unsuccessful, also after an answer with the same id", async () => {
    const played = await run({ t: needsTool() }, ref("t"), {
      go: [
        { toolCalls: [call("view", { path: "." }, "a")] },
        { toolCalls: ["a", "a"].map((id) => call("job_prepare_document", good, id)) },
      ],
    });
    assert.match(reasonOf(played), /job_prepare_document/);
    assertToolsEnd(played);
  });
});

describe("an id of a tool call in a later answer", () => {
  const report = call("job_prepare_document", good, "call_1");
  const look = call("view", { path: "." }, "call_1");
  const broken = call("job_prepare_document", {}, "call_1");
  for (const [name, replies, ends] of [
    ["an earlier one failed", [[broken], [report]], [false, true]],
    ["an earlier answer had two calls of it", [[look, look], [report]], [false, false, true]],
  ] as const) {
    it(`is a call of its own: ${name}`, async () => {
      const played = await run({ t: needsTool() }, ref("t"), {
        go: replies.map((toolCalls) => ({ toolCalls })),
      });
      assert.equal(played.outcome.kind, "succeeded", JSON.stringify(played.outcome));
      assertToolsEnd(played);
      const ended = played.events.flatMap((event) =>
        event.type === "activity" && event.activity.kind === "tool.ended"
          ? [event.activity.succeeded]
          : [],
      );
      assert.deepEqual(ended, ends);
    });
  }
});

describe("a failed call of a verdict tool voids the verdict", () => {
  const yes = call("job_boolean_true", good);
  const failing: Readonly<Record<string, ScriptedCall>> = {
    "no argument": call("job_boolean_false", {}),
    "null instead of an object": call("job_boolean_false", "null"),
    job_prerequisite_failed: call("job_prerequisite_failed", { reason: "no" }),
    "a name in another case": call("Job_Boolean_False", good),
  };
  for (const [name, bad] of Object.entries(failing)) {
    it(`in criteria and availability: ${name}`, async () => {
      for (const [task, field, replies] of [
        [checked(), "criteria", [{ toolCalls: [yes] }, { toolCalls: [bad] }]],
        [guarded, "availability", [{ toolCalls: [yes, bad] }]],
        [guarded, "availability", [{ toolCalls: [bad] }, { toolCalls: [yes] }]],
      ] as const) {
        const played = await run({ t: task }, ref("t"), { "job_boolean_true?": replies });
        assert.match(reasonOf(played), /no verdict/, `${field} ${JSON.stringify(replies)}`);
        const said = `${field}.condition does not hold`;
        assert.ok(played.decisions.some((text) => text.includes(said)));
        assertToolsEnd(played);
      }
    });
  }
});

describe("the last answer of a turn", () => {
  const document = { toolCalls: [call("job_prepare_document", good)] };
  const filtered = { text: "abc", finishReason: "content_filter" };
  const cut = { text: "half an", finishReason: "length" };

  for (const [name, last, message] of [
    ["filtered", filtered, /content filter/],
    [
      "empty",
      { text: "" },
      /answered with nothing: .*model "claude-\d+" of the model server http.*Gave up after 5 attempts\.$/,
    ],
    [
      "reasoning alone",
      { reasoning: "hm" },
      /answered with nothing: .*model "claude-\d+" of the model server http.*Gave up after 5 attempts\.$/,
    ],
  ] as const) {
    it(`is a crash: ${name}`, async () => {
      const again = times(5, [{ text: "I'll do it", ...document }, last]).flat();
      const played = await run({ t: plain }, ref("t"), { go: again });
      assert.deepEqual(played.ended, ["t:crashed"]);
      assert.match(reasonOf(played), message);
      assert.equal(played.requests.length, 10, "five attempts");
    });
  }

  it("is a crash that a new session may get over", async () => {
    const played = await run({ t: needsTool() }, ref("t"), {
      go: [document, filtered, document, done],
    });
    assert.equal(played.outcome.kind, "succeeded");
  });

  it("fails the task where it was cut and nothing retries", async () => {
    const played = await run({ t: plain }, ref("t"), { go: [document, cut, cut, cut] });
    assert.match(reasonOf(played), new RegExp(CUT));
    assert.deepEqual(played.ended, ["t:failed"]);
  });

  it("fails the round where it was cut: the criteria are not asked, the retry is", async () => {
    const failing = await run({ t: needsTool() }, ref("t"), { go: [document, cut, cut, cut] });
    assert.match(reasonOf(failing), new RegExp(CUT));
    const retried = await run({ t: needsTool(1) }, ref("t"), {
      go: [document, cut, cut, cut, document, done],
    });
    assert.equal(retried.outcome.kind, "succeeded");
    assert.ok(retried.decisions.includes(`[DECISION] Retry 1 of 1: ${CUT}`));
  });

  it("fails an availability check and a criteria check that were cut", async () => {
    const yes = { toolCalls: [call("job_boolean_true", good)] };
    for (const task of [guarded, checked()]) {
      const played = await run({ t: task }, ref("t"), {
        "job_boolean_true?": [yes, cut, cut, cut],
      });
      assert.match(reasonOf(played), new RegExp(CUT));
      assert.ok(played.decisions.some((text) => text.includes(`condition does not hold: ${CUT}`)));
    }
  });

  it("is whole where the runtime had the model go on after a cut", async () => {
    const played = await run({ t: needsTool() }, ref("t"), { go: [document, cut, done] });
    assert.equal(played.outcome.kind, "succeeded");
  });

  it("is not the one of a sub-agent", async () => {
    const played = await run({ t: plain }, ref("t"), {
      go: [
        { toolCalls: [call("task", { description: "d", prompt: "sub", agent_type: "explore" })] },
      ],
      sub: [{ text: "half", finishReason: "content_filter" }],
    });
    assert.equal(played.outcome.kind, "succeeded", JSON.stringify(played.outcome));
  });
});
