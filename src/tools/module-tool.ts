/** Tools that are functions of a module of the repository. Each call has a process of its own. */
import { existsSync, realpathSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { isUnder } from "../permissions/paths.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import { inContainer } from "./container.ts";
import type { Place } from "./preparation.ts";
import { failed, failedExit, withTail, type Programs } from "./programs.ts";
import { resultOf } from "./tool-output.ts";
import type { CallContext, ToolCall, ToolOutcome } from "./tool.ts";

/** Node's own exit code for a promise that nothing can settle any more. */
const unsettled = 13;

/** The programs that run modules, written to the folder of the run when they are needed first. */
export class ModuleRunner {
  readonly #folder: RunFolder;
  #written: Promise<readonly string[]> | undefined;

  constructor(folder: RunFolder) {
    this.#folder = folder;
  }

  /** The worker, and the hooks that load TypeScript. */
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

export interface ModuleCall {
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

/** The real path of a file in the working directory. */
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
