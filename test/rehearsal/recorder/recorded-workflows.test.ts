/** What a recording makes of the steps of workflows. */
import type { EffectResult, StepInput } from "../../../src/events/flow.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Crash } from "../../../src/events/crash.ts";
import type { RunEventBody, WorkRef } from "../../../src/events/event.ts";
import type { PlannedFlow, PlannedTree } from "../../../src/events/plan.ts";
import type { RehearsalFile } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { Recorder } from "../../../src/rehearsal/recorder/recorder.ts";
import { planned, ref } from "../../rig/plan.ts";

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

/** A run of workflows, as the engine reports it. */
class Run {
  readonly #recorder: Recorder;
  #work: WorkRef = { workId: 0, taskId: "a.wf.md", iteration: 1 };
  #step = 0;

  constructor(tree: PlannedTree = flow(0), job?: string) {
    this.#recorder = new Recorder({ entry: "a.wf.md", ...(job === undefined ? {} : { job }) });
    this.#tell({
      type: "run.started",
      jobName: "job",
      workingDirectory: "/repo",
      ...planned(tree),
    });
  }

  begin(workId = 0, iteration = 1): this {
    this.#work = { workId, taskId: "a.wf.md", iteration };
    return this.#tell({ type: "work.started", work: this.#work, modelId: "m" });
  }

  session(sessionId: string): this {
    const of = { role: "task", modelId: "m", retry: 0, attempt: 1 } as const;
    return this.#tell({ type: "session.started", work: this.#work, sessionId, ...of });
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
    const at = { work: this.#work, step: this.#step, file: `x/${of}`, activity, ...mark };
    const asked = input === undefined ? {} : { input };
    this.#tell({ type: "step.started", ...at, hit, depth: of === "a.wf.md" ? 0 : 1, ...asked });
    during?.();
    return this.#tell({ type: "step.ended", ...at, succeeded: true, effects });
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

  ask(id: string, text: string): this {
    return this.step(id, {}, { kind: "ask", question: "?", times: 0 }, [
      { kind: "answered", text },
    ]);
  }

  turn(sessionId: string, prompt: string): this {
    const of = { turnId: "t", modelId: "m", purpose: "prompt", retry: 0, attempt: 1 } as const;
    return this.#tell({ type: "turn.started", work: this.#work, sessionId, ...of, prompt });
  }

  reply(sessionId: string, text: string, subAgent = false): this {
    const activity = { kind: "model.replied", text, toolCalls: [], subAgent } as const;
    return this.#tell({ type: "activity", work: this.#work, sessionId, turnId: "t", activity });
  }

  ended(sessionId: string, outcome: "completed" | "crashed" = "completed"): this {
    const of = { sessionId, turnId: "t", purpose: "prompt", outcome } as const;
    return this.#tell({ type: "turn.ended", work: this.#work, ...of });
  }

  crashed(crash: Crash): this {
    const of = { purpose: "prompt", attempt: 1, attempts: 5, crash } as const;
    const decision = { kind: "session-crashed", ...of } as const;
    return this.#tell({ type: "decision", work: this.#work, decision });
  }

  end(): this {
    return this.#tell({
      type: "work.ended",
      work: this.#work,
      outcome: { kind: "succeeded" },
    });
  }

  over(): RehearsalFile {
    this.#tell({ type: "run.ended", outcome: { kind: "succeeded" } });
    return this.#recorder.toRehearsal();
  }

  #tell(event: RunEventBody): this {
    this.#recorder.report({ at: 0, runId: "run", ...event });
    return this;
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
  const { sessions, params, expect, job } = run.end().over();
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
  const run = new Run({ kind: "Seq", works: [flow(0), ref(1, "look")] }, "job");
  run.begin().session("s").step("START").prompt("PROMPT_A", "s", "one").end();
  run.begin(0, 2).session("t").step("START").prompt("PROMPT_A", "t", "two").end();
  const { expect, sessions } = run.over();
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
  assert.deepEqual(run.end().over().sessions, [
    {
      activity: "PROMPT_A",
      turns: [
        { prompt: "Hello", text: "Hi" },
        { prompt: "PROMPT_A?", text: "two" },
      ],
    },
  ]);
});
