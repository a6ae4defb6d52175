/** The engine's ports: `sessions/` and `platform/` implement them, the engine's tests fake them. */
import type {
  Command,
  CompositeWork,
  JobTool,
  ModelLimits,
  Permissions,
  ProviderSettings,
  Work,
} from "../entry/model.ts";
import type { ProposalsOutput } from "../entry/outputs.ts";
import type { Clock } from "../platform/clock.ts";
import type { Crash } from "../events/crash.ts";
import type { SessionRole } from "../events/decision.ts";
import type { EmittedEvent, WorkRef } from "../events/event.ts";
import type { Finding, Proposal } from "../events/output-shapes.ts";
import type { SessionActivity } from "../events/session-activity.ts";

/** Bounds the concurrent turns of all runs that share it. */
export interface TurnGate {
  /**
   * Runs the turn when there is room for it. Resolves with its result, or with undefined, without running it, if `signal`
   * aborts first. It doesn't end a running turn. If it rejects before the turn, the task crashes.
   */
  run<T>(turn: () => Promise<T>, signal: AbortSignal): Promise<T | undefined>;
}

/** Makes turns wait for a rate limit that another turn met. If `enter` rejects, the task crashes; the others never throw. */
export interface RateLimit {
  /** Calls `onWait` once if it has to wait. The caller must call the returned function at the end of the turn. */
  enter(signal: AbortSignal, onWait: (milliseconds: number) => void): Promise<() => void>;
  /** The model server has refused a request of a running turn. The pause grows while the limit holds. */
  met(): void;
  /** The limit ended a turn, which is sent again after this pause. All turns wait for the same pause, so none waits twice. */
  pause(milliseconds: number): void;
  /** The model server has answered again. */
  lifted(): void;
}

/**
 * Counts the spending of all runs that share it, also on other machines. If `limits.tokens` or `limits.cost` is set, it
 * bounds the sum; a default bounds each run alone. A run that resumes or merges earlier runs doesn't add their spending
 * again.
 */
export interface Budget {
  /**
   * Adds the usage of a run's model calls, and resolves with the sums of all runs. Before each turn, a run adds zeros to
   * learn the sums. A run makes one call at a time, waits for it before a turn, and fails if it rejects.
   */
  add(used: Spent): Promise<Spent>;
}

/** A spent amount. */
export interface Spent {
  /** Input and output tokens, including those of sub-agents. */
  readonly tokens: number;
  /** AI credits, as in `limits.cost`. */
  readonly cost: number;
}

/** A rehearsal selects its rules by this. */
export interface SessionLabel extends WorkRef {
  readonly role: SessionRole;
  readonly modelId: string;
  /** 0, else the criteria retry it was opened for. */
  readonly retry: number;
  /** 1, else it replaces a session that crashed. */
  readonly attempt: number;
  readonly activity?: StepActivity;
}

export interface StepActivity {
  readonly id: string;
  readonly file: string;
  /** From 1, in this run of the file. */
  readonly hit: number;
}

export interface SessionRequest {
  /** Absent: the session belongs to no task. */
  readonly label?: SessionLabel | undefined;
  readonly modelId: string;
  /** The rest of `limits.cost`; `Infinity`: nobody has set it. */
  readonly creditsLeft?: number;
  /** The entry's settings of the model. */
  readonly modelLimits?: ModelLimits | undefined;
  /** The settings of its server. */
  readonly modelServer?: ProviderSettings | undefined;
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  readonly jobTools?: readonly JobTool[];
  readonly tools?: readonly SessionTool[];
  /** Returns what replaces `tools`, if anything does. Called before each turn and after each call of such a tool. Never throws. */
  readonly changedTools?: () => Promise<readonly SessionTool[] | undefined>;
  /** The only tools that are offered, job tools and `tools` included. Default: all that the permissions can allow. */
  readonly availableTools?: readonly string[];
  /** Default: the runtime's own. `append`: after it; `replace`: instead of it, its rules of safety included. */
  readonly systemPrompt?: { readonly mode: "append" | "replace"; readonly text: string };
  /** The conversation so far, which sub-agents don't get. Messages without text are left out. */
  readonly history?: readonly PastMessage[];
  /** Folders that the session may read, and not write, whatever its permissions allow. Absolute. */
  readonly readable?: readonly string[];
  readonly answersFormatted?: boolean;
}

/** JSON that the model server is asked to answer with. Servers and models that can't are not. */
export interface AnswerFormat {
  /** `[A-Za-z0-9_-]{1,64}` */
  readonly name: string;
  readonly schema: object;
}

export interface PastMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface SessionTool {
  /** For a tool of a server: `server/tool`. The model may know it under another name; everybody else uses this one. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. The runtime shows it to the model and checks nothing against it. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Absent: the `tools` of the permissions decide. `always`: the caller vouches for the tool. */
  readonly allowed?: "always";
  /** Whether its calls start programs of this machine, so that the session needs a sandbox. Default: false. */
  readonly startsPrograms?: boolean;
  /** Time limit of one call. Default: 60. `Infinity`: the tool limits itself. */
  readonly timeoutSeconds?: number;
  /** Exceptions are reported to the model as failures. Bounded in time and in size. */
  readonly run: (given: unknown, call: SessionToolCall) => ToolAnswer | Promise<ToolAnswer>;
}

export interface SessionToolCall {
  readonly toolCallId: string;
  readonly sessionId: string;
  /** Aborts at the end of the time limit, and with the turn. */
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
}

export interface ToolSource {
  prepare?(): Promise<void>;
  /** Never throws. `only`: patterns, as in `permissions.tools`; no servers are started for other tools. */
  offer(
    permissions: Permissions,
    signal: AbortSignal,
    only?: readonly string[],
  ): Promise<ToolOffer>;
  close(): Promise<void>;
}

export interface ToolOffer {
  readonly tools: readonly SessionTool[];
  readonly readable?: readonly string[];
  readonly failures: readonly ServerFailure[];
  /** Never throws. What is offered by now, if a server has announced a change since this was asked last. */
  readonly changed?: (signal: AbortSignal) => Promise<ToolOffer | undefined>;
}

export interface ServerFailure {
  readonly server: string;
  readonly reason: string;
  readonly isRequired?: true;
}

export interface ToolAnswer {
  readonly succeeded: boolean;
  readonly text: string;
}

export type Opened = { readonly kind: "opened"; readonly session: Session } | Crashed;

/** It can't start, because something that it needs is missing. */
export interface Crashed {
  readonly kind: "crashed";
  readonly crash: Crash;
}

export interface SessionFactory {
  /** Never throws: a failure to start is a crash. If `signal` aborts, the result is a crash with the cause `aborted`. */
  open(request: SessionRequest, signal: AbortSignal): Promise<Opened>;
}

export interface Session {
  readonly id: string;
  readonly modelId: string;
  runTurn(prompt: string, options: TurnOptions): Promise<TurnOutcome>;
  /** Ends the conversation and everything it started. Idempotent, bounded in time, never throws. */
  close(): Promise<void>;
}

export interface TurnOptions {
  readonly signal: AbortSignal;
  readonly turnMs: number;
  readonly idleMs: number;
  readonly activity?: StepActivity;
  /** The requested form of the answer. Nothing guarantees it. Sub-agents are not asked for it. */
  readonly answerFormat?: AnswerFormat;
  readonly onActivity: (activity: SessionActivity) => void;
}

export type TurnOutcome =
  | {
      readonly kind: "completed";
      readonly toolCalls: readonly ToolCall[];
      readonly text: string;
      /** The last answer ends where the model's output limit has cut it. */
      readonly cut?: true;
      /** After a successful tool call, the last answer has neither text nor a call. */
      readonly empty?: true;
    }
  | { readonly kind: "crashed"; readonly toolCalls: readonly ToolCall[]; readonly crash: Crash }
  | { readonly kind: "canceled"; readonly toolCalls: readonly ToolCall[] };

/** A tool call of the root conversation, in the order of `tool.execution_start`. */
export interface ToolCall {
  readonly name: string;
  /** The model's own arguments, unchecked. */
  readonly arguments?: unknown;
  readonly succeeded: boolean;
}

export interface Workspace {
  /** Runs what an author wrote. Never throws; ends with the signal, with all processes that the command started. */
  runCommand(request: CommandRequest): Promise<CommandEnd>;
  /** Rejects if git can't tell. */
  files(globs: readonly string[]): Promise<readonly string[]>;
  /** Remembers the files. The function says whether one of them differs by now. Both reject if git can't tell. */
  watch(globs: readonly string[]): Promise<() => Promise<boolean>>;
  /** Ends what commands have left running. Called once, at the end of the run. Bounded in time, never throws. */
  close(): Promise<void>;
}

export interface CommandRequest {
  readonly command: Command;
  readonly label: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly keepsOutput?: true;
}

export type CommandEnd =
  | {
      readonly kind: "exited";
      readonly code: number;
      readonly tail: string;
      readonly output: string;
      readonly file?: string;
    }
  | {
      readonly kind: "failed";
      readonly reason: string;
      readonly tail: string;
      readonly file?: string;
    };

/** `noPass`: the precondition ended the loop before its first pass. */
export interface Transition {
  readonly work: CompositeWork<Work<number>>;
  readonly taken: "trueWork" | "falseWork" | "noPass" | "furtherPass" | "atMost" | "items";
}

export interface EnginePorts {
  readonly sessions: SessionFactory;
  readonly clock: Clock;
  readonly gate: TurnGate;
  /** Shared, as the gate is, by all runs that use the same models. */
  readonly rateLimit: RateLimit;
  readonly budget?: Budget | undefined;
  /** Uniform in [0, 1), for the jitter of waits. */
  readonly random: () => number;
  readonly awaited?: (() => string | undefined) | undefined;
  /** A work has started. `stop` ends it as failed, as long as it runs; the job goes on. */
  readonly onWork?: (work: WorkRef, stop: (reason: string) => void) => void;
  readonly onTransition?: ((transition: Transition) => void) | undefined;
  readonly emit: (event: EmittedEvent) => void;
}

/** Refusals give a reason that the model can act on. */
export interface OutputChecks {
  /** Called before the first task, which may change the files. */
  prepare?(): Promise<void>;
  finding(value: unknown, task: string, signal: AbortSignal): Promise<Checked<Finding>>;
  proposal(
    value: unknown,
    allowed: ProposalsOutput,
    signal: AbortSignal,
  ): Promise<Checked<Proposal>>;
}

export type Checked<T> =
  | { readonly kind: "accepted"; readonly value: T }
  | { readonly kind: "refused"; readonly reason: string };
