/**
 * Owns everything that runs share: the runtime, its sessions, the slots for turns, the rate limit, the secrets to mask, the reporters.
 * Invariants: a process that is done can exit, whatever it keeps; what happens to the runtime is an event of every run
 * under way; after `close()` nothing runs or starts, and every reporter has been closed once.
 */
import { randomUUID } from "node:crypto";
import { toolSourcesOf, type JobSpec, type TaskSpec } from "../engine/plan.ts";
import { LocalRateLimit } from "../engine/rate-limit.ts";
import { runJob } from "../engine/run-job.ts";
import type { Clock } from "../platform/clock.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { Budget, RateLimit, SessionFactory, TurnGate, Transition } from "../engine/ports.ts";
import type { EmittedEvent, RunOutcome, WorkRef } from "../events/event.ts";
import { workKey } from "../events/plan.ts";
import type { Redactor } from "../redaction/redactor.ts";
import {
  createSink,
  newRunId,
  ReporterSet,
  type Reporter,
  type ReporterFailure,
} from "../events/sink.ts";
import type { RunView } from "../events/view.ts";
import { onAbort, within, yieldToEventLoop } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { killMarkedProcesses } from "../platform/processes.ts";
import { RUN_MARK } from "../platform/run-folder.ts";
import type { ICopilotSession } from "../sessions/callbacks.ts";
import {
  type RawSessionRequest,
  type Sessions,
  type SessionsOptions,
  type Tool,
} from "../sessions/sessions.ts";
import type { OfferedModel } from "../sessions/offered-models.ts";
import type { Runtimes, ModelTransport } from "../sessions/request-handler.ts";
import type { McpServers } from "../tools/mcp/servers.ts";
import { Confinement, type ConfinementOptions } from "../sessions/confinement.ts";
import { createGate, inTurn } from "./gate.ts";
import { modelServer, withKeysTold, type ModelAccess } from "./options-provider.ts";
import { version } from "../generated/version.ts";
import { withoutCost } from "./entry-models.ts";
import { HostMasking } from "./secrets.ts";
import { HostSessions } from "./host-sessions.ts";

export interface HostOptions extends ModelAccess {
  readonly transport?: ModelTransport | undefined;
  /** Tools with handlers in this process, offered to every session. */
  readonly tools?: readonly Tool[] | undefined;
  /** Files that runs write about themselves: no file tool writes to them. */
  readonly kept?: readonly string[] | undefined;
  readonly sandbox?: ConfinementOptions["mode"];
  /** A random id that every process carries in its environment as `AGENT_JOBS_RUN`. Default: a new one. */
  readonly mark?: string | undefined;
  readonly reporters?: readonly Reporter[] | undefined;
  readonly runtimes?: Runtimes | undefined;
  /** Shared with other hosts. */
  readonly turnGate?: TurnGate | undefined;
  readonly rateLimit?: RateLimit | undefined;
  readonly budget?: Budget | undefined;
  readonly onReporterFailure?: ((failure: ReporterFailure) => void) | undefined;
  readonly clock?: Clock;
  /** Whether the runtime is kept for a minute after the last run. Default: false. */
  readonly keepsRuntime?: boolean | undefined;
  readonly createSessions?: (options: SessionsOptions) => Sessions;
}

export interface RunOnHostOptions {
  /** Cancels the run; its reason, if it is a string, is the reason shown. */
  readonly signal?: AbortSignal | undefined;
  /** Receive the events of this run only, before the reporters of the host. They are closed at its end. */
  readonly reporters?: readonly Reporter[];
  readonly runId?: string | undefined;
  readonly rewrite?: (event: EmittedEvent) => EmittedEvent;
  /** Puts a gate before that of the host, which bounds how many turns run at once. */
  readonly gateTurns?: ((own: TurnGate) => TurnGate) | undefined;
  readonly onTransition?: ((transition: Transition) => void) | undefined;
}

export interface HostRun {
  readonly runId: string;
  /** The state of the run after its last event. */
  readonly view: RunView;
  cancel(reason: string): void;
  /** Ends a work that runs as failed; the job goes on. False if the work doesn't run. */
  stopWork(workId: number, reason: string): boolean;
  /** Fulfilled however the run ends, when its own reporters are closed. */
  readonly ended: Promise<RunEnd>;
}

export interface RunEnd {
  readonly outcome: RunOutcome;
  /** Failures of the run's own reporters; `onReporterFailure` gets those of the host. */
  readonly reporterFailures: readonly ReporterFailure[];
}

interface ActiveRun extends HostRun {
  readonly parallel: number;
  /** Emits a decision about the runtime, once the start of the run has been emitted. */
  notify(decision: MadeDecision): void;
}

/** A run ends within five seconds of its cancel; then its own reporters have two. */
const RUNS_END_MS = 8_000;
const SESSIONS_END_MS = 5_000;

export class Host {
  readonly #options: HostOptions;
  readonly mark: string;
  readonly clock: Clock;
  readonly #reporters: ReporterSet;
  /** The gate of this host alone. */
  readonly #gate = createGate(1);
  readonly #sharedGate: TurnGate;
  readonly #rateLimit: RateLimit;
  readonly #runs = new Map<string, ActiveRun>();
  readonly #lent = new Set<ICopilotSession>();
  readonly #sessions: HostSessions;
  readonly #masking: HostMasking;
  #mcp: McpServers | undefined;
  #confinement: Confinement | undefined;
  #sessionsOfNoRun = 0;
  #unreachable: MadeDecision | undefined;
  #closing: Promise<readonly ReporterFailure[]> | undefined;

  constructor(options: HostOptions) {
    this.#options = withKeysTold(options, (key) => this.addSecrets([key]));
    this.mark = options.mark ?? randomUUID();
    this.#masking = new HostMasking(options);
    this.clock = options.clock ?? systemClock;
    this.#rateLimit = options.rateLimit ?? new LocalRateLimit(this.clock);
    this.#sessions = new HostSessions({
      clock: this.clock,
      keepsRuntime: options.keepsRuntime === true,
      createSessions: options.createSessions,
      options: () => this.#sessionsOptions(),
      onIdle: () => this.#masking.renew(),
    });
    this.#sharedGate = inTurn(this.#gate, options.turnGate);
    this.#reporters = new ReporterSet({
      clock: this.clock,
      redact: (text) => this.redactor.text(text),
      reporters: options.reporters,
      onFailure: options.onReporterFailure,
    });
  }

  /** Masks what must not leave this process. While something runs it is the same one. */
  get redactor(): Redactor {
    return this.#masking.redactor;
  }

  addSecrets(secrets: readonly string[]): void {
    this.#masking.add(secrets);
  }

  /** The MCP servers of all runs. They are started when they are needed, and live as long as the host. */
  async mcp(): Promise<McpServers> {
    const { McpServers: Servers } = await import("../tools/mcp/servers.ts");
    const text = (given: string): string => this.redactor.text(given);
    const redactor = { text, stream: () => this.redactor.stream() };
    return (this.#mcp ??= new Servers({ ...this.#options, redactor, version }));
  }

  get confinement(): Confinement {
    this.#confinement ??= new Confinement({
      ...this.#options,
      mode: this.#options.sandbox,
      scripted: this.rehearses,
      onUnconfined: (reason) => this.#notify({ kind: "sandbox-missing", reason }),
    });
    return this.#confinement;
  }

  get rehearses(): boolean {
    return this.#options.transport?.scripted === true;
  }

  get environment(): HostOptions["environment"] {
    return this.#options.environment;
  }

  get busy(): boolean {
    return this.#sessions.busy;
  }

  ensureOpen(): void {
    if (this.#closing !== undefined) throw closed();
  }

  /** The first event comes after this has returned. Throws if it is closed. The smallest `limits.parallel` counts. */
  run(given: JobSpec | TaskSpec, options: RunOnHostOptions = {}): HostRun {
    this.ensureOpen();
    const spec = this.rehearses ? { ...given, entry: withoutCost(given.entry) } : given;
    const { signal, reporters = [], rewrite = (event) => event, onTransition } = options;
    const { runId = newRunId(), gateTurns } = options;
    const abort = new AbortController();
    const sink = createSink({
      runId,
      clock: this.clock,
      redactor: this.redactor,
      reporters: [...reporters, this.#reporters.asReporter("host")],
    });
    const { parallel } = spec.limits;
    const sessions = this.#sessions.acquire();
    let [hasStarted, saysUnconfined] = [false, false];
    const stops = new Map<string, (reason: string) => void>();
    const emit = (event: EmittedEvent): void => {
      if (event.type === "work.ended") stops.delete(workKey(event.work));
      // A listener of run.ended may start the next run, or install an entry.
      if (event.type === "run.ended") this.#leave(run);
      // Every run starts here, so no edge can forget the mark.
      const isMarked = event.type === "run.started" && this.rehearses;
      sink.emit(rewrite(isMarked ? { ...event, rehearsed: true } : event));
      if (event.type !== "run.started") return;
      hasStarted = true;
      if (sessions.unreachable !== undefined && this.#unreachable !== undefined)
        run.notify(this.#unreachable);
    };
    const open: SessionFactory["open"] = (request, stop) => {
      const { modelLimits = {}, modelServer: server } = spec;
      const own = { modelLimits: modelLimits[request.modelId], modelServer: server };
      return sessions.factory.open({ ...request, ...own }, stop);
    };
    const ports = {
      sessions: { open },
      clock: this.clock,
      gate: gateTurns?.(this.#sharedGate) ?? this.#sharedGate,
      rateLimit: this.#rateLimit,
      budget: this.#options.budget,
      random: Math.random,
      awaited: () => sessions.unreachable,
      onWork: (work: WorkRef, stop: (why: string) => void) => void stops.set(workKey(work), stop),
      onTransition,
      emit,
    };
    const start = async (): Promise<RunEnd> => {
      const release = onAbort(signal, () => abort.abort(signal?.reason));
      try {
        // The caller gets the handle before the first event.
        await yieldToEventLoop();
        for (const source of [...toolSourcesOf(spec), spec.outputChecks]) await source?.prepare?.();
        const outcome = await runJob(spec, ports, abort.signal);
        return { outcome, reporterFailures: await sink.close() };
      } finally {
        release();
        this.#leave(run);
        await sink.close();
      }
    };
    const run: ActiveRun = {
      runId,
      view: sink.view,
      parallel,
      notify(decision) {
        const isUnconfined = decision.kind === "sandbox-missing";
        const isNew = !(isUnconfined && saysUnconfined);
        if (hasStarted && isNew) emit({ type: "decision", work: null, decision });
        saysUnconfined ||= isUnconfined;
      },
      cancel: (reason) => abort.abort(reason),
      stopWork(workId, reason) {
        const all = [...stops].filter(([key]) => key.startsWith(`${workId}/`));
        return all.map(([, stop]) => stop(reason)).length > 0;
      },
      // Deferred, because `start` uses `run`.
      ended: Promise.resolve().then(start),
    };
    this.#runs.set(runId, run);
    this.#setParallel();
    return run;
  }

  /** A session that belongs to no run. Rejects if it can't be had, or if the host is closed. */
  async startSession(request: RawSessionRequest): Promise<ICopilotSession> {
    this.ensureOpen();
    const { redactor } = this;
    const sessions = this.#sessions.acquire();
    const key = `session of no run ${(this.#sessionsOfNoRun += 1)}`;
    const start = async (): Promise<ICopilotSession> =>
      sessions.startSession({
        ...request,
        shown: (activity) => redactor.activities(key, activity),
        onEnded: () => {
          this.#lent.delete(session);
          this.#sessions.release();
          request.onEnded?.();
        },
      });
    const session: ICopilotSession = await start().catch((error: unknown) => {
      this.#sessions.release();
      throw error;
    });
    this.#lent.add(session);
    if (this.#closing === undefined) return session;
    await session.stop();
    throw closed();
  }

  async listModels(): Promise<readonly OfferedModel[]> {
    this.ensureOpen();
    const sessions = this.#sessions.acquire();
    try {
      return await sessions.listModels();
    } finally {
      this.#sessions.release();
    }
  }

  /** A session of a run, while it is open. To stop it is a crash of its turn. */
  findSession(sessionId: string): ICopilotSession | undefined {
    return this.#sessions.current?.find(sessionId);
  }

  /** Cancels what runs, and closes the reporters, each step within a few seconds. Idempotent, never rejects. */
  close(): Promise<readonly ReporterFailure[]> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends the runtime and all it started by force and at once, for a process that has no time left. */
  kill(): void {
    this.#sessions.kill();
    this.#mcp?.kill();
    killMarkedProcesses(RUN_MARK, this.mark);
  }

  async #close(): Promise<readonly ReporterFailure[]> {
    const runs = [...this.#runs.values()];
    for (const run of runs) run.cancel("the host was closed");
    const lent = [...this.#lent].map((session) => session.stop());
    const ended = Promise.allSettled(runs.map((run) => run.ended));
    await within(ended, RUNS_END_MS, this.clock);
    await within(Promise.allSettled(lent), SESSIONS_END_MS, this.clock);
    await Promise.all([this.#sessions.close(), this.#mcp?.close()]);
    await this.#confinement?.close();
    return this.#reporters.close();
  }

  #sessionsOptions(): SessionsOptions {
    const { environment, runtimePath, transport, runtimes, tools, kept, mark } = this.#options;
    return {
      clock: this.clock,
      environment,
      runtimePath,
      tools,
      kept,
      confinement: this.confinement,
      // Not `this.mark`: the runtime that ends takes along whatever carries its mark, and the next one may have started.
      mark,
      // A transport answers every request, so no model server is reached, whatever the options.
      ...(transport === undefined ? modelServer(this.#options) : { transport, runtimes }),
      onRuntimeRestarted: (reason) => this.#notify({ kind: "runtime-restarted", reason }),
      onUnreachable: (server, reason) => {
        this.#unreachable = { kind: "model-unreachable", server, reason };
        this.#notify(this.#unreachable);
      },
      onQueued: (server) => {
        const text = `Model calls are queuing: ${server} is busy with other calls of this run. Give it more slots (llama.cpp: -np, Ollama: OLLAMA_NUM_PARALLEL), or lower limits.parallel.`;
        this.#notify({ kind: "note", text });
      },
      onLeftovers: (runs) => this.#notify({ kind: "leftovers-ended", runs }),
    };
  }

  #notify(decision: MadeDecision): void {
    for (const run of this.#runs.values()) run.notify(decision);
  }

  #leave(run: ActiveRun): void {
    if (!this.#runs.delete(run.runId)) return;
    this.#setParallel();
    this.#sessions.release();
  }

  #setParallel(): void {
    const all = [...this.#runs.values()].map(({ parallel }) => parallel);
    if (all.length > 0) this.#gate.parallel = Math.min(...all);
  }
}

function closed(): Error {
  return new Error("The host is closed.");
}
