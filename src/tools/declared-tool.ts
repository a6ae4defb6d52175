/** Commands and modules of the repository as tools. Each call has a process of its own, here or in a container. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { ToolDeclaration } from "../entry/model.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import { type Container, type Place, fileIn } from "./preparation.ts";
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
import { failed, type CallContext, type ToolCall, type ToolOutcome } from "./tool.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { runToEnd } from "../platform/programs.ts";

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

/** Runs a call of a tool of the entry, at its place. */
export async function runDeclared(
  declaration: ToolDeclaration,
  { field, place }: { readonly field: string; readonly place: Place },
  {
    programs,
    files,
  }: { readonly programs: Programs; readonly files: () => Promise<ModulePrograms> },
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
      place.kind === "here"
        ? { command, variables: place.variables }
        : inContainer(place, command, options, readable);
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
    place.kind === "here"
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
