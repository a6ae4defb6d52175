/**
 * EXECUTE for real: judges the scripts of an activity, runs them one after the other, and bounds their time and output.
 *
 * Owns the shell of a run and the executors beside it. Invariants: nothing runs unless every script of the activity is
 * allowed; an activity ends within its limits and a few seconds; after `close` nothing that it has started runs on.
 */
import type { Script, ScriptRun } from "../../events/flow.ts";
import { defaultLimits, type Permissions } from "../../entry/model.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ShellState } from "../../events/step.ts";
import type { TextStream } from "../../redaction/text-stream.ts";
import { onAbort, unlessStuck, type Occasion } from "../../platform/waiting.ts";
import { decidePermission, type PermissionContext } from "../../permissions/policy.ts";
import { listsCommands } from "../../permissions/rules.ts";
import { childEnvironment, withGitSetting, type Environment } from "../../platform/environment.ts";
import { RUN_MARK, type RunFolder } from "../../platform/run-folder.ts";
import type { ConfinedProgram, Sandbox } from "../../platform/sandbox.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { restoringCommands } from "./bash-protocol.ts";
import { BashShell, bashTags } from "./bash-shell.ts";
import type { Executor } from "./executor.ts";
import { pythonExecutor, pythonTags } from "./python.ts";
import { Bounds, type BoundLimits, type Problem, type ScriptLimits } from "./script-bounds.ts";
import { ScriptOutput } from "./script-output.ts";
import { cut } from "../../events/cut.ts";

/** What the interpreter needs in order to execute. */
export interface Scripts {
  readonly tags: readonly string[];
  /** Never rejects. One at a time. */
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
  /** Where scripts and output are kept until the run is over. Its mark is in the environment of each process. */
  readonly folder: RunFolder;
  /** Where the shell begins, and the folder that the permissions are about. Absolute. */
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  /** How the file rules of the permissions see the file system. */
  readonly files: Omit<PermissionContext, "workingDirectory">;
  /** Of this process. Scripts see what is on the allow-list for every process, and `variables`. */
  readonly environment: Environment;
  /** What the caller has allowed in addition (`--env NAME`). */
  readonly variables?: Readonly<Record<string, string>>;
  readonly limits?: ScriptLimits;
  readonly clock: Clock;
  /** More executors; they come before those that ship. */
  readonly executors?: readonly Executor[] | undefined;
  readonly state?: ShellState | undefined;
  readonly redact?: () => TextStream;
  /**
   * The sandbox of programs that may also read a folder, and so write to the pipes in it. They must not replace them:
   * this process opens what is there. Default: none.
   */
  readonly confine?: ((readable: string) => Promise<ConfinedProgram>) | undefined;
  /** How long processes may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number;
  /** Bytes of the file of one script: a command that prints for ever must not fill the disk. Default: 256 MB. */
  readonly longestOutput?: number;
}

/**
 * For git. The files of a checkout can be a repository without a `.git`, whose configuration runs programs. The
 * runtime sets the same for the shells of agents. Where any command may run, it would only be in the way.
 */
const onlyRealRepositories = ["safe.bareRepository", "explicit"] as const;

const defaultLongestOutput = 256 * 1024 * 1024;
/** For an executor of the host that ignores its signal. */
const executorGraceMs = 10_000;

/** The tags of code fences that a runner with these options can run. */
export function scriptTags({
  executors = [],
}: Pick<ScriptRunnerOptions, "executors">): readonly string[] {
  return [...new Set([...executors.flatMap(tagsOf), ...bashTags, ...pythonTags])];
}

/** Those of code fences are compared in lower case, however a host writes its own. */
function tagsOf({ tags }: Executor): readonly string[] {
  return tags.map((tag) => tag.toLowerCase());
}

export class ScriptRunner implements Scripts {
  readonly #options: ScriptRunnerOptions;
  readonly #limits: BoundLimits;
  readonly #shell: BashShell;
  readonly #executors: readonly Executor[];
  readonly #outputs = new Set<ScriptOutput>();
  readonly #closed = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #scripts = 0;

  constructor(options: ScriptRunnerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    const { folder, environment, workingDirectory, permissions } = options;
    const given = childEnvironment(environment);
    const variables = {
      ...(listsCommands(permissions) ? withGitSetting(given, ...onlyRealRepositories) : given),
      ...options.variables,
      [RUN_MARK]: folder.mark,
    };
    const sandbox = async (): Promise<Sandbox | undefined> => {
      const confined = await options.confine?.(folder.path);
      if (confined?.kind === "refused") throw new Error(confined.crash.message);
      return confined?.kind === "sandboxed" ? confined.sandbox : undefined;
    };
    const common = { folder: folder.path, environment, sandbox };
    const { state, graceMs } = options;
    this.#shell = new BashShell({ ...common, workingDirectory, variables, state, graceMs });
    this.#executors = [...(options.executors ?? []), this.#shell, pythonExecutor(common)];
  }

  get tags(): readonly string[] {
    return scriptTags(this.#options);
  }

  checkpoint(): ShellState {
    return this.#shell.state;
  }

  async execute(scripts: readonly Script[], options: ExecuteOptions): Promise<Executed> {
    const before = this.#running;
    const run = before.then(() => this.#execute(scripts, options));
    this.#running = run;
    return run;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#shell.close();
    await this.#running;
    for (const output of this.#outputs) output.close();
    this.#outputs.clear();
  }

  async #execute(scripts: readonly Script[], options: ExecuteOptions): Promise<Executed> {
    const runs: CompleteRun[] = [];
    if (options.signal.aborted || this.#closed.signal.aborted) return { kind: "canceled", runs };
    const denied = (reason: string) =>
      ({ kind: "failed", because: "denied", reason, runs }) as const;
    const unrestored = this.#refusalToRestore();
    if (unrestored !== undefined) return denied(unrestored);
    const refusal = this.#refusal(scripts);
    if (refusal !== undefined) return denied(refusal);
    const bounds = new Bounds(this.#limits, this.#options.clock, [
      options.signal,
      this.#closed.signal,
    ]);
    try {
      for (const [index, script] of scripts.entries()) {
        const problem = await this.#script(script, index, bounds, options, runs);
        if (bounds.isCanceled) return { kind: "canceled", runs };
        if (problem !== undefined) return { kind: "failed", ...problem, runs };
      }
      return { kind: "executed", runs };
    } finally {
      bounds.end();
    }
  }

  #refusal(scripts: readonly Script[]): string | undefined {
    for (const { tag, code } of scripts) {
      const executor = this.#executor(tag);
      if (executor === undefined) return `No executor runs scripts with the tag ${tag}.`;
      if (executor.command === undefined) continue;
      let command: string;
      try {
        command = executor.command(code);
      } catch (error) {
        return `The executor of ${tag} can't tell what it would run: ${errorMessage(error)}.`;
      }
      const decision = this.#judge(this.#options.permissions, command);
      if (decision.kind !== "allowed") {
        return `The permissions don't allow ${firstLine(decision.target)}: ${decision.reason}.${this.#advice(command)}`;
      }
    }
    return undefined;
  }

  #judge(permissions: Permissions, command: string): ReturnType<typeof decidePermission> {
    const { files, workingDirectory } = this.#options;
    const request = { kind: "shell", command } as const;
    return decidePermission(permissions, request, { ...files, workingDirectory });
  }

  /** A journal is a file that anyone may have written: what it makes of the shell needs the same permissions as a script. */
  #refusalToRestore(): string | undefined {
    const { state, workingDirectory } = this.#options;
    if (state === undefined || this.#scripts > 0) return undefined;
    for (const command of restoringCommands(state, workingDirectory)) {
      const decision = this.#judge(this.#options.permissions, command);
      if (decision.kind === "allowed") continue;
      return `The permissions don't allow to restore the shell with ${firstLine(command)}: ${decision.reason}.`;
    }
    return undefined;
  }

  /** The smallest change of `permissions.shell` that would allow the command; empty if there is none that is simple. */
  #advice(command: string): string {
    const { permissions } = this.#options;
    const rules = typeof permissions === "string" ? { preset: permissions } : permissions;
    const patterns = Array.isArray(rules.shell) ? rules.shell : [];
    const allows = (shell: true | string[]): boolean =>
      this.#judge({ ...rules, shell }, command).kind === "allowed";
    const line = command.trim();
    if (!/[\n*]/.test(line) && line.length <= 200 && allows([...patterns, line])) {
      return ` To allow it, add ${JSON.stringify(line)} to permissions.shell.`;
    }
    const hasDenials = patterns.some((one) => one.startsWith("!"));
    if (hasDenials || !allows(true)) return "";
    return " permissions.shell: true would allow it, and every other command.";
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
    const output = new ScriptOutput({
      file,
      characters: this.#limits.outputCharacters,
      bytes: longestOutput,
      onTooMuch: () => bounds.exceed(longestOutput),
      onText: (text) => onOutput({ script: index, text }),
      clock,
      redacting: redact?.(),
    });
    this.#outputs.add(output);
    let isOver = false;
    const context = {
      signal: bounds.signal,
      workingDirectory: this.#shell.state.workingDirectory,
      environment: this.#shell.environment,
      write: (piece: Parameters<ScriptOutput["write"]>[0]): void => {
        if (!isOver && piece.late !== true) bounds.heard();
        output.write(isOver ? { ...piece, late: true } : piece);
      },
    };
    const running = Promise.resolve()
      .then(() => this.#executor(tag)?.run(code, context))
      .catch((error: unknown) => ({ kind: "failed", reason: errorMessage(error) }) as const);
    const isStopped: Occasion = (listener) => onAbort(bounds.signal, listener);
    const ended = await unlessStuck(running, isStopped, executorGraceMs, clock);
    const end = ended === undefined ? stuck : (ended.value ?? noExecutor);
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

const stuck = { kind: "failed", reason: "The executor did not end in time." } as const;
const noExecutor = { kind: "failed", reason: "There is no executor." } as const;
/** Of a script that was ended, as `timeout` reports it. */
const endedExitCode = 124;

function shown(code: string): string {
  return `: ${firstLine(code)}`;
}

function firstLine(text: string): string {
  const line = text.trimStart().split("\n", 1)[0] ?? "";
  return line.length > 80 || line !== text.trim() ? `${cut(line, 80)}…` : line;
}
