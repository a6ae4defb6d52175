/**
 * What has to be done before the first call of a tool: commands of the entry, or the recipe beside the tool.
 *
 * Owns what has been built. Invariants: a build succeeds once for the same key and hash, for as long as the toolbox
 * lives; calls that need a build that is under way wait for it; builds with the same key never run at once; a call
 * that is canceled stops waiting, and the build goes on for others.
 */
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { ToolBuild } from "../entry/model.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimeLimit, unlessAborted } from "../platform/waiting.ts";
import { isUnder } from "../permissions/paths.ts";
import { openJudged } from "../platform/reading.ts";
import { matchingFiles } from "./matching-files.ts";
import { canceled, failed, failedExit, withTail, type Program, type Programs } from "./programs.ts";
import type { CallContext, ToolOutcome, ToolProgress } from "./tool.ts";
import { clip } from "../events/cut.ts";

/** Minutes that a build may take, unless the entry says otherwise. */
export const defaultBuildMinutes = 10;

export interface BuildPlan {
  /** Of the tool, for texts. */
  readonly tool: string;
  /** What is built. */
  readonly key: string;
  /** Changes when it has to be built again. Reads files. */
  readonly hash: (signal: AbortSignal) => Promise<string | Failure>;
  /** One after the other. */
  readonly steps: readonly Program[];
  readonly minutes: number;
}

type Failure = ReturnType<typeof failed>;

interface RunningBuild {
  readonly hash: string;
  readonly listeners: Set<(progress: ToolProgress) => void>;
  readonly ended: Promise<ToolOutcome | undefined>;
}

export class Builds {
  readonly #programs: Programs;
  readonly #clock: Clock;
  readonly #built = new Map<string, string>();
  readonly #running = new Map<string, RunningBuild>();

  constructor(programs: Programs) {
    this.#programs = programs;
    this.#clock = programs.options.clock;
  }

  /** Builds what has changed. Undefined: the tool can be called. Its time is no part of the call's time limit. */
  async prepare(plan: BuildPlan, context: CallContext): Promise<ToolOutcome | undefined> {
    const resume = context.pauseTimeLimit?.();
    try {
      return await this.#prepare(plan, context);
    } finally {
      resume?.();
    }
  }

  async #prepare(plan: BuildPlan, context: CallContext): Promise<ToolOutcome | undefined> {
    for (;;) {
      const hash = await plan.hash(context.signal);
      if (context.signal.aborted) return canceled;
      if (typeof hash !== "string") return hash;
      if (this.#built.get(plan.key) === hash) return undefined;
      const build = this.#running.get(plan.key) ?? this.#start(plan, hash);
      // Progress without a percentage: that would be of the build, not of the call.
      const listen = ({ message }: ToolProgress): void =>
        context.onProgress(message === undefined ? {} : { message });
      const [first] = plan.steps;
      if (first !== undefined) context.onProgress(buildingWith(plan.tool, first));
      build.listeners.add(listen);
      const ended = await unlessAborted(build.ended, context.signal);
      build.listeners.delete(listen);
      if (ended === undefined) return canceled;
      if (build.hash === hash) return ended.value;
    }
  }

  #start(plan: BuildPlan, hash: string): RunningBuild {
    const listeners: RunningBuild["listeners"] = new Set();
    const onProgress = (progress: ToolProgress): void => {
      if (progress.message !== undefined) for (const listen of listeners) listen(progress);
    };
    const run = async (): Promise<ToolOutcome | undefined> => {
      const outcome = await this.#run(plan, onProgress);
      if (outcome === undefined) this.#built.set(plan.key, hash);
      this.#running.delete(plan.key);
      return outcome;
    };
    const build: RunningBuild = { hash, listeners, ended: Promise.resolve().then(run) };
    this.#running.set(plan.key, build);
    return build;
  }

  async #run(
    { tool, steps, minutes }: BuildPlan,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome | undefined> {
    const limit = startTimeLimit(this.#clock, minutes * 60_000);
    try {
      for (const [index, step] of steps.entries()) {
        if (index > 0) onProgress(buildingWith(tool, step));
        const ended = await this.#programs.run(step, { signal: limit.signal, onProgress });
        if (limit.isOver) {
          const tail = ended.tail ?? "";
          return withTail(
            failed(`The build of ${tool} took longer than ${minutes} minutes.`),
            tail,
          );
        }
        const outcome =
          ended.kind === "failed"
            ? ended
            : ended.code === 0
              ? undefined
              : failedExit(step.command[0] ?? "", ended.code, ended.tail);
        if (outcome !== undefined) return ofBuild(tool, outcome);
      }
      return undefined;
    } finally {
      limit.end();
    }
  }
}

function buildingWith(tool: string, { command }: Program): ToolProgress {
  return { message: `Building ${tool}: ${clip(command.join(" "), 200)}` };
}

function ofBuild(tool: string, outcome: ToolOutcome): ToolOutcome {
  return outcome.kind === "failed"
    ? { ...outcome, reason: `The build of ${tool} failed. ${outcome.reason}` }
    : outcome;
}

const mostInputs = 20_000;
const mostNames = 200_000;

/** The `build` of a tool in an entry. */
export function buildPlan(tool: string, build: ToolBuild, workingDirectory: string): BuildPlan {
  const { command, inputs, minutes = defaultBuildMinutes } = build;
  const field = `tools.${tool}.build`;
  return {
    tool,
    key: JSON.stringify([command, inputs]),
    hash: (signal) => hashOfInputs(workingDirectory, command, inputs, field, signal),
    steps: [{ command, field: `${field}.command`, result: "none" }],
    minutes,
  };
}

async function hashOfInputs(
  workingDirectory: string,
  command: readonly string[],
  globs: readonly string[],
  field: string,
  signal: AbortSignal,
): Promise<string | Failure> {
  const bounds = { mostFiles: mostInputs, mostNames };
  const found = await matchingFiles({ folder: workingDirectory, globs, signal, ...bounds });
  if (!found.complete) {
    return failed(`${field}.inputs match more than ${mostInputs} files, or take too long to find.`);
  }
  const root = await realpath(workingDirectory);
  const hash = createHash("sha256").update(JSON.stringify(command));
  for (const file of found.files) {
    if (signal.aborted) return canceled;
    const content = await contentHash(join(workingDirectory, file), root);
    hash.update(JSON.stringify([file, content]));
  }
  return hash.digest("hex");
}

/** Undefined for what can't be read, and for what is not in the working directory. */
async function contentHash(path: string, root: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    const real = await realpath(path);
    const file = isUnder(real, root) ? await openJudged(real) : undefined;
    if (file === undefined) return undefined;
    // Closes it.
    for await (const piece of file.createReadStream()) hash.update(piece);
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}
