/**
 * Tools that an entry declares: commands, with JSON on stdin and the result on stdout, and functions of modules of the
 * repository. Each call has a process of its own, here or in a container.
 */
import { existsSync, realpathSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { randomUUID } from "node:crypto";
import { isUnder } from "../permissions/paths.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import type { Container, Place } from "./preparation.ts";
import {
  type Program,
  type Programs,
  type ProgramsOptions,
  RESULTS,
  failed,
  failedExit,
  marks,
  withTail,
} from "./tool-programs.ts";
import { resultOf } from "./tool-output.ts";
import type { CallContext, ToolCall, ToolOutcome } from "./tool.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { runToEnd } from "../platform/programs.ts";

/** Node's own exit code for a promise that nothing can settle any more. */
const unsettled = 13;

/** The programs that run modules, written to the folder of the run when they are needed first. */
export class ModuleRunner {
  readonly #folder: RunFolder;
  #written: Promise<readonly string[]> | undefined;

  constructor(folder: RunFolder) {
    this.#folder = folder;
  }

  files(): Promise<readonly string[]> {
    return (this.#written ??= this.#write());
  }

  async #write(): Promise<readonly string[]> {
    const { moduleHooks, moduleWorker } = await import("../generated/module-programs.ts");
    const files = { "module-worker.mjs": moduleWorker, "module-hooks.mjs": moduleHooks };
    return Promise.all(
      Object.entries(files).map(async ([name, text]) => {
        const path = join(this.#folder.path, name);
        await writeFile(path, text, { mode: 0o600 });
        return path;
      }),
    );
  }
}

interface ModuleCall {
  readonly module: string;
  readonly export?: string | undefined;
  /** Where it was written, for texts: `tools.search.module`. */
  readonly field: string;
  readonly place: Place;
}

export async function runModule(
  programs: Programs,
  runner: ModuleRunner,
  { module, export: name = "default", field, place }: ModuleCall,
  { params }: ToolCall,
  context: CallContext,
): Promise<ToolOutcome> {
  const located = locateModule(programs.options.workingDirectory, module, field);
  if (located.kind === "failed") return located;
  const [worker = "", hooks = ""] = await runner.files();
  const args = ["--disable-warning=ExperimentalWarning", worker, located.path, name, hooks];
  const ended = await programs.run(
    {
      ...(place.kind === "here"
        ? { command: [process.execPath, ...args], variables: place.variables, result: "messages" }
        : {
            // Docker passes on two streams only: the result becomes stdout, and the log stderr.
            ...inContainer(
              place,
              ["/bin/sh", "-c", 'exec node "$@" 3>&1 1>&2', "sh", ...args],
              programs.options,
              [worker, hooks],
            ),
            result: "stdout",
          }),
      field,
      input: JSON.stringify(params),
    },
    context,
  );
  if (ended.kind === "failed") return ended;
  const { code, result, tail } = ended;
  const [, kind, text = ""] = /^(returned|threw)\n([^]*)$/.exec(result) ?? [];
  if (kind === "returned")
    return { kind: "succeeded", value: await resultOf(text, programs.options.redact) };
  if (kind === "threw") return withTail(failed(text), tail);
  if (code === unsettled) {
    return withTail(failed("The function never returns: nothing can settle its promise."), tail);
  }
  if (code !== 0) return failedExit(module, code, tail);
  return withTail(failed(`${module} ended its process before the function returned.`), tail);
}

type Located = { readonly kind: "located"; readonly path: string } | ReturnType<typeof failed>;

function locateModule(workingDirectory: string, module: string, field: string): Located {
  const path = resolve(workingDirectory, module);
  const outside = failed(`${field}: ${module} is outside of the working directory.`);
  if (!isUnder(path, workingDirectory)) return outside;
  if (!existsSync(path)) {
    return failed(
      `${field}: there is no file ${relative(workingDirectory, path)} in the working directory.`,
    );
  }
  const real = realpathSync(path);
  return isUnder(real, realpathSync(workingDirectory)) ? { kind: "located", path: real } : outside;
}

interface CommandCall {
  readonly command: readonly string[];
  /** Where it was written, for texts: `tools.build.command`. */
  readonly field: string;
  readonly place: Place;
}

export async function runCommand(
  programs: Programs,
  { command, field, place }: CommandCall,
  { params }: ToolCall,
  context: CallContext,
): Promise<ToolOutcome> {
  const ended = await programs.run(
    {
      ...(place.kind === "here"
        ? { command, variables: place.variables }
        : inContainer(place, command, programs.options)),
      field,
      input: `${JSON.stringify(params)}\n`,
      result: "stdout",
    },
    context,
  );
  if (ended.kind === "failed") return ended;
  if (ended.code !== 0) return failedExit(command[0] ?? "", ended.code, ended.tail);
  return { kind: "succeeded", value: await resultOf(ended.result, programs.options.redact) };
}

/** A command in a container of an image that has been built, with the working directory at the same path as here. */
function inContainer(
  { docker, image }: Container,
  [program = "", ...args]: readonly string[],
  { workingDirectory, variables, container = {} }: ProgramsOptions,
  files: readonly string[] = [],
): Pick<Program, "path" | "command" | "isDocker" | "cleanUp"> {
  const name = `agent-jobs-${randomUUID()}`;
  const { uid, gid } = ids();
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

function ids(): { readonly uid: number | undefined; readonly gid: number | undefined } {
  return { uid: process.getuid?.(), gid: process.getgid?.() };
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
