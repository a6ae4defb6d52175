/** Every model request of a runtime, in this process. The SDK marks this seam experimental: it stays here. */
import { CopilotRequestHandler, type CopilotRequestContext } from "@github/copilot-sdk";
import type { AnswerFormat, PastMessage, SessionLabel, TurnOptions } from "../engine/ports.ts";
import { defined, retryAfterMs } from "../text/guards.ts";
import type { Environment } from "../platform/environment.ts";
import {
  type WireRequest,
  isRefusal,
  withAnswerFormat,
  withHistory,
  clearAnswer,
  stopped,
  untilItsEnd,
} from "./model-response.ts";
import { forward } from "./forward.ts";
import type { Crash } from "../events/crash.ts";
import { hopeless, type ModelAddress } from "./model-error.ts";
import { KeyUnavailable, sendAuthorized, type Provider } from "./provider.ts";
import { devNull } from "node:os";
import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { findProgram } from "../platform/search-path.ts";
import { orderedPrivateGlobs, privateNamesGlob } from "../platform/private-files.ts";
import {
  findRuntime,
  authentication,
  runtimeEnvironment,
  type Authentication,
} from "../runtime/find-runtime.ts";
import {
  RuntimePool,
  type RuntimeKind,
  type RuntimeLease,
  type RuntimePoolOptions,
} from "../runtime/runtime-pool.ts";

export interface Conversation {
  /** Answers its requests instead of that of the runtime, which sessions of others share. */
  readonly transport?: ModelTransport | undefined;
  readonly history: readonly PastMessage[];
  readonly label: SessionLabel | undefined;
  toolNames?: ReadonlyMap<string, string>;
  turn?: Pick<TurnOptions, "activity" | "answerFormat"> | undefined;
  model?: ModelAddress;
  /** The server that answers it, with its headers. Default: that of the runtime. */
  provider?: Provider | undefined;
  /** Its requests pass through this process. */
  handled?: true;
  /** True while its turn is being aborted. The runtime may still send the results of calls that have ended with it. */
  isStopped?: boolean;
  /** The wait that its last answer asked for, if the answer passed through this process. */
  retryAfterMs?: number | undefined;
  /** The cause of the turn's crash, where the runtime doesn't report it. */
  problem?: Crash | undefined;
}

interface RequestContext {
  readonly transport: ModelTransport | undefined;
  /** A server of one's own, with its credentials. */
  readonly provider?: Provider | undefined;
  readonly environment: Environment;
  readonly conversation: (sessionId: string) => Conversation | undefined;
  readonly killRuntime: () => void;
  readonly withoutFormats: Set<string>;
}

export class RequestHandler extends CopilotRequestHandler {
  readonly #context: RequestContext;

  constructor(context: RequestContext) {
    super();
    this.#context = context;
  }

  protected override async sendRequest(
    request: Request,
    context: CopilotRequestContext,
  ): Promise<Response> {
    const { killRuntime } = this.#context;
    const sessionId = context.sessionId ?? "";
    const conversation = this.#context.conversation(sessionId);
    const transport = conversation?.transport ?? this.#context.transport;
    const label = conversation?.label;
    if (conversation !== undefined) conversation.handled = true;
    // The root conversation has no parent, and its agent id is the session's.
    const subAgent =
      context.parentAgentId !== undefined ||
      (context.agentId !== undefined && context.agentId !== sessionId);
    // The answer was refused for good, though the runtime asks again.
    const { problem } = conversation ?? {};
    if (problem !== undefined && problem.cause !== "refused") return stopped(problem.message);
    if (conversation?.isStopped === true) return stopped("The turn was stopped.");
    const tell = (crash: Crash | undefined): void => {
      if (conversation !== undefined) conversation.problem = crash;
    };
    const { url, method, headers } = request;
    const original = { url, method, body: await request.text() };
    const history = subAgent ? [] : (conversation?.history ?? []);
    const sent = withHistory(original, history);
    if (typeof sent === "string") {
      // It was not the model server that answered. No further attempt would go better.
      tell({ cause: "configuration", message: sent });
      return stopped(sent);
    }
    const { body, added } = sent;
    const send = async (written: string): Promise<Response> => {
      tell(undefined);
      if (transport === undefined) {
        const { environment } = this.#context;
        const provider = conversation?.provider ?? this.#context.provider;
        const forwarded = (with_: Headers): Promise<Response> =>
          forward({ ...original, headers: with_, body: written }, environment, context.signal);
        const answered = await (provider === undefined
          ? forwarded(headers)
          : sendAuthorized({ url, headers }, provider, forwarded).catch((error: unknown) => {
              if (error instanceof KeyUnavailable) return error;
              throw error;
            }));
        if (answered instanceof KeyUnavailable) {
          tell({ cause: "configuration", message: answered.message });
          return stopped(answered.message);
        }
        const asked = conversation?.model;
        return asked === undefined ? answered : clearAnswer(answered, asked, tell);
      }
      return transport.send({
        sessionId,
        label: label && { ...label, ...defined({ activity: conversation?.turn?.activity }) },
        subAgent,
        ...original,
        headers: Object.fromEntries(headers),
        body: written,
        history: added,
        toolNames: conversation?.toolNames,
        signal: context.signal,
        killRuntime,
      });
    };
    const isAsked = !subAgent && transport?.scripted !== true;
    const format = isAsked ? conversation?.turn?.answerFormat : undefined;
    const response = await this.#sendFormatted({ ...original, body }, format, send);
    if (conversation !== undefined)
      conversation.retryAfterMs = response.ok
        ? undefined
        : retryAfterMs(response.headers.get("retry-after"), Date.now());
    return untilItsEnd(url, response, (document) => {
      const { model } = conversation ?? {};
      const failure = JSON.stringify(document) ?? "";
      const crash = model && hopeless(failure, undefined, model);
      if (crash !== undefined) tell(crash);
    });
  }

  async #sendFormatted(
    request: WireRequest,
    format: AnswerFormat | undefined,
    send: (body: string) => Promise<Response>,
  ): Promise<Response> {
    const { withoutFormats } = this.#context;
    const formatted = format && withAnswerFormat(request, format);
    if (formatted === undefined || withoutFormats.has(formatted.asked)) return send(request.body);
    const response = await send(formatted.body);
    if (!isRefusal(response.status)) return response;
    await response.body?.cancel();
    const second = await send(request.body);
    // Otherwise the format was not the reason.
    if (second.ok) withoutFormats.add(formatted.asked);
    return second;
  }

  protected override openWebSocket(): Promise<never> {
    return Promise.reject(new Error("Model requests over WebSocket are not supported here."));
  }
}

/* Runtimes of sessions. The rehearsals of a process share a pool: a start costs more than most rehearsals. */

export interface RuntimesOptions extends Omit<RuntimePoolOptions, "configure"> {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Default: `COPILOT_CLI_PATH`, else the platform package next to us. */
  readonly runtimePath?: string | undefined;
}

/** Runtimes with the conversations that they carry. The owner must stop them. */
export class Runtimes {
  readonly conversations: Map<string, Conversation>;
  readonly pool: RuntimePool;
  readonly #shared: Runtimes | undefined;

  constructor(
    options: RuntimesOptions & {
      readonly authentication?: Authentication;
      readonly provider?: Provider | undefined;
      readonly transport?: ModelTransport | undefined;
      /** Runtimes of their owner, for the sessions whose requests pass through this process. */
      readonly runtimes?: Runtimes | undefined;
    },
  ) {
    const { environment, transport, provider, runtimes } = options;
    this.#shared = runtimes;
    const conversations = runtimes?.conversations ?? new Map<string, Conversation>();
    this.conversations = conversations;
    const withoutFormats = new Set<string>();
    const handler = (killRuntime: () => void): RequestHandler =>
      new RequestHandler({
        transport,
        provider,
        environment,
        conversation: (sessionId) => conversations.get(sessionId),
        killRuntime,
        withoutFormats,
      });
    this.pool = new RuntimePool({
      ...options,
      configure: ({ searches, requests, sandbox }) => ({
        path: findRuntime(options),
        sandbox,
        searchConfiguration: searches === "guarded" ? searchConfiguration(environment) : undefined,
        environment: runtimeEnvironment(environment),
        authentication: options.authentication ?? authentication({ hasProvider: true }),
        requestHandler: requests === "direct" ? undefined : handler,
      }),
    });
  }

  /** Sessions share a runtime in a sandbox only with the same folder and permissions. */
  acquire(kind: RuntimeKind): Promise<RuntimeLease> {
    const isShared = kind.requests === "handled" && this.#shared !== undefined;
    return isShared ? this.#shared.acquire(kind) : this.pool.acquire(kind);
  }

  stop(): Promise<void> {
    return this.pool.stop();
  }

  kill(): void {
    this.pool.kill();
  }
}

/**
 * Keeps files of credentials out of the runtime's searches. A glob alone is not enough: a glob of the model comes later,
 * and wins. `--pre` has no exception: for such a file, ripgrep searches the output of `true`, which is
 * empty; for a program that doesn't exist, it would report an error.
 */
export function searchConfiguration(environment: Environment): string {
  const lines = [
    `--pre=${findProgram("true", environment) ?? join(devNull, "none")}`,
    ...orderedPrivateGlobs().map((glob) => `--pre-glob=${glob}`),
    // Only so that a large folder of such a name isn't gone through file by file.
    `--glob=!${privateNamesGlob}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

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
