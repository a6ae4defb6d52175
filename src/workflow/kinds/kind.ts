/** The interface of a kind of activity: how its node is read, what it uses, what it does, and what it works with. */
import { type ResolvedLimits, exceeded } from "../../engine/limits.ts";
import { type Limits, defaultLimits } from "../../entry/model.ts";
import type { MadeDecision } from "../../events/decision.ts";
import { type ExceededLimit, limitText } from "../../events/exceeded-limit.ts";
import type { EffectResult, StepInput } from "../../events/flow.ts";
import { isQuoted, substitute, unquote } from "../value.ts";
import { type Insert, calculates, readCommand } from "../command-text.ts";
import type { Activity, ActivityPlace, Workflow, WorkflowFile } from "../model.ts";
import type { FlowLabel } from "../read/flowchart-scanner.ts";
import type { Place, Problems } from "../read/problems.ts";
import {
  type Conversation,
  type Effect,
  type Failure,
  type Flow,
  type FlowEvent,
  type Frame,
  type Message,
  Steps,
  type Variables,
  type WorkflowState,
} from "../run/state.ts";

export interface Kind<A extends Activity> {
  /** Has no text, and does nothing that `activityHits` would count. */
  readonly isMark?: true;
  /** Whether its outcome is a choice between two ways: always, or only if it has an edge for a failure. */
  readonly decides?: "always" | "with-edge";
  /** Undefined after an error, which has been reported. */
  read(node: ReadNode): Own<A> | undefined;
  /** The texts that it uses. Absent: none. */
  uses?(activity: A): readonly Use[];
  run(activity: A, run: Running): Flow<Ended> | Ended;
}

type Own<A> = A extends unknown ? Omit<A, keyof ActivityPlace> : never;

export interface ReadNode {
  readonly id: string;
  readonly label: FlowLabel | undefined;
  readonly text: string;
  readonly at: (offset: number) => Place;
  readonly problems: Problems;
  /** Reports that something is missing. */
  readonly need: (what: string) => undefined;
}

export interface Use {
  readonly text: string;
  /**
   * `text`: names in double braces are replaced. `assigned`: the value of a variable. `value`, `prompt`: must exist.
   * `compared`: the left side of a check, `operand` its right one. `command`: a template for a shell.
   */
  readonly as: "text" | "assigned" | "value" | "prompt" | "compared" | "operand" | "command";
}

export type Ended =
  /** `remark`: for readers. */
  | { readonly kind: "succeeded"; readonly remark?: string }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** And the file with it. */
  | { readonly kind: "end"; readonly failure?: Failure };

export const succeeded: Ended = { kind: "succeeded" };

export function failedWith(failure: Failure): Ended {
  return { kind: "failed", failure };
}

/** For a limit, a crash, a denial or a missing value: nothing was judged. */
export function unanswered(reason: string): Ended {
  return failedWith({ reason, unanswered: true });
}

export function notAnswered(result: EffectResult): Ended {
  return unanswered("reason" in result ? result.reason : `Unexpected result: ${result.kind}.`);
}

export interface MachineOptions {
  readonly environment?: Variables;
  readonly limits?: Partial<ResolvedLimits>;
  /** The tags of code fences that are run. Default: sh, shell and bash. */
  readonly tags?: readonly string[];
}

/** Text that an author wrote may contain `{{NAME}}`; values are inserted as they are. */
interface Found {
  readonly isAuthored: boolean;
  readonly text: string;
}

/** No text grows beyond it: `A={{A}}{{A}}` would double it each time. */
const longestText = 10_000_000;

/** The state of the run, the values of names, limits, and effects. */
export abstract class Running {
  readonly workflow: Workflow;
  readonly state: WorkflowState;
  readonly tags: readonly string[] | undefined;
  protected readonly steps: Steps;
  protected events: FlowEvent[] = [];
  readonly #limits: ResolvedLimits;
  readonly #environment: Variables;
  readonly #reported = new Set<string>();

  constructor(workflow: Workflow, options: MachineOptions, state: WorkflowState) {
    this.workflow = workflow;
    this.state = state;
    this.tags = options.tags;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#environment = options.environment ?? {};
    this.steps = new Steps(state, (event) => this.events.push(event));
  }

  /** Runs a called file; its failure, if it has one. */
  abstract call(target: string): Flow<Failure | undefined>;

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

  *perform(input: StepInput): Flow<EffectResult> {
    this.steps.asks(input);
    const { step = 0, file = "", activity = "", hit = 1 } = this.steps.running?.started ?? {};
    return yield* this.#ask({ ...input, step, file, activity, hit });
  }

  *#ask(effect: Effect): Flow<EffectResult> {
    const result = yield effect;
    this.steps.running?.effects.push(result);
    return result;
  }

  *read(path: string): Flow<string | Failure> {
    const read = yield* this.#ask({ kind: "read", path, from: this.frame.file });
    if (read.kind === "read") return read.text;
    return { reason: "reason" in read ? read.reason : "It can't be read.", unanswered: true };
  }

  /** The text of a written value: a constant, a file, a name, else `otherwise`. */
  *value(written: string, otherwise?: string): Flow<string | Failure> {
    if (written.startsWith("file:")) {
      const path = this.#fill(written.slice("file:".length));
      const file = typeof path === "string" ? yield* this.read(path) : path;
      return typeof file === "string" ? this.#fill(file) : file;
    }
    if (isQuoted(written)) return this.#fill(unquote(written));
    const found = this.#named(written) ?? { isAuthored: true, text: otherwise };
    if (found.text === undefined) return { reason: `${JSON.stringify(written)} has no value.` };
    return found.isAuthored ? this.#fill(found.text) : found.text;
  }

  command(text: string): string | Failure {
    const reading = readCommand(text, () => calculates(this.workflow));
    return reading.kind === "unclear" ? reading : this.#fill(text, reading.insert);
  }

  /** Inserts the values of all `{{NAME}}` that the author wrote. */
  #fill(text: string, insert: Insert = (inserted) => inserted): string | Failure {
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
    if (room < 0) return { reason: "The text is too long." };
    for (const name of filled.missing) {
      if (this.#reported.has(name)) continue;
      this.#reported.add(name);
      this.decide({ kind: "name-missing", activity: this.#activityNow, name });
    }
    return filled.text;
  }

  /** Looks in the state of the run, then in variables, prompts and the environment that was allowed. */
  #named(name: string): Found | undefined {
    const { state, frame, file } = this;
    const { variables } = frame;
    const { prompts } = file;
    const value = (text = ""): Found => ({ isAuthored: false, text });
    if (name === "STATUS") return value(state.status);
    if (isResult(name)) return value(state.result);
    if (Object.hasOwn(variables, name)) return value(variables[name]);
    const prompt = prompts.get(name);
    if (prompt !== undefined) return { isAuthored: true, text: prompt.text };
    return Object.hasOwn(this.#environment, name) ? value(this.#environment[name]) : undefined;
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

  limit(limit: keyof Limits): ExceededLimit {
    return exceeded(this.#limits, limit);
  }

  exceed(limit: ExceededLimit, activity = this.#activityNow): Failure {
    const scope = { kind: "activity", file: this.frame.file, activity } as const;
    this.decide({ ...limit, kind: "limit-exceeded", scope });
    return { reason: `Exceeded ${limitText(limit, scope)}.`, unanswered: true };
  }

  decide(decision: MadeDecision): void {
    this.events.push({ type: "decision", decision });
  }

  get #activityNow(): string {
    return this.steps.running?.started.activity ?? "";
  }
}

function isResult(name: string): boolean {
  return name === "RESULT" || name === "CONTENT";
}
