/** Foreign text for GitHub: for the log, in which the runner looks for commands, and for Markdown. */
import { fenced as fence, oneLine, withoutReferences } from "./harmless-text.ts";

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

/** A block of literal text, in a fence that nothing in it can close. */
export function fenced(text: string, language: string): string {
  return fence(text.trimEnd(), language);
}
