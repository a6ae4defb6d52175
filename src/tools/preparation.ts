/**
 * Prepares a tool for its first call, and decides where it runs. A build succeeds once for a key and hash; those of the
 * same key never run at once; a call that is canceled stops waiting, and the build goes on for others.
 */
import { defined } from "../text/guards.ts";
import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { diagnosticLine } from "../document/diagnostic.ts";
import type { ToolBuild, ToolDeclaration } from "../entry/model.ts";
import { isUnder } from "../permissions/paths.ts";
import type { Environment } from "../platform/environment.ts";
import { openJudged, readJudged } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { findProgram } from "../platform/search-path.ts";
import {
  type Recipe,
  dockerfileOf,
  imageOf,
  plainCommandsOf,
  readRecipe,
  recipeFile,
} from "./recipe.ts";
import { type Program, type Programs, canceled, failureOf, withTail } from "./tool-programs.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimeLimit, unlessAborted } from "../platform/waiting.ts";
import { matchingFiles } from "./matching-files.ts";
import { failed, type CallContext, type ToolOutcome } from "./tool.ts";
import { truncate } from "../text/truncate.ts";

type Failure = ReturnType<typeof failed>;

export interface Preparation {
  readonly kind: "prepared";
  readonly plan?: BuildPlan;
  readonly place: Place;
}

export type Place =
  | { readonly kind: "here"; readonly variables: Readonly<Record<string, string>> }
  | ({ readonly kind: "container" } & Container);

export interface Container {
  /** The absolute path of the program: what was found is what is started. */
  readonly docker: string;
  readonly image: string;
}

export function preparationOf(
  tool: string,
  declaration: ToolDeclaration,
  options: { readonly workingDirectory: string; readonly environment: Environment },
  atStart: FoundRecipe | undefined,
): Preparation | Failure {
  const { workingDirectory, environment } = options;
  const { build } = declaration;
  const found = recipeOf(tool, declaration, workingDirectory);
  if (found.kind === "failed") return found;
  if (!isDeepStrictEqual(found, atStart)) {
    const file = [found, atStart].find((one) => one?.kind === "found")?.file ?? recipeFile;
    return failed(
      `tools.${tool} is not started: ${file} has been added, changed or removed since the run began. A recipe runs without a sandbox, so no agent may write one. Start a new run if the change is wanted.`,
    );
  }
  if (found.kind === "none") {
    const place: Place = { kind: "here", variables: {} };
    if (build === undefined) return { kind: "prepared", place };
    return { kind: "prepared", plan: buildPlan(tool, build, workingDirectory), place };
  }
  const { file, recipe } = found;
  if (build !== undefined) {
    return failed(
      `tools.${tool} has both build and ${file}. Remove one of them: a tool is prepared in one way.`,
    );
  }
  const plain = plainCommandsOf(recipe);
  if (plain.kind === "commands") {
    const { env, commands } = plain;
    const steps = commands.map((command): Program => ({
      command,
      field: file,
      variables: env,
      result: "none",
    }));
    const plan = planOf(tool, JSON.stringify([env, commands]), steps);
    return { kind: "prepared", plan, place: { kind: "here", variables: env } };
  }
  const docker = findProgram("docker", environment);
  if (docker === undefined) {
    return failed(
      `${file} needs ${plain.what}, and there is no Docker on this machine. Install Docker, or install what the tool needs by other means and remove from and packages.`,
    );
  }
  const dockerfile = dockerfileOf(recipe);
  const image = imageOf(dockerfile);
  const step: Program = {
    path: docker,
    command: ["docker", "build", "--tag", image, "-"],
    field: file,
    input: dockerfile,
    isDocker: true,
    result: "none",
  };
  const plan = planOf(tool, image, [step]);
  return { kind: "prepared", plan, place: { kind: "container", docker, image } };
}

function planOf(tool: string, key: string, steps: readonly Program[]): BuildPlan {
  return { tool, key, hash: () => Promise.resolve(key), steps, minutes: defaultBuildMinutes };
}

export type FoundRecipe =
  | { readonly kind: "none" }
  | { readonly kind: "found"; readonly file: string; readonly recipe: Recipe }
  | Failure;

/** In the folder of the module, or of the first part of the command that is a file of the checkout. */
export function recipeOf(
  tool: string,
  declaration: ToolDeclaration,
  workingDirectory: string,
): FoundRecipe {
  const candidates = "module" in declaration ? [declaration.module] : declaration.command;
  const first = candidates.find((one) => fileIn(workingDirectory, one) !== undefined);
  if (first === undefined) return { kind: "none" };
  const path = join(dirname(resolve(workingDirectory, first)), recipeFile);
  if (!existsSync(path)) return { kind: "none" };
  const file = relative(workingDirectory, path);
  const realPath = fileIn(workingDirectory, path);
  const content = realPath === undefined ? undefined : readJudged(realPath, Infinity);
  if (content === undefined) {
    return failed(`tools.${tool}: ${file} is not a file of the working directory.`);
  }
  const read = readRecipe(content, file);
  if (read.kind === "read") return { kind: "found", file, recipe: read.recipe };
  return failed(read.diagnostics.map(diagnosticLine).join("\n"));
}

export function fileIn(workingDirectory: string, name: string): string | undefined {
  try {
    const path = resolve(workingDirectory, name);
    if (!isUnder(path, workingDirectory) || !statSync(path).isFile()) return undefined;
    const realPath = realpathSync(path);
    return isUnder(realPath, realpathSync(workingDirectory)) ? realPath : undefined;
  } catch {
    return undefined;
  }
}

const defaultBuildMinutes = 10;

interface BuildPlan {
  readonly tool: string;
  readonly key: string;
  /** Changes when it has to be built again. Reads files. */
  readonly hash: (signal: AbortSignal) => Promise<string | Failure>;
  readonly steps: readonly Program[];
  readonly minutes: number;
}

interface RunningBuild {
  readonly hash: string;
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

  /** Undefined: the tool can be called. Its time is no part of the call's time limit. */
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
      const build = this.#running.get(plan.key) ?? this.#start(plan, hash, context);
      const command = plan.steps[0]?.command.join(" ") ?? "";
      context.onProgress({ message: `Building ${plan.tool}: ${truncate(command, 200, "…")}` });
      const ended = await unlessAborted(build.ended, context.signal);
      if (ended === undefined) return canceled;
      if (build.hash === hash) return ended.value;
    }
  }

  /** Only the call that starts it gets progress. */
  #start(plan: BuildPlan, hash: string, context: CallContext): RunningBuild {
    const run = async (): Promise<ToolOutcome | undefined> => {
      const fail = (error: unknown): ToolOutcome => failed(errorMessage(error));
      const outcome = await this.#run(plan, context).catch(fail);
      if (outcome === undefined) this.#built.set(plan.key, hash);
      this.#running.delete(plan.key);
      return outcome;
    };
    const build: RunningBuild = { hash, ended: Promise.resolve().then(run) };
    this.#running.set(plan.key, build);
    return build;
  }

  async #run(
    { tool, steps, minutes }: BuildPlan,
    { onProgress, confineBuild }: CallContext,
  ): Promise<ToolOutcome | undefined> {
    const limit = startTimeLimit(this.#clock, minutes * 60_000);
    const context: CallContext = {
      signal: limit.signal,
      // A percentage would be that of the build, not of the call.
      onProgress: ({ message }) => onProgress(defined({ message })),
    };
    try {
      const sandbox = await confineBuild?.();
      for (const step of steps) {
        const ended = await this.#programs.run(step, { ...context, sandbox });
        if (limit.isOver) {
          const late = failed(`The build of ${tool} took longer than ${minutes} minutes.`);
          return withTail(late, ended.tail);
        }
        const failure = failureOf(step.command[0] ?? "", ended);
        if (failure !== undefined) {
          const where = sandbox ? " in the sandbox that a build has when agents may write" : "";
          return { ...failure, reason: `The build of ${tool} failed${where}. ${failure.reason}` };
        }
      }
      return undefined;
    } finally {
      limit.end();
    }
  }
}

const mostInputs = 20_000;
const mostNames = 200_000;

function buildPlan(tool: string, build: ToolBuild, workingDirectory: string): BuildPlan {
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
    for await (const piece of file.createReadStream()) hash.update(piece);
  } catch {
    return undefined;
  }
  return hash.digest("hex");
}
