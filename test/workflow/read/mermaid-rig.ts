/** Reads flowcharts with Mermaid and with our own reader, in the same form. */
import assert from "node:assert/strict";
import DOMPurify from "dompurify";
import { parseFlowchart } from "../../../src/workflow/read/flowchart.ts";

// There is no page, so nothing to purify.
Object.assign(DOMPurify, {
  addHook: () => undefined,
  removeHook: () => undefined,
  sanitize: (text: string) => text,
});
// Mermaid looks at the purifier when it is loaded.
const { default: mermaid } = await import("mermaid");

/** The edges that Mermaid reads; undefined if it refuses the text, or takes something for a node that no one means as one. */
export async function readByMermaid(text: string): Promise<readonly string[] | undefined> {
  if ((await mermaid.parse(text, { suppressErrors: true })) === false) return undefined;
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  assert.ok("getEdges" in db && typeof db.getEdges === "function");
  assert.ok("getVertices" in db && typeof db.getVertices === "function");
  const nodes: ReadonlyMap<string, unknown> = db.getVertices();
  // For Mermaid, a dot can be a node.
  if ([...nodes.keys()].some((id) => !/[\p{L}\p{N}_]/u.test(id))) return undefined;
  const edges: readonly { start: string; end: string; type: string; text: string }[] =
    db.getEdges();
  return edges.map(({ start, end, type, text: label }) => `${start} ${type} ${end} ${label}`);
}

export function readByUs(text: string): readonly string[] | undefined {
  const { edges, faults } = parseFlowchart(text);
  if (faults.some(({ severity }) => severity === undefined)) return undefined;
  return edges.map(({ from, to, label }) => `${from} arrow_point ${to} ${label}`);
}

export interface GanttBar {
  readonly section: string;
  readonly task: string;
  readonly start: number;
  readonly end: number;
  readonly tags: readonly string[];
}

/** The bars of a Gantt chart as Mermaid draws them. Throws if it refuses the text. */
export async function ganttByMermaid(text: string): Promise<readonly GanttBar[]> {
  assert.notEqual(await mermaid.parse(text, { suppressErrors: true }), false);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  assert.ok("getTasks" in db && typeof db.getTasks === "function");
  const tasks: readonly (Record<string, unknown> & {
    readonly section: string;
    readonly task: string;
    readonly startTime: Date;
    readonly endTime: Date;
  })[] = db.getTasks();
  return tasks.map(({ section, task, startTime, endTime, ...flags }) => ({
    section: decoded(section),
    task: decoded(task).trimEnd(),
    start: startTime.getTime(),
    end: endTime.getTime(),
    tags: ["active", "done", "crit", "milestone"].filter((tag) => flags[tag] === true),
  }));
}

/** Mermaid keeps entities in a form of its own until the end. */
function decoded(text: string): string {
  return text.replace(/\uFB02\u00B0\u00B0(\d+)\u00B6\u00DF/g, (_, code) =>
    String.fromCodePoint(Number(code)),
  );
}
