/** Runs as the engine reports them, told in a few words each: for what records them, and for what checks them. */
import type { ActionEvent, EndedStatus } from "../../src/events/action.ts";
import type { Crash } from "../../src/events/crash.ts";
import type { MadeDecision, Purpose } from "../../src/events/decision.ts";
import type { RunEventBody, RunOutcome, WorkOutcome, WorkRef } from "../../src/events/event.ts";
import type { RunPlan } from "../../src/events/plan.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { Expectations } from "../../src/rehearsal/expectations.ts";
import type { RehearsalFile } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { Recorder, type RecorderOptions } from "../../src/rehearsal/recorder/recorder.ts";
import { plannedTasks } from "../rig/plan.ts";
import { script } from "./rig.ts";
import { tell } from "../rig/tell.ts";

const succeeded = { kind: "succeeded" } as const;
const attempted = { modelId: "m", retry: 0, attempt: 1 } as const;

export class Told {
  readonly events: RunEventBody[] = [];
  readonly #tasks: readonly string[];
  #work: WorkRef;

  /** `tasks`: those of the works 0, 1, … */
  constructor(
    tasks: readonly [string, ...string[]],
    plan: RunPlan = plannedTasks(tasks.map((taskId) => [taskId, "m"])),
  ) {
    this.#tasks = tasks;
    this.#work = { workId: 0, taskId: tasks[0], iteration: 1 };
    this.say({ type: "run.started", jobName: "job", workingDirectory: "/repo", ...plan });
  }

  /** The work that everything is about. */
  get work(): WorkRef {
    return this.#work;
  }

  /** Everything that follows is about this work. */
  of(workId: number, iteration = 1): this {
    this.#work = { workId, taskId: this.#tasks[workId] ?? "", iteration };
    return this;
  }

  say(body: RunEventBody): this {
    this.events.push(body);
    return this;
  }

  begin(workId = 0, iteration = 1, modelId = "m"): this {
    this.of(workId, iteration);
    return this.say({ type: "work.started", work: this.work, modelId });
  }

  session(sessionId: string, attempt = 1): this {
    const { work } = this;
    const of = { ...attempted, attempt, role: "both" } as const;
    return this.say({ type: "session.started", work, sessionId, ...of });
  }

  turn(sessionId: string, prompt: string, purpose: Purpose = "prompt"): this {
    const of = { work: this.work, sessionId, turnId: "turn-1", purpose, ...attempted };
    return this.say({ type: "turn.started", ...of, prompt });
  }

  act(sessionId: string, activity: SessionActivity): this {
    return this.say({ type: "activity", work: this.work, sessionId, turnId: "turn-1", activity });
  }

  reply(sessionId: string, text: string, subAgent = false): this {
    return this.act(sessionId, { kind: "model.replied", text, toolCalls: [], subAgent });
  }

  ended(
    sessionId: string,
    outcome: "completed" | "crashed" = "completed",
    purpose: Purpose = "prompt",
  ): this {
    const of = { work: this.work, sessionId, turnId: "turn-1", purpose };
    return this.say({ type: "turn.ended", ...of, outcome });
  }

  decide(...decisions: readonly MadeDecision[]): this {
    for (const decision of decisions) this.say({ type: "decision", work: this.work, decision });
    return this;
  }

  crashed(crash: Crash, attempt = 1): this {
    const of = { purpose: "prompt", attempt, attempts: 5, crash } as const;
    return this.decide({ kind: "session-crashed", ...of });
  }

  action(...actions: readonly ActionEvent[]): this {
    for (const action of actions) this.say({ type: "action", work: this.work, action });
    return this;
  }

  waits(id: string, action: string, iteration = 1): this {
    const of = { iteration, action, kind: "tool", execution: "SYNC" } as const;
    return this.action({ type: "action.waiting", id, ...of });
  }

  ends(id: string, status: EndedStatus = "succeeded", text?: string, iteration = 1): this {
    const texts = text && (status === "succeeded" ? { output: text } : { reason: text });
    const of = { iteration, status, milliseconds: 3, ...texts };
    return this.action({ type: "action.ended", id, ...of });
  }

  end(outcome: WorkOutcome = succeeded): this {
    return this.say({ type: "work.ended", work: this.work, outcome });
  }

  over(outcome: RunOutcome = succeeded): this {
    return this.say({ type: "run.ended", outcome });
  }

  recorded(options: RecorderOptions): RehearsalFile {
    const recorder = new Recorder(options);
    for (const [at, body] of this.events.entries()) tell(recorder, { at, runId: "run", ...body });
    return recorder.toRehearsal();
  }

  /** `expect`: the field of a rehearsal, in YAML. */
  failures(expect: string): readonly string[] {
    const expectations = new Expectations(script("  []", `expect: ${expect}`));
    for (const [at, body] of this.events.entries())
      tell(expectations, { at, runId: "run", ...body });
    return expectations.failures();
  }
}
