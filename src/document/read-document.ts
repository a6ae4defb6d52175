/**
 * The one place where text that a person wrote is parsed. Size and nesting are checked before anything that recurses sees
 * it. Objects in the result have no prototype. The value is never cyclic, and bounded with all YAML aliases written out.
 */
import { defined, emptyObject } from "../text/guards.ts";
import type { Diagnostic, Locate } from "./diagnostic.ts";
import { readYaml } from "./yaml.ts";
import { textPositions, type Limits, type ReadText, type TextFault } from "./text-position.ts";
import { type JSONVisitor, type Node, parseTree, printParseErrorCode, visit } from "jsonc-parser";

/* JSON as RFC 8259 has it: no comments, no trailing commas, and no key twice in an object. */

type ErrorName = ReturnType<typeof printParseErrorCode>;
type Container = Record<string, unknown> | unknown[];

export function readJson(text: string, limits: Limits): ReadText {
  let value: unknown;
  let key = "";
  const open: Container[] = [];
  const duplicates: TextFault[] = [];
  let syntax: TextFault | undefined;
  const put = (item: unknown): void => {
    const parent = open.at(-1);
    if (parent === undefined) value = item;
    else if (Array.isArray(parent)) parent.push(item);
    else parent[key] = item;
  };
  const enter = (container: Container, offset: number): void => {
    if (open.length === limits.nesting) throw new TooDeep(offset);
    put(container);
    open.push(container);
  };
  const leave = (): void => {
    open.pop();
  };
  const visitor: JSONVisitor = {
    onObjectBegin: (offset) => enter(emptyObject(), offset),
    onObjectProperty: (name, offset) => {
      const parent = open.at(-1);
      if (parent !== undefined && name in parent) {
        duplicates.push({ offset, reason: `Duplicate key ${JSON.stringify(name)}.` });
      }
      key = name;
    },
    onObjectEnd: leave,
    onArrayBegin: (offset) => enter([], offset),
    onArrayEnd: leave,
    onLiteralValue: put,
    onError: (code, offset) => {
      syntax ??= syntaxFault(text, printParseErrorCode(code), offset);
    },
  };
  try {
    visit(text, visitor, {
      disallowComments: true,
      allowTrailingComma: false,
      allowEmptyContent: false,
    });
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    const reason = `Nested deeper than ${limits.nesting} levels.`;
    return { kind: "rejected", faults: [syntax ?? { offset: error.offset, reason }] };
  }
  if (syntax !== undefined) return { kind: "rejected", faults: [syntax] };
  if (duplicates.length > 0) return { kind: "rejected", faults: duplicates };
  return { kind: "read", value, offsetOf: jsonOffsets(text) };
}

class TooDeep extends Error {
  readonly offset: number;
  constructor(offset: number) {
    super();
    this.offset = offset;
  }
}

function syntaxFault(text: string, code: ErrorName, offset: number): TextFault {
  if (text.slice(offset).trim() === "" && code !== "InvalidCommentToken") {
    return { offset, reason: "The file ends in the middle of a value.", hint: "is it complete?" };
  }
  const found = JSON.stringify(/^\w+|^[^]/u.exec(text.slice(offset, offset + 20))?.[0] ?? "");
  const words = code.replace(/(?<!^)[A-Z]/g, " $&").toLowerCase();
  const [reason, hint] = faults[code] ?? [`Not valid JSON: ${words}, at ….`];
  return { offset, reason: reason.replace("…", () => found), ...defined({ hint }) };
}

const faults: { readonly [Name in ErrorName]?: readonly [reason: string, hint?: string] } = {
  InvalidCommentToken: [
    "Comments are not allowed in JSON.",
    "a YAML file (.yml) may have comments",
  ],
  PropertyNameExpected: ["Expected a key in double quotes, found …."],
  ValueExpected: ["Expected a value, found …."],
  ColonExpected: ['Expected ":" after the key, found ….'],
  CommaExpected: ['Expected "," or the end of the list or object, found ….'],
  CloseBraceExpected: ['Expected "}", found ….'],
  CloseBracketExpected: ['Expected "]", found ….'],
  EndOfFileExpected: ["Expected the end of the file, found …."],
  InvalidSymbol: ["… is not JSON.", "put texts in double quotes"],
  UnexpectedEndOfString: ["A string is not closed on its line.", "write \\n for a line break"],
  InvalidCharacter: ["A string contains a control character.", "write \\t for a tab"],
};

function jsonOffsets(text: string): (path: readonly (string | number)[]) => number {
  let root: Node | undefined;
  // One object may have thousands of problems.
  const known = new WeakMap<Node, ReadonlyMap<unknown, Node | undefined>>();
  const membersOf = (node: Node): ReadonlyMap<unknown, Node | undefined> => {
    const members =
      known.get(node) ??
      new Map(
        node.children?.map((child, index) => {
          const [key, value] = child.children ?? [];
          return node.type === "object" ? [key?.value, value] : [index, child];
        }),
      );
    known.set(node, members);
    return members;
  };
  return (path) => {
    root ??= parseTree(text);
    let node = root;
    for (const key of path) {
      const next = node && membersOf(node).get(key);
      if (next === undefined) break;
      node = next;
    }
    return node?.offset ?? 0;
  };
}

export const documentLimits = {
  /** 10 MB, in UTF-8; also the limit of a YAML document with all its aliases written out. */
  bytes: 10_000_000,
  /** Lists and objects inside one another. */
  nesting: 100,
} as const;

export type DocumentFormat = "json" | "yaml";

export type ReadDocument =
  | {
      readonly kind: "read";
      readonly value: unknown;
      /** The position of the value at `path`, or of its nearest parent that exists. */
      readonly locate: Locate;
    }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

export function formatOfFile(fileName: string): DocumentFormat | undefined {
  const extension = /\.([^./\\]+)$/.exec(fileName)?.[1]?.toLowerCase();
  if (extension === "json") return "json";
  return extension === "yml" || extension === "yaml" ? "yaml" : undefined;
}

export type SourceText =
  { readonly kind: "text"; readonly text: string } | Extract<ReadDocument, { kind: "rejected" }>;

export function readSource(source: string | Uint8Array, file?: string): SourceText {
  const rejected = (reason: string, more: Partial<Diagnostic> = {}): SourceText => ({
    kind: "rejected",
    diagnostics: [{ ...defined({ file }), codePath: "", reason, ...more }],
  });

  const bytes = typeof source === "string" ? utf8Length(source) : source.length;
  if (bytes > documentLimits.bytes) {
    const size = (bytes / 1e6).toFixed(1);
    return rejected(`The file has ${size} MB. The maximum is ${documentLimits.bytes / 1e6} MB.`);
  }
  const text = typeof source === "string" ? source.replace(/^\uFEFF/, "") : decode(source);
  if (text === undefined)
    return rejected("The file is not UTF-8 text.", { hint: "save it as UTF-8" });
  const binary = text.indexOf("\0");
  if (binary !== -1) return rejected("The file is binary.", textPositions(text)(binary));
  if (text.trim() === "") return rejected("The file is empty.");
  return { kind: "text", text };
}

export function readDocument(
  source: string | Uint8Array,
  options: { readonly file?: string; readonly format: DocumentFormat },
): ReadDocument {
  const { file, format } = options;
  const decoded = readSource(source, file);
  if (decoded.kind === "rejected") return decoded;
  const { text } = decoded;

  const read = format === "json" ? readJson(text, documentLimits) : readYaml(text, documentLimits);
  const positionOf = textPositions(text);
  if (read.kind === "read") {
    const { value, offsetOf } = read;
    return { kind: "read", value, locate: (path, isField) => positionOf(offsetOf(path, isField)) };
  }
  return {
    kind: "rejected",
    diagnostics: read.faults.map(({ offset, reason, hint }) => ({
      ...defined({ file }),
      ...positionOf(Math.min(offset, text.length)),
      codePath: "",
      reason,
      ...defined({ hint }),
    })),
  };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function utf8Length(text: string): number {
  // A UTF-16 unit takes one to three bytes: most texts need no counting.
  if (text.length > documentLimits.bytes || text.length * 3 <= documentLimits.bytes) {
    return text.length;
  }
  return new TextEncoder().encode(text).length;
}
