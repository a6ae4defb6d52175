/**
 * The control flow of a run: which activity follows, what the ends of a file mean, calls and returns, agents. Every
 * change makes a new state; the one that was given stays as it is.
 */
import type { WorkflowLimit } from "../entry/model.ts";
import type { Activity, Workflow, WorkflowFile } from "./model.ts";
import { defaultsOf } from "./parameters.ts";
import type { Conversation, Frame, Trace, WorkflowState } from "./state.ts";

/** A run of a file, from the beginning. `own` are the variables that may name a file. */
export function frameOf(
  file: string,
  variables: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Frame {
  const unread = Object.keys(own).filter((name) => variables[name]?.startsWith("file:") === true);
  return { file, variables, unread, hits: {}, handling: "nothing", handled: [] };
}

export class Flow {
  readonly workflow: Workflow;
  readonly trace: Trace[] = [];
  state: WorkflowState;

  constructor(workflow: Workflow, state: WorkflowState) {
    this.workflow = workflow;
    this.state = state;
  }

  /** The end of an activity, and the way on. */
  finish(activity: Activity, succeeded: boolean, reason?: string): void {
    const to = succeeded ? activity.next : activity.other;
    this.ended(activity, succeeded, reason, to);
    if (to !== undefined) this.go(to);
    else if (succeeded) this.succeed(false);
    else this.fail(reason ?? `${activity.id} failed.`);
  }

  ended(activity: Activity, succeeded: boolean, reason?: string, to?: string): void {
    this.trace.push({
      kind: "ended",
      file: this.frame.file,
      activity: activity.id,
      succeeded,
      ...(reason === undefined ? {} : { reason }),
      ...(to === undefined ? {} : { to }),
    });
  }

  /** The end of a file: at a SUCCESS, or because nothing follows. */
  succeed(isExplicit: boolean): void {
    const { handling, handled } = this.frame;
    if (handling === "failed" && !isExplicit) return this.#return("FAILED", this.frame.reason);
    const { onSuccess } = this.file;
    if (onSuccess === undefined || handled.includes("success")) return this.#return("SUCCESS");
    this.updateFrame({ handling: "success", handled: [...handled, "success"] });
    this.update({ status: "SUCCESS" });
    this.go(onSuccess);
  }

  fail(reason: string): void {
    const { handled } = this.frame;
    const { onFailed } = this.file;
    if (onFailed === undefined || handled.includes("failed")) return this.#return("FAILED", reason);
    this.updateFrame({ handling: "failed", handled: [...handled, "failed"], reason });
    this.update({ status: "FAILED" });
    this.go(onFailed);
  }

  /** Back to the caller, with the variables, but without the setting for the hits of this file. */
  #return(status: "SUCCESS" | "FAILED", reason?: string): void {
    const { frames } = this.state;
    const [parent, child] = frames.slice(-2);
    if (parent?.calling === undefined || child === undefined) return this.end(status, reason);
    const { calling, ...rest } = parent;
    const returned = Object.entries(child.variables).filter(
      ([name]) => name !== "MAX_ACTIVITY_HITS",
    );
    const variables = { ...rest.variables, ...Object.fromEntries(returned) };
    this.update({ status, frames: [...frames.slice(0, -2), { ...rest, variables }] });
    this.finish(this.activity(calling), status === "SUCCESS", reason);
  }

  end(status: "SUCCESS" | "FAILED", reason?: string): void {
    const phase = { kind: "ended" } as const;
    this.update({ status, phase: reason === undefined ? phase : { ...phase, reason } });
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

  exceed(limit: WorkflowLimit, value: number, activity: string): string {
    this.trace.push({ kind: "limit", limit, value, activity });
    return `Exceeded limits.${limit} (${value}) at ${activity}.`;
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
    this.update({
      frames: [...this.state.frames.slice(0, -1), { ...this.frame, ...change }],
    });
  }
}
