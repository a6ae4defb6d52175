/** JSON as RFC 8259 has it: no comments, no trailing commas, and no key twice in an object. */
import { type JSONVisitor, type Node, parseTree, printParseErrorCode, visit } from "jsonc-parser";
import { defined, emptyObject } from "../text/guards.ts";
import type { Limits, ReadText, TextFault } from "./text-position.ts";

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
  const members = new WeakMap<Node, Map<string, Node>>();
  const child = (node: Node, key: string | number): Node | undefined => {
    if (node.type === "array") return typeof key === "number" ? node.children?.[key] : undefined;
    if (node.type !== "object") return undefined;
    let known = members.get(node);
    if (known === undefined) {
      known = new Map();
      for (const { children } of node.children ?? []) {
        const [name, item] = children ?? [];
        if (name !== undefined && item !== undefined) known.set(String(name.value), item);
      }
      members.set(node, known);
    }
    return known.get(String(key));
  };
  return (path) => {
    root ??= parseTree(text);
    let node = root;
    for (const key of path) {
      const next = node && child(node, key);
      if (next === undefined) break;
      node = next;
    }
    return node?.offset ?? 0;
  };
}
