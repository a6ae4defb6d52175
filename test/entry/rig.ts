import assert from "node:assert/strict";
import {
  type Diagnostic,
  diagnosticLine,
  diagnosticMessage,
} from "../../src/document/diagnostic.ts";
import { readDocument } from "../../src/document/read-document.ts";
import { loadEntry, prepareEntry } from "../../src/entry/prepare.ts";
import type { PreparedEntry, Work } from "../../src/entry/model.ts";

/** An entry without faults; fields given replace those of the same name. */
export function entryWith(fields: object = {}): object {
  return {
    models: { driving: "small", fast: "quick" },
    tasks: { a: { model: { category: "fast" }, prompt: "Do it." } },
    jobs: { j: { work: { kind: "Ref", taskId: "a" } } },
    ...fields,
  };
}

/** An entry whose one task has these fields, on top of a model and a prompt. */
export function entryWithTask(fields: object, more: object = {}): object {
  const task = { model: { category: "fast" }, prompt: "Do it.", ...fields };
  return entryWith({ tasks: { a: task }, ...more });
}

export function entryWithWork(work: unknown, more: object = {}): object {
  return entryWith({ jobs: { j: { work } }, ...more });
}

export function task(taskId: string): Work {
  return { kind: "Ref", taskId };
}

/** `codePath: reason` of everything that is wrong with a value. */
export function problemsOf(value: unknown): string[] {
  const result = prepareEntry(value);
  return result.kind === "prepared" ? [] : result.diagnostics.map(diagnosticMessage);
}

export function prepared(value: unknown): PreparedEntry {
  const result = prepareEntry(value);
  if (result.kind === "rejected") assert.fail(result.diagnostics.map(diagnosticLine).join("\n"));
  return result.entry;
}

/** The lines that a person sees for a file that is refused; none if it is accepted. */
export function linesOf(text: string | Uint8Array, file = "e.yml"): string[] {
  const result = loadEntry(text, file);
  return result.kind === "loaded" ? [] : result.diagnostics.map(diagnosticLine);
}

export function valueOf(text: string | Uint8Array, format: "json" | "yaml"): unknown {
  const result = readDocument(text, { format });
  if (result.kind === "rejected") assert.fail(result.diagnostics.map(diagnosticLine).join("\n"));
  return result.value;
}

export function faultsOf(text: string | Uint8Array, format: "json" | "yaml"): Diagnostic[] {
  const result = readDocument(text, { file: "f", format });
  return result.kind === "read" ? [] : [...result.diagnostics];
}

/** The lines of the faults of a document. */
export function faultLines(text: string | Uint8Array, format: "json" | "yaml"): string[] {
  return faultsOf(text, format).map(diagnosticLine);
}

/** Copies data with ordinary prototypes, to be compared with literals. */
export function plainly(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

export const seq = (...works: Work[]): Work => ({ kind: "Seq", works });
export const par = (...works: Work[]): Work => ({ kind: "Par", works });
