/** The interpreter of workflows, without effects: the same results always make the same run. */
import { defined } from "../../text/guards.ts";
import { type ResolvedLimits, exceeded } from "../../engine/limits.ts";
import { type Limits, defaultLimits } from "../../entry/model.ts";
import type { MadeDecision } from "../../events/decision.ts";
import { type ExceededLimit, limitText } from "../../events/exceeded-limit.ts";
import type { EffectResult, StepInput } from "../../events/flow.ts";
import type { ShellState } from "../../events/event.ts";
import { decides, kindOf } from "../kinds/kinds.ts";
import { type Ended, type Running, isResult } from "../kinds/kind.ts";
import type { Activity, Workflow, WorkflowFile } from "../model.ts";
import { defaultsOf } from "../parameters.ts";
import {
  type Conversation,
  type Effect,
  type Failure,
  type Flow,
  type FlowEvent,
  type Frame,
  type Message,
  type Step,
  Steps,
  type Variables,
  type WorkflowState,
} from "./state.ts";
import { type Insert, calculates, readCommand } from "../command-text.ts";
import { isQuoted, substitute, unquote } from "../value.ts";

export interface MachineOptions {
  readonly environment?: Variables;
  readonly limits?: Partial<ResolvedLimits>;
  /** The tags of code fences that are run. Default: sh, shell and bash. */
  readonly tags?: readonly string[];
}

type Transition =
  | { readonly kind: "on"; readonly to: string }
  | { readonly kind: "ended"; readonly failure?: Failure };

export class Machine implements Running {
  readonly workflow: Workflow;
  readonly state: WorkflowState;
  readonly tags: readonly string[] | undefined;
  readonly #limits: ResolvedLimits;
  readonly #values: Lookup;
  readonly #run: Flow<Effect>;
  #events: FlowEvent[] = [];
  readonly #steps: Steps;
  readonly #reported = new Set<string>();

  /** `result`: the input. A parameter that begins with it is no file: who writes the input must not choose one. */
  constructor(workflow: Workflow, options: MachineOptions, variables: Variables, result = "") {
    const { environment = {}, limits = {}, tags } = options;
    this.workflow = workflow;
    this.tags = tags;
    this.#limits = { ...defaultLimits, ...limits };
    const own = Object.keys(variables).filter(
      (name) => !(result.startsWith("file:") && variables[name]?.startsWith(result) === true),
    );
    this.state = {
      status: "CREATED",
      result,
      frames: [frameOf(workflow.main, variables, own)],
      agents: {},
      nextAgent: 0,
      activities: 0,
      asked: {},
    };
    this.#steps = new Steps(this.state, (event) => this.#events.push(event));
    this.#values = new Lookup(this, environment);
    this.#run = this.#main();
    this.#run.next({ kind: "passed" });
  }

  /** `result`: of the effect before; `passed` at the beginning and after a `pass`. `shell`: its state after an EXECUTE. */
  step(result: EffectResult, shell?: ShellState): Step {
    this.#events = [];
    const { running } = this.#steps;
    if (running !== undefined) running.shell = shell;
    const effect =
      result.kind === "stopped"
        ? this.#end({ reason: result.reason, unanswered: true })
        : this.#run.next(result).value;
    return { effect, events: this.#events };
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
    this.#steps.begin(frame.file, id, hit);
    const ended = kind.run(activity, this);
    return this.#transition(activity, "kind" in ended ? ended : yield* ended);
  }

  #transition(activity: Activity, ended: Ended): Transition {
    if (ended.kind === "end") {
      this.#steps.end(true);
      return ended.failure === undefined ? this.#succeed(true) : this.#fail(ended.failure);
    }
    const failure = ended.kind === "failed" ? ended.failure : undefined;
    const reason = ended.kind === "failed" ? ended.failure.reason : ended.remark;
    const to = failure === undefined ? activity.next : activity.other;
    this.#steps.end(failure === undefined, reason, to);
    if (to === undefined) return failure === undefined ? this.#succeed(false) : this.#fail(failure);
    if (failure !== undefined || decides(activity)) this.frame.before = failure;
    return { kind: "on", to };
  }

  /** The end of a file: at a SUCCESS, or because nothing follows. */
  #succeed(isExplicit: boolean): Transition {
    const { frame, file } = this;
    if (frame.failure !== undefined && frame.handling === "failed" && !isExplicit)
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
    frame.handling = event;
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
    this.#steps.asks();
    state.frames.push(frame);
    const failure = yield* this.#runFile();
    state.frames.pop();
    const { MAX_ACTIVITY_HITS: _, ...returned } = frame.variables;
    caller.variables = { ...caller.variables, ...returned };
    state.status = failure === undefined ? "SUCCESS" : "FAILED";
    return failure;
  }

  *perform(input: StepInput): Flow<EffectResult> {
    this.#steps.asks(input);
    const { step = 0, file = "", activity = "", hit = 1 } = this.#steps.running?.started ?? {};
    return yield* this.#ask({ ...input, step, file, activity, hit });
  }

  *#ask(effect: Effect): Flow<EffectResult> {
    const result = yield effect;
    this.#steps.running?.effects.push(result);
    return result;
  }

  get #activityNow(): string {
    return this.#steps.running?.started.activity ?? "";
  }

  *value(written: string, otherwise?: string): Flow<string | Failure> {
    const path = this.#values.pathIn(written);
    const file = path === undefined ? undefined : yield* this.read(path);
    if (typeof file === "object") return file;
    return this.#filled(
      file === undefined ? this.#values.resolve(written, otherwise) : this.#values.fill(file),
    );
  }

  *read(path: string): Flow<string | Failure> {
    const read = yield* this.#ask({ kind: "read", path, from: this.frame.file });
    if (read.kind !== "read")
      return { reason: "reason" in read ? read.reason : "It can't be read.", unanswered: true };
    return read.text;
  }

  command(text: string): string | Failure {
    return this.#filled(this.#values.command(text));
  }

  #filled(filled: Filled): string | Failure {
    if ("reason" in filled) return filled;
    for (const name of filled.missing) {
      if (this.#reported.has(name)) continue;
      this.#reported.add(name);
      this.decide({ kind: "name-missing", activity: this.#activityNow, name });
    }
    return filled.text;
  }

  decide(decision: MadeDecision): void {
    this.#events.push({ type: "decision", decision });
  }

  limit(limit: keyof Limits): ExceededLimit {
    return exceeded(this.#limits, limit);
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

  exceed(limit: ExceededLimit, activity = this.#activityNow): Failure {
    const scope = { kind: "activity", file: this.frame.file, activity } as const;
    this.decide({ ...limit, kind: "limit-exceeded", scope });
    return { reason: `Exceeded ${limitText(limit, scope)}.`, unanswered: true };
  }

  set(name: string, text: string): void {
    if (name === "STATUS") return;
    if (isResult(name)) this.state.result = text;
    else this.frame.variables = { ...this.frame.variables, [name]: text };
  }

  agent(): number {
    return this.frame.agent ?? this.addAgent({ messages: [] });
  }

  /** Agents that no file can prompt any more are forgotten. */
  addAgent(conversation: Conversation): number {
    const { state } = this;
    const agent = state.nextAgent;
    state.nextAgent += 1;
    this.frame.agent = agent;
    const used = new Set(state.frames.map((frame) => String(frame.agent)));
    const known = Object.entries(state.agents).filter(([id]) => used.has(id));
    state.agents = { ...Object.fromEntries(known), [agent]: conversation };
    return agent;
  }

  converse(...messages: readonly Message[]): void {
    const agent = this.agent();
    const { agents } = this.state;
    const known = agents[agent] ?? { messages: [] };
    agents[agent] = { ...known, messages: [...known.messages, ...messages] };
  }

  get frame(): Frame {
    const frame = this.state.frames.at(-1);
    if (frame === undefined) throw new Error("A run has at least one frame.");
    return frame;
  }

  get file(): WorkflowFile {
    const file = this.workflow.files[this.frame.file];
    if (file === undefined) throw new Error(`There is no file ${this.frame.file}.`);
    return file;
  }

  #activity(id: string): Activity {
    const activity = this.file.activities[id];
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
    handling: "nothing",
    handled: new Set(),
    agent: undefined,
    failure: undefined,
    before: undefined,
  };
}

export type Filled =
  { readonly text: string; readonly missing: readonly string[] } | { readonly reason: string };

/** Text that an author wrote may contain `{{NAME}}`; values are inserted as they are. */
interface Found {
  readonly isAuthored: boolean;
  readonly text: string;
}

/** No text grows beyond it: `A={{A}}{{A}}` would double it each time. */
const longestText = 10_000_000;

class Lookup {
  readonly #run: Pick<Running, "state" | "frame" | "file" | "workflow">;
  readonly #environment: Variables;

  constructor(run: Pick<Running, "state" | "frame" | "file" | "workflow">, environment: Variables) {
    this.#run = run;
    this.#environment = environment;
  }

  /** Looks in the state of the run, then in variables, prompts and the environment that was allowed. */
  #named(name: string): Found | undefined {
    const { state, frame, file } = this.#run;
    const { variables } = frame;
    const { prompts } = file;
    const value = (text = ""): Found => ({ isAuthored: false, text });
    if (name === "STATUS") return value(state.status);
    if (isResult(name)) return value(state.result);
    if (Object.hasOwn(variables, name)) return value(variables[name]);
    if (Object.hasOwn(prompts, name)) return { isAuthored: true, text: prompts[name]?.text ?? "" };
    return Object.hasOwn(this.#environment, name) ? value(this.#environment[name]) : undefined;
  }

  pathIn(written: string): string | undefined {
    if (!written.startsWith("file:")) return undefined;
    const filled = this.fill(written.slice("file:".length));
    return "text" in filled ? filled.text : undefined;
  }

  /** The value of a constant or a name, with the values of all `{{NAME}}` that the author wrote; else `otherwise`. */
  resolve(written: string, otherwise?: string): Filled {
    if (isQuoted(written)) return this.fill(unquote(written));
    const found = this.#named(written);
    if (found?.isAuthored === false) return { text: found.text, missing: [] };
    const authored = found?.text ?? otherwise;
    return authored === undefined
      ? { reason: `${JSON.stringify(written)} has no value.` }
      : this.fill(authored);
  }

  command(text: string): Filled {
    const reading = readCommand(text, () => calculates(this.#run.workflow));
    return reading.kind === "unclear" ? reading : this.fill(text, reading.insert);
  }

  fill(text: string, insert: Insert = (inserted) => inserted): Filled {
    let refused: string | undefined;
    let room = longestText - text.length;
    const filled = substitute(text, (name, offset) => {
      const found = this.#named(name);
      if (found === undefined) return undefined;
      const inserted = insert(found.text, offset);
      if (inserted === undefined) refused ??= name;
      room -= inserted?.length ?? 0;
      return room < 0 ? "" : inserted;
    });
    if (refused !== undefined) {
      const reason = `{{${refused}}} must be a whole number here: bash would evaluate any other text as an expression.`;
      return { reason };
    }
    return room < 0 ? { reason: "The text is too long." } : filled;
  }
}
