/**
 * Owns the child, from spawn until it is surely gone, and its folder. The SDK does not say when it died, and no pending
 * call then settles, so every call is raced against its death and a deadline (docs/internals/runtime-notes.md#death). On
 * a busy machine an answer may take minutes: a late one starts a watch over its messages and CPU time.
 */
import {
  CopilotClient,
  RuntimeConnection,
  type CopilotClientOptions,
  type CopilotRequestHandler,
} from "@github/copilot-sdk";
import { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { truncateStartUnredacted } from "../text/truncate.ts";
import { filesOfRuntime, type Authentication } from "./find-runtime.ts";
import { bestEffort, onAbort, startTimer, unless, yieldToEventLoop } from "../platform/waiting.ts";
import { makeDirectory, realPathOf, removeDirectory } from "../platform/files.ts";
import {
  cpuTicks,
  endProcess,
  endText,
  isHandle,
  programIn,
  sendSignal,
  type Handle,
} from "../platform/processes.ts";
import { runtimeSandbox, type Sandbox } from "../sandbox/sandbox.ts";
import type { SandboxChoice } from "../sandbox/mounts.ts";
import { errorMessage } from "../platform/system-error.ts";
import { boundedMessages } from "./bounded-messages.ts";

const startMs = 15_000;
const stopMs = 5_000;
/** Ctrl-C reaches the runtime as well as us: a death this soon before a cancel is no crash. */
const graceMs = 250;
const lookMs = 1_000;
/** Looks without CPU time and without a message. Not seconds, because this process may be slow as well. */
const stillLooks = 10;
/** Replaces `stillLooks` if its CPU time is unknown. */
const stillLooksByMessages = 30;
/** Consecutive looks without a message after which it counts as hung although it uses CPU time. */
const silentLooks = 120;
const mostLooks = 300;
const unresponsive = "The Copilot runtime no longer responds.";

export interface RuntimeLife {
  /** True from the moment the process ended, which is a little before its death is declared. */
  readonly gone: boolean;
  readonly ended: boolean;
  /** Undefined if there is none, the runtime is gone, or the signal aborts. Waits on while the runtime makes progress. */
  answer<T>(
    call: Promise<T>,
    milliseconds: number,
    signal?: AbortSignal,
  ): Promise<{ readonly value: T } | undefined>;
  /** Not called on an orderly stop. A promise would keep every waiter for as long as it lives. */
  onDeath(listener: (reason: string) => void): () => void;
}

export interface RuntimeProcessOptions {
  readonly clock: Clock;
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly authentication: Authentication;
  readonly directory: string;
  /** Made anew for each process; `kill` ends that very process. */
  readonly requestHandler?: ((kill: () => void) => CopilotRequestHandler) | undefined;
  /** Arguments of every search, one on each line: what ripgrep reads from the file that `RIPGREP_CONFIG_PATH` names. */
  readonly searchConfiguration?: string | undefined;
  readonly sandbox?: SandboxChoice | undefined;
}

type Stage =
  | { readonly at: "up" }
  /** Not yet declared: a moment later it may turn out that we were about to stop it. */
  | { readonly at: "lost"; readonly reason: string; readonly ended: boolean }
  | { readonly at: "dead"; readonly reason: string; readonly ended: boolean }
  | { readonly at: "stopping" }
  | { readonly at: "stopped" };

export class RuntimeProcess implements RuntimeLife {
  readonly client: CopilotClient;
  readonly outputDirectory: string;
  readonly #temporary: string;
  readonly #sandboxFolder: string;
  #sandbox: Sandbox | undefined;
  readonly #searchFile: string;
  readonly #exitListeners = new Set<(reason: string) => void>();
  #stage: Stage = { at: "up" };
  /** A call was not answered: nothing should wait for it until it answers a ping. */
  #unresponsive = false;
  #stopping: Promise<void> | undefined;
  #probing: Promise<void> | undefined;
  #child: ChildProcess | undefined;
  #handles: readonly Handle[] = [];
  /** Why the child could not be started, as reported by the system a moment later. */
  #notStarted: Promise<unknown> | undefined;
  #messages = 0;
  /** The pid of the runtime, not of the sandbox around it. */
  #pid: number | undefined;
  #looked: { readonly at: number; readonly ticks: number | undefined } | undefined;
  #errors = "";
  #restore = (): void => {};
  readonly #ended = new AbortController();
  readonly #options: RuntimeProcessOptions;

  constructor(options: RuntimeProcessOptions) {
    this.#options = options;
    this.outputDirectory = join(options.directory, "output");
    this.#temporary = join(options.directory, "tmp");
    this.#searchFile = join(options.directory, "search");
    this.#sandboxFolder = join(options.directory, "sandbox");
    const { authentication, sandbox, path } = options;
    const hasSearches = options.searchConfiguration !== undefined;
    const clientOptions: CopilotClientOptions = {
      mode: "empty",
      connection: RuntimeConnection.forStdio(
        // The sandbox has the file itself, not a link to it.
        sandbox ? { path: join(this.#sandboxFolder, "enter"), args: [realPathOf(path)] } : { path },
      ),
      env: {
        ...options.environment,
        ...authentication.environment,
        // The index of all files doesn't check what may be shown.
        ...(hasSearches && { RIPGREP_CONFIG_PATH: this.#searchFile, USE_TGREP: "false" }),
        // Detached shells and agents leave files there, which are removed with the runtime.
        ...Object.fromEntries(["TMPDIR", "TMP", "TEMP"].map((name) => [name, this.#temporary])),
        ...(sandbox && { PATH: `${this.#sandboxFolder}/bin:${options.environment["PATH"] ?? ""}` }),
      },
      baseDirectory: join(options.directory, "home"),
      workingDirectory: options.directory,
      logLevel: "error",
      useLoggedInUser: authentication.useLoggedInUser,
      ...(options.requestHandler && {
        requestHandler: options.requestHandler(() => this.kill()),
      }),
    };
    this.client = new CopilotClient(clientOptions);
  }

  get gone(): boolean {
    return this.#stage.at === "stopped" || this.loss !== undefined;
  }

  get unresponsive(): boolean {
    return this.#unresponsive;
  }

  get loss(): string | undefined {
    return "reason" in this.#stage ? this.#stage.reason : undefined;
  }

  get ended(): boolean {
    return "ended" in this.#stage && this.#stage.ended;
  }

  onDeath(listener: (reason: string) => void): () => void {
    if (this.#stage.at === "dead") listener(this.#stage.reason);
    else this.#exitListeners.add(listener);
    return () => this.#exitListeners.delete(listener);
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  /** An idle runtime doesn't keep this process running. */
  rest(isResting: boolean): void {
    for (const handle of this.#handles) handle[isResting ? "unref" : "ref"]();
  }

  async start(): Promise<void> {
    this.#restore = tolerateBrokenPipes();
    try {
      for (const path of [this.outputDirectory, this.#temporary]) await makeDirectory(path);
      const { searchConfiguration, sandbox } = this.#options;
      if (sandbox) await this.#makeSandbox(sandbox);
      if (searchConfiguration !== undefined) await writeFile(this.#searchFile, searchConfiguration);
      const starting = this.client.start();
      this.#watchChild();
      const started = await this.answer(starting, startMs);
      if (!started) throw new Error(this.loss ?? "The Copilot runtime did not start in time.");
      // The SDK only knows the process of the sandbox.
      if (sandbox !== undefined) this.#pid = programIn(this.#pid) ?? this.#pid;
    } catch (error) {
      // The SDK only reports that a child has no pipes if it was not started at all.
      const message = errorMessage((await this.#notStarted) ?? error);
      if (!this.gone) this.#stage = { at: "lost", reason: message, ended: false };
      await this.stop({ hasSessions: false });
      const errors = this.#errors === "" ? "" : `\n${this.#errors.trim()}`;
      throw new Error(`${message}${errors}`, { cause: error });
    }
  }

  async #makeSandbox({ bubblewrap, profile }: SandboxChoice): Promise<void> {
    const { path, directory, environment, authentication } = this.#options;
    const own = filesOfRuntime(realPathOf(path));
    this.#sandbox = await runtimeSandbox({
      bubblewrap,
      profile,
      environment,
      folder: this.#sandboxFolder,
      temporary: this.#temporary,
      readable: [own],
      writable: [directory],
      commands: {
        readable: [own, this.#searchFile],
        writable: [this.outputDirectory, this.#temporary],
      },
      withheld: Object.keys(authentication.environment),
    });
  }

  leftUnanswered(): void {
    this.#unresponsive = true;
    void this.probe();
  }

  /** If it leaves a ping unanswered too and makes no progress, it is declared dead. Bounded, never throws. */
  probe(): Promise<void> {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }

  async #probe(): Promise<void> {
    if (this.#stage.at !== "up") return;
    const { clock } = this.#options;
    const ping = await this.#patiently(this.client.ping(), 1_000).catch(() => "broken" as const);
    // The reason of the exit arrives a moment after the connection breaks.
    if (ping === "broken") {
      await clock.sleep(graceMs, this.#ended.signal);
      await this.#lost(unresponsive, false);
    } else if (ping === "stalled") await this.#lost(unresponsive, true);
    else if (typeof ping === "object") this.#unresponsive = false;
  }

  async answer<T>(
    call: Promise<T>,
    milliseconds: number,
    signal?: AbortSignal,
  ): Promise<{ readonly value: T } | undefined> {
    const answer = await this.#patiently(call, milliseconds, signal);
    return typeof answer === "object" ? answer : undefined;
  }

  /** `stalled`: there is no progress. `given up`: it is gone, the signal has aborted, or the call has taken too long. */
  async #patiently<T>(
    call: Promise<T>,
    milliseconds: number,
    signal?: AbortSignal,
  ): Promise<{ readonly value: T } | "stalled" | "given up"> {
    const ended = this.#ended.signal;
    let limit = milliseconds;
    let before: { readonly messages: number; readonly ticks: number | undefined } | undefined;
    let still = 0;
    let silent = 0;
    for (let looks = 0; looks < mostLooks; looks += 1) {
      const answer = await unless(
        call,
        (giveUp) => startTimer(this.#options.clock, limit, giveUp),
        (giveUp) => onAbort(signal, giveUp),
        (giveUp) => onAbort(ended, giveUp),
        (giveUp) => this.onDeath(giveUp),
      );
      if (answer !== undefined) return answer;
      const isOver = this.#stage.at === "dead" || ended.aborted;
      if (isOver || signal?.aborted === true) return "given up";
      const now = { messages: this.#messages, ticks: this.#ticks() };
      silent = now.messages === before?.messages ? silent + 1 : 0;
      still = silent > 0 && now.ticks === before?.ticks ? still + 1 : 0;
      const most = now.ticks === undefined ? stillLooksByMessages : stillLooks;
      if (still >= most || silent >= silentLooks) return "stalled";
      before = now;
      limit = lookMs;
    }
    return "given up";
  }

  /** Includes the processes below it. Calls that are late at the same time share one look. */
  #ticks(): number | undefined {
    const now = this.#options.clock.now();
    if (this.#looked === undefined || now - this.#looked.at >= lookMs / 2) {
      const ticks = this.#pid === undefined ? undefined : cpuTicks(this.#pid);
      this.#looked = { at: now, ticks };
    }
    return this.#looked.ticks;
  }

  kill(): void {
    if (this.#pid !== undefined) sendSignal(this.#pid, "SIGKILL");
  }

  /** Never throws. Without sessions it is killed: its orderly shutdown takes 0.3 s. */
  stop({ hasSessions } = { hasSessions: true }): Promise<void> {
    return (this.#stopping ??= this.#stop(hasSessions));
  }

  async #stop(hasSessions: boolean): Promise<void> {
    const isWell = this.#stage.at === "up" && !this.#unresponsive;
    // A runtime that ended by itself keeps its reason.
    if (this.#stage.at === "up") this.#stage = { at: "stopping" };
    this.#ended.abort();
    const { clock } = this.#options;
    if (hasSessions && isWell) {
      await bestEffort(() => this.client.stop(), stopMs, clock);
    }
    // Clears what a failed stop or a dead child left in the client: timers, the connection.
    await bestEffort(() => this.client.forceStop(), stopMs, clock);
    if (this.#pid !== undefined) await endProcess(this.#pid, 2_000, this.#child);
    if (this.#stage.at === "stopping") this.#stage = { at: "stopped" };
    this.#sandbox?.close();
    await removeDirectory(this.#options.directory).catch(() => undefined);
    // The writer of a child that was not started fails a moment after its start has failed.
    await yieldToEventLoop();
    this.#restore();
  }

  /** The SDK hides its child process in a private field, doesn't report its exit, and copies its stderr to ours. */
  #watchChild(): void {
    const child: unknown = Reflect.get(this.client, "cliProcess");
    if (!(child instanceof ChildProcess))
      throw new Error("The Copilot SDK has started no process.");
    if (child.pid === undefined) {
      this.#notStarted = new Promise((resolve) => child.once("error", resolve));
      // Node would send the signal to whatever number its memory holds: 0 is the process group of agent-jobs.
      child.kill = () => false;
      return;
    }
    this.#child = child;
    this.#pid = child.pid;
    // The SDK forgets its timer for the start.
    const timer: unknown = Reflect.get(this.client, "cliStartTimeout");
    this.#handles = [child, child.stdin, child.stdout, child.stderr, timer].filter(isHandle);
    // The SDK has not connected to it yet.
    if (child.stdout !== null) {
      child.stdout = boundedMessages(child.stdout.on("data", () => (this.#messages += 1)));
    }
    child.stderr?.removeAllListeners("data");
    child.stderr?.on("data", (data: Buffer) => {
      this.#errors = truncateStartUnredacted(this.#errors + data.toString(), 4096);
    });
    const ended = (how: string): void => {
      void this.#lost(`The Copilot runtime exited unexpectedly (${how}).`, false);
    };
    child.once("exit", (code, signal) => ended(endText(code, signal)));
    child.once("error", (error) => ended(error.message));
  }

  async #lost(reason: string, ended: boolean): Promise<void> {
    if (this.#stage.at !== "up") return;
    this.#stage = { at: "lost", reason, ended };
    await this.#options.clock.sleep(graceMs, this.#ended.signal);
    if (this.#stopping !== undefined) return;
    this.#stage = { at: "dead", reason, ended };
    for (const listener of this.#exitListeners) listener(reason);
    this.#exitListeners.clear();
  }
}

/**
 * A request to a runtime that has died is written into a broken pipe. The RPC library under the SDK rejects it, and
 * throws the error once more where it can't be caught (`throw` in an async promise executor).
 */

export function tolerateBrokenPipes(): () => void {
  // Only once, because Node warns about more than ten.
  if ((tolerating += 1) === 1) process.on("unhandledRejection", ignoreBrokenPipe);
  return () => {
    if ((tolerating -= 1) === 0) process.off("unhandledRejection", ignoreBrokenPipe);
  };
}

let tolerating = 0;

export function ignoreBrokenPipe(reason: unknown): void {
  if (isBrokenPipe(reason)) return;
  // A listener replaces Node's default. Leave it to other listeners, or do as Node would without any.
  const others = process.listeners("unhandledRejection").some((one) => one !== ignoreBrokenPipe);
  if (!others) throw reason;
}

export function isBrokenPipe(reason: unknown): boolean {
  if (!(reason instanceof Error) || !("code" in reason)) return false;
  const { code } = reason;
  const written = "syscall" in reason ? reason.syscall === "write" : true;
  return written && ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"].includes(String(code));
}
