/**
 * Owns every process that the tools of a run start. A program that is canceled, or prints too much, ends with all that it
 * has started; what one leaves running lives until `close`. Nothing that it prints is passed on before it is redacted.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import { onAbort } from "../platform/waiting.ts";
import { isDirectory } from "../platform/files.ts";
import { endGroup, endMarkedProcesses } from "../platform/processes.ts";
import { startProgram, type ProgramEnd } from "../platform/programs.ts";
import { RUN_MARK } from "../platform/run-folder.ts";
import { lineProgress, longestResult, redactedText, tailOf, ToolLog } from "./tool-output.ts";
import { failed, type CallContext, type ToolFailure } from "./tool.ts";

export interface ProgramsOptions {
  readonly workingDirectory: string;
  readonly variables: Readonly<Record<string, string>>;
  /** The part of `variables` that containers see, too. */
  readonly container?: Readonly<Record<string, string>>;
  readonly redact: () => TextStream;
  readonly clock: Clock;
  readonly mark: string;
  readonly graceMs: number;
}

export interface Program {
  readonly command: readonly string[];
  /** Absolute: the file of a program that was looked up before. Default: the command is looked up. */
  readonly path?: string;
  readonly field: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Which stream has the result; the others are its log. `none`: stdout belongs to the log, too. */
  readonly result: "stdout" | "messages" | "none";
  readonly onText?: (text: string) => void;
  /** Docker's client needs its server, and a container is a sandbox of its own. */
  readonly isDocker?: true;
  /** Ends what no signal reaches, such as a container. Never throws. */
  readonly cleanUp?: () => Promise<void>;
}

type ProgramResult =
  | {
      readonly kind: "exited";
      readonly code: number;
      readonly result: string;
      readonly tail: string;
    }
  | ToolFailure;

export const RESULTS = "AGENT_JOBS_RESULTS";

const CALL_MARK = "AGENT_JOBS_CALL";
const TOOLBOX_MARK = "AGENT_JOBS_TOOLBOX";
export const marks: readonly string[] = [RUN_MARK, TOOLBOX_MARK, CALL_MARK];

export class Programs {
  readonly options: ProgramsOptions;
  readonly #mark = randomUUID();
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: ProgramsOptions) {
    this.options = options;
  }

  run(program: Program, context: CallContext): Promise<ProgramResult> {
    const running: Promise<ProgramResult> = this.#run(program, context).finally(() =>
      this.#running.delete(running),
    );
    this.#running.add(running);
    return running;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#running);
    await endMarkedProcesses(TOOLBOX_MARK, this.#mark).catch(() => undefined);
  }

  async #run(program: Program, context: CallContext): Promise<ProgramResult> {
    const { workingDirectory, clock, redact, graceMs, mark } = this.options;
    const { command, input, result, onText, cleanUp } = program;
    if (context.signal.aborted || this.#closed.signal.aborted) return canceled;
    const call = randomUUID();
    const progress = lineProgress(clock, context.onProgress);
    const logs = {
      stdout: new ToolLog(redact, progress, onText),
      stderr: new ToolLog(redact, progress, onText),
    };
    const pieces: Buffer[] = [];
    let size = 0;
    let stopped: ToolFailure | undefined;
    let ending: Promise<void> | undefined;
    const started = startProgram(command[0] ?? "", command.slice(1), {
      path: program.path,
      cwd: workingDirectory,
      env: {
        ...this.options.variables,
        ...program.variables,
        ...(context.traceparent !== undefined && { TRACEPARENT: context.traceparent }),
        [RUN_MARK]: mark,
        [TOOLBOX_MARK]: this.#mark,
        [CALL_MARK]: call,
      },
      input: input ?? "",
      sandbox: program.isDocker === true ? undefined : context.sandbox,
      messages: result === "messages",
      onOutput: (piece, stream) => {
        if (stopped !== undefined) return;
        if (stream === result) {
          size += piece.length;
          if (size > longestResult) stop(tooMuch);
          else pieces.push(piece);
        } else if (stream !== "messages") logs[stream].push(piece);
      },
    });
    const end = async (): Promise<void> => {
      if (started.pid !== undefined) await endGroup(started.pid, graceMs);
      await endMarkedProcesses(CALL_MARK, call).catch(() => undefined);
      await cleanUp?.();
    };
    const stop = (why: ToolFailure): void => {
      stopped ??= why;
      ending ??= end();
    };
    const releases = [context.signal, this.#closed.signal].map((signal) =>
      onAbort(signal, () => stop(canceled)),
    );
    const ended = await started.ended;
    for (const release of releases) release();
    await ending;
    for (const log of Object.values(logs)) log.end();
    const whole = stopped === undefined ? new TextDecoder().decode(Buffer.concat(pieces)) : "";
    const text = await redactedText(whole, redact);
    const printed = result === "stdout" ? tailOf(text) : logs.stdout.tail;
    const tail = [printed, logs.stderr.tail].filter((text) => text !== "").join("\n");
    if (stopped !== undefined) return withTail(stopped, tail);
    if (ended.kind === "exited") return { kind: "exited", code: ended.code, result: text, tail };
    return withTail(await this.#failure(program, ended), tail);
  }

  async #failure(
    { command: [name = ""], field }: Program,
    ended: Exclude<ProgramEnd, { kind: "exited" }>,
  ): Promise<ToolFailure> {
    if (ended.kind === "killed") {
      return failed(`${name} was ended by ${ended.signal ?? "a signal"}.`);
    }
    const { workingDirectory } = this.options;
    if (!(await isDirectory(workingDirectory))) {
      return failed(`The working directory ${workingDirectory} does not exist.`);
    }
    if (ended.code === "EACCES") {
      return failed(`${field}: ${name} can't be executed. Does the file have execute permission?`);
    }
    if (ended.code !== "ENOENT") {
      return failed(`${field}: ${name} can't be started: ${ended.reason}.`);
    }
    return failed(
      `${field}: ${name} was not found. A name is searched in PATH, a path is relative to the working directory; the interpreter that a script names must be there, too.`,
    );
  }
}

export function failureOf(name: string, ended: ProgramResult): ToolFailure | undefined {
  if (ended.kind === "failed") return ended;
  return ended.code === 0
    ? undefined
    : withTail(failed(`${name} exited with code ${ended.code}.`), ended.tail);
}

export const canceled = failed("The call was canceled.");
const tooMuch = failed(
  `The tool returned more than ${longestResult / 1e6} MB. Let it write to a file and return the path.`,
);

export function withTail(failure: ToolFailure, tail = ""): ToolFailure {
  return tail === "" ? failure : { ...failure, tail };
}
