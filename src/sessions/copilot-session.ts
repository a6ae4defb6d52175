/** Opens sessions. One that comes up too late or after a cancel is ended with its processes and files, like any other. */
import type { CopilotSession, SessionConfig } from "@github/copilot-sdk";
import { dirname } from "node:path";
import type { Clock } from "../platform/clock.ts";
import type { Crashed, SessionRequest } from "../engine/ports.ts";
import type { ModelLimits } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import { isDirectory, realPathOf } from "../platform/files.ts";
import { endMarkedProcesses } from "../platform/processes.ts";
import type { RuntimeKind, RuntimeLease } from "../runtime/runtime-pool.ts";
import { bestEffort, unlessAborted } from "../platform/waiting.ts";
import { allowsCommands, canStartProcesses, ruleSet } from "../permissions/rules.ts";
import { openingCrash } from "./model-error.ts";
import { promptTokensOf } from "./offered-models.ts";
import type { ModelProbe } from "./model-probe.ts";
import {
  hasCredentials,
  withoutCredentials,
  providerTypeOf,
  requestOf,
  withHeaders,
  type Provider,
} from "./provider.ts";
import { RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import { errorMessage } from "../platform/system-error.ts";
import { wholeCharacters } from "../text/truncate.ts";
import type { RuntimeProcess } from "../runtime/runtime-process.ts";
import { confine, watchConfinement, type Confinement } from "./confinement.ts";
import type { Runtimes } from "./request-handler.ts";
import { sessionConfig } from "./session-config.ts";
import { SessionStop, type UsableSession } from "./turn.ts";
import { LiveTools, OwnCalls, type OwnTool, sdkTools, ToolNames } from "./session-tools.ts";

const createMs = 15_000;
/** Less than a stopped run waits for a session: it then knows that the runtime has to be ended by force. */
const closeMs = 1_500;

export interface SessionContext {
  readonly clock: Clock;
  readonly runtimes: Runtimes;
  readonly handlesRequests: boolean;
  readonly limitsOf: (
    request: Pick<SessionRequest, "modelId" | "modelLimits">,
    provider: Provider | undefined,
    signal: AbortSignal,
  ) => Promise<ModelLimits>;
  readonly provider?: Provider | undefined;
  readonly gitHubToken?: string | undefined;
  readonly probe?: ModelProbe | undefined;
  readonly confinement: Confinement;
  readonly tools?: readonly OwnTool[] | undefined;
  readonly kept: readonly string[];
}

export interface OpenSession extends UsableSession {
  readonly session: CopilotSession;
  /** Asks for the tools that have changed since. */
  readonly refresh: () => Promise<void>;
  /** Ends it and every process it started, once. Bounded, never throws. */
  readonly end: () => Promise<void>;
}

export const canceled: Crashed = {
  kind: "crashed",
  crash: { cause: "aborted", message: "Canceled before the session was opened." },
};

export async function openCopilotSession(
  context: SessionContext,
  asked: Omit<SessionRequest, "label"> & { readonly id: string },
  signal: AbortSignal,
): Promise<OpenSession | Crashed> {
  const { clock, runtimes, probe } = context;
  const { startSeconds = context.provider?.startSeconds, headers } = asked.modelServer ?? {};
  if (startSeconds !== undefined) await probe?.waitForStart(startSeconds, signal);
  if (runtimes.pool.pids.length === 0) probe?.watch();
  const provider = context.provider && withHeaders(context.provider, headers);
  const takesFormats = provider === undefined || providerTypeOf[provider.type].formatsAnswers;
  const formatted = asked.answersFormatted === true && takesFormats;
  const limits = await context.limitsOf(asked, provider, signal);
  const { contextTokens, outputTokens } = limits;
  // The runtime would send a prompt that doesn't fit.
  const handled =
    context.handlesRequests ||
    formatted ||
    (provider !== undefined && hasCredentials(provider)) ||
    (asked.history ?? []).length > 0 ||
    contextTokens !== undefined;
  const startsPrograms =
    allowsCommands(asked.permissions) ||
    (asked.tools ?? []).some((tool) => tool.startsPrograms === true);
  const confined = await context.confinement.of(asked.permissions, asked, startsPrograms);
  if (confined.kind === "refused") return { kind: "crashed", crash: confined.crash };
  const sandbox = confined.kind === "sandboxed" ? confined.sandbox : undefined;
  // In a sandbox, a symbolic link that leads to the folder isn't there.
  const workingDirectory =
    sandbox === undefined ? asked.workingDirectory : realPathOf(asked.workingDirectory);
  const request = { ...asked, workingDirectory };
  const kind: RuntimeKind = {
    searches: ruleSet(asked.permissions).everything ? "open" : "guarded",
    requests: handled ? "handled" : "direct",
    sandbox,
  };
  const acquiring = runtimes.acquire(kind);
  const acquired = await unlessAborted(acquiring, signal).catch(startFailed);
  if (acquired === undefined) {
    void acquiring.then((late) => late.release()).catch(() => undefined);
    return canceled;
  }
  if ("crash" in acquired) return acquired;
  const lease = acquired.value;
  const { runtime } = lease;
  const calls = new OwnCalls();
  const names = new ToolNames(
    (request.tools ?? []).map(({ name }) => name),
    (context.tools ?? []).map(({ name }) => name),
  );
  const { availableTools, tools = [] } = request;
  const options = {
    ...request,
    ...context,
    tools: [...(context.tools ?? []), ...sdkTools(tools, calls)],
    calls,
    names,
    provider: provider && {
      ...withoutCredentials(provider),
      maxPromptTokens: contextTokens && promptTokensOf(contextTokens, outputTokens),
      maxOutputTokens: outputTokens,
    },
    outputDirectory: runtime.outputDirectory,
    ...kind,
    kept: [...context.kept, dirname(runtime.outputDirectory), ...(request.readable ?? [])],
    onActivity: calls.tell,
  };
  const hasCommands = sandbox !== undefined && allowsCommands(request.permissions);
  const config = {
    ...sessionConfig(options),
    sessionLimits: options.provider === undefined ? creditLimit(request.creditsLeft) : undefined,
    systemMessage: request.systemPrompt && {
      mode: request.systemPrompt.mode,
      content: wholeCharacters(request.systemPrompt.text),
    },
    // The runtime has one policy for its commands and for this tool, which closes the network. Commands have another way.
    excludedTools: hasCommands ? ["builtin:web_fetch"] : undefined,
  };
  const live = new LiveTools(request.changedTools, (changed) => {
    const added = changed.map(({ name }) => name);
    names.add(added);
    const all = [...(context.tools ?? []), ...sdkTools(changed, calls, () => live.refresh())];
    const available = availableTools && [...availableTools, ...added];
    return sessionConfig({ ...options, tools: all, availableTools: available }).tools ?? [];
  });
  if (request.changedTools !== undefined) config.tools = live.declared(tools);
  const model = {
    modelId: request.modelId,
    baseUrl: provider?.baseUrl,
    request: provider && requestOf(provider),
    ...limits,
  };
  let end = async (): Promise<void> => lease.release();
  try {
    const created = await create(lease, config, clock, signal);
    if ("crash" in created) return created;
    const { session } = created;
    const { release } = lease;
    const startsProcesses = canStartProcesses(request.permissions);
    const stopped = new SessionStop();
    let ending: Promise<void> | undefined;
    end = () =>
      (ending ??= endCopilotSession({ session, runtime, release, startsProcesses }, clock));
    if (sandbox !== undefined) watchConfinement(session, (crash) => stopped.stop(crash));
    // Commands would have no sandbox otherwise.
    if (hasCommands && !(await runtime.answer(confine(session), createMs, signal))) {
      await end();
      return signal.aborted ? canceled : startFailed("The session was not confined in time.");
    }
    live.attach(session);
    const refresh = (): Promise<void> => live.refresh();
    return { session, life: runtime, model, calls, names, stopped, refresh, end };
  } catch (error) {
    await end();
    // The runtime may be dead: then the next attempt must not use it again.
    await runtime.probe();
    if (runtime.gone) return { kind: "crashed", crash: runtimeDied(runtime, errorMessage(error)) };
    if (!(await isDirectory(request.workingDirectory))) {
      const message = `The working directory ${request.workingDirectory} doesn't exist.`;
      return { kind: "crashed", crash: { cause: "configuration", message } };
    }
    const crash = openingCrash(errorMessage(error), model);
    if (crash?.cause === "unreachable") probe?.ask();
    return crash === undefined ? startFailed(error) : { kind: "crashed", crash };
  }
}

/** The runtime refuses a lower one (1.0.85: "Minimum session limit is 30 AI credits."). */
const LEAST_CREDITS = 30;

/**
 * A second line: the runtime stops at the limit of a session even if we don't see its calls. Above what is left, so that
 * our own limit, which says what it was, is exceeded first. The runtime tells the model in each request how much is left,
 * and to be frugal: so a session has no limit by default.
 */
function creditLimit(left: number | undefined): SessionConfig["sessionLimits"] {
  if (left === undefined || !Number.isFinite(left)) return undefined;
  return { maxAiCredits: Math.max(LEAST_CREDITS, Math.ceil(left) + 1) };
}

function runtimeDied({ loss, ended }: RuntimeProcess, otherwise = "The runtime has ended."): Crash {
  return { cause: "runtime-died", message: loss ?? otherwise, ...(ended ? { ended } : {}) };
}

/** Unless the session comes up, or it rejects, it releases the lease. */
async function create(
  { runtime, release }: RuntimeLease,
  config: SessionConfig & { sessionId: string },
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly session: CopilotSession } | Crashed> {
  const creating = runtime.client.createSession(config);
  const created = await runtime.answer(creating, createMs, signal);
  if (created !== undefined && !signal.aborted) return { session: created.value };
  // A session that is created after all is ended at once.
  void creating.then(
    (session) => endCopilotSession({ session, runtime, release, startsProcesses: false }, clock),
    release,
  );
  if (signal.aborted) return canceled;
  // A session that is never created must not keep its runtime from ending.
  release();
  runtime.leftUnanswered();
  await runtime.probe();
  return runtime.gone
    ? { kind: "crashed", crash: runtimeDied(runtime) }
    : startFailed("The session was not created in time.");
}

async function endCopilotSession(
  open: {
    readonly session: CopilotSession;
    readonly runtime: RuntimeProcess;
    readonly release: () => void;
    readonly startsProcesses: boolean;
  },
  clock: Clock,
): Promise<void> {
  const { session, runtime, release } = open;
  if (!runtime.gone) {
    // It continues even if nobody waits for it any longer.
    const closing = session
      .disconnect()
      .catch(() => undefined)
      .then(() => runtime.client.deleteSession(session.sessionId));
    const most = runtime.unresponsive ? 0 : closeMs;
    if ((await bestEffort(() => closing, most, clock)) === "late") runtime.leftUnanswered();
  }
  // Some shells outlive all of that, and a dead runtime too (docs/internals/runtime-notes.md#leftover-processes).
  if (open.startsProcesses)
    await endMarkedProcesses("COPILOT_AGENT_SESSION_ID", session.sessionId).catch(() => undefined);
  release();
}

function startFailed(error: unknown): Crashed {
  // No retry finds a runtime that is not there.
  const cause = error instanceof RuntimeNotFoundError ? "not-installed" : "start-failed";
  return { kind: "crashed", crash: { cause, message: errorMessage(error) } };
}
