/** Changes a field of a document that a person wrote, and nothing around it: comments and layout stay. */
import { applyEdits, modify } from "jsonc-parser";
import { Document, isMap, isScalar, parseDocument, YAMLMap, type Pair } from "yaml";
import type { DocumentFormat } from "./read-document.ts";

export type FieldChanges = Readonly<Record<string, unknown>>;

const layout = { lineWidth: 0, blockQuote: "literal", aliasDuplicateObjects: false } as const;

export function editObject(
  text: string,
  format: DocumentFormat,
  name: string,
  changes: FieldChanges,
): string {
  return format === "json" ? editJson(text, name, changes) : editYaml(text, name, changes);
}

function editJson(text: string, name: string, changes: FieldChanges): string {
  const indent = /\n( +|\t)/.exec(text)?.[1] ?? "  ";
  const formattingOptions = { insertSpaces: indent !== "\t", tabSize: indent.length };
  return Object.entries(changes).reduce(
    (edited, [key, value]) =>
      applyEdits(edited, modify(edited, [name, key], value, { formattingOptions })),
    text,
  );
}

function editYaml(text: string, name: string, changes: FieldChanges): string {
  const document = parseDocument(text);
  if (!isMap(document.get(name))) document.set(name, document.createNode({}));
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) document.deleteIn([name, key]);
    else document.setIn([name, key], document.createNode(value));
  }
  const { contents } = document;
  if (!isMap(contents) || contents.flow === true) return document.toString(layout);
  const isNamed = ({ key }: Pair): boolean => (isScalar(key) ? key.value : key) === name;
  const pair = contents.items.find(isNamed);
  if (pair === undefined) return text;
  const before = parseDocument(text).contents;
  const old = isMap(before) ? before.items.find(isNamed) : undefined;
  const written = rendered(pair);
  if (old === undefined) return `${text}${text.endsWith("\n") ? "" : "\n"}${written}`;
  const [start, end] = extentOf(old);
  const length = text.slice(start, end).trimEnd().length;
  const tail = text.slice(start + length);
  return `${text.slice(0, start)}${written.trimEnd()}${tail === "" ? "\n" : tail}`;
}

/** The pair alone, ending with a line feed. What stands before its key isn't a part of it. */
function rendered(pair: Pair): string {
  const map = new YAMLMap();
  const { key } = pair;
  if (isScalar(key)) {
    delete key.commentBefore;
    key.spaceBefore = false;
  }
  map.items.push(pair);
  const document = new Document();
  document.contents = map;
  return document.toString(layout);
}

function extentOf(pair: Pair): readonly [start: number, end: number] {
  const start = isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
  const { value } = pair;
  const range = typeof value === "object" && value !== null && "range" in value ? value.range : [];
  const end = Array.isArray(range) ? Number(range[2] ?? start) : start;
  return [start, end];
}
