/**
 * What speaks against a word of a command that no pattern spells out: an option that is not known to be
 * harmless, a path that leads out, a script. An open `*` covers only words without an objection. Pure, but
 * for the question where a path leads, which the caller answers.
 */
import { readArguments } from "./command-options.ts";
import type { Arguments } from "./command-options.ts";
import { gitCommand } from "./git-commands.ts";
import { isPrivate } from "./private-files.ts";
import { programs } from "./programs.ts";
import type { Program } from "./programs.ts";

export interface Objection {
  readonly kind: "option" | "path" | "setting" | "subcommand" | "program";
  /** Goes on after the word and a comma: `which …`; for a `whole` command, after the command. */
  readonly reason: string;
  readonly whole?: true;
}

/** Whether a path is one that the file rules don't let the agent read. */
export type LeadsOut = (path: string) => boolean;

export interface Judge {
  readonly leadsOut: LeadsOut;
  /** Whether a rule denies to read the path. */
  readonly isDenied: LeadsOut;
  readonly isFolder: (path: string) => boolean;
  /** Whether a command before this one in the line may have replaced files with links. */
  readonly moved: boolean;
  /** Whether any command may have done so here before. */
  readonly wasMoved: () => boolean;
  /** Words that have a wildcard of the shell's. */
  readonly expanded: ReadonlySet<string>;
}

/** By the index of the word; the first word, the program, is the caller's to judge. */
export type Objections = ReadonlyMap<number, Objection>;

const option: Objection = { kind: "option", reason: "which is not known to be harmless" };
const outside: Objection = {
  kind: "path",
  reason: "which can lead outside the working directory and read other files",
};
const folder: Objection = {
  kind: "path",
  reason: "which is a folder, whose links and private files would be read as well",
};
const moved: Objection = {
  kind: "path",
  reason: "which a command before it in the line could replace with a link (run it on its own)",
};
const home: Objection = { kind: "path", reason: "which leads to the home directory" };
const expanded: Objection = {
  kind: "program",
  reason: "which the shell would expand to names that can't be checked",
};
const behindLink: Objection = {
  kind: "path",
  reason:
    "where a folder may have become a link, which git would follow (name files, or add --cached)",
};
const searchesBehindLink: Objection = {
  kind: "path",
  reason:
    "could follow a link that an earlier command has put in place of a folder (add --cached, or use the search tool)",
  whole: true,
};
const variable: Objection = { kind: "program", reason: "which could set a variable of the shell" };
const script: Objection = {
  kind: "program",
  reason: "which can run programs, or write or read other files",
};

export function objectionsTo(command: readonly string[], judge: Judge): Objections {
  const found = new Map<number, Objection>();
  const name = baseName(command[0] ?? "");
  const program = programs.get(name);
  if (name === "git") judgeGit(command, judge, found);
  else if (name === "cd") judgeFolder(command, judge, found);
  else if (program === undefined) judgeUnknown(command, judge, found);
  else judgeKnown(name, command, program, judge, found);
  return found;
}

export function baseName(program: string): string {
  return program.slice(Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\")) + 1);
}

type Found = Map<number, Objection>;

function judgeKnown(
  name: string,
  words: readonly string[],
  program: Program,
  judge: Judge,
  found: Found,
): void {
  const given = readArguments(words, 1, program);
  given.unknown.forEach((index) => found.set(index, option));
  const text = program.operands === "text";
  const reject = (index: number, objection: Objection | undefined): void => {
    if (objection !== undefined && !found.has(index)) found.set(index, objection);
  };
  const sandboxed = program.operands === "sed" && words[1] === "--sandbox";
  const isScript = program.operands === "sed" || program.operands === "awk";
  for (const [index, of] of given.values) {
    const word = words[index] ?? "";
    if (program.operands === "sed" && of === "e") reject(index, scriptObjection(word, "sed"));
    else if (isFileOf(program, of)) {
      // To tar, `host:x` is an archive on another machine.
      reject(index, word.includes(":") ? outside : fileObjection(word, judge));
    }
  }
  const [first, ...others] = given.operands;
  const leads = program.operands === "pattern" || isScript;
  const instead = (program.instead ?? "").split(" ").some((one) => given.seen.has(one));
  const plain = leads && !instead && given.exact;
  for (const index of given.operands) {
    const word = words[index] ?? "";
    if (name === "printf" && setsVariable.test(word.replaceAll("%%", ""))) reject(index, variable);
    if (text || (plain && index === first && !isScript)) continue;
    if (isScript && !instead && (index === first || !given.exact)) {
      reject(index, sandboxed ? undefined : scriptObjection(word, program.operands));
    } else if (program.operands === "urls") reject(index, urlObjection(word));
    else {
      reject(index, fileObjection(word, judge));
      if (judge.moved && !["", "-", "."].includes(word)) reject(index, moved);
      // With -r, a pattern has named it.
      if (name === "diff" && !given.seen.has("r") && judge.isFolder(word)) reject(index, folder);
    }
  }
  if (program.operands === "output") {
    others.forEach((index) =>
      found.set(index, { kind: "program", reason: "which would be written" }),
    );
  }
  rejectExpanded(words, judge, found);
}

/** The shell's own `printf` stores how much it has printed, in `PATH` if the next argument says so. */
const setsVariable = /%[-+ #'\d.*hjlLtz]*n/;

/** Also a pattern or a number that the shell replaces by several names: all but the first of them are files. */
function rejectExpanded(words: readonly string[], judge: Judge, found: Found): void {
  for (const [index, word] of words.entries()) {
    if (judge.expanded.has(word) && !found.has(index)) found.set(index, expanded);
  }
}

/** Without a folder, `cd` goes to the home directory, and `cd -` to the previous directory of the shell. */
function judgeFolder(words: readonly string[], judge: Judge, found: Found): void {
  judgeUnknown(words, judge, found);
  const first = words.findIndex((word, index) => index > 0 && !/^-./.test(word));
  if (first === -1) found.set(words.length, home);
  else if (["", "-"].includes(words[first] ?? "")) found.set(first, outside);
}

/** Values of options that are not harmless, and the archive of `tar`. */
function isFileOf(program: Program, name: string): boolean {
  return (program.risky ?? "").includes(name) || (program.bundled === true && name === "f");
}

const movers = new Set("tar unzip bsdtar cpio 7z rsync patch ln cp mv".split(" "));
const gitMovers = new Set(
  "am apply checkout checkout-index cherry-pick merge mv pull read-tree rebase reset restore revert stash submodule switch worktree".split(
    " ",
  ),
);
/** By subcommand: what it only shows. */
const gitShows: ReadonlyMap<string, readonly string[]> = new Map([
  ["stash", ["list", "show"]],
  ["submodule", ["status"]],
  ["worktree", ["list"]],
]);

/** Whether it can put links where files were. A program of one's own can as well, but then it can also read them. */
export function mayMoveFiles(command: readonly string[]): boolean {
  const name = baseName(command[0] ?? "");
  if (name !== "git") return movers.has(name);
  const sub = gitCommand(command);
  if (sub === undefined || !gitMovers.has(sub.name)) return false;
  return gitShows.get(sub.name)?.includes(command[sub.at + 1] ?? "") !== true;
}

function judgeGit(words: readonly string[], judge: Judge, found: Found): void {
  const sub = gitCommand(words);
  for (const index of sub?.unknown ?? words.keys()) found.set(index, option);
  if (sub === undefined) return;
  const { at, options } = sub;
  for (let index = 1; index < at; index += 1) {
    const word = words[index] ?? "";
    if (word.startsWith("-")) continue;
    const isSetting = settings.has(words[index - 1] ?? "");
    const objection = isSetting ? setting : fileObjection(word, judge);
    if (objection !== undefined) found.set(index, objection);
  }
  // What can't be the name of a subcommand is none.
  if (options === undefined && /^[a-z\d]/i.test(sub.name)) {
    found.set(at, { kind: "subcommand", reason: "which is not a subcommand with known options" });
  }
  const given = readArguments(words, at + 1, options ?? {});
  given.unknown.forEach((index) => found.set(index, option));
  words.forEach((word, index) => {
    if (index > at && runsGpg.test(word)) found.set(index, option);
  });
  // What is the value of an option to one version may be a path to another.
  for (const index of given.values.keys()) {
    const word = words[index] ?? "";
    const objection = judge.expanded.has(word)
      ? expanded
      : sub.name === "diff"
        ? fileObjection(word, judge)
        : undefined;
    if (objection !== undefined && !found.has(index)) found.set(index, objection);
  }
  const [remote = 0] = given.operands;
  // Any other name can also be a folder of the checkout, whose hooks run.
  if (remotes.has(sub.name) && remote > 0 && words[remote] !== "origin") {
    found.set(remote, repository);
  }
  for (const index of gitPaths(sub.name, given)) {
    const word = words[index] ?? "";
    // The files that these add, compare or move may be outside the repository, or none of its files. What is
    // known of the others is that they only look inside, unless the word may be the value of an unknown option.
    const reads = options === undefined || !given.exact || worksOnFiles.has(sub.name);
    const objection = reads
      ? (fileObjection(word, judge) ?? linkObjection(sub.name, word, given, judge))
      : leavesFolder(word, judge)
        ? outside
        : undefined;
    if (objection !== undefined && !found.has(index)) found.set(index, objection);
  }
  // It searches every file that git knows, whatever its folder is by now.
  if (sub.name === "grep" && !given.seen.has("cached") && mayBeLinked(judge)) {
    for (let index = at; index < words.length; index += 1) {
      if (!found.has(index)) found.set(index, searchesBehindLink);
    }
  }
}

function mayBeLinked(judge: Judge): boolean {
  return judge.moved || judge.wasMoved();
}

const worksOnFiles = new Set(["diff", "add", "stash", "mv", "blame", "rm"]);

/** These follow a link that has replaced a folder of git's; the others notice it. */
function linkObjection(
  name: string,
  path: string,
  { seen }: Arguments,
  judge: Judge,
): Objection | undefined {
  if (!["blame", "rm", "mv"].includes(name) || seen.has("cached")) return undefined;
  if (judge.moved) return moved;
  const names = /[*?[]|^:/.test(path) || judge.isFolder(path);
  return name === "rm" && names && judge.wasMoved() ? behindLink : undefined;
}

/** Options before the subcommand whose value is a setting. */
const settings = new Set(["-c", "--config-env"]);
const setting: Objection = { kind: "setting", reason: "which can set a program that git runs" };
/** The first argument of these is a repository. */
const remotes = new Set(["fetch", "pull", "push"]);
const repository: Objection = {
  kind: "program",
  reason: "which could be a repository that runs programs, or an address",
};
/** The signature of a commit in a format (`%G?`, `%(signature)`): the configured program checks it. */
const runsGpg = /%[-+ ]?G|%\(signature/;

function gitPaths(name: string, given: Arguments): readonly number[] {
  const hasPattern = name === "grep" && given.exact && !given.seen.has("e");
  return hasPattern ? given.operands.slice(1) : given.operands;
}

/** An unknown program: every word that could be an option or a path counts as one. */
function judgeUnknown(words: readonly string[], judge: Judge, found: Found): void {
  for (const [index, word] of words.entries()) {
    if (index === 0 || word === "-" || word === "--") continue;
    if (/^[-+@]/.test(word)) found.set(index, option);
    else {
      const objection = anywhereObjection(word, judge);
      if (objection !== undefined) found.set(index, objection);
    }
  }
}

const maxPieces = 32;

/** Also `x=/etc/passwd`, `host:path`, `a,b`. */
export function anywhereObjection(word: string, judge: Judge): Objection | undefined {
  if (/^https?:\/\//i.test(word) && !/\s/.test(word)) {
    // To a program that takes files, it is a path in a folder named `https:`.
    if (judge.expanded.has(word)) return expanded;
    return judge.leadsOut(word) ? outside : undefined;
  }
  const pieces = word.split(/[=:,@]/, maxPieces + 1);
  if (pieces.length > maxPieces) return outside;
  const all = pieces.length === 1 ? pieces : [word, ...pieces.filter((piece) => piece !== "")];
  return all.map((piece) => fileObjection(piece, judge, word)).find((one) => one !== undefined);
}

function fileObjection(path: string, judge: Judge, word = path): Objection | undefined {
  if (judge.expanded.has(word)) return expanded;
  if (path === "" || path === "-") return undefined;
  const leaves = isPrivate(path) || namesOutside(path) || judge.leadsOut(path);
  return leaves ? outside : undefined;
}

/** For what git only looks up in the repository. An absolute path may lead inside. */
function leavesFolder(path: string, { leadsOut }: Judge): boolean {
  return namesOutside(path) || (path.startsWith("/") && leadsOut(path));
}

/** The shell's home folder, or a part `..`. */
function namesOutside(path: string): boolean {
  return path.length > 4_096 || /^~|(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path);
}

function urlObjection(word: string): Objection | undefined {
  // curl expands braces and brackets, and knows `file:`.
  return /^https?:\/\/[^\s{}[\]]+$/i.test(word)
    ? undefined
    : { kind: "program", reason: "which is not a plain http or https address" };
}

// Some programs know that a slash in brackets ends nothing, others don't: none in there.
const sedPart = String.raw`(?:[^/\\\n[]|\\[^\n]|\[\^?[^\]^/\\\n[]+\])*`;
const sedAddress = String.raw`(?:\d+|\$|/${sedPart}/)`;
const sedStep = `(?:${sedAddress}(?:,[+~]?${sedAddress})?)?!?(?:[pdq=]|s/${sedPart}/${sedPart}/[gpI\\d]*)`;
/** A script that only shows, leaves out or replaces lines; the others can run programs and write files. */
const plainSed = new RegExp(`^${sedStep}(?:; *${sedStep})*$`);
/** A program that only prints fields of the lines that have a number or match. */
const plainAwk =
  /^(?:NR *(?:==|<=?|>=?|!=) *\d+ *|\/[\w .:-]*\/ *)?\{ *print(?: +\$(?:\d+|NF)(?: *(?:, *)?\$(?:\d+|NF))*)? *\}$/;

/** Whether the end of an option may be a script that does more: `-e1e id`, `--source=…`. */
export function endsInScript(command: readonly string[], option: string, end: string): boolean {
  const language = programs.get(baseName(command[0] ?? ""))?.operands;
  const isScript = language === "sed" || language === "awk";
  return (
    isScript && /^-(?:-[es]|[^-]*e)/.test(option) && scriptObjection(end, language) !== undefined
  );
}

function scriptObjection(word: string, language: Program["operands"]): Objection | undefined {
  return (language === "sed" ? plainSed : plainAwk).test(word) ? undefined : script;
}
