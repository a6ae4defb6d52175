import type { SessionLabel } from "../engine/ports.ts";

/** One request of the runtime to a model. */
export interface ModelRequest {
  /** Id of the session that asks. */
  readonly sessionId: string;
  /** Undefined for a session that belongs to no task (`helperSessionStart`). */
  readonly label: SessionLabel | undefined;
  /** True when a sub-agent of the session asks. */
  readonly subAgent: boolean;
  /** Where it would go. */
  readonly url: string;
  /** `POST` for an answer of the model. */
  readonly method: string;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The request's body as text, as the provider's wire API has it. */
  readonly body: string;
  /** How many messages of the body are the conversation before the session. Default: 0. */
  readonly history?: number;
  /** Tools that the model knows under another name than their own, `server/tool`: the known name → their own. */
  readonly toolNames?: ReadonlyMap<string, string>;
  /** Aborted when the runtime gives the request up. */
  readonly signal: AbortSignal;
  /** Ends the runtime process at once, as a crash would (SIGKILL). */
  readonly killRuntime: () => void;
}

/** Plays the model server in this process. */
export interface ModelTransport {
  /** It is the script of a rehearsal: failures are named after it. */
  readonly scripted?: boolean;
  /** Answers as the model server would. A rejection reaches the runtime as a broken connection. */
  send(request: ModelRequest): Promise<Response>;
}
