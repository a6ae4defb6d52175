/** Runs that must not be green, on the real runtime: known false successes and variants of them. */
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
const CONTINUE_PROMPT = "continue from where you left off";
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
      ({ role, content }) => role === "user" && !content.includes(CONTINUE_PROMPT),
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

it("a condition that exceeds modelCalls fails its Alt, and says why", async () => {
  const tasks = { check: { model, prompt: "check" }, deploy: { model, prompt: "deploy" } };
  const alt: Work = { kind: "Alt", condition: ref("check"), trueWork: ref("deploy") };
  const played = await run(tasks, alt, { check: times(9, loopCall) }, { modelCalls: 3 });
  assert.match(reasonOf(played), /condition did not answer.*check.*modelCalls/);
  assert.deepEqual(played.ended, ["check:failed"]);
});

describe("an id of a tool call", () => {
  const document = (id: string, given: object = good): ScriptedCall =>
    call("job_prepare_document", { ...given }, id);
  const look = call("view", { path: "." }, "a");
  const sleep = call("bash", { command: "sleep 1", description: "d" }, "a");
  /** The answers, how each call ends, and whether the task succeeds. */
  for (const [name, answers, ends, green] of [
    ["repeated in an answer fails both calls", [[sleep, document("a", {})]], [false, false], false],
    [
      "repeated in an answer after another one that has it fails both calls",
      [[look], [document("a"), document("a")]],
      [true, false, false],
      false,
    ],
    ["that failed may be used again", [[document("a", {})], [document("a")]], [false, true], true],
    [
      "that was repeated may be used again in another answer",
      [[look, look], [document("a")]],
      [false, false, true],
      true,
    ],
  ] as const) {
    it(name, async () => {
      const replies = answers.map((toolCalls) => ({ toolCalls }));
      const played = await run({ t: needsTool() }, ref("t"), { go: replies });
      assert.equal(played.outcome.kind, green ? "succeeded" : "failed");
      if (!green) assert.match(reasonOf(played), /job_prepare_document/);
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

describe("a task is not green", () => {
  const impossible = { toolCalls: [call("job_prerequisite_failed", { argument: "no input" })] };
  const blank = { toolCalls: [call("job_prepare_document", { argument: " \u200b\nb" })] };
  const lost: Reply = { text: "I call it:", finishReason: "tool_calls" };
  for (const [name, task, replies, reason] of [
    ["if it says itself that it can't be done", plain, [impossible], /was called: no input$/],
    ["if it says so, also with retries", needsTool(3), [impossible], /was called: no input$/],
    ["if it says so in a retry", checked(1), [done, impossible], /was called: no input$/],
    ["if the document that it names has no name", needsTool(), [blank], /job_prepare_document/],
    ["if its last answer lost its tool call", plain, times(5, lost), /announced a tool call/],
  ] as const) {
    it(name, async () => {
      const played = await run({ t: task }, ref("t"), { go: replies });
      assert.match(reasonOf(played), reason);
      const retries = played.decisions.filter((text) => text.includes("Retry "));
      assert.equal(retries.length, replies[0] === done ? 1 : 0);
    });
  }

  it("but is if a further attempt brings the lost call, or if it must call job_prerequisite_failed", async () => {
    const document = { toolCalls: [call("job_prepare_document", { argument: "a.md" })] };
    const retried = await run({ t: needsTool() }, ref("t"), { go: [lost, document] });
    assert.equal(retried.outcome.kind, "succeeded");
    const criteria = {
      toolExecuted: ["job_prerequisite_failed"],
      failureAction: { retryTimes: 0 },
    };
    const wanted = await run({ t: { ...plain, criteria } }, ref("t"), { go: [impossible] });
    assert.equal(wanted.outcome.kind, "succeeded");
  });

  it("and has not answered as a condition", async () => {
    const work: Work = { kind: "Alt", condition: ref("t"), falseWork: ref("u") };
    const played = await run({ t: plain, u: { ...plain, prompt: "u" } }, work, {
      go: [impossible],
    });
    assert.match(reasonOf(played), /a condition did not answer/);
  });
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
  const nothing =
    /answered with nothing: .*model "claude-\d+" of the model server http.*Gave up after 5 attempts\.$/;
  const outcomeOf = async (task: Task, ...go: readonly Reply[]): Promise<string> => {
    const played = await run({ t: task }, ref("t"), { go });
    return played.outcome.kind === "succeeded" ? "succeeded" : reasonOf(played);
  };

  for (const [name, last, message] of [
    ["filtered", filtered, /content filter/],
    ["empty", { text: "" }, nothing],
    ["reasoning alone", { reasoning: "hm" }, nothing],
  ] as const) {
    it(`is a crash: ${name}`, async () => {
      const again = times(5, [{ text: "I'll do it", ...document }, last]).flat();
      const played = await run({ t: plain }, ref("t"), { go: again });
      assert.deepEqual(played.ended, ["t:crashed"]);
      assert.match(reasonOf(played), message);
      assert.equal(played.requests.length, 10, "five attempts");
    });
  }

  it("is a crash that a new session may get over, and whole where the runtime goes on after a cut", async () => {
    assert.equal(await outcomeOf(needsTool(), document, filtered, document, done), "succeeded");
    assert.equal(await outcomeOf(needsTool(), document, cut, done), "succeeded");
  });

  it("fails the round where it was cut: the criteria are not asked, the retry is", async () => {
    for (const task of [plain, needsTool()])
      assert.match(await outcomeOf(task, document, cut, cut, cut), new RegExp(CUT));
    const retried = await run({ t: needsTool(1) }, ref("t"), {
      go: [document, cut, cut, cut, document, done],
    });
    assert.equal(retried.outcome.kind, "succeeded");
    assert.ok(retried.decisions.includes(`[DECISION] Retry 1 of 1: ${CUT}`));
  });

  it("fails an availability check and a criteria check that were cut", async () => {
    const yes = { toolCalls: [call("job_boolean_true", good)] };
    for (const task of [guarded, checked()]) {
      const replies = { "job_boolean_true?": [yes, cut, cut, cut] };
      const played = await run({ t: task }, ref("t"), replies);
      assert.match(reasonOf(played), new RegExp(CUT));
      assert.ok(played.decisions.some((text) => text.includes(`condition does not hold: ${CUT}`)));
    }
  });

  it("is not the one of a sub-agent", async () => {
    const agent = call("task", { description: "d", prompt: "sub", agent_type: "explore" });
    const played = await run({ t: plain }, ref("t"), {
      go: [{ toolCalls: [agent] }],
      sub: [{ text: "half", finishReason: "content_filter" }],
    });
    assert.equal(played.outcome.kind, "succeeded", JSON.stringify(played.outcome));
  });
});
