/**
 * Commands and modules of the repository as tools: what a call needs before, and where it runs. Each call has a process of
 * its own, here or in a container.
 */
import { defined } from "../text/guards.ts";
import { existsSync, realpathSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { randomUUID } from "node:crypto";
import { diagnosticLine } from "../document/diagnostic.ts";
import type { ToolDeclaration } from "../entry/model.ts";
import { isUnder } from "../permissions/paths.ts";
import type { Environment } from "../platform/environment.ts";
import { readJudged } from "../platform/files.ts";
import { runToEnd } from "../platform/programs.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import { findProgram } from "../platform/search-path.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import {
  type BuildPlan,
  buildPlan,
  type Recipe,
  commandsOf,
  dockerfileOf,
  imageOf,
  needsDocker,
  readRecipe,
  recipeFile,
} from "./builds.ts";
import {
  type Program,
  type Programs,
  type ProgramsOptions,
  RESULTS,
  failureOf,
  marks,
  withTail,
} from "./tool-programs.ts";
import { resultOf } from "./tool-output.ts";
import {
  failed,
  type CallContext,
  type ToolCall,
  type ToolFailure,
  type ToolOutcome,
} from "./tool.ts";

/** How a call runs, once its build has succeeded. */
export interface Preparation {
  readonly kind: "prepared";
  readonly build?: BuildPlan;
  readonly variables?: Readonly<Record<string, string>> | undefined;
  readonly container?: Container;
}

interface Container {
  /** The absolute path of the program: what was found is what is started. */
  readonly docker: string;
  readonly image: string;
}

export function preparationOf(
  tool: string,
  declaration: ToolDeclaration,
  options: { readonly workingDirectory: string; readonly environment: Environment },
  atStart: FoundRecipe | undefined,
): Preparation | ToolFailure {
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
  if (found.kind === "none")
    return {
      kind: "prepared",
      ...defined({ build: build && buildPlan(tool, build, workingDirectory) }),
    };
  const { file: field, recipe } = found;
  if (build !== undefined) {
    return failed(
      `tools.${tool} has both build and ${field}. Remove one of them: a tool is prepared in one way.`,
    );
  }
  const needs = needsDocker(recipe);
  if (needs === undefined) {
    const { env: variables } = recipe;
    const commands = commandsOf(recipe);
    const steps = commands.map((command): Program => ({
      command,
      field,
      result: "none",
      ...defined({ variables }),
    }));
    const key = JSON.stringify([variables, commands]);
    return { kind: "prepared", build: { tool, key, steps }, variables };
  }
  const docker = findProgram("docker", environment);
  if (docker === undefined) {
    return failed(
      `${field} needs ${needs}, and there is no Docker on this machine. Install Docker, or install what the tool needs by other means and remove from and packages.`,
    );
  }
  const input = dockerfileOf(recipe);
  const image = imageOf(input);
  const command = ["docker", "build", "--tag", image, "-"];
  const step: Program = { path: docker, command, field, input, isDocker: true, result: "none" };
  return {
    kind: "prepared",
    build: { tool, key: image, steps: [step] },
    container: { docker, image },
  };
}

export type FoundRecipe =
  | { readonly kind: "none" }
  | { readonly kind: "found"; readonly file: string; readonly recipe: Recipe }
  | ToolFailure;

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

/** Node's own exit code for a promise that nothing can settle any more. */
const unsettled = 13;

export interface ModulePrograms {
  readonly worker: string;
  readonly hooks: string;
}

export async function writeModulePrograms({ path }: RunFolder): Promise<ModulePrograms> {
  const { moduleHooks, moduleWorker } = await import("../generated/module-programs.ts");
  const worker = join(path, "module-worker.mjs");
  const hooks = join(path, "module-hooks.mjs");
  await writeFile(worker, moduleWorker, { mode: 0o600 });
  await writeFile(hooks, moduleHooks, { mode: 0o600 });
  return { worker, hooks };
}

export async function runDeclared(
  declaration: ToolDeclaration,
  { variables = {}, container }: Preparation,
  {
    field,
    programs,
    files,
  }: {
    readonly field: string;
    readonly programs: Programs;
    readonly files: () => Promise<ModulePrograms>;
  },
  { params }: ToolCall,
  context: CallContext,
): Promise<ToolOutcome> {
  const { options } = programs;
  const start = (
    command: readonly string[],
    program: Pick<Program, "input" | "result">,
    readable: readonly string[] = [],
  ) => {
    const launch =
      container === undefined
        ? { command, variables }
        : inContainer(container, command, options, readable);
    return programs.run({ ...launch, ...program, field }, context);
  };
  if ("command" in declaration) {
    const { command } = declaration;
    const ended = await start(command, { input: `${JSON.stringify(params)}\n`, result: "stdout" });
    if (ended.kind === "failed") return ended;
    const value = await resultOf(ended.result, options.redact);
    return failureOf(command[0] ?? "", ended) ?? { kind: "succeeded", value };
  }
  const { module, export: name = "default" } = declaration;
  const path = fileIn(options.workingDirectory, module);
  if (path === undefined)
    return failed(`${field}: ${module} is not a file of the working directory.`);
  const { worker, hooks } = await files();
  const args = ["--disable-warning=ExperimentalWarning", worker, path, name, hooks];
  const input = JSON.stringify(params);
  const ended =
    container === undefined
      ? await start([process.execPath, ...args], { input, result: "messages" })
      : // Docker passes on two streams only: the result becomes stdout, and the log stderr.
        await start(
          ["/bin/sh", "-c", 'exec node "$@" 3>&1 1>&2', "sh", ...args],
          { input, result: "stdout" },
          [worker, hooks],
        );
  if (ended.kind === "failed") return ended;
  const { code, result, tail } = ended;
  const [, kind, text = ""] = /^(returned|threw)\n([^]*)$/.exec(result) ?? [];
  if (kind === "returned")
    return { kind: "succeeded", value: await resultOf(text, options.redact) };
  const reason =
    kind === "threw"
      ? text
      : code === unsettled
        ? "The function never returns: nothing can settle its promise."
        : `${module} ended its process with exit code ${code} before the function returned.`;
  return withTail(failed(reason), tail);
}

function inContainer(
  { docker, image }: Container,
  [program = "", ...args]: readonly string[],
  { workingDirectory, variables, container = {} }: ProgramsOptions,
  files: readonly string[],
): Pick<Program, "path" | "command" | "isDocker" | "cleanUp"> {
  const name = `agent-jobs-${randomUUID()}`;
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const results = container[RESULTS];
  const command = [
    "docker",
    "run",
    "--rm",
    "--interactive",
    "--init",
    "--name",
    name,
    ...(uid === undefined ? [] : ["--user", `${uid}:${gid}`]),
    "--mount",
    mount(workingDirectory, false),
    ...[...files, ...(results === undefined ? [] : [results])].flatMap((path) => [
      "--mount",
      mount(path, true),
    ]),
    "--workdir",
    workingDirectory,
    // Docker reads the values from its own environment, so that they are in no list of processes.
    ...[...Object.keys(container), ...marks].flatMap((variable) => ["--env", variable]),
    "--env",
    "HOME=/tmp",
    "--entrypoint",
    program,
    image,
    ...args,
  ];
  // Docker's client may be gone while the container runs on.
  const cleanUp = async (): Promise<void> => {
    const options = { path: docker, cwd: workingDirectory, env: variables };
    const { signal, end } = startTimeLimit(systemClock, 10_000);
    await runToEnd("docker", ["rm", "--force", name], { ...options, signal });
    end();
  };
  return { path: docker, command, isDocker: true, cleanUp };
}

/** Docker reads the option as a line of CSV. */
function mount(path: string, readOnly: boolean): string {
  const fields = [
    "type=bind",
    `source=${path}`,
    `target=${path}`,
    ...(readOnly ? ["readonly"] : []),
  ];
  return fields
    .map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(",");
}
