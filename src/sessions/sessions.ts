/** The engine's port `SessionFactory` on the Copilot SDK: opens sessions, also for the library, and lists models. */
import type { Tool } from "@github/copilot-sdk";
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { Session, SessionFactory, TurnOptions } from "../engine/ports.ts";
import type { Permissions } from "../entry/model.ts";
import { crashRemedy, crashStatus, type Crash } from "../events/crash.ts";
import { defined } from "../text/guards.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { Confinement } from "./confinement.ts";
import {
  CallbackSession,
  occupy,
  type ICopilotSession,
  type ICopilotSessionCallbacks,
} from "./callbacks.ts";
import { authentication } from "../runtime/find-runtime.ts";
import {
  ContextLengths,
  OUTPUT_TOKENS,
  overflowIn,
  modelsOfAccount,
  modelsOfServer,
  type OfferedModel,
} from "./offered-models.ts";
import { copilotService, ModelProbe } from "./model-probe.ts";
import { serverName } from "./model-error.ts";
import { rehearsalProvider, transportProvider, withHeaders, type Provider } from "./provider.ts";
import { type Conversation, Runtimes, type RuntimesOptions } from "./request-handler.ts";
import {
  canceled,
  openCopilotSession,
  type OpenSession,
  type SessionContext,
} from "./copilot-session.ts";
import type { CallQueue } from "./call-queue.ts";
import { runTurn } from "./turn.ts";
import { linkSignals, unlessAborted } from "../platform/waiting.ts";
import type { ModelTransport } from "./transport.ts";

export type { Tool };

export interface SessionsOptions extends RuntimesOptions {
  /** A model server of one's own; then no GitHub token is used. */
  readonly provider?: Provider | undefined;
  readonly gitHubToken?: string | undefined;
  /** Where the Copilot service is asked whether it is there. Default: what `GH_HOST` says. */
  readonly copilotService?: readonly string[] | undefined;
  /** Answers every model request in this process; then nothing is sent anywhere. */
  readonly transport?: ModelTransport | undefined;
  /** With `transport`: runtimes of their owner, for the sessions that may share them. */
  readonly runtimes?: Runtimes | undefined;
  /** Runtimes that the caller owns and stops. Default: the sessions own theirs. */
  readonly own?: Runtimes | undefined;
  readonly onUnreachable?: ((server: string, reason: string) => void) | undefined;
  /** Calls wait while the model server answers others of this run. */
  readonly onQueued?: ((server: string) => void) | undefined;
  readonly tools?: readonly Tool[] | undefined;
  /** Files that the run writes about itself: no file tool writes to them. */
  readonly kept?: readonly string[] | undefined;
  /** Default: a sandbox wherever there is one. */
  readonly confinement?: Confinement | undefined;
}

/** Nothing is started yet. */
export function runtimesOf(options: SessionsOptions): Runtimes {
  return new Runtimes({ ...options, ...accessOf(options) });
}

/** How its sessions reach a model. */
function accessOf({ provider: given, transport, gitHubToken }: SessionsOptions) {
  const { scripted = false } = transport ?? {};
  const placeholder = transport && (scripted ? rehearsalProvider : transportProvider);
  const provider: Provider | undefined = given ?? placeholder;
  const hasProvider = provider !== undefined;
  return { provider, authentication: authentication({ gitHubToken, hasProvider }) };
}

export interface RawSessionRequest {
  readonly modelId: string;
  readonly callback: ICopilotSessionCallbacks;
  readonly shown?: ((activity: SessionActivity) => readonly SessionActivity[]) | undefined;
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  readonly onEnded?: () => void;
}

export interface Sessions {
  readonly factory: SessionFactory;
  /** A session that belongs to no task (`helperSessionStart`). Rejects with an Error for people. */
  startSession(request: RawSessionRequest): Promise<ICopilotSession>;
  listModels(): Promise<readonly OfferedModel[]>;
  /** An open session of the factory, as the callbacks of the library hand it out. To stop it is a crash of its turn. */
  find(sessionId: string): ICopilotSession | undefined;
  readonly unreachable: string | undefined;
  stop(): Promise<void>;
  kill(): void;
  readonly runtimePids: readonly number[];
}

export function createSessions(options: SessionsOptions): Sessions {
  const { clock, environment, transport } = options;
  const { provider, authentication: access } = accessOf(options);
  const runtimes = options.own ?? runtimesOf(options);
  const { pool, conversations } = runtimes;
  const open = new Map<string, OpenSession>();
  const scripted = transport?.scripted === true;
  const confinement =
    options.confinement ?? new Confinement({ environment, kept: options.kept, scripted });
  const { copilotService: service = copilotService(environment), onUnreachable = () => {} } =
    options;
  const addresses = provider === undefined ? service : [provider.baseUrl];
  const probe =
    transport === undefined
      ? new ModelProbe({ clock, environment, provider, addresses, onUnreachable })
      : undefined;
  const contexts = new ContextLengths(options);
  const context: SessionContext = {
    clock,
    runtimes,
    handlesRequests: transport !== undefined || provider?.wireApi === "responses",
    async limitsOf({ modelId, modelLimits: named = {} }, provider, signal) {
      // A script writes what it likes.
      if (transport !== undefined) return {};
      const { outputTokens = provider && OUTPUT_TOKENS } = named;
      const asked = provider && (named.contextTokens ?? contexts.of(provider, modelId));
      const contextTokens = (await unlessAborted(Promise.resolve(asked), signal))?.value;
      return { contextTokens, outputTokens };
    },
    get kept() {
      return (options.kept ?? []).map((path) => resolve(path));
    },
    provider,
    gitHubToken: access.gitHubToken,
    probe,
    tools: options.tools,
    confinement,
  };
  let saysQueued = false;
  const queue = provider && {
    progressAt: 0,
    onWait(): void {
      if (!saysQueued) options.onQueued?.(serverName(provider));
      saysQueued = true;
    },
  };
  /** Further attempts read the answers of the model server here, which costs more. */
  let hadUnclearError = false;
  const refusal =
    provider === undefined && (options.gitHubToken ?? "") === "" ? noModelCrash : undefined;
  return {
    factory: {
      async open(request, signal) {
        if (signal.aborted) return canceled;
        if (refusal !== undefined) return { kind: "crashed", crash: refusal };
        const id = randomUUID();
        const { label, history = [], modelId, modelServer } = request;
        const conversation: Conversation = {
          label,
          history,
          transport,
          provider: provider && withHeaders(provider, modelServer?.headers),
        };
        conversations.set(id, conversation);
        const inspectsAnswers =
          transport === undefined && hadUnclearError && (label?.attempt ?? 1) > 1;
        const handlesRequests = context.handlesRequests || inspectsAnswers;
        const asked = { ...request, id };
        const opened = await openUnlessAbsent({ ...context, handlesRequests }, asked, signal);
        if (!("session" in opened)) {
          conversations.delete(id);
          return opened;
        }
        conversation.toolNames = opened.names.renamed;
        conversation.model = opened.model;
        open.set(id, opened);
        opened.session.on((event) => {
          const crash = overflowIn(event, opened.model);
          if (crash !== undefined) conversation.problem = crash;
        });
        const use = occupy(opened.session);
        const end = async (): Promise<void> => {
          await opened.end();
          use.leave();
          conversations.delete(id);
          open.delete(id);
        };
        const onUnclear = (): void => void (hadUnclearError = true);
        const parts = { clock, probe, queue, onUnclear };
        const session = jobSession(id, modelId, { ...opened, end }, conversation, parts);
        return { kind: "opened", session };
      },
    },
    async startSession(request) {
      if (refusal !== undefined) throw new Error(refusal.message);
      const id = randomUUID();
      const { signal } = new AbortController();
      const opened = await openUnlessAbsent(context, { ...request, id }, signal);
      if (!("session" in opened)) throw new Error(opened.crash.message);
      const end = async (): Promise<void> => {
        await opened.end();
        request.onEnded?.();
      };
      return new CallbackSession({ ...request, open: { ...opened, end }, clock });
    },
    listModels() {
      // A transport accepts every model id.
      if (transport !== undefined || refusal !== undefined) return Promise.resolve([]);
      return provider === undefined
        ? modelsOfAccount(pool, options.gitHubToken, clock)
        : modelsOfServer(provider, environment, clock).then((listed) =>
            listed.map(({ owner: _owner, ...model }) => model),
          );
    },
    find(sessionId) {
      const found = open.get(sessionId);
      return found && new CallbackSession({ open: found, clock });
    },
    get unreachable() {
      return probe?.unreachable;
    },
    async stop() {
      probe?.stop();
      if (options.own === undefined) await runtimes.stop();
      // A given one is its owner's.
      if (options.confinement === undefined) await confinement.close();
    },
    kill: () => pool.kill(),
    get runtimePids() {
      return pool.pids;
    },
  };
}

function jobSession(
  id: string,
  modelId: string,
  open: OpenSession,
  conversation: Conversation,
  parts: Pick<SessionContext, "clock" | "probe"> & {
    readonly queue: CallQueue | undefined;
    readonly onUnclear: () => void;
  },
): Session {
  const { clock, probe, queue, onUnclear } = parts;
  const closed = new AbortController();
  let running: Promise<unknown> | undefined;
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closed.abort();
    await running;
    await open.end();
  };
  const run: Session["runTurn"] = async (prompt, options) => {
    const stop = linkSignals([options.signal, closed.signal, probe?.absence]);
    conversation.turn = options;
    conversation.problem = undefined;
    conversation.isStopped = false;
    const onStop = (): void => void (conversation.isStopped = true);
    const onActivity: TurnOptions["onActivity"] = (activity) => {
      if (activity.kind === "model.used") probe?.answered();
      if (activity.kind !== "model.failed") return options.onActivity(activity);
      const { statusCode, ...failed } = activity;
      probe?.failed(statusCode);
      const { problem, retryAfterMs } = conversation;
      // A request with a problem was answered by this process, with a status of its own.
      const shown = problem === undefined ? activity : failed;
      options.onActivity({ ...shown, ...defined({ retryAfterMs }) });
    };
    try {
      await open.refresh();
      const turn = { ...options, onActivity, signal: stop.signal };
      const outcome = await runTurn(open, prompt, turn, { clock, queue, onStop });
      if (outcome.kind === "canceled" && !options.signal.aborted && !closed.signal.aborted)
        return probe?.absent === undefined
          ? outcome
          : { ...outcome, kind: "crashed", crash: probe.absent };
      if (outcome.kind !== "crashed") return outcome;
      if (withoutAnswer(outcome.crash)) probe?.ask();
      const { problem, handled = false, retryAfterMs } = conversation;
      if (problem !== undefined) return { ...outcome, crash: problem };
      const { crash, toolCalls } = outcome;
      const isOverload = crash.cause === "rate-limited" || crash.cause === "overloaded";
      if (handled && isOverload)
        return { ...outcome, crash: { ...crash, ...defined({ retryAfterMs }) } };
      // The runtime reports no `retry-after`.
      if (handled || !(isUnclear(crash) || crash.cause === "rate-limited")) return outcome;
      onUnclear();
      if (toolCalls.length > 0 || crashRemedy(crash).kind !== "give-up") return outcome;
      // The next attempt finds out what the server says.
      const { message } = crash;
      const status = crashStatus(crash);
      return { ...outcome, crash: { cause: "session-error", ...defined({ status }), message } };
    } finally {
      stop.end();
      conversation.turn = undefined;
    }
  };
  return {
    id,
    modelId,
    runTurn(prompt, options) {
      if (closing !== undefined) {
        const crash: Crash = { cause: "internal", message: "The session is closed." };
        return Promise.resolve({ kind: "crashed", toolCalls: [], crash });
      }
      const turn = run(prompt, options);
      running = turn;
      return turn;
    },
    close: () => (closing ??= close()),
  };
}

/** The runtime passes on the words of an error only in the form of OpenAI; of others, the name of the status. */
function isUnclear(crash: Crash): boolean {
  const status = crashStatus(crash);
  if (status !== undefined) return new RegExp(`: "${status} [\\w -]+"\\.$`).test(crash.message);
  return crash.cause === "empty-answer" || crash.cause === "session-error";
}

function withoutAnswer(crash: Crash): boolean {
  return (
    crash.cause === "unreachable" || (crash.cause === "session-error" && crash.status === undefined)
  );
}

const openUnlessAbsent: typeof openCopilotSession = async (context, request, signal) => {
  const { probe } = context;
  const linked = linkSignals([signal, probe?.absence]);
  try {
    const opened = await openCopilotSession(context, request, linked.signal);
    const crash = signal.aborted ? undefined : probe?.absent;
    return crash === undefined || "session" in opened ? opened : { kind: "crashed", crash };
  } finally {
    linked.end();
  }
};

export function noModel(serverOption: string, scriptOption: string, token = ""): string {
  const reason = token.startsWith("ghp_")
    ? "The GitHub token is a classic personal token (ghp_…), which doesn't work with GitHub Copilot. Set a fine-grained one with “Copilot Requests”"
    : "No model is configured. Set a GitHub token that may make Copilot requests";
  return (
    `${reason} (COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN), or use your own model server ` +
    `(${serverOption}), or let a script answer (${scriptOption}).`
  );
}

/** For a host, which doesn't know whether its caller is an application or `serve`. */
export const noModelOfHost = (token?: string): string =>
  noModel(
    "`--provider-base-url`, or `provider` of a JobHost",
    "`--rehearse`, or `rehearsal` of a JobHost",
    token,
  );

/** Ends a session that has no way to a model. The edges refuse earlier. */
const noModelCrash: Crash = { cause: "configuration", message: noModelOfHost() };
