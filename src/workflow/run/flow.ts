/**
 * The control flow of a run: which activity follows, what the ends of a file mean, calls and returns, agents. Every
 * change makes a new state; the one that was given stays as it is.
 */
import { defaultLimits, type Limits } from "../../entry/model.ts";
import { defined } from "../../document/guards.ts";
import { limitText, type ExceededLimit } from "../../events/exceeded-limit.ts";
import { decides } from "../activity-types.ts";
import type { Activity, Workflow, WorkflowFile } from "../model.ts";
import { defaultsOf } from "../parameters.ts";
import type { Conversation, Failure, Frame, Trace, WorkflowState } from "./state.ts";

/** A run of a file, from the beginning. `own` are the variables that may name a file. */
export function frameOf(
  file: string,
  variables: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Frame {
  const unread = Object.keys(own).filter((name) => variables[name]?.startsWith("file:") === true);
  return { file, variables, unread, hits: {}, handling: "nothing", handled: [] };
}

const unknown: Failure = { reason: "The workflow has failed." };

export class Flow {
  readonly workflow: Workflow;
  readonly trace: Trace[] = [];
  state: WorkflowState;

  constructor(workflow: Workflow, state: WorkflowState) {
    this.workflow = workflow;
    this.state = state;
  }

  /** The end of an activity, and the way on. `remark`: on a success. */
  finish(activity: Activity, failure?: Failure, remark?: string): void {
    const to = failure === undefined ? activity.next : activity.other;
    this.ended(activity, failure === undefined, failure?.reason ?? remark, to);
    if (to === undefined) {
      if (failure === undefined) this.succeed(false);
      else this.fail(failure);
      return;
    }
    const { before, ...frame } = this.frame;
    const open = failure ?? (decides(activity) ? undefined : before);
    this.replaceFrame(open === undefined ? frame : { ...frame, before: open });
    this.go(to);
  }

  ended(activity: Activity, succeeded: boolean, reason?: string, to?: string): void {
    this.trace.push({
      kind: "ended",
      file: this.frame.file,
      activity: activity.id,
      succeeded,
      ...defined({ reason, to }),
    });
  }

  /** The end of a file: at a SUCCESS, or because nothing follows. */
  succeed(isExplicit: boolean): void {
    const { handling, handled } = this.frame;
    if (handling === "failed" && !isExplicit) return this.#return(this.frame.failure ?? unknown);
    const { onSuccess } = this.file;
    if (onSuccess === undefined || handled.includes("success")) return this.#return();
    this.updateFrame({ handling: "success", handled: [...handled, "success"] });
    this.update({ status: "SUCCESS" });
    this.go(onSuccess);
  }

  fail(failure: Failure): void {
    const { handled } = this.frame;
    const { onFailed } = this.file;
    if (onFailed === undefined) return this.#return(failure);
    if (handled.includes("failed")) {
      // Whatever the handler decides, the failure itself was no answer.
      const { failure: before } = this.frame;
      return this.#return(before?.unanswered === true ? before : failure);
    }
    this.updateFrame({ handling: "failed", handled: [...handled, "failed"], failure });
    this.update({ status: "FAILED" });
    this.go(onFailed);
  }

  /** Back to the caller, with the variables, but without the setting for the hits of this file. */
  #return(failure?: Failure): void {
    const { frames } = this.state;
    const [parent, child] = frames.slice(-2);
    if (parent?.calling === undefined || child === undefined) return this.end(failure);
    const { calling, ...rest } = parent;
    const returned = Object.entries(child.variables).filter(
      ([name]) => name !== "MAX_ACTIVITY_HITS",
    );
    const variables = { ...rest.variables, ...Object.fromEntries(returned) };
    const status = failure === undefined ? "SUCCESS" : "FAILED";
    this.update({ status, frames: [...frames.slice(0, -2), { ...rest, variables }] });
    this.finish(this.activity(calling), failure);
  }

  end(failure?: Failure): void {
    const phase = { kind: "ended" } as const;
    if (failure === undefined) this.update({ status: "SUCCESS", phase });
    else this.update({ status: "FAILED", phase: { ...phase, failure } });
  }

  /** Into a called file, with its variables. */
  enter(activity: Extract<Activity, { kind: "call" }>, target: WorkflowFile): void {
    const caller = this.frame;
    const defaults = defaultsOf(target);
    const variables = { ...defaults, ...caller.variables };
    // The variables of the caller have been read.
    const own = Object.fromEntries(
      Object.entries(defaults).filter(([name]) => !Object.hasOwn(caller.variables, name)),
    );
    const frame = frameOf(activity.target, variables, own);
    this.updateFrame({ calling: activity.id });
    const child = caller.agent === undefined ? frame : { ...frame, agent: caller.agent };
    this.update({ frames: [...this.state.frames, child] });
    this.go(target.start);
  }

  go(activity: string): void {
    this.update({ phase: { kind: "ready", activity } });
  }

  exceed(exceeded: ExceededLimit, activity: string): Failure {
    const { file } = this.frame;
    this.trace.push({ kind: "limit", exceeded, file, activity });
    const scope = { kind: "activity", file, activity } as const;
    return { reason: `Exceeded ${limitText(exceeded, scope)}.`, unanswered: true };
  }

  set(name: string, text: string): void {
    if (name === "STATUS") return;
    if (name === "RESULT" || name === "CONTENT") this.update({ result: text });
    else this.updateFrame({ variables: { ...this.frame.variables, [name]: text } });
  }

  agent(): number {
    return this.frame.agent ?? this.addAgent({ messages: [] });
  }

  /** Agents that no file can prompt any more are forgotten. */
  addAgent(conversation: Conversation): number {
    const agent = this.state.nextAgent;
    this.updateFrame({ agent });
    const used = new Set(this.state.frames.map((frame) => String(frame.agent)));
    const known = Object.entries(this.state.agents).filter(([id]) => used.has(id));
    this.update({
      agents: { ...Object.fromEntries(known), [agent]: conversation },
      nextAgent: agent + 1,
    });
    return agent;
  }

  converse(messages: Conversation["messages"]): void {
    const agent = this.agent();
    const { agents } = this.state;
    const known = agents[agent] ?? { messages: [] };
    const changed = { ...known, messages: [...known.messages, ...messages] };
    this.update({ agents: { ...agents, [agent]: changed } });
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

  activity(id: string): Activity {
    const activity = this.file.activities[id];
    if (activity === undefined) throw new Error(`There is no activity ${id}.`);
    return activity;
  }

  update(change: Partial<WorkflowState>): void {
    this.state = { ...this.state, ...change };
  }

  updateFrame(change: Partial<Frame>): void {
    this.replaceFrame({ ...this.frame, ...change });
  }

  replaceFrame(frame: Frame): void {
    this.update({ frames: [...this.state.frames.slice(0, -1), frame] });
  }
}

type MachineLimit =
  "activityHits" | "activities" | "callDepth" | "promptCharacters" | "outputCharacters";

export type MachineLimits = Pick<Limits, MachineLimit> & {
  /** What has set them, for texts. */
  readonly setBy?: { readonly [Name in keyof Limits]?: string };
};

export class Bounds {
  readonly #limits: MachineLimits;

  constructor(limits: MachineLimits = {}) {
    this.#limits = limits;
  }

  of(limit: MachineLimit): ExceededLimit {
    const { setBy = {}, [limit]: value = defaultLimits[limit] } = this.#limits;
    const source = setBy[limit];
    return { limit, value, ...defined({ setBy: source }) };
  }

  /** A file may ask for more, or fewer, with a parameter or a variable. */
  hits(variables: Readonly<Record<string, string>>): ExceededLimit {
    const name = "MAX_ACTIVITY_HITS";
    const written = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = Number(written?.trim() || "none");
    return Number.isInteger(value) && value > 0
      ? { limit: "activityHits", value, setBy: name }
      : this.of("activityHits");
  }
}
