/** Findings are compared by their rule and by what the line says, not by its number or by the words of the model. */
import { plural } from "../text/numbers.ts";
import { createHash } from "node:crypto";
import { defined, isRecord } from "../text/guards.ts";
import { severities } from "../entry/outputs.ts";
import { previousFindingOf, type PreviousFinding, type Finding } from "../events/output-shapes.ts";
import type { Checked } from "../engine/ports.ts";

type ReadLines = (path: string) => Promise<SeenFile | undefined>;

interface SeenFile {
  /** The name of the file in the repository. */
  readonly path: string;
  /** Its lines in the tree that the agent sees, without line ends. */
  readonly lines: readonly string[];
  /** Its lines in the head of the change, if it is there. */
  readonly head?: readonly string[];
}

const findingLimits = {
  path: 1_000,
  rule: 100,
  title: 200,
  message: 10_000,
  suggestionLines: 100,
} as const;
const maxSuggestion = 20_000;

/** `previous`: those that `sameAs` can name. */
export const checkFinding = asChecked(checked);

async function checked(
  value: unknown,
  task: string,
  readLines: ReadLines,
  previous: readonly PreviousFinding[] = [],
): Promise<Finding> {
  if (!isRecord(value)) throw new Refused("The arguments must be an object.");
  const given = repositoryPath(unquoted(requiredText(value, "path", findingLimits.path)));
  const severity = severities.find((one) => one === value["severity"]);
  if (severity === undefined)
    throw new Refused(`\`severity\` must be one of: ${severities.join(", ")}.`);
  const message = requiredText(value, "message", findingLimits.message);
  const title = optionalText(value, "title", findingLimits.title);
  const rule = optionalText(value, "rule", findingLimits.rule) ?? task;
  const suggestion = optionalText(value, "suggestion", maxSuggestion)
    ?.replace(/\r\n?/g, "\n")
    .replace(/\n$/, "");

  const file = await readLines(given);
  if (file === undefined)
    throw new Refused(
      `There is no text file ${JSON.stringify(given)}. Use a path relative to the root of the repository.`,
    );
  const { path, lines, head } = file;
  const line = lineNumber(value, "line", lines.length, path);
  if (line === undefined) throw new Refused("`line` is required.");
  const endLine = lineNumber(value, "endLine", lines.length, path) ?? line;
  if (endLine < line)
    throw new Refused(`\`endLine\` (${endLine}) must not be less than \`line\` (${line}).`);
  const text = lines.slice(line - 1, endLine).join("\n");
  if (suggestion !== undefined) {
    const { suggestionLines } = findingLimits;
    const replaced = endLine - line + 1;
    if (suggestion.split("\n").length > suggestionLines || replaced > suggestionLines) {
      throw new Refused(
        `A suggestion must have, and replace, at most ${suggestionLines} lines. Suggest less, or omit \`suggestion\`.`,
      );
    }
    if (suggestion === text)
      throw new Refused(
        "The suggestion is equal to the lines that it replaces. Change it, or omit `suggestion`.",
      );
  }
  const same =
    previous.length === 0 ? undefined : optionalText(value, "sameAs", findingLimits.rule);
  const earlier = same === undefined ? undefined : previousFindingOf(previous, same);
  if (earlier !== undefined && "refusal" in earlier)
    throw new Refused(`\`sameAs\`: ${earlier.refusal} Omit it for a new finding.`);
  const headLine = head && mapBlock(lines, line, endLine, head);
  return {
    path,
    line,
    ...(endLine === line ? {} : { endLine }),
    ...defined({ headLine }),
    severity,
    rule,
    ...defined({ title, suggestion }),
    message,
    task,
    fingerprint: earlier?.found.key ?? fingerprintIn(lines, line, rule, path),
    lineDigest: lineDigest(lines[line - 1] ?? ""),
  };
}

/** Git writes some names as a string of C, with octal numbers for bytes. */
function unquoted(given: string): string {
  if (!/^"(?:[^"\\]|\\[^])*"$/.test(given)) return given;
  const parts = given.slice(1, -1).matchAll(/\\([0-7]{3})|\\?([^])/gu);
  const bytes = Array.from(parts, ([, octal, character = ""]) =>
    octal === undefined ? Buffer.from(character) : Buffer.of(Number.parseInt(octal, 8)),
  );
  return Buffer.concat(bytes).toString();
}

function repositoryPath(given: string): string {
  const path = given.replace(/^(?:\.\/)+/, "");
  const parts = path.split("/");
  if (
    /[\p{Cc}\\]/u.test(path) ||
    path.startsWith("/") ||
    parts.some((part) => ["", ".", "..", ".git"].includes(part.toLowerCase()))
  ) {
    throw new Refused(
      `\`path\` must be relative to the root of the repository, with "/", and without "..": ${JSON.stringify(given)}.`,
    );
  }
  return path;
}

function lineNumber(value: Given, name: string, count: number, path: string): number | undefined {
  const line = value[name];
  if (line === undefined || line === null) return undefined;
  if (typeof line !== "number" || !Number.isInteger(line) || line < 1)
    throw new Refused(`\`${name}\` must be a line number, from 1.`);
  if (line > count)
    throw new Refused(
      `\`${name}\` is ${line}, but ${JSON.stringify(path)} has ${plural(count, "line")}.`,
    );
  return line;
}

/** The words of a finding differ from run to run, and its line moves. */
function fingerprintIn(lines: readonly string[], line: number, rule: string, path: string): string {
  const text = spaced(lines[line - 1] ?? "");
  const place = lines.slice(0, line - 1).filter((one) => spaced(one) === text).length;
  return fingerprintOf(rule, path, text, place);
}

/** `place`: the number of equal lines before it. */
export function fingerprintOf(rule: string, path: string, text: string, place: number): string {
  return hash(JSON.stringify([spaced(rule.toLowerCase()), path, spaced(text), place]), 32);
}

export function lineDigest(line: string): string {
  return hash(spaced(line), 16);
}

/** `digest`: a `lineDigest`. `lines`: of the file as it is now, without line ends. */
export function hasLine(lines: readonly string[], digest: string): boolean {
  return lines.some((line) => lineDigest(line) === digest);
}

function hash(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

function spaced(text: string): string {
  return text.normalize("NFC").trim().replace(/\s+/gu, " ");
}

/** Finds lines in `head`. Undefined if they aren't there, or if their neighbors leave several places. */
export function mapBlock(
  seen: readonly string[],
  line: number,
  endLine: number,
  head: readonly string[],
): number | undefined {
  const isAt = (start: number): boolean => {
    for (let offset = 0; line + offset <= endLine; offset += 1)
      if (head[start - 1 + offset] !== seen[line - 1 + offset]) return false;
    return true;
  };
  if (seen.length === head.length && isAt(line)) return line;
  const text = seen[line - 1];
  const starts = head.flatMap((one, index) => (one === text ? [index + 1] : []));
  const neighbors = (at: number): number =>
    Number(head[at - 2] === seen[line - 2]) + Number(head[at] === seen[line]);
  const best = Math.max(...starts.map(neighbors));
  const [start, ...others] = starts.filter((at) => neighbors(at) === best);
  return start !== undefined && others.length === 0 && isAt(start) ? start : undefined;
}

/** Checks of what a model hands in; each refusal is a sentence that the model can act on. */
export class Refused extends Error {}

/** The check, whose `Refused` is a value. */
export function asChecked<Asked extends readonly unknown[], Value>(
  check: (...asked: Asked) => Promise<Value>,
): (...asked: Asked) => Promise<Checked<Value>> {
  return async (...asked) => {
    try {
      return { kind: "accepted", value: await check(...asked) };
    } catch (error) {
      if (error instanceof Refused) return { kind: "refused", reason: error.message };
      throw error;
    }
  };
}

export type Given = Readonly<Record<string, unknown>>;

export function requiredText(value: Given, name: string, limit: number): string {
  const text = optionalText(value, name, limit);
  if (text === undefined || text.trim() === "")
    throw new Refused(`\`${name}\` is required, and must not be empty.`);
  return text;
}

export function optionalText(value: Given, name: string, limit: number): string | undefined {
  const text = value[name];
  if (text === undefined || text === null) return undefined;
  if (typeof text !== "string") throw new Refused(`\`${name}\` must be a string.`);
  if (text.length > limit)
    throw new Refused(`\`${name}\` has ${text.length} characters; at most ${limit} are allowed.`);
  return text;
}
