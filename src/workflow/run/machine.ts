/** The interpreter of workflows, without effects: the same results always make the same run. */
import { defined } from "../../text/guards.ts";
import type { ExceededLimit } from "../../events/exceeded-limit.ts";
import type { EffectResult } from "../../events/flow.ts";
import { type ShellState, stepCharacters } from "../../events/event.ts";
import { decides, kindOf } from "../kinds/kinds.ts";
import { type Ended, type MachineOptions, Running } from "../kinds/kind.ts";
import type { Activity, Workflow } from "../model.ts";
import { defaultsOf } from "../parameters.ts";
import type { Effect, Failure, Flow, Frame, Step, Variables, FlowEvent } from "./state.ts";
import { isWhole, type UnderWay } from "../../engine/past.ts";

type Transition =
  | { readonly kind: "on"; readonly to: string }
  | { readonly kind: "ended"; readonly failure?: Failure };

export class Machine extends Running {
  readonly #run: Flow<Effect>;

  /** `result`: the input. A parameter that begins with it is no file: who writes the input must not choose one. */
  constructor(workflow: Workflow, options: MachineOptions, variables: Variables, result = "") {
    const own = Object.keys(variables).filter(
      (name) => !(result.startsWith("file:") && variables[name]?.startsWith(result) === true),
    );
    super(workflow, options, {
      status: "CREATED",
      result,
      frames: [frameOf(workflow.main, variables, own)],
      agents: {},
      nextAgent: 0,
      activities: 0,
      asked: {},
    });
    this.#run = this.#main();
    this.#run.next({ kind: "passed" });
  }

  /** `result`: of the effect before; `passed` at the beginning and after a `pass`. `shell`: its state after an EXECUTE. */
  step(result: EffectResult, shell?: ShellState): Step {
    this.events = [];
    const { running } = this.steps;
    if (running !== undefined) running.shell = shell;
    const effect =
      result.kind === "stopped"
        ? this.#end({ reason: result.reason, unanswered: true })
        : this.#run.next(result).value;
    return { effect, events: this.events };
  }

  *#main(): Flow<Effect> {
    return this.#end(yield* this.#runFile());
  }

  #end(failure?: Failure): Effect {
    const { state, frame } = this;
    const status = failure === undefined ? "SUCCESS" : "FAILED";
    state.status = status;
    const { result } = state;
    return { kind: "done", status, result, variables: frame.variables, ...defined({ failure }) };
  }

  *#runFile(): Flow<Failure | undefined> {
    let at = this.file.start;
    for (;;) {
      yield { kind: "pass" };
      const transition = yield* this.#runActivity(at);
      if (transition.kind === "ended") return transition.failure;
      at = transition.to;
    }
  }

  *#runActivity(id: string): Flow<Transition> {
    const { state, frame } = this;
    const activity = this.#activity(id);
    const kind = kindOf(activity.kind);
    const most = this.limit("activities");
    // It ends the run at once, without handlers.
    if (state.activities >= most.value) yield this.#end(this.exceed(most, id));
    const hit = (frame.hits.get(id) ?? 0) + 1;
    const hits = this.#mostHits();
    if (hit > hits.value && kind.isMark !== true) return this.#fail(this.exceed(hits, id));
    state.activities += 1;
    frame.hits.set(id, hit);
    this.steps.begin(frame.file, id, hit);
    const ended = kind.run(activity, this);
    return this.#transition(activity, "kind" in ended ? ended : yield* ended);
  }

  #transition(activity: Activity, ended: Ended): Transition {
    if (ended.kind === "end") {
      this.steps.end(true);
      return ended.failure === undefined ? this.#succeed(true) : this.#fail(ended.failure);
    }
    const failure = ended.kind === "failed" ? ended.failure : undefined;
    const reason = ended.kind === "failed" ? ended.failure.reason : ended.remark;
    const to = failure === undefined ? activity.next : activity.other;
    this.steps.end(failure === undefined, reason, to);
    if (to === undefined) return failure === undefined ? this.#succeed(false) : this.#fail(failure);
    if (failure !== undefined || decides(activity)) this.frame.before = failure;
    return { kind: "on", to };
  }

  /** The end of a file: at a SUCCESS, or because nothing follows. */
  #succeed(isExplicit: boolean): Transition {
    const { frame, file } = this;
    if (frame.failure !== undefined && [...frame.handled].at(-1) === "failed" && !isExplicit)
      return { kind: "ended", failure: frame.failure };
    return this.#handle("success", file.onSuccess) ?? { kind: "ended" };
  }

  #fail(failure: Failure): Transition {
    const { frame, file } = this;
    const transition = this.#handle("failed", file.onFailed);
    if (transition !== undefined) {
      frame.failure = failure;
      return transition;
    }
    // Whatever the handler decides, the failure itself was no answer.
    return { kind: "ended", failure: frame.failure?.unanswered === true ? frame.failure : failure };
  }

  /** Each end of a file is handled once. */
  #handle(event: "success" | "failed", to: string | undefined): Transition | undefined {
    const { frame, state } = this;
    if (to === undefined || frame.handled.has(event)) return undefined;
    frame.handled.add(event);
    state.status = event === "success" ? "SUCCESS" : "FAILED";
    return { kind: "on", to };
  }

  /** Its variables come back, without the setting for the hits of its file. */
  *call(target: string): Flow<Failure | undefined> {
    const { state, frame: caller } = this;
    const defaults = defaultsOf(this.workflow.files[target]);
    // The variables of the caller have been read.
    const own = Object.keys(defaults).filter((name) => !Object.hasOwn(caller.variables, name));
    const frame = frameOf(target, { ...defaults, ...caller.variables }, own);
    frame.agent = caller.agent;
    this.steps.asks();
    state.frames.push(frame);
    const failure = yield* this.#runFile();
    state.frames.pop();
    const { MAX_ACTIVITY_HITS: _, ...returned } = frame.variables;
    caller.variables = { ...caller.variables, ...returned };
    state.status = failure === undefined ? "SUCCESS" : "FAILED";
    return failure;
  }

  /** A file may ask for more, or fewer, with a parameter or a variable. */
  #mostHits(): ExceededLimit {
    const setBy = "MAX_ACTIVITY_HITS";
    const { variables } = this.frame;
    const written = Object.hasOwn(variables, setBy) ? variables[setBy] : undefined;
    const value = Number(written?.trim() || "none");
    return Number.isInteger(value) && value > 0
      ? { limit: "activityHits", value, setBy }
      : this.limit("activityHits");
  }

  #activity(id: string): Activity {
    const activity = this.file.activities.get(id);
    if (activity === undefined) throw new Error(`There is no activity ${id}.`);
    return activity;
  }
}

/** A run of a file, from the beginning. `own`: the names of variables that may name a file. */
function frameOf(file: string, variables: Variables, own: readonly string[]): Frame {
  return {
    file,
    variables,
    unread: own.filter((name) => variables[name]?.startsWith("file:") === true),
    hits: new Map(),
    handled: new Set(),
    agent: undefined,
    failure: undefined,
    before: undefined,
  };
}

/** A machine at the beginning, or after the steps of an earlier run: they are its first events. */
export interface Begun extends Step {
  readonly machine: Machine;
  readonly shell?: ShellState | undefined;
  /** The earlier answers, by ASK. */
  readonly answered?: ReadonlyMap<string, readonly string[]>;
}

type Restored =
  | ({ readonly kind: "restored" } & Begun)
  /** Nothing is left to do, or it can't be repeated. */
  | { readonly kind: "refused"; readonly reason: string };

interface FlowStart {
  readonly variables: Variables;
  readonly userInput: string;
}

export function beginRun(
  workflow: Workflow,
  options: MachineOptions,
  { variables, userInput }: FlowStart,
): Begun {
  const machine = new Machine(workflow, options, variables, userInput);
  return { machine, events: [], effect: { kind: "pass" } };
}

/**
 * Restores the state of an earlier run: goes through the recorded steps again, and compares each with what it would be now. A
 * resumption that would take another path is refused.
 */
export function restoreRun(
  workflow: Workflow,
  options: MachineOptions,
  start: FlowStart,
  { steps, outcome, failed }: Pick<UnderWay, "steps" | "outcome" | "failed">,
): Restored {
  const refused = (reason: string): Restored => ({ kind: "refused", reason });
  const { machine, ...first } = beginRun(workflow, options, start);
  const ended = steps.filter((event) => event.type === "step.ended");
  const results = ended.flatMap(({ effects = [] }) => effects);
  const rest = [...steps];
  const events: FlowEvent[] = [];
  let left = ended.length;
  let isDifferent = false;
  const take = (now: FlowEvent): void => {
    if (now.type === "decision") return;
    const before = rest[0];
    if (before !== undefined && !isSame(essence(before), essence(now))) isDifferent = true;
    else rest.shift();
    if (left === 0) events.push(now);
    else if (now.type === "step.started") events.push({ ...now, restored: true });
    else {
      const { shell, characters } = ended[ended.length - left] ?? {};
      events.push({ ...now, ...defined({ shell, characters }), restored: true });
      left -= 1;
    }
  };
  const resultOf = ({ kind }: Effect): EffectResult | undefined => {
    if (kind === "pass") return { kind: "passed" };
    return kind === "done" ? undefined : results.shift();
  };
  const answered = new Map<string, string[]>();
  let at: Step = first;
  const advance = (result: EffectResult): void => {
    at = machine.step(result);
    at.events.forEach(take);
  };
  for (;;) {
    const { effect: asked } = at;
    const result = left === 0 || isDifferent ? undefined : resultOf(asked);
    if (result === undefined) break;
    if (asked.kind === "ask" && result.kind === "answered")
      answered.set(asked.activity, [...(answered.get(asked.activity) ?? []), result.text]);
    advance(result);
  }
  const isComplete = isWhole(JSON.stringify([machine.state, at.effect]));
  // A step had begun; what it asks for is compared, too.
  if (left === 0 && !isDifferent && at.effect.kind === "pass" && rest.length > 0)
    advance({ kind: "passed" });
  const { effect } = at;
  const [next] = rest;
  if (isDifferent || left > 0)
    return refused(
      `Step ${next?.step} (${next?.activity}) would now be different. The workflow, a parameter, a limit or a variable of the environment has changed.`,
    );
  const shell = ended.findLast((event) => event.shell !== undefined)?.shell;
  if (outcome !== undefined && failed === undefined && effect.kind === "done")
    return effect.status === "FAILED"
      ? refused("The run has ended: FAILED. There is nothing to resume.")
      : { kind: "restored", machine, events, effect, shell, answered };
  const incomplete = ended.find((one) => stepCharacters(one) !== (one.characters ?? 0));
  if (incomplete === undefined || (isComplete && isWhole(JSON.stringify(shell ?? ""))))
    return { kind: "restored", machine, events, effect, shell, answered };
  const { step, activity } = incomplete;
  return refused(
    `The journal does not hold all that came of step ${step} (${activity}): it contained a secret, or was too long. The rest of the run may need it.`,
  );
}

/** The parts of an event that are equal in two runs that take the same path. */
function essence(event: Exclude<FlowEvent, { type: "decision" }>): unknown {
  const { type, step, file, activity } = event;
  if (event.type === "step.started") return { type, step, file, activity, input: event.input };
  const { succeeded, to, result, variables } = event;
  return { type, step, file, activity, succeeded, to, result, variables };
}

/** Compares texts only if the journal holds the whole text. */
function isSame(before: unknown, now: unknown): boolean {
  if (before === now) return true;
  if (typeof before === "string") return typeof now === "string" && !isWhole(before);
  if (typeof before !== "object" || typeof now !== "object" || before === null || now === null)
    return false;
  const [fields, others] = [Object.entries(before), Object.entries(now)];
  return (
    fields.length === others.length &&
    fields.every(([name, value], index) => {
      const [otherName, other] = others[index] ?? [];
      return name === otherName && isSame(value, other);
    })
  );
}
