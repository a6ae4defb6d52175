/** The engine's port for a front-end whose task takes several turns, such as the action protocol. */
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import type { Crash } from "../events/crash.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { Permissions } from "../entry/model.ts";
import type {
  AnswerFormat,
  Crashed,
  SessionRequest,
  SessionTool,
  ToolCall,
  TurnOutcome,
} from "./ports.ts";
import type { Scope } from "./scope.ts";

export interface DialogueSpec {
  /** Called once per run of the task, before its first prompt. Never throws. */
  readonly start: (context: DialogueContext) => Promise<Dialogue | Crashed>;
}

export interface DialogueContext {
  readonly work: WorkRef;
  /** 0 for a work of the job; 1 for a task that one has delegated, and so on. */
  readonly depth: number;
  readonly scope: Scope;
  readonly permissions: Permissions;
  /** Its actions may call them, too. */
  readonly jobTools: readonly SessionTool[];
  readonly workingDirectory: string;
  readonly clock: Clock;
  readonly emit: (event: ActionEvent) => void;
  readonly decide: (decision: MadeDecision) => void;
  /** Runs another task of the entry, in sessions of its own, within the limits of the job. Never throws. */
  readonly delegate: (request: DelegateRequest, signal: AbortSignal) => Promise<DelegateEnd>;
}

export interface DelegateRequest {
  readonly taskId: string;
  readonly input: string;
}

export type DelegateEnd =
  /** `text`: the last answer of its task session; `document`: what it named with `job_prepare_document`. */
  | { readonly kind: "succeeded"; readonly text: string; readonly document?: string }
  | { readonly kind: "failed"; readonly reason: string; readonly text?: string };

export interface Dialogue {
  /** In a borrowed session, the system prompt precedes the first text instead. */
  readonly session: Pick<SessionRequest, "systemPrompt" | "tools" | "availableTools" | "readable">;
  readonly answerFormat?: AnswerFormat;
  /** Never throws. Resolves soon after the scope has stopped, when all that it started has ended. */
  round(prompt: string, send: SendTurn): Promise<RoundEnd>;
  /** An answer to a prompt of no round, such as a condition: the calls of its actions. A text asks for another answer. */
  take(answer: string): Promise<readonly ToolCall[] | string>;
  close(): Promise<void>;
}

/** Sends the text of one turn as it is: nothing in it is expanded. One at a time. */
export type SendTurn = (text: string) => Promise<TurnOutcome>;

export type RoundEnd =
  | (Judged & { readonly kind: "completed"; readonly empty?: true })
  /** The task fails, without a retry. `text`: what the model has to say about it. */
  | { readonly kind: "failed"; readonly reason: string; readonly text?: string }
  | { readonly kind: "crashed"; readonly crash: Crash }
  | { readonly kind: "canceled" };

export interface Judged {
  /** The calls of all turns of the round, and its actions that called tools. */
  readonly toolCalls: readonly ToolCall[];
  /** Why the round has failed although the model has stopped, whatever tools were called. */
  readonly fault?: string | undefined;
  /** The model's last words. */
  readonly text: string;
}
