/**
 * The requests to the shell of a run, and its answers. A request is one compound command, so that the shell has
 * read all of it before anything runs: `set -v` in a script shows nothing of it, and `break` or `return` leave the
 * script, not the request. The answer is written when the script has ended, or by a trap when the shell exits in it.
 */
import type { ShellState } from "../../events/event.ts";
import { shellQuoted } from "../value.ts";

/** The files of one request, as absolute paths. */
export interface RequestFiles {
  readonly script: string;
  /** A named pipe that this process reads. */
  readonly answer: string;
  /** The named pipe of stdout and stderr, in the order in which they are written. */
  readonly output: string;
}

/** The variables that a shell sets itself. */
const ownNames = new Set(
  "_ PWD OLDPWD SHLVL BASHOPTS SHELLOPTS BASH_VERSINFO EUID PPID UID".split(" "),
);

/** Options and traps last for one script. These are the defaults of a shell that runs a script. */
const resetOptions = "set +abefkmnptuvxCEHPT +o pipefail +o posix -hB";
const resetTraps = "trap - DEBUG ERR RETURN HUP INT QUIT PIPE ALRM TERM USR1 USR2 CHLD";

export function scriptRequest(files: RequestFiles): string {
  const take = (how: string): string =>
    `{ __agent_jobs_code=$?; ${resetTraps}; ${resetOptions}; } >/dev/null 2>&1; ${answer(files, how)}`;
  // It is read from a descriptor, so that messages of bash don't contain the name of a temporary file.
  const run = `__agent_jobs_ran=; { __agent_jobs_ran=1; . /dev/fd/63; } 63<${shellQuoted(files.script)} ${redirections(files)}`;
  return `{ trap ${shellQuoted(take("exits"))} EXIT; ${run}; ${take("stays")}; }\n`;
}

/** Leaves the shell, so that the EXIT trap of the script runs. */
export function exitRequest(files: RequestFiles, exitCode: number): string {
  return `{ exit ${exitCode}; } ${redirections(files)}\n`;
}

export function restoringScript(state: ShellState): string {
  const directory = shellQuoted(state.workingDirectory);
  const cd = `builtin cd -- ${directory} || return ${lostDirectory}`;
  return `${[...changes(state), cd, state.functions].join("\n")}\n`;
}

export function restoringCommands(state: ShellState, directory: string): readonly string[] {
  const { workingDirectory, functions } = state;
  return [
    ...changes(state),
    ...(workingDirectory === directory ? [] : [`cd ${shellQuoted(workingDirectory)}`]),
    ...(functions.trim() === "" ? [] : [functions]),
  ];
}

function changes({ removed, variables }: ShellState): readonly string[] {
  return [
    ...removed.filter((name) => !isOwn(name)).map((name) => `unset -v ${name}`),
    ...Object.entries(variables)
      .filter(([name]) => !isOwn(name))
      .map(([name, value]) => `export ${name}=${shellQuoted(value)}`),
  ];
}

/** The exit code of a restoring script whose directory is gone. */
export const lostDirectory = 97;

function isOwn(name: string): boolean {
  return ownNames.has(name) || !/^[A-Za-z_]\w*$/.test(name);
}

function redirections({ output }: RequestFiles): string {
  return `</dev/null >${shellQuoted(output)} 2>&1`;
}

const lastField = "/";

/** Fields that end with NULs. What needs variables runs in a subshell, so that nothing of the shell changes. */
function answer(files: RequestFiles, how: string): string {
  const print = "builtin printf";
  const inSubshell = [
    "IFS=$' \\t\\n'",
    "builtin declare -f",
    // Which of them are exported.
    `builtin declare -F | while builtin read -r a b c; do case $b in *x*) ${print} '%s\\n' "declare -fx $c";; esac; done`,
    `${print} '\\0'`,
    `for a in $(builtin compgen -e); do [ -z "\${!a+x}" ] || ${print} '%s\\0' "$a" "\${!a}"; done`,
    `${print} '%s\\0' ${lastField}`,
  ];
  const steps = [
    `${print} '%s\\0' ${how} "$__agent_jobs_ran" "$__agent_jobs_code" "$PWD"`,
    // Not in the subshell, which has no traps of its own.
    "builtin trap -p EXIT",
    `${print} '\\0'`,
    `( ${inSubshell.join("; ")} )`,
  ];
  return `{ ${steps.join("; ")}; } >${shellQuoted(files.answer)} 2>/dev/null`;
}

export interface ShellAnswer {
  readonly exits: boolean;
  /** Otherwise the shell could not open the files of the request. */
  readonly hasRun: boolean;
  readonly exitCode: number;
  readonly workingDirectory: string;
  /** Whether the script has a trap that has to run when it ends. */
  readonly hasExitTrap: boolean;
  readonly functions: string;
  readonly environment: ReadonlyMap<string, string>;
}

/** Undefined until it is complete, and for what the shell has not written. */
export function readAnswer(bytes: Uint8Array, files: RequestFiles): ShellAnswer | undefined {
  const end = Buffer.from(`\0${lastField}\0`);
  if (!Buffer.from(bytes.subarray(-end.length)).equals(end)) return undefined;
  const fields = new TextDecoder().decode(bytes).split("\0").slice(0, -2);
  const [how, ran, code = "", workingDirectory = "", trap = "", functions = "", ...pairs] = fields;
  if (how !== "exits" && how !== "stays") return undefined;
  if (!/^\d{1,3}$/.test(code) || !workingDirectory.startsWith("/")) return undefined;
  // A field may be equal to the last one: then something is missing after it.
  if (fields.length < 6 || pairs.length % 2 !== 0) return undefined;
  const environment = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2)
    environment.set(pairs[at] ?? "", pairs[at + 1] ?? "");
  return {
    exits: how === "exits",
    hasRun: ran === "1",
    exitCode: Number(code),
    workingDirectory,
    hasExitTrap: trap !== "" && !trap.includes(files.answer),
    functions,
    environment,
  };
}

/** The difference to `base`, which the shell was started with. `marks` stay as they are. */
export function stateOf(
  { workingDirectory, functions, environment }: ShellAnswer,
  base: Readonly<Record<string, string>>,
  marks: readonly string[],
): ShellState {
  const isKept = (name: string): boolean => isOwn(name) || marks.includes(name);
  const changed = [...environment].filter(([name, value]) => {
    return !isKept(name) && !(Object.hasOwn(base, name) && base[name] === value);
  });
  return {
    workingDirectory,
    variables: Object.fromEntries(changed),
    removed: Object.keys(base).filter((name) => !isKept(name) && !environment.has(name)),
    functions,
  };
}
