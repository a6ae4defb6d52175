/**
 * The interpreter of workflows, without effects: `step(state, result)` gives the next state and what it needs from
 * the outside. One activity begins and one ends in a step, so whoever drives it can look at the clock or stop between.
 *
 * Owns what a workflow means: which activity follows, variables, agents, calls, handlers, hits. Doesn't own time,
 * tokens, sessions and processes: those come as results, and `stopped` ends a run for them.
 */
import { typeOf } from "../activity-types.ts";
import { evaluateCheck } from "../check.ts";
import { firstWords, outputOf, scriptsIn } from "./commands.ts";
import { type Activity, type Workflow } from "../model.ts";
import { Bounds, Flow, frameOf, type MachineLimits } from "./flow.ts";
import { hitsOf, withHit } from "./state.ts";
import { Lookup, type Resolved } from "./lookup.ts";
import type {
  Effect,
  EffectResult,
  Failure,
  Script,
  ScriptRun,
  Step,
  WorkflowState,
} from "./state.ts";
import { isQuoted, roleOf } from "../value.ts";

export interface MachineOptions {
  /** The names of the environment that the workflow may read, with their values. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly limits?: MachineLimits;
  /** The tags of code fences that are run. Default: sh, shell and bash. */
  readonly tags?: readonly string[];
}

export interface Machine {
  /**
   * Before the first activity. The variables are those of `bindParameters`. `result`: RESULT, which is the input of the
   * run; a parameter that begins with it is no file.
   */
  start(variables: Readonly<Record<string, string>>, result?: string): WorkflowState;
  /** The first step, and each one after a `pass`, is given `passed`. */
  step(state: WorkflowState, result: EffectResult): Step;
}

export function workflowMachine(workflow: Workflow, options: MachineOptions = {}): Machine {
  return {
    start: (variables, result = "") => {
      const main = workflow.files[workflow.main];
      // Whoever writes the input of a run must not choose a file by it.
      const isInput = (value: string): boolean =>
        result.startsWith("file:") && value.startsWith(result);
      const own = Object.fromEntries(
        Object.entries(variables).filter(([, value]) => !isInput(value)),
      );
      return {
        status: "CREATED",
        result,
        frames: [frameOf(workflow.main, variables, own)],
        agents: {},
        nextAgent: 0,
        phase: { kind: "ready", activity: main?.start ?? "" },
        activities: 0,
        asked: {},
        reported: [],
      };
    },
    step: (state, result) => new Stepper(workflow, options, state).step(result),
  };
}

/** The EXIT_CODE of an EXECUTE that ran nothing, as a shell has it for a command that it can't run. */
const NOT_RUN = "126";
/** The texts of files that an activity has read, by path. */
type Files = Readonly<Record<string, string>>;

/** Names without a value, of a run. */
const MOST_REPORTED = 1_000;
class Stepper extends Flow {
  readonly #options: MachineOptions;
  readonly #bounds: Bounds;

  constructor(workflow: Workflow, options: MachineOptions, state: WorkflowState) {
    super(workflow, state);
    this.#options = options;
    this.#bounds = new Bounds(options.limits);
  }

  step(result: EffectResult): Step {
    const { phase } = this.state;
    if (phase.kind !== "ended" && result.kind === "stopped") this.end(unanswered(result.reason));
    else if (phase.kind === "ready") {
      if (result.kind !== "passed") throw unexpected(phase.kind, result);
      this.#begin(phase.activity);
    } else if (phase.kind === "waiting") {
      const activity = this.activity(phase.activity);
      if (result.kind === "failed") {
        if (result.runs !== undefined) this.#keepOutput(result.runs);
        else if (activity.kind === "execute") this.set("EXIT_CODE", NOT_RUN);
        this.finish(activity, unanswered(result.reason));
      } else if (phase.effect.kind === "read" && result.kind === "read") {
        this.#perform(activity, { ...phase.files, [phase.effect.path]: result.text });
      } else this.#receive(activity, phase.effect, result);
    }
    return { state: this.state, effect: this.#effect(), trace: this.trace };
  }

  #effect(): Effect {
    const { phase, status, result } = this.state;
    switch (phase.kind) {
      case "ready":
        return { kind: "pass" };
      case "waiting":
        return phase.effect;
      case "ended": {
        const { variables } = this.frame;
        const ended = status === "SUCCESS" ? status : "FAILED";
        const done = { kind: "done", status: ended, result, variables } as const;
        return phase.failure === undefined ? done : { ...done, failure: phase.failure };
      }
    }
  }

  #begin(id: string): void {
    const activity = this.activity(id);
    const { activities } = this.state;
    const most = this.#bounds.of("activities");
    if (activities >= most.value) return this.end(this.exceed(most, id));
    const frame = this.frame;
    const hit = hitsOf(frame.hits, id) + 1;
    const hits = this.#bounds.hits(frame.variables);
    if (hit > hits.value && typeOf(activity.kind).isMark !== true)
      return this.fail(this.exceed(hits, id));
    this.update({ activities: activities + 1 });
    this.updateFrame({ hits: withHit(frame.hits, id) });
    const { file } = frame;
    const depth = this.state.frames.length - 1;
    this.trace.push({ kind: "started", file, activity: id, hit, depth });
    this.#perform(activity, {});
  }

  /** Does what needs nothing from the outside, or says what is needed. May be called again with more files. */
  #perform(activity: Activity, files: Files): void {
    switch (activity.kind) {
      case "start":
        return this.#start(activity, files);
      case "on":
        return this.finish(activity);
      case "success":
        this.ended(activity, true);
        return this.succeed(true);
      case "failed": {
        this.ended(activity, true);
        const { failure, before } = this.frame;
        const own = { reason: `The workflow reached ${activity.id}.` };
        // A way from a crash to FAILED on which nothing is decided means the same as no edge.
        return this.fail(failure ?? (before?.unanswered === true ? before : own));
      }
      case "set":
        return this.#value(activity, files, activity.value, activity.value, (text) => {
          this.set(activity.name, text);
          this.finish(activity);
        });
      case "assign": {
        // A text with {{NAME}} is a text. Everything else must have a value.
        const otherwise = activity.value.includes("{{") ? activity.value : undefined;
        return this.#value(activity, files, activity.value, otherwise, (text) => {
          this.update({ result: text });
          this.finish(activity);
        });
      }
      case "check":
        return this.#check(activity, files);
      case "prompt":
        return this.#value(activity, files, activity.prompt, undefined, (text) =>
          this.#prompt(activity, text, files),
        );
      case "ask": {
        const { question } = activity;
        if (question === undefined) return this.#ask(activity, this.state.result, files);
        return this.#value(activity, files, question, question, (text) =>
          this.#ask(activity, text, files),
        );
      }
      case "execute":
        return this.#execute(activity, files);
      case "call":
        return this.#call(activity);
    }
  }

  /** Parameters that are files are read before anything else. */
  #start(activity: Activity, files: Files): void {
    const frame = this.frame;
    const variables = { ...frame.variables };
    for (const name of frame.unread) {
      const path = (frame.variables[name] ?? "").slice("file:".length);
      if (!Object.hasOwn(files, path)) return this.#read(activity, path, files);
      Object.defineProperty(variables, name, {
        value: files[path] ?? "",
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    this.updateFrame({ variables, unread: [] });
    this.update({ status: "DOING" });
    this.finish(activity);
  }

  #check(activity: Extract<Activity, { kind: "check" }>, files: Files): void {
    const { left, operator, right } = activity.check;
    this.#value(activity, files, left, undefined, (leftText) =>
      this.#value(activity, files, right, right, (text) => {
        const rightText = isQuoted(right) ? text : text.trim();
        const value = evaluateCheck(operator, leftText, rightText);
        if (value.kind === "failed") this.finish(activity, unanswered(value.reason));
        else if (value.holds) this.finish(activity);
        else this.finish(activity, { reason: `The check ${activity.id} doesn't hold.` });
      }),
    );
  }

  #prompt(activity: Extract<Activity, { kind: "prompt" }>, text: string, files: Files): void {
    const most = this.#bounds.of("promptCharacters");
    if (text.length > most.value) return this.finish(activity, this.exceed(most, activity.id));
    switch (roleOf(activity.prompt)) {
      case "system":
        this.addAgent({ system: text, messages: [] });
        this.update({ result: "" });
        return this.finish(activity);
      case "assistant":
        this.converse([{ role: "assistant", text }]);
        this.update({ result: text });
        return this.finish(activity);
      case "user":
      case undefined: {
        if (text.trim() === "") return this.finish(activity, unanswered("The prompt is empty."));
        const agent = this.agent();
        const effect = { kind: "prompt", activity: activity.id, agent, text } as const;
        return this.#wait(activity, effect, files);
      }
    }
  }

  #ask(activity: Activity, question: string, files: Files): void {
    const times = this.state.asked[activity.id] ?? 0;
    this.#wait(activity, { kind: "ask", activity: activity.id, question, times }, files);
  }

  #execute(activity: Extract<Activity, { kind: "execute" }>, files: Files): void {
    const { id, command } = activity;
    let scripts: readonly Script[];
    if (command === undefined) {
      const found = scriptsIn(this.state.result, this.#options.tags);
      if (found.kind === "none") {
        this.trace.push({ kind: "skipped", activity: id, reason: found.reason });
        this.update({ result: found.reason });
        return this.#notRun(activity, found.reason);
      }
      ({ scripts } = found);
    } else {
      const filled = this.#lookup(files).command(command, this.workflow);
      if (filled.kind === "failed") return this.#notRun(activity, filled.reason);
      this.#reportMissing(id, filled.missing);
      scripts = [{ tag: "sh", code: filled.text }];
    }
    this.#wait(activity, { kind: "execute", activity: id, scripts }, files);
  }

  /** EXIT_CODE must not be that of an earlier command. */
  #notRun(activity: Activity, reason: string): void {
    this.set("EXIT_CODE", NOT_RUN);
    this.finish(activity, unanswered(reason));
  }

  #call(activity: Extract<Activity, { kind: "call" }>): void {
    const { frames } = this.state;
    const most = this.#bounds.of("callDepth");
    if (frames.length > most.value) return this.finish(activity, this.exceed(most, activity.id));
    const target = this.workflow.files[activity.target];
    if (target === undefined) throw new Error(`There is no file ${activity.target}.`);
    const { variables } = this.frame;
    const absent = target.parameters.find(
      (one) => one.default === undefined && !Object.hasOwn(variables, one.name),
    );
    if (absent !== undefined) {
      const reason = `${activity.path} needs the parameter ${absent.name}.`;
      return this.finish(activity, unanswered(reason));
    }
    this.enter(activity, target);
  }

  #receive(activity: Activity, effect: Effect, result: EffectResult): void {
    if (effect.kind === "prompt" && result.kind === "answered") {
      this.converse([
        { role: "user", text: effect.text },
        { role: "assistant", text: result.text },
      ]);
      this.update({ result: result.text });
      return this.finish(activity);
    }
    if (effect.kind === "ask" && result.kind === "answered") {
      const { asked } = this.state;
      this.update({
        asked: { ...asked, [activity.id]: effect.times + 1 },
        result: result.text,
      });
      return this.finish(activity);
    }
    if (effect.kind === "execute" && result.kind === "executed") {
      return this.#executed(activity, result.runs);
    }
    throw unexpected(effect.kind, result);
  }

  #executed(activity: Activity, runs: readonly ScriptRun[]): void {
    const most = this.#bounds.of("outputCharacters");
    const exitCode = this.#keepOutput(runs);
    const late = runs.find(({ timedOut }) => timedOut === true);
    if (late !== undefined) {
      const reason = `The command took too long: ${firstWords(late.code)}`;
      return this.finish(activity, unanswered(reason));
    }
    const printed = runs.reduce((sum, run) => sum + (run.outputCharacters ?? run.output.length), 0);
    if (printed > most.value) return this.finish(activity, this.exceed(most, activity.id));
    // Without a failure edge, the model judges what the command printed.
    const failure = exitCode === 0 ? undefined : { reason: `The exit code is ${exitCode}.` };
    if (activity.other === undefined) this.finish(activity, undefined, failure?.reason);
    else this.finish(activity, failure);
  }

  /** RESULT and EXIT_CODE. Returns the exit code. */
  #keepOutput(runs: readonly ScriptRun[]): number {
    this.update({ result: outputOf(runs, this.#bounds.of("outputCharacters").value) });
    const exitCode = runs.findLast((run) => run.exitCode !== 0)?.exitCode ?? 0;
    this.set("EXIT_CODE", String(exitCode));
    return exitCode;
  }

  /** Gives the text of a written value, after reading a file for it, or ends the activity. */
  #value(
    activity: Activity,
    files: Files,
    written: string,
    otherwise: string | undefined,
    then: (text: string) => void,
  ): void {
    const resolved: Resolved = this.#lookup(files).resolve(written, otherwise);
    switch (resolved.kind) {
      case "unread":
        return this.#read(activity, resolved.path, files);
      case "failed":
        // A CHECK of a name without a value doesn't hold.
        return this.finish(
          activity,
          activity.kind === "check" ? { reason: resolved.reason } : unanswered(resolved.reason),
        );
      case "text":
        this.#reportMissing(activity.id, resolved.missing);
        return then(resolved.text);
    }
  }

  #reportMissing(activity: string, names: readonly string[]): void {
    const { reported } = this.state;
    const known = new Set(reported);
    const fresh = names.filter((name) => !known.has(name)).slice(0, MOST_REPORTED - known.size);
    if (fresh.length === 0) return;
    for (const name of fresh) this.trace.push({ kind: "missing", name, activity });
    this.update({ reported: [...reported, ...fresh] });
  }

  #read(activity: Activity, path: string, files: Files): void {
    this.#wait(activity, { kind: "read", path, from: this.frame.file }, files);
  }

  #wait(
    activity: Activity,
    effect: Exclude<Effect, { kind: "pass" | "done" }>,
    files: Files,
  ): void {
    this.update({ phase: { kind: "waiting", activity: activity.id, effect, files } });
  }

  #lookup(files: Files): Lookup {
    const { environment = {} } = this.#options;
    return new Lookup(this.state, this.frame, this.file, environment, files);
  }
}

function unanswered(reason: string): Failure {
  return { reason, unanswered: true };
}

function unexpected(waiting: string, { kind }: EffectResult): Error {
  return new Error(`The workflow is ${waiting}, and can't be given a result ${kind}.`);
}
