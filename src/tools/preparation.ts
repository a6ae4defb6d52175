/** What a tool needs before it can run, and where it then runs: here, or in a container. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { diagnosticLine } from "../document/diagnostic.ts";
import type { ToolDeclaration } from "../entry/model.ts";
import { isUnder } from "../permissions/paths.ts";
import type { Environment } from "../platform/environment.ts";
import { readJudged } from "../platform/reading.ts";
import { findProgram } from "../platform/search-path.ts";
import { buildPlan, defaultBuildMinutes, type BuildPlan } from "./builds.ts";
import { dockerfileOf, imageOf, plainCommandsOf } from "./dockerfile.ts";
import { failed, type Program } from "./programs.ts";
import { readRecipe, recipeFile, type Recipe } from "./recipe.ts";

type Failure = ReturnType<typeof failed>;

export interface Preparation {
  readonly kind: "prepared";
  /** Before the first call. */
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

export interface PreparationOptions {
  readonly workingDirectory: string;
  /** Of this process, whose `PATH` is searched for Docker. */
  readonly environment: Environment;
}

export function preparationOf(
  tool: string,
  declaration: ToolDeclaration,
  { workingDirectory, environment }: PreparationOptions,
): Preparation | Failure {
  const { build } = declaration;
  const found = recipeOf(tool, declaration, workingDirectory);
  if (found.kind === "failed") return found;
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
  const docker = findProgram("docker", environment);
  if (docker !== undefined) {
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
  const plain = plainCommandsOf(recipe);
  if (plain.kind === "needs-docker") {
    return failed(
      `${file} needs ${plain.what}, and there is no Docker on this machine. Install Docker, or install what the tool needs by other means and remove from and packages.`,
    );
  }
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

/** Nothing but what it consists of can change it. */
function planOf(tool: string, key: string, steps: readonly Program[]): BuildPlan {
  return { tool, key, hash: () => Promise.resolve(key), steps, minutes: defaultBuildMinutes };
}

export type FoundRecipe =
  | { readonly kind: "none" }
  /** `file`: relative to the working directory. */
  | { readonly kind: "found"; readonly file: string; readonly recipe: Recipe }
  | Failure;

/** The recipe in the folder of the tool's module, or of the first part of its command that is a file of the checkout. */
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

/** The real path of a file that is in the working directory, by its name and with its links resolved. */
function fileIn(workingDirectory: string, name: string): string | undefined {
  try {
    const path = resolve(workingDirectory, name);
    if (!isUnder(path, workingDirectory) || !statSync(path).isFile()) return undefined;
    const realPath = realpathSync(path);
    return isUnder(realPath, realpathSync(workingDirectory)) ? realPath : undefined;
  } catch {
    return undefined;
  }
}
