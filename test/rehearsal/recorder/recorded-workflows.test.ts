import type { EffectResult, StepInput } from "../../../src/events/flow.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlannedFlow, PlannedTree } from "../../../src/events/plan.ts";
import type { RehearsalFile } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { planned, ref } from "../../rig/plan.ts";
import { Told } from "../told.ts";

const file = (name: string): PlannedFlow["chart"]["files"][string] => ({
  file: name,
  parameters: [],
  activities: [],
});

function flow(workIdInJob: number, params: Readonly<Record<string, string>> = {}): PlannedFlow {
  const files = { "x/a.wf.md": file("a.wf.md"), "x/b.wf.md": file("b.wf.md") };
  return {
    kind: "Flow",
    workIdInJob,
    file: "a.wf.md",
    taskId: "a.wf.md",
    params,
    modelId: "m",
    chart: { main: "x/a.wf.md", files },
  };
}

interface Done {
  readonly hit?: number;
  readonly of?: string;
  readonly restored?: true;
}

/** A run of workflows. */
class Run extends Told {
  readonly #job: { readonly job?: string };
  #step = 0;

  constructor(tree: PlannedTree = flow(0), job: { readonly job?: string } = {}) {
    super(["a.wf.md"], planned(tree));
    this.#job = job;
  }

  /** `effects`: what the step gets, while `during` happens. */
  step(
    activity: string,
    { hit = 1, of = "a.wf.md", ...mark }: Done = {},
    input?: StepInput,
    effects: readonly EffectResult[] = [],
    during?: () => void,
  ): this {
    this.#step += 1;
    const at = { work: this.work, step: this.#step, file: `x/${of}`, activity, ...mark };
    const asked = input === undefined ? {} : { input };
    this.say({ type: "step.started", ...at, hit, depth: of === "a.wf.md" ? 0 : 1, ...asked });
    during?.();
    return this.say({ type: "step.ended", ...at, succeeded: true, effects });
  }

  prompt(activity: string, sessionId: string, text: string, done: Done = {}): this {
    return this.step(
      activity,
      done,
      { kind: "prompt", agent: 0, text: `${activity}?` },
      [{ kind: "answered", text }],
      () => this.turn(sessionId, `${activity}?`).reply(sessionId, text).ended(sessionId),
    );
  }

  file(): RehearsalFile {
    return this.over().recorded({ entry: "a.wf.md", ...this.#job });
  }
}

test("the prompts of one session are recorded by activity, over all sessions", () => {
  const crash = { cause: "session-error", message: "boom" } as const;
  const run = new Run(flow(0, { REPO: "shop" })).begin().session("s").step("START");
  run.prompt("PROMPT_A", "s", "one").prompt("PROMPT_B", "s", "two", { of: "b.wf.md" });
  run.step("PROMPT_A", { hit: 2 }, { kind: "prompt", agent: 0, text: "again" }, [], () =>
    run
      .turn("s", "again")
      .ended("s", "crashed")
      .crashed(crash)
      .session("r")
      .turn("r", "again")
      .reply("r", "sub", true)
      .reply("r", "three")
      .ended("r"),
  );
  const { sessions, params, expect, job } = run.end().file();
  assert.deepEqual(sessions, [
    {
      activity: "PROMPT_A",
      turns: [
        { prompt: "PROMPT_A?", text: "one" },
        { prompt: "again", error: { status: 408, message: "boom" } },
        { prompt: "again", text: "three" },
      ],
    },
    { activity: "b.wf.md#PROMPT_B", turns: [{ prompt: "PROMPT_B?", text: "two" }] },
    { activity: "PROMPT_A", hit: 2, subAgent: true, turns: [{ replies: [{ text: "sub" }] }] },
  ]);
  assert.deepEqual([params, job], [{ REPO: "shop" }, undefined]);
  assert.deepEqual(expect?.path, ["START", "PROMPT_A", "b.wf.md#PROMPT_B", "PROMPT_A"]);
});

test("the path is that of the last iteration, beside tasks too", () => {
  const run = new Run({ kind: "Seq", works: [flow(0), ref(1, "look")] }, { job: "job" });
  run.begin().session("s").step("START").prompt("PROMPT_A", "s", "one").end();
  run.begin(0, 2).session("t").step("START").prompt("PROMPT_A", "t", "two").end();
  const { expect, sessions } = run.file();
  assert.deepEqual(expect?.path, ["START", "PROMPT_A"]);
  assert.deepEqual(
    sessions.map(({ task, workId, iteration, activity }) => [task, workId, iteration, activity]),
    [
      ["a.wf.md", 0, undefined, "PROMPT_A"],
      ["a.wf.md", 0, 2, "PROMPT_A"],
    ],
  );
});

test("prompts that an earlier run has sent are recorded with their answers", () => {
  const run = new Run().begin();
  const input = { kind: "prompt", agent: 0, text: "Hello" } as const;
  run.step("PROMPT_A", { restored: true }, input, [{ kind: "answered", text: "Hi" }]);
  run.session("s").prompt("PROMPT_A", "s", "two", { hit: 2 });
  assert.deepEqual(run.end().file().sessions, [
    {
      activity: "PROMPT_A",
      turns: [
        { prompt: "Hello", text: "Hi" },
        { prompt: "PROMPT_A?", text: "two" },
      ],
    },
  ]);
});
