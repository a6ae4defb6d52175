/** The door of this room: everything that needs sessions makes them here, once. */
import type { Tool } from "@github/copilot-sdk";
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { Clock } from "../platform/clock.ts";
import type { SessionFactory } from "../engine/ports.ts";
import type { Permissions } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { Confinement } from "./confinement.ts";
import { CallbackSession } from "./callbacks.ts";
import type { ICopilotSession, ICopilotSessionCallbacks } from "./callbacks.ts";
import { RuntimePool, type RuntimeKind } from "../runtime/runtime-pool.ts";
import { authentication, runtimeEnvironment } from "../runtime/runtime-environment.ts";
import type { Environment } from "../platform/environment.ts";
import { modelsOfAccount, modelsOfServer, type OfferedModel } from "./offered-models.ts";
import { ModelProbe } from "./model-probe.ts";
import { copilotService, isReachedDirectly, type Provider } from "./model-server.ts";
import { rehearsalProvider, RequestHandler, transportProvider } from "./request-handler.ts";
import type { Conversation } from "./request-handler.ts";
import { findRuntime } from "../runtime/find-runtime.ts";
import { searchConfiguration } from "./search-results.ts";
import { CopilotSessionFactory } from "./job-session.ts";
import { openCopilotSession, type OpenSession } from "./copilot-session.ts";
import type { ModelTransport } from "./transport.ts";
import type { SharedRuntimes } from "./shared-runtimes.ts";

export type { Tool };

export interface SessionsOptions {
  readonly clock: Clock;
  /** The whole environment of the process; what the runtime gets to see of it is an allow-list. */
  readonly environment: Environment;
  /** Default: `COPILOT_CLI_PATH`, else the platform package next to us. */
  readonly runtimePath?: string | undefined;
  /** A model server of one's own; then no GitHub token is used. */
  readonly provider?: Provider | undefined;
  readonly gitHubToken?: string | undefined;
  /** Where the Copilot service is asked whether it is there. Default: what `GH_HOST` says. */
  readonly copilotService?: string | undefined;
  /** Answers every model request in this process; then nothing is sent anywhere. */
  readonly transport?: ModelTransport | undefined;
  /** With `transport`: runtimes of their owner, for the sessions that may share them. */
  readonly runtimes?: SharedRuntimes | undefined;
  readonly onRuntimeRestarted?: ((reason: string) => void) | undefined;
  /** The model server is unreachable. Called within five seconds; the sessions keep trying. */
  readonly onUnreachable?: ((server: string, reason: string) => void) | undefined;
  /** Runs whose own process was killed had left processes or files; they are gone now. */
  readonly onLeftovers?: ((runs: number) => void) | undefined;
  /** What all that is started carries in its environment as `AGENT_JOBS_RUN`. Default: a random one. */
  readonly mark?: string | undefined;
  /** Tools with handlers in this process, for every session, beside the job tools. */
  readonly tools?: readonly Tool[] | undefined;
  /** Files that the run writes about itself: no file tool writes to them. */
  readonly kept?: readonly string[] | undefined;
  /** Default: a sandbox wherever there is one. */
  readonly confinement?: Confinement | undefined;
  /** After how many sessions the runtime is replaced. Default: 250. */
  readonly sessionsPerRuntime?: number | undefined;
}

export interface RawSessionRequest {
  readonly modelId: string;
  readonly callback: ICopilotSessionCallbacks;
  /** What the callback receives instead of an activity, such as one without secrets. Default: the activity. */
  readonly shown?: ((activity: SessionActivity) => readonly SessionActivity[]) | undefined;
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  /** Called once, when the session has ended for any reason. */
  readonly onEnded?: () => void;
}

export interface Sessions {
  readonly factory: SessionFactory;
  /** A session that belongs to no task (`helperSessionStart`). Rejects with an Error for people. */
  startSession(request: RawSessionRequest): Promise<ICopilotSession>;
  /** The models that the account or the model server offers; none if it doesn't answer in time. Never rejects. */
  listModels(): Promise<readonly OfferedModel[]>;
  /** An open session of the factory, as the callbacks of the library hand it out. To stop it is a crash of its turn. */
  find(sessionId: string): ICopilotSession | undefined;
  /** The address of the model server while it is unreachable. */
  readonly unreachable: string | undefined;
  /** Ends every runtime and all it started. Bounded, idempotent, never throws. */
  stop(): Promise<void>;
  /** The same by force and at once, for a process that has no time left. */
  kill(): void;
  /** The runtimes' process ids. */
  readonly runtimePids: readonly number[];
}

/** Starts nothing: the runtime comes up with the first session. */
export function createSessions(options: SessionsOptions): Sessions {
  const { clock, transport, runtimes } = options;
  const provider = options.provider ?? standIn(transport);
  const access = authentication({
    gitHubToken: options.gitHubToken,
    hasProvider: provider !== undefined,
  });
  const conversations = runtimes?.conversations ?? new Map<string, Conversation>();
  const open = new Map<string, OpenSession>();
  const withoutFormats = new Set<string>();
  const guard = searchConfiguration(options.environment);
  const pool = new RuntimePool({
    clock,
    onRuntimeRestarted: options.onRuntimeRestarted,
    onLeftovers: options.onLeftovers,
    mark: options.mark,
    sessionsPerRuntime: options.sessionsPerRuntime,
    configure: ({ searches, requests, sandbox }) => ({
      path: findRuntime(options),
      sandbox,
      searchConfiguration: searches === "guarded" ? guard : undefined,
      environment: runtimeEnvironment(options.environment),
      authentication: access,
      requestHandler:
        requests === "direct"
          ? undefined
          : (killRuntime) =>
              new RequestHandler({
                transport,
                environment: options.environment,
                conversation: (sessionId) => conversations.get(sessionId),
                killRuntime,
                withoutFormats,
              }),
    }),
  });
  const { gitHubToken } = access;
  const address =
    provider?.baseUrl ?? options.copilotService ?? copilotService(options.environment);
  const probe =
    // Behind a proxy only the runtime knows the route to the models: a request from here would take another one.
    transport !== undefined || !isReachedDirectly(address, options.environment)
      ? undefined
      : new ModelProbe({
          clock,
          provider,
          address,
          onUnreachable: (server, reason) => options.onUnreachable?.(server, reason),
        });
  const kept = (options.kept ?? []).map((path) => resolve(path));
  const { tools } = options;
  const guardsSearches = guard !== undefined;
  const scripted = transport?.scripted === true;
  const confinement =
    options.confinement ??
    new Confinement({
      environment: options.environment,
      kept: options.kept,
      scripted,
    });
  const context = {
    scripted,
    clock,
    pool: {
      get pids() {
        return pool.pids;
      },
      acquire: (kind: RuntimeKind) => runtimes?.acquire(kind) ?? pool.acquire(kind),
    },
    guardsSearches,
    handlesRequests: transport !== undefined || provider?.wireApi === "responses",
    kept,
    provider,
    gitHubToken,
    probe,
    tools,
    confinement,
  };
  const refusal =
    provider === undefined && (options.gitHubToken ?? "") === "" ? noModelCrash : undefined;
  return {
    factory: new CopilotSessionFactory({ ...context, conversations, open, refusal, transport }),
    async startSession(request) {
      if (refusal !== undefined) throw new Error(refusal.message);
      const id = randomUUID();
      const opened = await openCopilotSession(
        context,
        { ...request, id },
        new AbortController().signal,
      );
      if (!("session" in opened)) throw new Error(opened.crash.message);
      return new CallbackSession({
        session: opened.session,
        life: opened.runtime,
        model: opened.model,
        denials: opened.denials,
        unconfined: opened.unconfined,
        clock,
        callback: request.callback,
        shown: request.shown,
        stopped: opened.stopped,
        async end() {
          await opened.end();
          request.onEnded?.();
        },
      });
    },
    listModels() {
      // A transport answers as any model.
      if (transport !== undefined || refusal !== undefined) return Promise.resolve([]);
      return provider === undefined
        ? modelsOfAccount(pool, options.gitHubToken, clock)
        : modelsOfServer(provider, clock);
    },
    find(sessionId) {
      const found = open.get(sessionId);
      return (
        found &&
        new CallbackSession({
          session: found.session,
          life: found.runtime,
          model: found.model,
          denials: found.denials,
          unconfined: found.unconfined,
          clock,
          stopped: found.stopped,
          end: found.end,
        })
      );
    },
    get unreachable() {
      return probe?.unreachable;
    },
    async stop() {
      probe?.stop();
      await pool.stop();
      // A given one is its owner's.
      if (options.confinement === undefined) await confinement.close();
    },
    kill: () => pool.kill(),
    get runtimePids() {
      return pool.pids;
    },
  };
}

/** Why there is nothing to talk to, with the options for a model server and for a script in its place. */
export function noModel(serverOption: string, scriptOption: string, token = ""): string {
  const reason = token.startsWith("ghp_")
    ? "The GitHub token is a classic personal token (ghp_…), which doesn't work with GitHub Copilot. Set a fine-grained one with “Copilot Requests”"
    : "No model is configured. Set a GitHub token that may make Copilot requests";
  return (
    `${reason} (COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN), or use your own model server ` +
    `(${serverOption}), or let a script answer (${scriptOption}).`
  );
}

/** Has no server: the transport answers in its place. */
function standIn(transport: ModelTransport | undefined): Provider | undefined {
  if (transport === undefined) return undefined;
  return transport.scripted === true ? rehearsalProvider : transportProvider;
}

/** For a host, which doesn't know whether its caller is an application or `serve`. */
export const noModelOfHost = (token?: string): string =>
  noModel(
    "`--provider-base-url`, or `provider` of a JobHost",
    "`--rehearse`, or `rehearsal` of a JobHost",
    token,
  );

/** What a session without any way to a model ends with; the edges refuse before. */
const noModelCrash: Crash = { cause: "configuration", message: noModelOfHost() };
