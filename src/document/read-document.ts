/**
 * The one place where text that a person wrote is parsed. Size and nesting are checked before anything that recurses sees
 * it. Objects in the result have no prototype. The value is never cyclic, and bounded with all YAML aliases written out.
 */
import { defined } from "../text/guards.ts";
import type { Diagnostic, Locate } from "./diagnostic.ts";
import { readJson } from "./json.ts";
import { readYaml } from "./yaml.ts";
import { textPositions } from "./text-position.ts";

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
