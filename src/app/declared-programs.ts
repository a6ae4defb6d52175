/**
 * The programs that an entry and its workflows declare and a job may start, so that the action can check beforehand
 * where they come from.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { allowsCommands } from "../permissions/rules.ts";
import { isBareName } from "../platform/search-path.ts";
import type { PreparedRun } from "./prepare-run.ts";
import { callersOfJob, type Caller } from "./run-spec.ts";

export interface DeclaredProgram {
  readonly kind: "tool" | "server";
  /** `tools.build`, `mcpServers.docs` */
  readonly field: string;
  /** The name of the program, if it is looked up in `PATH`. */
  readonly searched: string | undefined;
  /** The module, or what of the command is a file, in its order. */
  readonly files: readonly NamedFile[];
}

export interface NamedFile {
  /** Absolute. */
  readonly path: string;
  /** Whether it is, or may be, the value of an option: it is behind one, or behind its `=`. */
  readonly ofOption: boolean;
}

/** What decides about the programs of a prepared run. */
export type PreparedJob = Pick<
  PreparedRun,
  "entry" | "jobName" | "permissions" | "loaded" | "namedDirectory"
>;

export function declaredPrograms(job: PreparedJob): readonly DeclaredProgram[] {
  const program = (
    kind: DeclaredProgram["kind"],
    field: string,
    command: readonly string[],
  ): DeclaredProgram => {
    const [first = ""] = command;
    const isSearched = isBareName(first);
    const endings = interpreter.test(first) ? implied : [];
    const fileOf = (part: string): string | undefined =>
      ["", ...endings].map((ending) => resolve(job.namedDirectory, part) + ending).find(isFile);
    return {
      kind,
      field,
      searched: isSearched ? first : undefined,
      files: command.flatMap((part, index): NamedFile[] => {
        if (index === 0 && isSearched) return [];
        const named = fileOf(part);
        if (named !== undefined) {
          return [{ path: named, ofOption: /^-[^=]*$/.test(command[index - 1] ?? "") }];
        }
        const [, value] = (index > 0 && /^-[^=]*=(.+)$/s.exec(part)) || [];
        const path = value === undefined ? undefined : fileOf(value);
        return path === undefined ? [] : [{ path, ofOption: true }];
      }),
    };
  };
  // By declaration: several may call the same.
  const programs = new Map<object, DeclaredProgram>();
  for (const { declared, mayCall, mayUse } of callersOf(job)) {
    for (const [name, declaration] of Object.entries(declared.tools ?? {})) {
      if (!mayCall(name)) continue;
      const command =
        "module" in declaration
          ? ["node", resolve(job.namedDirectory, declaration.module)]
          : declaration.command;
      programs.set(declaration, program("tool", `tools.${name}`, command));
    }
    for (const [name, declaration] of Object.entries(declared.mcpServers ?? {})) {
      if (!("command" in declaration) || !mayUse(name)) continue;
      const command = [declaration.command, ...(declaration.args ?? [])];
      programs.set(declaration, program("server", `mcpServers.${name}`, command));
    }
  }
  return [...programs.values()];
}

/** Whether agents or workflows of the job may run commands. */
export function mayRunCommands(job: PreparedJob): boolean {
  return callersOf(job).some(({ permissions }) => allowsCommands(permissions));
}

export function callersOf({ entry, jobName, permissions, loaded }: PreparedJob): readonly Caller[] {
  return callersOfJob(entry, jobName, permissions, loaded.flows);
}

/** What these run if they are given the name of a folder, or one without its ending. */
const interpreter = /(?:^|[\\/])(?:node(?:js)?|bun|deno|tsx|ts-node|python[\d.]*)(?:\.exe)?$/i;
const implied = [
  ".js",
  ".json",
  ".node",
  ".mjs",
  ".cjs",
  ".ts",
  "/package.json",
  "/index.js",
].concat(["/index.json", "/index.node", "/index.ts", "/__main__.py"]);

/** False for parts of a command that are not paths. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
