/** The programs that an entry declares and a job may start, so that the action can check beforehand where they come from. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import { allowsServer, allowsTool, allowsCommands } from "../permissions/rules.ts";
import { isBareName } from "../platform/search-path.ts";
import type { PreparedRun } from "./prepare-run.ts";
import { permissionsOfJob } from "./run-spec.ts";

export interface DeclaredProgram {
  readonly kind: "tool" | "server";
  /** `tools.build`, `mcpServers.docs` */
  readonly field: string;
  /** The name of the program, if it is looked up in `PATH`. */
  readonly searched: string | undefined;
  /** Absolute: the module, or the parts of the command that are files, in their order. */
  readonly files: readonly string[];
  /** Absolute: files that options of the command name after a `=`. */
  readonly ofOptions: readonly string[];
}

/** What decides about the programs of a prepared run. */
export type PreparedJob = Pick<
  PreparedRun,
  "entry" | "jobName" | "permissions" | "loaded" | "namedDirectory"
>;

export function declaredPrograms(job: PreparedJob): readonly DeclaredProgram[] {
  const { tools = {}, mcpServers = {} } = job.entry;
  const granted = grantedTo(job);
  const program = (
    kind: DeclaredProgram["kind"],
    field: string,
    command: readonly string[],
  ): DeclaredProgram => {
    const [first = "", ...parts] = command;
    const named = isBareName(first) ? parts : command;
    const path = (part: string): string => resolve(job.namedDirectory, part);
    const endings = interpreter.test(first) ? implied : [];
    return {
      kind,
      field,
      searched: isBareName(first) ? first : undefined,
      files: named.flatMap((part) => {
        const found = ["", ...endings].map((ending) => path(part) + ending).find(isFile);
        return found === undefined ? [] : [found];
      }),
      ofOptions: parts
        .flatMap((part) => /^-[^=]*=(.+)$/s.exec(part)?.slice(1) ?? [])
        .map(path)
        .filter(isFile),
    };
  };
  return [
    ...Object.entries(tools).flatMap(([name, declaration]) => {
      if (!granted.some((permissions) => allowsTool(permissions, name))) return [];
      const command = "module" in declaration ? ["node", declaration.module] : declaration.command;
      return [program("tool", `tools.${name}`, command)];
    }),
    ...Object.entries(mcpServers).flatMap(([name, declaration]) => {
      if (!("command" in declaration)) return [];
      if (!granted.some((permissions) => allowsServer(permissions, name))) return [];
      const command = [declaration.command, ...(declaration.args ?? [])];
      return [program("server", `mcpServers.${name}`, command)];
    }),
  ];
}

/** Whether agents or workflows of the job may run commands. */
export function mayRunCommands(job: PreparedJob): boolean {
  return grantedTo(job).some(allowsCommands);
}

function grantedTo({ entry, jobName, permissions, loaded }: PreparedJob): readonly Permissions[] {
  return permissionsOfJob(entry, jobName, permissions, loaded.flows);
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
