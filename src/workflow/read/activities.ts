import { defined } from "../../text/guards.ts";
import type { MarkdownFence } from "../../document/markdown.ts";
import { activityKinds, isActivityKind, kindOf, type ActivityKind } from "../kinds/kinds.ts";
import type { ReadNode } from "../kinds/kind.ts";
import type { Problems, Place } from "./problems.ts";
import { parseFlowchart, type FlowEdge, type FlowNode } from "./flowchart.ts";
import type { Activity, Parameter } from "../model.ts";
import { parseParameters } from "../parameters.ts";
import { unquote } from "../value.ts";
import { truncate } from "../../text/truncate.ts";
import { didYouMean, suggest } from "../../document/diagnostic.ts";

export interface ReadActivities {
  readonly activities: Map<string, Activity>;
  readonly parameters: readonly Parameter[];
  /** False if a part could not be read, which may hide anything. */
  readonly isWhole: boolean;
}

type Locate = (offset: number) => Place;
interface PlacedNode extends FlowNode {
  readonly locate: Locate;
}
interface PlacedEdge extends FlowEdge {
  readonly place: Place;
}
interface Merged {
  readonly nodes: Map<string, PlacedNode>;
  readonly edges: PlacedEdge[];
  readonly attached: Set<string>;
  readonly subgraphs: Set<string>;
  isWhole: boolean;
}

const words = [...activityKinds, "params"].map((kind) => kind.toUpperCase());
const withText = activityKinds.filter((kind) => !kindOf(kind).isMark);
const captions = new RegExp(`^(${withText.join("|")})\\s*:\\s*`, "i");
const yes: ReadonlySet<string> = new Set(["", "YES", "TRUE", "OK", "SUCCESS"]);
const no: ReadonlySet<string> = new Set("NO FALSE ERROR FAILED ELSE FAIL OTHER".split(" "));
/** The shapes that Mermaid has for remarks. */
const remarks: ReadonlySet<string> = new Set(
  "comment brace brace-l brace-r braces text".split(" "),
);

export function readActivities(
  file: string,
  fences: readonly MarkdownFence[],
  problems: Problems,
): ReadActivities {
  const merged = merge(file, fences, problems);
  const arrows = new Set(merged.edges.flatMap(({ from, to }) => [from, to]));
  const activities = new Map<string, Activity>();
  const parameters = new Map<string, Parameter>();
  const ignored = new Set<string>();
  for (const node of merged.nodes.values()) {
    const { id } = node;
    const prefix = prefixOf(id);
    if (prefix === "params") {
      readParameters(node, parameters, problems);
      if (arrows.has(id))
        problems.warn(node.locate(node.offset), "Edges of PARAMS have no meaning.");
      ignored.add(id);
      continue;
    }
    if (!arrows.has(id) && isRemark(node, prefix, merged)) continue;
    if (prefix === undefined) {
      reportUnknown(node, merged, problems);
      ignored.add(id);
      continue;
    }
    const kind = kindOf(prefix);
    const read = readNode(node, prefix, problems);
    const own = kind.read(read);
    const label = kind.isMark === true ? "" : read.text;
    if (own === undefined) ignored.add(id);
    else activities.set(id, { id, at: node.locate(node.offset).at, label, ...own });
  }
  connect(activities, ignored, merged.edges, problems);
  return { activities, parameters: [...parameters.values()], isWhole: merged.isWhole };
}

/** Several flowcharts are one graph. */
function merge(file: string, fences: readonly MarkdownFence[], problems: Problems): Merged {
  const merged: Merged = {
    nodes: new Map(),
    edges: [],
    attached: new Set(),
    subgraphs: new Set(),
    isWhole: true,
  };
  for (const fence of fences) {
    if (!/^mermaid(?![\w-])/i.test(fence.info)) continue;
    if (!fence.isClosed) {
      const reason = "This code fence is never closed.";
      problems.error({ file, at: fence.at }, reason, "end the flowchart with ```");
      merged.isWhole = false;
      continue;
    }
    const chart = parseFlowchart(fence.content);
    const locate = (offset: number): Place => ({ file, at: fence.locate(offset) });
    if (!chart.isFlowchart) {
      const hint = "it must begin with flowchart or graph";
      problems.warn({ file, at: fence.at }, "Ignored: not a flowchart.", hint);
      continue;
    }
    for (const { offset, reason, hint, severity } of chart.faults) {
      if (severity === "warning") problems.warn(locate(offset), reason, hint);
      else {
        problems.error(locate(offset), reason, hint);
        merged.isWhole = false;
      }
    }
    for (const node of chart.nodes.values()) {
      const known = merged.nodes.get(node.id);
      const isNew = known === undefined || node.label !== undefined;
      merged.nodes.set(node.id, isNew ? { ...known, ...node, locate } : known);
    }
    for (const edge of chart.edges) merged.edges.push({ ...edge, place: locate(edge.offset) });
    for (const id of chart.attached) merged.attached.add(id);
    for (const id of chart.subgraphs) merged.subgraphs.add(id);
  }
  return merged;
}

function prefixOf(id: string): ActivityKind | "params" | undefined {
  const [prefix = ""] = id.split("_", 1);
  const kind = prefix.toLowerCase();
  if (prefix !== kind.toUpperCase()) return undefined;
  return kind === "params" || isActivityKind(kind) ? kind : undefined;
}

/** Says whether a node that has no arrows is a remark. It may be named after what it explains: `START_COMMENT`. */
function isRemark(
  { id, shape = "" }: PlacedNode,
  prefix: string | undefined,
  { attached, subgraphs }: Merged,
): boolean {
  if (remarks.has(shape)) return true;
  if (prefix === undefined) return attached.has(id) || subgraphs.has(id);
  return attached.has(id) && prefix === "start" && id !== "START";
}

function reportUnknown(node: PlacedNode, merged: Merged, problems: Problems): void {
  const place = node.locate(node.offset);
  if (merged.subgraphs.has(node.id)) {
    problems.error(place, `${node.id} is a subgraph. An edge must lead to an activity.`);
    return;
  }
  const [prefix = ""] = node.id.split("_", 1);
  const caption = captions.exec(node.label?.text ?? "")?.[1]?.toUpperCase();
  const known = suggest(prefix, words);
  const meant =
    caption === undefined
      ? known && `${known}${node.id.slice(prefix.length)}`
      : `${caption}_${node.id}`;
  const hint = meant === undefined ? `ids begin with ${words.join(", ")}` : didYouMean(meant);
  problems.error(place, `Unknown activity type: ${node.id}.`, hint);
}

function placeIn({ label, locate, offset }: PlacedNode, at: number): Place {
  return locate(label === undefined ? offset : label.offset + (label.isVerbatim ? at : 0));
}

function readNode(node: PlacedNode, prefix: ActivityKind, problems: Problems): ReadNode {
  const { id, label } = node;
  const [start = "", word] = captions.exec(label?.text ?? "") ?? [];
  const at: Locate = (offset) => placeIn(node, start.length + offset);
  if (word !== undefined && word.toLowerCase() !== prefix && !kindOf(prefix).isMark) {
    const reason = `The caption ${word}: doesn't match ${id}. The id counts.`;
    problems.warn(node.locate(label?.offset ?? 0), reason);
  }
  const need = (what: string): undefined => {
    problems.error(at(0), `${id} needs ${what}.`);
  };
  return { id, label, text: label?.text.slice(start.length) ?? "", at, problems, need };
}

function readParameters(node: PlacedNode, into: Map<string, Parameter>, problems: Problems): void {
  const read = parseParameters(node.label?.text ?? "", (offset, reason, hint) =>
    problems.error(placeIn(node, offset), reason, hint),
  );
  for (const { name, default: value, offset } of read) {
    const place = placeIn(node, offset);
    if (into.has(name)) problems.error(place, `The parameter ${name} is declared twice.`);
    else into.set(name, { name, at: place.at, ...defined({ default: value }) });
  }
}

function connect(
  activities: Map<string, Activity>,
  ignored: ReadonlySet<string>,
  edges: readonly PlacedEdge[],
  problems: Problems,
): void {
  for (const { from, to, label, place } of edges) {
    const name = unquote(label.trim()).trim().toUpperCase();
    const branch = yes.has(name) ? "next" : no.has(name) ? "other" : undefined;
    if (branch === undefined) {
      const reason = `The label ${JSON.stringify(truncate(label, 40))} is neither yes nor no.`;
      const meant = problems.meant(name, [...yes, ...no]);
      problems.error(place, reason, meant ?? "use TRUE and FALSE, or YES and NO");
      continue;
    }
    if (ignored.has(from) || ignored.has(to)) continue;
    const source = activities.get(from);
    if (source === undefined || !activities.has(to)) continue;
    if (source.kind === "success" || source.kind === "failed") {
      problems.warn(place, `${from} ends the workflow. This edge is never taken.`);
      continue;
    }
    const known = source[branch];
    if (known === undefined) activities.set(from, { ...source, [branch]: to });
    else if (known === to) problems.warn(place, `There is already an edge from ${from} to ${to}.`);
    else {
      const which = branch === "next" ? "a next activity" : "a no-edge";
      problems.error(
        place,
        `${from} already has ${which}: ${known}.`,
        "an activity has one of each",
      );
    }
  }
}
