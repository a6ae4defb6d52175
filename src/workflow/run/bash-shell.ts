/**
 * The shell of a run: one bash, so that directory, variables and functions last. All output of a script that is
 * written before its end is passed on before `run` resolves, and no other; one that ends the shell leaves a state from
 * which the next begins in a new one; after `close` no process that the shell has started is left, except for one that
 * has cleared its environment and left its process group.
 */
import { unlessAborted } from "../../platform/waiting.ts";
import { makeDirectory, writeNewFile } from "../../platform/files.ts";
import { makeNamedPipes, PipeReader, PipeWriter } from "../../platform/named-pipes.ts";
import type { Environment } from "../../platform/environment.ts";
import { endGroup, endMarkedProcesses, signalGroup } from "../../platform/processes.ts";
import { startProgram, type ProgramEnd, type StartedProgram } from "../../platform/programs.ts";
import { RUN_MARK } from "../../platform/run-folder.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { findProgram } from "../../platform/search-path.ts";
import { errorMessage } from "../../platform/system-error.ts";
import {
  exitRequest,
  lostDirectory,
  readAnswer,
  restoringScript,
  scriptRequest,
  stateOf,
  type RequestFiles,
  type ShellAnswer,
} from "./bash-protocol.ts";
import type { ShellState } from "../../events/event.ts";
import { endOfScript, type Executor, type ScriptContext, type ScriptEnd } from "./executors.ts";

export interface BashOptions {
  /** An empty folder of the run, for scripts and pipes. Absolute. */
  readonly folder: string;
  readonly workingDirectory: string;
  readonly variables: Readonly<Record<string, string>>;
  /** The environment of this process, whose `PATH` is searched for bash. */
  readonly environment: Environment;
  readonly state?: ShellState | undefined;
  /** In which the shell is started. Rejects with an Error for people if it needs one and there is none. */
  readonly sandbox?: (() => Promise<Sandbox | undefined>) | undefined;
  /** How long a process may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number | undefined;
}

/** All processes of one shell have it in their environment. */
const SHELL_MARK = "AGENT_JOBS_SHELL";
const marks = [SHELL_MARK, RUN_MARK];

interface Bash {
  readonly folder: string;
  readonly program: StartedProgram;
  readonly input: PipeWriter;
}

type Outcome =
  | { readonly kind: "answered"; readonly answer: ShellAnswer }
  /** The shell is gone; the answer is what it wrote when it exited. */
  | { readonly kind: "ended"; readonly end: ProgramEnd; readonly answer: ShellAnswer | undefined }
  | { readonly kind: "aborted" };

type Failed = Extract<ScriptEnd, { kind: "failed" }>;

export const bashTags: readonly string[] = ["sh", "shell", "bash"];

export class BashShell implements Executor {
  readonly tags = bashTags;
  readonly #options: BashOptions;
  readonly #mark = crypto.randomUUID();
  /** They are read as long as a process in the background may write. */
  #outputs: readonly PipeReader[] = [];
  #state: ShellState;
  #bash: Bash | undefined;
  #shells = 0;
  #requests = 0;
  #closed = false;

  constructor(options: BashOptions) {
    this.#options = options;
    const { workingDirectory } = options;
    this.#state = options.state ?? { workingDirectory, variables: {}, removed: [], functions: "" };
  }

  readonly command = (code: string): string => code;

  get state(): ShellState {
    return this.#state;
  }

  get environment(): Readonly<Record<string, string>> {
    const { variables, removed } = this.#state;
    const base = { ...this.#options.variables, [SHELL_MARK]: this.#mark };
    const kept = Object.entries(base).filter(([name]) => !removed.includes(name));
    return { ...Object.fromEntries(kept), ...variables };
  }

  readonly run = async (code: string, context: ScriptContext): Promise<ScriptEnd> => {
    if (code.includes("\0")) return { kind: "failed", reason: "The script has a NUL character." };
    const bash = await this.#start(context.signal);
    if ("kind" in bash) return bash;
    const outcome = await this.#request(bash, code, context);
    switch (outcome.kind) {
      case "answered":
        if (!outcome.answer.hasRun) {
          this.#leave(bash);
          const reason =
            "The shell can't open any more files. Raise the limit, for example with `ulimit -n 4096`. The next script starts in a new shell.";
          return { kind: "failed", reason };
        }
        this.#take(outcome.answer);
        return { kind: "exited", exitCode: outcome.answer.exitCode };
      case "aborted":
        return { kind: "failed", reason: "The script was ended." };
      case "ended": {
        if (outcome.answer !== undefined) this.#take(outcome.answer);
        return endOfScript(outcome.end);
      }
    }
  };

  /** Ends all processes that the shell has started. Idempotent, bounded, never throws. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#bash !== undefined) {
      if (this.#bash.program.pid !== undefined) signalGroup(this.#bash.program.pid, "SIGKILL");
      this.#leave(this.#bash);
    }
    await endMarkedProcesses(SHELL_MARK, this.#mark).catch(() => undefined);
    for (const pipe of this.#outputs) pipe.close();
  }

  #take(answer: ShellAnswer): void {
    this.#state = stateOf(answer, this.#options.variables, marks);
  }

  async #start(signal: AbortSignal): Promise<Bash | Failed> {
    if (this.#closed) return { kind: "failed", reason: "The shell is closed." };
    if (this.#bash !== undefined) return this.#bash;
    try {
      const { environment, variables } = this.#options;
      const path = findProgram("bash", environment);
      if (path === undefined) throw new Error("There is no bash in PATH outside the checkout");
      this.#shells += 1;
      const folder = `${this.#options.folder}/shell-${this.#shells}`;
      await makeDirectory(folder);
      // bash reads its commands from there, and its messages begin with this name.
      await makeNamedPipes([`${folder}/bash`], environment);
      const input = new PipeWriter(`${folder}/bash`);
      const program = startProgram(path, ["bash"], {
        sandbox: await this.#options.sandbox?.(),
        cwd: folder,
        env: { ...variables, [SHELL_MARK]: this.#mark },
      });
      const bash = { folder, program, input };
      this.#bash = bash;
      // It may be ended between two scripts as well.
      void program.ended.then(() => {
        if (this.#bash === bash) this.#leave(bash);
      });
      return await this.#restore(bash, signal);
    } catch (error) {
      return { kind: "failed", reason: `The shell can't be started: ${errorMessage(error)}.` };
    }
  }

  async #restore(bash: Bash, signal: AbortSignal): Promise<Bash | Failed> {
    const { workingDirectory } = this.#state;
    const context = { signal, workingDirectory, environment: {}, write: () => {} };
    const outcome = await this.#request(bash, restoringScript(this.#state), context);
    if (outcome.kind === "aborted") return { kind: "failed", reason: "The script was ended." };
    if (outcome.kind === "answered" && outcome.answer.exitCode !== lostDirectory) return bash;
    if (outcome.kind === "ended") {
      const { end } = outcome;
      const why = end.kind === "not-started" ? `: ${end.reason}` : "";
      return { kind: "failed", reason: `The shell can't be started${why}.` };
    }
    // Elsewhere, the next script might change what it should not.
    this.#leave(bash);
    this.#state = { ...this.#state, workingDirectory: this.#options.workingDirectory };
    const reason = `The directory of the shell, ${workingDirectory}, doesn't exist any more. The next script starts in ${this.#options.workingDirectory}.`;
    return { kind: "failed", reason };
  }

  /** Runs a script in the shell. If the shell is gone afterwards, `#bash` is undefined. */
  async #request(bash: Bash, code: string, context: ScriptContext): Promise<Outcome> {
    this.#requests += 1;
    const base = `${bash.folder}/${this.#requests}`;
    const files = { script: `${base}.sh`, answer: `${base}.answer`, output: `${base}.output` };
    await writeNewFile(files.script, `${code}\n`);
    await makeNamedPipes([files.output, files.answer], this.#options.environment);
    const output = new PipeReader(files.output, (bytes) =>
      context.write({ stream: "stdout", bytes }),
    );
    this.#outputs = [...this.#outputs.filter(({ isOpen }) => isOpen), output];
    const answer = new AnswerReader(files);
    try {
      const outcome = await this.#perform(bash, files, answer, context.signal);
      if (outcome.kind !== "answered") this.#leave(bash);
      return outcome;
    } finally {
      answer.pipe.close();
      await output.finish();
    }
  }

  async #perform(
    { program, input }: Bash,
    files: RequestFiles,
    answer: AnswerReader,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const ended = program.ended.then((end) => ({ kind: "ended", end }) as const);
    const orAborted = async <T>(first: Promise<T>): Promise<T | typeof aborted> =>
      (await unlessAborted(first, signal))?.value ?? aborted;
    input.write(scriptRequest(files));
    let first = await orAborted(Promise.race([answer.complete, ended]));
    if (first.kind === "answered" && (first.answer.exits || first.answer.hasExitTrap)) {
      const { exits, exitCode } = first.answer;
      if (!exits) input.write(exitRequest(files, exitCode));
      first = await orAborted(ended);
    }
    if (first.kind === "answered") return first;
    if (first.kind === "ended") {
      // All that the shell has written is there now.
      await answer.pipe.finish();
      return { ...first, answer: answer.read };
    }
    if (program.pid !== undefined) await endGroup(program.pid, this.#options.graceMs ?? 2_000);
    return first;
  }

  /** It ends by itself when it finds no more requests. What it has started in the background goes on. */
  #leave({ input }: Bash): void {
    input.close();
    this.#bash = undefined;
  }
}

class AnswerReader {
  readonly pipe: PipeReader;
  readonly complete: Promise<Extract<Outcome, { kind: "answered" }>>;
  /** Undefined until it is complete. */
  read: ShellAnswer | undefined;

  constructor(files: RequestFiles) {
    let resolve: (outcome: Extract<Outcome, { kind: "answered" }>) => void = () => {};
    this.complete = new Promise((done) => (resolve = done));
    let all = Buffer.alloc(0);
    this.pipe = new PipeReader(files.answer, (bytes) => {
      all = Buffer.concat([all, bytes]);
      this.read = readAnswer(all, files);
      if (this.read !== undefined) resolve({ kind: "answered", answer: this.read });
    });
  }
}

const aborted = { kind: "aborted" } as const;
