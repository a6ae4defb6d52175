/**
 * EXECUTE for real. Owns the shell of a run and the executors beside it. Invariants: nothing runs unless every script
 * of the activity is allowed; an activity ends within its limits and a few seconds; after `close` nothing runs on.
 */
import type { Script, ScriptRun } from "../../events/flow.ts";
import { exceeded, minutes, type ResolvedLimits } from "../../engine/limits.ts";
import { defaultLimits, type Permissions } from "../../entry/model.ts";
import { limitText } from "../../events/exceeded-limit.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ShellState } from "../../events/event.ts";
import type { TextStream } from "../../redaction/secret-search.ts";
import {
  onAbort,
  startTimer,
  withGracePeriod,
  type Occasion,
  type Release,
} from "../../platform/waiting.ts";
import { decidePermission, type PermissionContext } from "../../permissions/policy.ts";
import { listsCommands } from "../../permissions/rules.ts";
import { childEnvironment, withGitSetting, type Environment } from "../../platform/environment.ts";
import { RUN_MARK, type RunFolder } from "../../platform/run-folder.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { restoringCommands } from "./bash-protocol.ts";
import { BashShell, bashTags } from "./bash-shell.ts";
import { type Executor, pythonExecutor, pythonTags } from "./executors.ts";
import { ScriptOutput } from "./script-output.ts";
import { truncate } from "../../text/truncate.ts";

export interface Scripts {
  /** One at a time. Never rejects. */
  execute(scripts: readonly Script[], options: ExecuteOptions): Promise<Executed>;
  /** For a checkpoint: what `state` of a run that is resumed has to be. */
  checkpoint(): ShellState;
  /** Ends all that was started. Idempotent, bounded, never throws. */
  close(): Promise<void>;
}

export interface ExecuteOptions {
  readonly signal: AbortSignal;
  /** Redacted pieces of output, as they come. `script`: its index. */
  readonly onOutput?: (piece: { readonly script: number; readonly text: string }) => void;
}

interface Problem {
  readonly reason: string;
  readonly because: "denied" | "limit" | "output" | "killed" | "broken";
  readonly limit?: "commandMinutes" | "commandIdleMinutes";
}

export type Executed =
  | { readonly kind: "executed"; readonly runs: readonly CompleteRun[] }
  | (Problem & {
      readonly kind: "failed";
      /** Up to the script that failed, which is the last one; one that was denied is not there. */
      readonly runs: readonly CompleteRun[];
    })
  | { readonly kind: "canceled"; readonly runs: readonly CompleteRun[] };

/** With what is known of every script that this runner has run. Not redacted. */
export interface CompleteRun extends ScriptRun {
  readonly outputCharacters: number;
  readonly outputFile: string;
}

export interface ScriptRunnerOptions {
  /** Its mark is in the environment of each process. */
  readonly folder: RunFolder;
  /** Where the shell begins, and the folder that the permissions are about. Absolute. */
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  /** How the file rules of the permissions see the file system. */
  readonly files: Omit<PermissionContext, "workingDirectory">;
  /** The environment of this process. Scripts see what the allow-list has for every process, and `variables`. */
  readonly environment: Environment;
  /** Variables that the caller has allowed in addition (`--env NAME`). */
  readonly variables?: Readonly<Record<string, string>>;
  readonly limits?: Partial<ResolvedLimits>;
  readonly clock: Clock;
  /** More executors; they come before those that ship. */
  readonly executors?: readonly Executor[] | undefined;
  readonly state?: ShellState | undefined;
  readonly redact?: () => TextStream;
  /** For programs that may read a folder, but not replace the pipes in it, which this process opens. */
  readonly confine?: ((readable: string) => Promise<Sandbox | undefined>) | undefined;
  /** How long processes may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number;
  /** Bytes of the file of one script: a command that prints for ever must not fill the disk. Default: 256 MB. */
  readonly longestOutput?: number;
}

/** The files of a checkout can be a repository without a `.git`, whose configuration runs programs. */
const onlyRealRepositories = ["safe.bareRepository", "explicit"] as const;

const defaultLongestOutput = 256 * 1024 * 1024;
/** For an executor of the host that ignores its signal. */
const executorGraceMs = 10_000;

export function scriptTags({
  executors = [],
}: Pick<ScriptRunnerOptions, "executors">): readonly string[] {
  return [...new Set([...executors.flatMap(tagsOf), ...bashTags, ...pythonTags])];
}

/** Tags are compared in lower case, however a host writes its own. */
function tagsOf({ tags }: Executor): readonly string[] {
  return tags.map((tag) => tag.toLowerCase());
}

export class ScriptRunner implements Scripts {
  readonly #options: ScriptRunnerOptions;
  readonly #limits: ResolvedLimits;
  readonly #shell: BashShell;
  readonly #executors: readonly Executor[];
  readonly #closed = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #scripts = 0;

  constructor(options: ScriptRunnerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    const { folder, environment, workingDirectory, permissions } = options;
    const allowed = childEnvironment(environment);
    const variables = {
      ...(listsCommands(permissions) ? withGitSetting(allowed, ...onlyRealRepositories) : allowed),
      ...options.variables,
      [RUN_MARK]: folder.mark,
    };
    const sandbox = async (): Promise<Sandbox | undefined> => options.confine?.(folder.path);
    const { state, graceMs } = options;
    const common = { folder: folder.path, environment, sandbox };
    this.#shell = new BashShell({ ...common, workingDirectory, variables, state, graceMs });
    this.#executors = [...(options.executors ?? []), this.#shell, pythonExecutor(common)];
  }

  checkpoint(): ShellState {
    return this.#shell.state;
  }

  async execute(scripts: readonly Script[], options: ExecuteOptions): Promise<Executed> {
    const run = this.#execute(scripts, options);
    this.#running = run;
    return run;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#shell.close();
    await this.#running.catch(() => undefined);
  }

  async #execute(scripts: readonly Script[], options: ExecuteOptions): Promise<Executed> {
    const runs: CompleteRun[] = [];
    if (options.signal.aborted || this.#closed.signal.aborted) return { kind: "canceled", runs };
    const reason = this.#refusal(scripts);
    if (reason !== undefined) return { kind: "failed", because: "denied", reason, runs };
    const cancellations = [options.signal, this.#closed.signal];
    const bounds = new Bounds(this.#limits, this.#options.clock, cancellations);
    try {
      for (const [index, script] of scripts.entries()) {
        const problem = await this.#script(script, index, bounds, options, runs);
        const isCanceled = bounds.signal.aborted && bounds.stopped === undefined;
        if (isCanceled) return { kind: "canceled", runs };
        if (problem !== undefined) return { kind: "failed", ...problem, runs };
      }
      return { kind: "executed", runs };
    } finally {
      bounds.end();
    }
  }

  #refusal(scripts: readonly Script[]): string | undefined {
    const { permissions, state, workingDirectory } = this.#options;
    // A journal is a file that anyone may have written: what it makes of the shell needs the same permissions.
    const restores = state !== undefined && this.#scripts === 0;
    for (const command of restores ? restoringCommands(state, workingDirectory) : []) {
      const decision = this.#judge(permissions, command);
      if (decision.kind !== "allowed")
        return `The permissions don't allow to restore the shell with ${firstLine(command)}: ${decision.reason}.`;
    }
    for (const { tag, code } of scripts) {
      const executor = this.#executor(tag);
      if (executor === undefined) return `No executor runs scripts with the tag ${tag}.`;
      try {
        const command = executor.command?.(code);
        const decision = command === undefined ? undefined : this.#judge(permissions, command);
        if (command !== undefined && decision?.kind === "denied")
          return `The permissions don't allow ${firstLine(decision.target)}: ${decision.reason}.${this.#advice(command)}`;
      } catch (error) {
        return `The executor of ${tag} can't tell what it would run: ${errorMessage(error)}.`;
      }
    }
    return undefined;
  }

  #judge(permissions: Permissions, command: string): ReturnType<typeof decidePermission> {
    const { files, workingDirectory } = this.#options;
    const request = { kind: "shell", command } as const;
    return decidePermission(permissions, request, { ...files, workingDirectory });
  }

  /** A pattern for `permissions.shell` that would allow the command, if that is simple. */
  #advice(command: string): string {
    const { permissions } = this.#options;
    const rules = typeof permissions === "string" ? { preset: permissions } : permissions;
    const line = command.trim();
    if (rules.shell === true || /[\n*]/.test(line) || line.length > 200) return "";
    const shell = [...(rules.shell ?? []), line];
    return this.#judge({ ...rules, shell }, command).kind === "allowed"
      ? ` To allow it, add ${JSON.stringify(line)} to permissions.shell.`
      : "";
  }

  #executor(tag: string): Executor | undefined {
    return this.#executors.find((one) => tagsOf(one).includes(tag.toLowerCase()));
  }

  /** Adds its run. Returns why the activity fails. */
  async #script(
    { tag, code }: Script,
    index: number,
    bounds: Bounds,
    { onOutput = () => {} }: ExecuteOptions,
    runs: CompleteRun[],
  ): Promise<Problem | undefined> {
    const { clock, redact, folder } = this.#options;
    const { longestOutput = defaultLongestOutput } = this.#options;
    this.#scripts += 1;
    const file = `${folder.path}/output-${this.#scripts}.log`;
    const reason = `The output is longer than ${longestOutput} bytes`;
    const output = new ScriptOutput({
      file,
      characters: this.#limits.outputCharacters,
      bytes: longestOutput,
      onTooMuch: () => bounds.stop({ because: "output", reason }),
      onText: (text) => onOutput({ script: index, text }),
      clock,
      redacting: redact?.(),
    });
    let isOver = false;
    const context = {
      signal: bounds.signal,
      workingDirectory: this.#shell.state.workingDirectory,
      environment: this.#shell.environment,
      write: ({ bytes }: { readonly bytes: Uint8Array }): void => {
        if (isOver) return;
        bounds.restartIdleTimer();
        output.write(bytes);
      },
    };
    const running = Promise.resolve()
      .then(() => this.#executor(tag)?.run(code, context))
      .catch((error: unknown) => ({ kind: "failed", reason: errorMessage(error) }) as const);
    const isStopped: Occasion = (listener) => onAbort(bounds.signal, listener);
    const ended = await withGracePeriod(running, isStopped, executorGraceMs, clock);
    const end = ended?.value ?? stuck;
    isOver = true;
    output.end();
    const stopped = bounds.stopped;
    runs.push({
      code,
      output: output.text,
      outputCharacters: output.length,
      outputFile: file,
      exitCode: end.kind === "failed" ? endedExitCode : end.exitCode,
      ...(stopped?.because === "limit" ? { timedOut: true } : {}),
    });
    if (stopped !== undefined) return { ...stopped, reason: `${stopped.reason}${shown(code)}` };
    switch (end.kind) {
      case "exited":
        return undefined;
      case "killed":
        return { because: "killed", reason: `${end.signal} has ended the shell${shown(code)}` };
      case "failed":
        return { because: "broken", reason: end.reason };
    }
  }
}

/** The limits and cancellations that end the scripts of an activity. */
class Bounds {
  stopped: Problem | undefined;
  readonly signal: AbortSignal;
  readonly #limits: ResolvedLimits;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #release: Release;
  #silence: Release;

  constructor(limits: ResolvedLimits, clock: Clock, cancellations: readonly AbortSignal[]) {
    this.#limits = limits;
    this.#clock = clock;
    this.signal = AbortSignal.any([...cancellations, this.#abort.signal]);
    this.#release = this.#after("commandMinutes");
    this.#silence = this.#after("commandIdleMinutes");
  }

  restartIdleTimer(): void {
    this.#silence();
    this.#silence = this.#after("commandIdleMinutes");
  }

  stop(problem: Problem): void {
    if (this.signal.aborted) return;
    this.stopped = problem;
    this.#abort.abort();
  }

  end(): void {
    this.#release();
    this.#silence();
  }

  #after(limit: "commandMinutes" | "commandIdleMinutes"): Release {
    const bound = exceeded(this.#limits, limit);
    const problem = { because: "limit", limit, reason: `Exceeded ${limitText(bound)}` } as const;
    return startTimer(this.#clock, minutes(bound.value), () => this.stop(problem));
  }
}

const stuck = { kind: "failed", reason: "The executor did not end in time." } as const;
/** The exit code with which `timeout` reports a script that was ended. */
const endedExitCode = 124;

function shown(code: string): string {
  return `: ${firstLine(code)}`;
}

function firstLine(text: string): string {
  const line = text.trimStart().split("\n", 1)[0] ?? "";
  return line.length > 80 || line !== text.trim() ? `${truncate(line, 80)}…` : line;
}
