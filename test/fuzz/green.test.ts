/**
 * Random answers of a model, played on the real runtime, against a small model of what is green. The model
 * below is written from docs/internals/engine.md and shares nothing with the engine.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Task, Work } from "../../src/entry/model.ts";
import { ref } from "../rig/engine.ts";
import { holds } from "../rig/fuzz.ts";
import type { Reply, ScriptedCall } from "../rig/model-server.ts";
import { runOn, type RealRun } from "../rig/real-engine.ts";
import { makeRig } from "../sessions/rig.ts";

interface Call {
  readonly tool: string;
  readonly arguments: "good" | "none" | "wrong type" | "no JSON" | "no object";
  /** Undefined: one of its own. */
  readonly id: string | undefined;
}

const lasts = [
  "text",
  "empty",
  "blank",
  "filtered",
  "cut",
  "cut, then whole",
  "refused",
  "lost call",
] as const;

interface Turn {
  readonly answers: readonly (readonly Call[])[];
  readonly last: (typeof lasts)[number];
}

interface Case {
  readonly availability: boolean;
  readonly toolExecuted: boolean;
  readonly condition: boolean;
  readonly retryTimes: number;
  readonly modelCalls: number | undefined;
  readonly work: "Ref" | "Alt" | "while" | "do";
  readonly wish: boolean;
  /** By what they are for, in the order in which they are asked for; then `text` alone. */
  readonly turns: Readonly<Record<Purpose, readonly Turn[]>>;
}

const purposes = ["before?", "go", "after?"] as const;
type Purpose = (typeof purposes)[number];

const calls: fc.Arbitrary<Call> = fc.record({
  tool: fc.constantFrom(
    ...Array.from({ length: 3 }, () => "job_boolean_true"),
    ...Array.from({ length: 2 }, () => "job_prepare_document"),
    ..."job_boolean_false job_prerequisite_failed view no_such_tool".split(" "),
  ),
  arguments: fc.oneof(
    { weight: 5, arbitrary: fc.constant("good" as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "none" as const,
        "wrong type" as const,
        "no JSON" as const,
        "no object" as const,
      ),
    },
  ),
  id: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom("a", "b") },
  ),
});

const turns: fc.Arbitrary<Turn> = fc.record({
  answers: fc.array(fc.array(calls, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  last: fc.oneof(
    { weight: 3, arbitrary: fc.constant("text" as const) },
    { weight: 1, arbitrary: fc.constantFrom(...lasts) },
  ),
});

const cases: fc.Arbitrary<Case> = fc.record({
  availability: fc.boolean(),
  toolExecuted: fc.boolean(),
  condition: fc.boolean(),
  retryTimes: fc.nat(2),
  modelCalls: fc.option(fc.integer({ min: 2, max: 8 }), { nil: undefined, freq: 2 }),
  work: fc.constantFrom("Ref", "Ref", "Alt", "while", "do"),
  wish: fc.boolean(),
  turns: fc.record({
    "before?": fc.array(turns, { maxLength: 3 }),
    go: fc.array(turns, { maxLength: 4 }),
    "after?": fc.array(turns, { maxLength: 4 }),
  }),
});

const LOOP_ITERATIONS = 2;

// ---- the model

type End = "succeeded" | "failed" | "unanswered" | "crashed";
type Seen = readonly (readonly [tool: string, ok: boolean])[];
type TurnEnd = { readonly kind: "whole" | "cut"; readonly calls: Seen } | "empty" | "refused";
type LastEnd = Exclude<TurnEnd, "empty"> | "over the limit";

const others = { answers: [], last: "text" } as const;

class Expectation {
  readonly #case: Case;
  readonly #next: Record<Purpose, number> = { "before?": 0, go: 0, "after?": 0 };
  #left = Number.POSITIVE_INFINITY;

  constructor(one: Case) {
    this.#case = one;
  }

  /** Whether the job is green. */
  get green(): boolean {
    const { work, wish } = this.#case;
    if (work === "Ref") return this.#task() === "succeeded";
    if (work === "Alt") return ["succeeded", "failed"].includes(this.#task());
    for (let iteration = 1; iteration <= LOOP_ITERATIONS + 1; iteration += 1) {
      // `while` asks before the third iteration too, and only then meets its `atMost`.
      if (work === "do" && iteration > LOOP_ITERATIONS) return false;
      const end = this.#task();
      if (end === "unanswered" || end === "crashed") return false;
      if ((end === "succeeded") !== wish) return true;
    }
    return false;
  }

  #task(): End {
    const { availability, toolExecuted, condition, retryTimes, modelCalls } = this.#case;
    this.#left = modelCalls ?? Number.POSITIVE_INFINITY;
    if (availability) {
      const turn = this.#turnFor("before?");
      if (turn === "refused") return "crashed";
      if (turn === "over the limit") return "unanswered";
      const verdict = judged(turn, true);
      if (verdict !== "holds") return verdict === "no" ? "failed" : "unanswered";
    }
    for (let round = 0; ; round += 1) {
      const end = this.#round(toolExecuted, condition);
      if (end === "over the limit" || end === "impossible") return "unanswered";
      if (end === "crashed" && round === 0) return "crashed";
      if (end === "holds") return "succeeded";
      const retries = toolExecuted || condition ? retryTimes : 0;
      if (round === retries) return end === "no" ? "failed" : "unanswered";
    }
  }

  #round(
    toolExecuted: boolean,
    condition: boolean,
  ): "holds" | "no" | "void" | "crashed" | "over the limit" | "impossible" {
    const turn = this.#turnFor("go");
    if (turn === "over the limit") return turn;
    if (turn === "refused") return "crashed";
    if (turn.calls.some(([tool]) => tool === "job_prerequisite_failed")) return "impossible";
    if (turn.kind === "cut") return "void";
    const done = turn.calls.some(([tool, ok]) => tool === "job_prepare_document" && ok);
    if (toolExecuted && !done) return "no";
    if (!condition) return "holds";
    const check = this.#turnFor("after?");
    if (check === "over the limit") return check;
    return check === "refused" ? "crashed" : judged(check, false);
  }

  /** One prompt, and again after a crash that a retry can get over: five times. */
  #turnFor(purpose: Purpose): LastEnd {
    for (let attempt = 1; ; attempt += 1) {
      const turn = this.#case.turns[purpose][this.#next[purpose]] ?? others;
      this.#next[purpose] += 1;
      if (modelCallsOf(turn) > this.#left) return "over the limit";
      this.#left -= modelCallsOf(turn);
      const end = endOf(turn);
      if (end !== "empty") return end;
      if (attempt === 5) return "refused";
    }
  }
}

function endOf({ answers, last }: Turn): TurnEnd {
  switch (last) {
    case "empty":
    case "blank":
    case "filtered":
    case "lost call":
      return "empty";
    case "refused":
      return "refused";
    case "cut":
    case "text":
    case "cut, then whole":
      break;
  }
  const seen = answers.flatMap((answer) =>
    answer.map((call): readonly [string, boolean] => [
      call.tool,
      (call.arguments === "good" || (call.tool === "view" && call.arguments === "wrong type")) &&
        call.tool !== "no_such_tool" &&
        // The runtime keeps an answer to itself whose calls are no objects.
        !answer.some((one) => one.arguments === "no object") &&
        // A later answer may use an id again.
        (call.id === undefined || answer.filter(({ id }) => id === call.id).length === 1),
    ]),
  );
  return { kind: last === "cut" ? "cut" : "whole", calls: seen };
}

const verdicts = ["job_boolean_true", "job_boolean_false", "job_prerequisite_failed"];

function judged(
  { kind, calls: made }: Exclude<TurnEnd, string>,
  prerequisite: boolean,
): "holds" | "no" | "void" {
  if (kind === "cut" || made.some(([tool, ok]) => verdicts.includes(tool) && !ok)) return "void";
  const names = made.map(([tool]) => tool);
  if (prerequisite && names.includes("job_prerequisite_failed")) return "no";
  const last = names.findLast((tool) => tool.startsWith("job_boolean_"));
  return last === "job_boolean_true" ? "holds" : "no";
}

/** The runtime itself asks twice more after an answer that was cut. */
function modelCallsOf({ answers, last }: Turn): number {
  return answers.length + (last === "cut" ? 3 : last === "cut, then whole" ? 2 : 1);
}

// ---- the script

const CONTINUE_PROMPT = "continue from where you left off";
const written = {
  good: undefined,
  none: {},
  "wrong type": { argument: 5, path: "." },
  "no JSON": '{"argument": "x',
  "no object": "null",
} as const;

function asCall({ tool, arguments: kind, id }: Call): ScriptedCall {
  const good = tool === "view" ? { path: "." } : { argument: "because" };
  const given = written[kind] ?? good;
  return { name: tool, arguments: given, ...(id === undefined ? {} : { id }) };
}

function replyOf(turn: Turn, answer: number): Reply {
  const made = turn.answers[answer];
  if (made !== undefined) return { text: "I go on.", toolCalls: made.map(asCall) };
  switch (turn.last) {
    case "text":
      return { text: "done" };
    case "empty":
      return { text: "" };
    case "blank":
      return { text: " \n" };
    case "filtered":
      return { text: "abc", finishReason: "content_filter" };
    case "cut":
      return { text: "half", finishReason: "length" };
    case "cut, then whole":
      return answer === turn.answers.length
        ? { text: "half", finishReason: "length" }
        : { text: "the rest" };
    case "lost call":
      return { text: "I call it:", finishReason: "tool_calls" };
    case "refused":
      return { status: 400 };
  }
}

function entryOf(one: Case): {
  readonly tasks: Readonly<Record<string, Task>>;
  readonly work: Work;
} {
  const t: Task = {
    model: { category: "driving" },
    prompt: "go",
    ...(one.availability ? { availability: { condition: "job_boolean_true before?" } } : {}),
    ...(one.toolExecuted || one.condition
      ? {
          criteria: {
            ...(one.toolExecuted ? { toolExecuted: ["job_prepare_document"] as const } : {}),
            ...(one.condition ? { condition: "job_boolean_true after?" } : {}),
            failureAction: { retryTimes: one.retryTimes },
          },
        }
      : {}),
  };
  const tasks = { t, body: { model: { category: "driving" }, prompt: "body" } };
  const asked = [one.wish, ref("t")] as const;
  switch (one.work) {
    case "Ref":
      return { tasks, work: ref("t") };
    case "Alt":
      return {
        tasks,
        work: {
          kind: "Alt",
          condition: ref("t"),
          [one.wish ? "trueWork" : "falseWork"]: ref("body"),
        },
      };
    case "while":
      return {
        tasks,
        work: {
          kind: "Loop",
          preCondition: [...asked],
          body: ref("body"),
          atMost: LOOP_ITERATIONS,
        },
      };
    case "do":
      return { tasks, work: { kind: "Loop", body: ref("body"), postCondition: [...asked] } };
  }
}

/** Every tool call that starts also ends, before its turn does. */
function openTools({ events }: RealRun): string[] {
  const open: string[] = [];
  for (const event of events) {
    if (event.type === "turn.ended" && open.length > 0) return open;
    if (event.type !== "activity") continue;
    const { activity } = event;
    if (activity.kind === "tool.started") open.push(activity.toolCallId);
    if (activity.kind !== "tool.ended") continue;
    const index = open.indexOf(activity.toolCallId);
    if (index === -1) return [`${activity.toolCallId} was never started`];
    open.splice(index, 1);
  }
  return open;
}

test("a job is green only if it is, whatever the model answers", async (t) => {
  const playing = new Map<
    string,
    { readonly case: Case; readonly turns: Record<Purpose, number>; answer: number }
  >();
  const rig = await makeRig(t, ({ model, messages, prompt }) => {
    const state = playing.get(model);
    assert.ok(state !== undefined);
    const goesOn = prompt.includes(CONTINUE_PROMPT);
    const asked = messages.findLast(
      ({ role, content }) => role === "user" && !content.includes(CONTINUE_PROMPT),
    )?.content;
    const purpose = purposes.find((one) => asked?.includes(one));
    if (purpose === undefined) return { text: "done" };
    if (messages.at(-1)?.role === "user" && !goesOn) {
      state.turns[purpose] += 1;
      state.answer = 0;
    } else state.answer += 1;
    return replyOf(state.case.turns[purpose][state.turns[purpose]] ?? others, state.answer);
  });
  let count = 0;
  const property = fc.asyncProperty(cases, async (one) => {
    const modelId = `claude-${count}`;
    count += 1;
    playing.set(modelId, { case: one, turns: { "before?": -1, go: -1, "after?": -1 }, answer: 0 });
    const limits = {
      loopIterations: LOOP_ITERATIONS,
      ...(one.modelCalls === undefined ? {} : { modelCalls: one.modelCalls }),
    };
    // When the time of a long search is over, a job still runs.
    const { signal } = t;
    const setup = { ...entryOf(one), modelId, limits, signal, permissions: "all" } as const;
    const played = await runOn(rig, setup);
    playing.delete(modelId);
    const reason = played.outcome.kind === "succeeded" ? "" : played.outcome.reason;
    assert.equal(
      played.outcome.kind,
      new Expectation(one).green ? "succeeded" : "failed",
      `${reason}\n${played.decisions.join("\n")}`,
    );
    assert.deepEqual(openTools(played), []);
  });
  await holds(t, property, 25);
});
