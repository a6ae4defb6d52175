/**
 * YAML 1.2 (core schema), one document, plus merge keys (`<<`), which people expect with anchors.
 *
 * The composer of `yaml` recurses, and a text that is nested deeply enough ends the process. Its
 * lexer and its parser of concrete syntax keep explicit stacks, so the text goes through those
 * first, under watch; the composer sees only what has passed.
 */
import { defined } from "./guards.ts";
import {
  Composer,
  type CST,
  type Document,
  Lexer,
  Parser,
  type YAMLParseError,
  type YAMLWarning,
} from "yaml";
import type { Limits, ReadText, TextFault } from "./text-position.ts";
import { convertYaml, yamlOffsets } from "./yaml-value.ts";

/**
 * The stack of the concrete syntax holds the document, then one item for each list or object, then
 * the scalar at hand. The converter counts exactly; this bound only has to keep recursion short.
 */
const stackMargin = 10;

export function readYaml(text: string, limits: Limits): ReadText {
  const tokens = parseConcrete(text, limits);
  if (!Array.isArray(tokens)) return { kind: "rejected", faults: [tokens] };

  const documents = compose(tokens, text.length);
  const [document, second] = documents;
  if (document === undefined) return rejected(0, "The file is empty.");
  // Whatever follows the first fault in the syntax is a guess. Warnings are about tags that stand
  // for types that neither JSON nor an entry has.
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault !== undefined) {
    const [offset] = fault.pos;
    const [, quote] = /^Missing closing (["'])/.exec(fault.message) ?? [];
    if (quote !== undefined) {
      const begin = text.lastIndexOf(quote, offset - 1);
      return rejected(begin, `Not valid YAML: This text has no closing ${quote}.`);
    }
    const { reason = sentence(fault.message), hint = quoteHint(text, offset) } =
      commonFault(text, fault) ?? {};
    return rejected(offset, `Not valid YAML: ${reason}`, hint);
  }
  if (second !== undefined) {
    return rejected(
      second.range[0],
      "The file contains more than one YAML document.",
      "remove ---",
    );
  }
  if (document.contents === null) return rejected(0, "The file is empty.");

  const converted = convertYaml(document.contents, limits);
  if (converted.faults.length > 0) {
    const faults = converted.faults.map((one) => {
      const hint = one.hint ?? quoteHint(text, one.offset);
      return hint === undefined ? one : { ...one, hint };
    });
    return { kind: "rejected", faults };
  }
  return {
    kind: "read",
    value: converted.value,
    offsetOf: yamlOffsets(document.contents, converted.targets),
  };
}

function rejected(offset: number, reason: string, hint?: string): ReadText {
  return {
    kind: "rejected",
    faults: [{ offset, reason, ...defined({ hint }) }],
  };
}

function parseConcrete(text: string, limits: Limits): CST.Token[] | TextFault {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > limits.nesting + stackMargin) {
      return { offset: parser.offset, reason: tooDeep(limits) };
    }
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

function tooDeep(limits: Limits): string {
  return `Nested deeper than ${limits.nesting} levels.`;
}

function compose(tokens: CST.Token[], end: number): Document.Parsed[] {
  const composer = new Composer({
    version: "1.2",
    // Named, so that a `%YAML 1.1` directive doesn't turn `no` into false.
    schema: "core",
    // The composer's own check compares every key with every other; the converter has a faster one.
    uniqueKeys: false,
    keepSourceTokens: false,
    logLevel: "silent",
  });
  const documents: Document.Parsed[] = [];
  for (const document of composer.compose(tokens, true, end)) documents.push(document);
  return documents;
}

/** The first line of a message of `yaml`, with a full stop. */
function sentence(message: string): string {
  const line = message.split("\n", 1)[0] ?? "";
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** The most common mistakes. The parser's message says what it did not expect, not what to write instead. */
function commonFault(text: string, { code, message, pos }: YAMLParseError | YAMLWarning) {
  const [offset] = pos;
  const line = /.{0,1000}/.exec(text.slice(offset))?.[0] ?? "";
  if (code === "BLOCK_AS_IMPLICIT_KEY" || code === "BLOCK_IN_FLOW") {
    const isInFlow = code === "BLOCK_IN_FLOW" || /[[{]/.test(lineBefore(text, offset));
    const value = isInFlow ? line.replace(/[,\]}][^]*$/, "") : line;
    const plain = value.replace(/\s#[^]*$/, "").trim();
    if (/^["'[{|>&*!]/.test(plain)) return undefined;
    const reason = 'Unquoted text can\'t contain ": ".';
    if (/:\s/.test(plain) && !/["\\]/.test(plain)) return { reason, hint: `quote it: "${plain}"` };
    const hint = "indent the next field like this one, or put all of the text in quotes";
    return { reason: "A field can't begin inside a string.", hint };
  }
  if (code !== "MULTILINE_IMPLICIT_KEY" && !message.startsWith("Implicit map keys")) {
    const [quote] = /["']$/.exec(text.slice(0, offset).trimEnd()) ?? [];
    if (quote === undefined || code !== "UNEXPECTED_TOKEN") return undefined;
    const hint = `write ${quote === "'" ? "''" : '\\"'} for ${quote} inside of them`;
    return { reason: `The ${quote} before this ends the text.`, hint };
  }
  const hint = /^[\w-]+:\S/.test(line)
    ? "write a space after the colon"
    : "write NAME: VALUE, or indent a string deeper than its field";
  return { reason: "This is neither a field nor part of a string.", hint };
}

function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
}

/** For text that begins with a character that YAML keeps for itself, such as `!git push` and `*.md`. */
function quoteHint(text: string, offset: number): string | undefined {
  const start = offset - lineBefore(text, offset).length;
  const end = text.indexOf("\n", offset);
  const line = text.slice(start, end === -1 ? undefined : end);
  if (line.length > 1_000) return undefined;
  const starts = [...line.matchAll(/(?<=^\s*|[-:,[{]\s+|[[{,])[!*@`%]\S/g)];
  const begin = starts.findLast(({ index }) => index <= offset - start)?.index;
  const value = begin === undefined ? undefined : line.slice(begin);
  if (value === undefined) return undefined;
  const before = line.slice(0, line.length - value.length);
  const inList = /[[{]/.test(before);
  const whole = (inList ? value.replace(/[,\]}].*$/, "") : value).replace(/\s+#.*$/, "").trim();
  // An alias of a plain name may well be one.
  if (/^\*[\w-]*$/.test(whole) || whole.includes('"')) return undefined;
  return `quote it: "${whole}"`;
}
