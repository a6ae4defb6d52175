/** Foreign text without what a terminal, a page of GitHub or a bot would act on. */
import { truncate } from "./truncate.ts";

/** Colors, moves of the cursor, titles. They never go over the end of a line. */
const body = String.raw`[^\n\r\x07\x1b\x90-\x9f\\]{0,2000}`;
const escapeEnd = String.raw`\x1b+\\+`;

/** A second removal finds nothing: no rest of a removed sequence begins another one. */
export const terminalSequence = [
  String.raw`(?:\x1b+\[|\x9b)(?:[0-?]*[ -\/]*[@-~])?`,
  String.raw`\x1b+[\]PX^_]${body}(?:\x07|\x9c|\\+u0007|${escapeEnd})`,
  String.raw`[\x90\x98\x9d-\x9f](?:${body}(?:\x07|\x9c|${escapeEnd}))?`,
  String.raw`\x1b+(?:[!-\/]*[0-~])?`,
].join("|");

/** Matches the beginning of a sequence at the end of a text that goes on. */
export const unfinishedSequence = [
  String.raw`(?:\x1b+\[|\x9b)[0-?]*[ -\/]*$`,
  String.raw`(?:\x1b+[\]PX^_]|[\x90\x98\x9d-\x9f])${body}(?:\x1b+\\*|\\+(?:u0{0,3})?)?$`,
  String.raw`\x1b+[!-\/]*$`,
].join("|");

const sequences = new RegExp(terminalSequence, "g");

export function withoutSequences(text: string): string {
  return text.replace(sequences, "");
}

/** C0, DEL and C1 controls, bidirectional controls, invisible and tag characters, lone surrogates. */
export const unsafeCharacters =
  /[\p{Cc}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\p{Surrogate}\u{E0000}-\u{E007F}]/gu;

/** The result doesn't move the cursor, and doesn't color, hide or reorder anything. Keeps LF. */
export function harmless(text: string): string {
  return harmlessCode(text).replaceAll("\t", " ");
}

/** Like `harmless`, but keeps the tabs of code. */
export function harmlessCode(text: string): string {
  return withoutSequences(text.replace(/\r\n?|\u0085|\u2028|\u2029/g, "\n")).replace(
    unsafeCharacters,
    (character) => (character === "\n" || character === "\t" ? character : "\uFFFD"),
  );
}

/** Harmless and on one line of at most `length` UTF-16 units. */
export function oneLine(text: string, length: number): string {
  // Twice the length is enough to fill the line, and keeps megabytes out of the expressions below.
  const line = harmless(text.slice(0, length * 2))
    .trim()
    .split(/\s*\n\s*/)
    .join(" ⏎ ");
  if (line.length <= length && text.length <= length * 2) return line;
  return `${truncate(line, Math.max(0, length - 1))}…`;
}

/** At most `lines` lines and `length` UTF-16 units. */
export function paragraph(text: string, lines: number, length: number): string[] {
  const all = harmless(text.slice(0, length)).trim().split("\n");
  const kept = all.slice(0, lines);
  if (kept.length < all.length || text.trim().length > length) kept.push("…");
  return kept;
}

/** `\u001b`: one UTF-16 unit as JSON and JavaScript spell it. */
export function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** No escape helps in the finished page. A word joiner breaks them: it is invisible, and no line is broken at it. */
const references: readonly (readonly [RegExp, string])[] = [
  [/@(?=[\p{L}\p{N}_-])/gu, "@\u2060"],
  [/#(?=\d)/g, "#\u2060"],
  [/(GH-)(?=\d)/gi, "$1\u2060"],
  [/:(?=\/\/)/g, ":\u2060"],
  [/(www)(?=\.)/gi, "$1\u2060"],
  [/(mailto|xmpp):/gi, "$1:\u2060"],
];

/** Words for which GitHub skips workflows, and lines that bots take for commands. Paths have a second slash. */
const instructions: readonly (readonly [RegExp, string])[] = [
  [/\[(?=(?:skip (?:ci|actions)|ci skip|no ci|actions skip)\])/gi, "[\u2060"],
  [/^(\s*skip-checks)(?=\s*:)/gim, "$1\u2060"],
  [/^([ \t]*)\/(?=[a-z][\w-]*(?:[ \t]|$))/gim, "$1\u2060/"],
];

/** Commit messages and bots have no Markdown, so instructions in code are broken as well. */
export function withoutInstructions(text: string): string {
  let result = text;
  for (const [instruction, broken] of instructions) result = result.replace(instruction, broken);
  return result;
}

/** No mention, reference or address is left that GitHub would link. */
export function withoutReferences(text: string): string {
  let result = text;
  for (const [reference, broken] of references) result = result.replace(reference, broken);
  return result;
}

/** GitHub's own limit is 256 for issues and pull requests. */
const MAX_TITLE = 256;
/** A title becomes the subject of a commit when a pull request is squashed, where `fixes #1` closes an issue. */
export function safeTitle(text: string): string {
  const title = harmless(text.slice(0, 2 * MAX_TITLE)).trim();
  return truncate(withoutInstructions(withoutReferences(title.replace(/\s+/g, " "))), MAX_TITLE);
}

/** A block of literal text, in a fence that nothing in it can close. */
export function fenced(text: string, info = ""): string {
  const fence = fenceOf(text);
  return `${fence}${info}\n${text}\n${fence}`;
}

/** For people, who don't need the empty lines at its end. */
export function codeBlock(text: string, language: string): string {
  return fenced(text.trimEnd(), language);
}

/** At least `least` backticks, and more than there are in a row in the text. */
export function fenceOf(text: string, least = 3): string {
  let longest = least - 1;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return "`".repeat(longest + 1);
}

/* Texts of GitHub, without what is invisible there: it must not reach a model either. */

export const MAX_EVENT_TEXT = 100_000;

/** `<!-->` and `<!--->` are whole comments. */
const comment = /<!--(?:-?>|[^]*?(?:-->|$))/g;

export function cleanEventText(raw: string): { readonly text: string; readonly cut: number } {
  const visible = raw
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/\p{Cs}/gu, "\uFFFD")
    .replace(/\p{Cc}/gu, (control) => (control === "\n" || control === "\t" ? control : ""))
    // Zero-width, bidirectional, tag and filler characters, variation selectors, annotation anchors.
    .replace(/[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu, "");
  // After the invisible ones, which could have split the markers. What is left of comments after two rounds was made
  // to hide something: it goes to the end, as one that is never closed does on GitHub.
  const text = visible
    .replace(comment, "")
    .replace(comment, "")
    .replace(/<!--[^]*/, "");
  const kept = truncate(text, MAX_EVENT_TEXT);
  return { text: kept, cut: text.length - kept.length };
}

/* Foreign text for GitHub: for the log, in which the runner looks for commands, and for Markdown. */

/** The runner compares by the rules of a language, which overlook these; so they may stand inside a marker. */
const overlooked = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}\uFFFD]*`;
const oldMarker = new RegExp(`\\[(?<=#${overlooked}#${overlooked}\\[)`, "gu");

export function logLine(text: string, length: number): string {
  return breakOldMarker(oneLine(text, length));
}

/** `##[cmd]` is a command wherever it stands. Keeps line ends. */
export function breakOldMarker(text: string, bracket = " ["): string {
  return text.replace(oldMarker, bracket);
}

const newCommand = new RegExp(String.raw`^[\s${overlooked.slice(1)}(?=:${overlooked}:)`, "u");

/** Lines that may stand in a log as they are: `| ` is put before what the runner would take for a command. */
export function withoutCommands(lines: string): string {
  return lines
    .split(/(\r\n|\r|\n)/)
    .map((line) => breakOldMarker(line).replace(newCommand, "$&| "))
    .join("");
}

export function annotation(
  level: "error" | "warning",
  message: string,
  place: Readonly<Record<string, string | number | undefined>>,
): string {
  const properties = Object.entries(place)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${escapeProperty(String(value))}`],
    )
    .join(",");
  return `::${level} ${properties}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** Signs that mean something in Markdown or HTML; at the start of a text also those of a heading, a list, a rule or a table. */
const signs = /[&<>\\`*_[\]|~$]|^[-+=#]|^:(?=-)|(?<=^\d{1,9})[.)]/g;

/** A page of our documentation. Only links to it remain: they are harmless, whoever wrote them. */
const ownPage = new RegExp(
  String.raw`(${"https://github.com/org/agent-jobs/blob/main/".replaceAll(".", String.raw`\.`)})(docs/[\w-]+\.md(?:#[\w-]+)?)(?=[\s.,;:)]|$)`,
  "g",
);

/** Literal text on one line: no markup, mention, reference, image or foreign link remains. */
export function inline(text: string, length: number): string {
  return spans(text, length, literal);
}

/** A sentence of ours, in which `code` stays code. */
export function sentence(text: string, length: number): string {
  return spans(text, length, (line) =>
    line.replace(/`([^`]+)`|[^`]+|`/g, (part, inside?: string) =>
      inside === undefined ? literal(part) : `<code>${literal(inside)}</code>`,
    ),
  );
}

function spans(text: string, length: number, write: (text: string) => string): string {
  let result = "";
  let from = 0;
  const line = oneLine(text, length);
  for (const { 0: address, 2: name, index } of line.matchAll(ownPage)) {
    result += `${write(line.slice(from, index))}<a href="${address}">${name}</a>`;
    from = index + address.length;
  }
  return result + write(line.slice(from));
}

/** Writes the signs as numeric entities, which Markdown and HTML read alike. */
export function literal(text: string): string {
  return withoutReferences(text).replace(signs, (sign) => `&#${sign.charCodeAt(0)};`);
}

export function code(text: string, length: number): string {
  return `<code>${inline(text, length)}</code>`;
}
