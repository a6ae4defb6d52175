/**
 * What turns a command that otherwise only looks into one that runs programs, writes files, or reads those
 * that lie elsewhere. The table is finite: well-known traps of commands that people allow with `*`. Pure.
 */
import { isPrivate } from "./private-files.ts";

type IsHazard = (word: string, index: number) => boolean;

interface Hazards {
  /** Long options, without the dashes; also in the abbreviated forms that many programs accept. */
  readonly long: readonly string[];
  /** Beginnings of short options (`-o` also stands for `-ofile`). */
  readonly short: readonly string[];
  /** What else is one, of a whole command. */
  readonly other?: (command: readonly string[]) => IsHazard;
}

const hazards: ReadonlyMap<string, Hazards> = new Map<string, Hazards>([
  [
    "git",
    {
      long: (
        "config config-env exec-path upload-pack receive-pack exec ext-diff textconv output " +
        "output-directory open-files-in-pager git-dir work-tree no-index template contents " +
        "extcmd tool ignore-revs-file"
      ).split(" "),
      short: ["-c", "-C", "-x", "-u", "-O", "-o"],
      other: diffHazards,
    },
  ],
  ["find", { long: [], short: "-exec -ok -delete -fprint -fls".split(" ") }],
  ["rg", { long: ["pre", "pre-glob", "hostname-bin", "search-zip"], short: ["-z"] }],
  ["fd", { long: ["exec", "exec-batch"], short: ["-x", "-X"] }],
  ["sort", { long: ["output", "compress-program", "temporary-directory"], short: ["-o", "-T"] }],
  [
    "tar",
    {
      long: "to-command checkpoint-action use-compress-program info-script new-volume-script rsh-command".split(
        " ",
      ),
      short: ["-I", "-F"],
    },
  ],
  ["sed", { long: ["in-place"], short: ["-i"], other: sedHazards }],
  [
    "curl",
    {
      long: (
        "output output-dir remote-name remote-name-all remote-header-name config dump-header " +
        "cookie-jar trace trace-ascii stderr libcurl etag-save hsts alt-svc write-out"
      ).split(" "),
      short: ["-o", "-O", "-J", "-K", "-D", "-c", "-w"],
    },
  ],
  ["tree", { long: ["output"], short: ["-o", "-R"] }],
  ["uniq", { long: [], short: [], other: uniqHazards }],
]);

/** The indices of the words that are hazards. */
export function hazardsOf(command: readonly string[]): ReadonlySet<number> {
  const known = hazards.get(baseName(command[0] ?? ""));
  if (known === undefined) return new Set();
  const other = known.other?.(command) ?? (() => false);
  const found = [...command.entries()].filter(
    ([index, word]) => index > 0 && (isOption(word, known) || other(word, index)),
  );
  return new Set(found.map(([index]) => index));
}

/** The hazards that a pattern names: options as it likes, scripts and paths only to the letter. */
export function hazardsNamedBy(pattern: readonly string[]): ReadonlySet<number> {
  const named = [...hazardsOf(pattern)].filter((index) => {
    const word = pattern[index] ?? "";
    return word.startsWith("-") || !word.includes("*");
  });
  return new Set(named);
}

function isOption(word: string, { long, short }: Hazards): boolean {
  if (word.startsWith("--")) {
    const option = word.slice(2).split("=")[0] ?? "";
    return option !== "" && long.some((one) => one.startsWith(option));
  }
  return short.some((one) => word.startsWith(one) || bundles(word, one));
}

export function baseName(program: string): string {
  return program.slice(Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\")) + 1);
}

/** `-ruo file`, `-ro/file`, `-#o file`: short options may be written together. */
function bundles(word: string, short: string): boolean {
  const together = /^-[\w#:]*/.exec(word)?.[0] ?? "";
  return short.length === 2 && together.includes(short.charAt(1), 2);
}

/** Given one path outside of the repository, `git diff` compares any two files, as with `--no-index`. */
function diffHazards(command: readonly string[]): IsHazard {
  if (!command.includes("diff") && !command.includes("difftool")) return () => false;
  return (word) => /^[/~]|(?:^|\/)\.\.(?:\/|$)/.test(word) || isPrivate(word);
}

// Some programs know that a slash in brackets ends nothing, others don't: none in there.
const sedPart = String.raw`(?:[^/\\\n[]|\\[^\n]|\[\^?[^\]^/\\\n[]+\])*`;
const sedAddress = String.raw`(?:\d+|\$|/${sedPart}/)`;
const sedStep = `(?:${sedAddress}(?:,[+~]?${sedAddress})?)?!?(?:[pdq=]|s/${sedPart}/${sedPart}/[gpI\\d]*)`;
/** A script that only shows, leaves out or replaces lines; the others can run programs and write files. */
const plainSedScript = new RegExp(`^${sedStep}(?:; *${sedStep})*$`);

function sedHazards(command: readonly string[]): IsHazard {
  if (command[1] === "--sandbox") return () => false;
  const [script, ...files] = operandsOf(command);
  const harmless = new Set(files);
  return (word, index) => {
    if (index === script) return !plainSedScript.test(word);
    return (
      !harmless.has(index) && !/^(?:-[nErsuz]+|--(?:quiet|silent|regexp-extended)?)$/.test(word)
    );
  };
}

/** The second file that `uniq` is given is written. A wildcard may stand for two. */
function uniqHazards(command: readonly string[]): IsHazard {
  const [input, ...others] = operandsOf(command);
  const outputs = new Set(others);
  return (word, index) => (index === input ? /[*?[]/.test(word) : outputs.has(index));
}

/** The indices of the words that are no options. */
function operandsOf(command: readonly string[]): number[] {
  const end = command.indexOf("--");
  return [...command.keys()].filter((index) => {
    const word = command[index] ?? "";
    if (index === 0 || index === end) return false;
    return !word.startsWith("-") || word === "-" || (end !== -1 && index > end);
  });
}
