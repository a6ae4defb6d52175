/**
 * YAML 1.2 (core schema), plus merge keys. The composer of `yaml` recurses, and a text that is nested deeply enough would
 * end the process: so the lexer and parser, which have explicit stacks, go first, under watch.
 */
import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
  type YAMLParseError,
  type YAMLWarning,
} from "yaml";
import { defined, emptyObject, isRecord } from "../text/guards.ts";
import type { Path } from "./diagnostic.ts";
import type { Limits, ReadText, TextFault } from "./text-position.ts";

/** For the document and a scalar. The converter counts exactly; this only has to keep recursion short. */
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

  const converter = new Converter(limits);
  const value = converter.convert(document.contents, 0);
  if (converter.faults.length > 0) {
    const faults = converter.faults.map((one) => {
      const hint = one.hint ?? quoteHint(text, one.offset);
      return hint === undefined ? one : { ...one, hint };
    });
    return { kind: "rejected", faults };
  }
  return { kind: "read", value, offsetOf: yamlOffsets(document.contents, converter.targets) };
}

function rejected(offset: number, reason: string, hint?: string): ReadText {
  return { kind: "rejected", faults: [{ offset, reason, ...defined({ hint }) }] };
}

function parseConcrete(text: string, limits: Limits): CST.Token[] | TextFault {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > limits.nesting + stackMargin) {
      return { offset: parser.offset, reason: `Nested deeper than ${limits.nesting} levels.` };
    }
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
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
  return [...composer.compose(tokens, true, end)];
}

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

/** Nodes of `yaml` to plain values, with aliases and merge keys written out, and their size bounded. */
class Converter {
  readonly faults: TextFault[] = [];
  readonly targets = new Map<Alias, Node>();
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  readonly #limits: Limits;
  /** The outermost alias whose value is being converted once more. */
  #within: Alias | undefined;
  #size = 0;
  #stopped = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  convert(node: unknown, depth: number): unknown {
    if (this.#stopped) return undefined;
    if (isAlias(node)) return this.#alias(node, depth);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    // Each value that an alias repeats takes memory, however short the text is.
    this.#size += this.#within === undefined ? 1 : 100;
    if (isScalar(node)) return this.#scalar(node);
    if (depth === this.#limits.nesting) {
      this.#stop(node, `Nested deeper than ${this.#limits.nesting} levels.`);
      return undefined;
    }
    this.#open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.convert(item, depth + 1))
      : this.#map(node, depth + 1);
    this.#open.delete(node);
    return value;
  }

  #scalar(node: Scalar): unknown {
    const { value } = node;
    this.#size += node.source?.length ?? 0;
    if (value === null || typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return value;
    this.#fault(node, "A value must be a string, a number, true, false or null.");
    return null;
  }

  #map(map: YAMLMap, depth: number): Record<string, unknown> {
    const object = emptyObject();
    const merged: unknown[] = [];
    for (const pair of map.items) {
      if (isMergeKey(pair.key)) {
        for (const source of this.#mergeSources(pair.value, depth)) merged.push(source);
        continue;
      }
      const key = this.#key(pair.key);
      if (key === undefined) {
        this.#fault(pair.key, "A key must be a string.", "put it in quotes");
      } else if (key in object) {
        this.#fault(pair.key, `Duplicate key ${JSON.stringify(key)}.`);
      } else {
        // An absent value comes as null, in `a:` as in `? a`.
        object[key] = this.convert(pair.value, depth);
      }
    }
    for (const source of merged) {
      for (const [key, value] of Object.entries(source ?? {})) {
        if (!(key in object)) object[key] = value;
      }
    }
    return object;
  }

  #mergeSources(node: unknown, depth: number): unknown[] {
    const value = this.convert(node, depth);
    const sources: unknown[] = Array.isArray(value) ? value : [value];
    const ok = sources.every(isRecord);
    if (ok) return sources;
    if (!this.#stopped) this.#fault(node, "Only objects can be merged with <<.");
    return [];
  }

  #key(key: unknown): string | undefined {
    const node = isAlias(key) ? this.#targetOf(key) : key;
    if (!isScalar(node)) return undefined;
    this.#size += node.source?.length ?? 0;
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    return keyText(node);
  }

  #alias(alias: Alias, depth: number): unknown {
    const target = this.#targetOf(alias);
    if (target === undefined) {
      // A glob such as `**/*.md`, which must be quoted.
      const reason = /[*/]/.test(alias.source)
        ? `\`*${alias.source}\` is read as a YAML alias.`
        : `There is no anchor &${alias.source} before this alias.`;
      this.#fault(alias, reason);
      return null;
    }
    if (this.#open.has(target)) {
      this.#fault(alias, `The anchor &${alias.source} contains itself.`);
      return null;
    }
    const outer = this.#within;
    this.#within ??= alias;
    const value = this.convert(target, depth);
    if (this.#size > this.#limits.bytes) {
      const limit = this.#limits.bytes / 1e6;
      this.#stop(alias, `With all aliases expanded, the file has more than ${limit} MB.`);
    }
    this.#within = outer;
    return value;
  }

  /** The value of the anchor when the alias was read first. */
  #targetOf(alias: Alias): Node | undefined {
    const target = this.targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target !== undefined) this.targets.set(alias, target);
    return target;
  }

  #stop(node: Node, reason: string): void {
    if (!this.#stopped) this.faults.push({ offset: offsetOf(this.#within ?? node), reason });
    this.#stopped = true;
  }

  #fault(node: unknown, reason: string, hint?: string): void {
    // The faults in the value of an alias have been found at its anchor.
    if (this.#within !== undefined) return;
    this.faults.push({ offset: offsetOf(node), reason, ...defined({ hint }) });
  }
}

/** Numbers and booleans count as they are written: `404: …` is the key "404". */
function keyText(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  const { value, source } = key;
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? source : undefined;
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === "PLAIN";
}

function offsetOf(node: unknown): number {
  const range = isAlias(node) || isScalar(node) || isMap(node) || isSeq(node) ? node.range : null;
  return range?.[0] ?? 0;
}

/** Positions by path. Fields that came by a merge key are found at the object they were merged into. */
function yamlOffsets(
  root: Node,
  targets: ReadonlyMap<Alias, Node>,
): (path: Path, isField?: boolean) => number {
  type Member = { readonly key?: unknown; readonly value: unknown };
  // One map may have thousands of problems.
  const known = new WeakMap<YAMLMap, ReadonlyMap<string | undefined, Member>>();
  const targetOf = (node: unknown): unknown => (isAlias(node) ? targets.get(node) : node);
  const child = (node: unknown, key: string | number): Member | undefined => {
    const target = targetOf(node);
    if (isSeq(target)) return typeof key === "number" ? { value: target.items[key] } : undefined;
    if (!isMap(target)) return undefined;
    const members =
      known.get(target) ?? new Map(target.items.map((pair) => [keyText(targetOf(pair.key)), pair]));
    known.set(target, members);
    return members.get(String(key));
  };
  return (path, isField = false) => {
    let at: Member = { value: root };
    for (const key of path) {
      const next = child(at.value, key);
      if (next?.value === undefined) break;
      at = next;
    }
    // An empty value has no position of its own, and a block begins below its field.
    const { key, value } = at;
    const isAtKey = isEmpty(value) || (isField && isBlock(value));
    return offsetOf(key !== undefined && isAtKey ? key : value);
  };
}

function isBlock(node: unknown): boolean {
  return (isMap(node) || isSeq(node)) && node.flow !== true;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && (node.source ?? "") === "");
}
