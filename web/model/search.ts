/** Search over everything of a run: a scan without an index, which costs nothing while nobody searches. */
import { stepParts } from "../../src/reports/step-text.ts";
import type {
  ActionModel,
  Block,
  DecisionItem,
  DocumentModel,
  Place,
  RunModel,
  StepModel,
  TurnModel,
} from "./model.ts";

export interface Hits {
  /** In the order of the run. */
  readonly places: readonly Place[];
  /** There are more. */
  readonly more: boolean;
}

export const MAX_HITS = 2000;

/** What contains `query`, without regard to case. Nothing contains an empty one. */
export function search(model: RunModel, query: string, max = MAX_HITS): Hits {
  const places: Place[] = [];
  const wanted = query.trim();
  if (wanted === "") return { places, more: false };
  const contains = finder(wanted);
  const others = [
    ...model.decisions.filter(
      ({ block, text, category }) => block === undefined && (contains(text) || contains(category)),
    ),
    ...model.steps.filter((step) => textsOfStep(step).some(contains)),
    ...model.documents.filter((document) => textsOfDocument(document).some(contains)),
    ...model.actions.filter((action) => textsOfAction(action).some(contains)),
  ].sort((a, b) => a.at - b.at);
  let next = 0;
  for (const turn of model.turns) {
    for (let item = others[next]; item !== undefined && item.at <= turn.at;) {
      places.push(item);
      item = others[(next += 1)];
    }
    if (textsOfTurn(turn).some(contains)) places.push(turn);
    for (const block of turn.blocks) if (blockContains(block, contains)) places.push(block);
    if (places.length > max) return { places: places.slice(0, max), more: true };
  }
  const all = [...places, ...others.slice(next)];
  return { places: all.slice(0, max), more: all.length > max };
}

function finder(wanted: string): (text: string) => boolean {
  const pattern = patternOf(wanted);
  return (text) => pattern.test(text);
}

/** Finds without regard to case. A pattern that is only literal text needs no copy of what it searches. */
export function patternOf(wanted: string, flags = "i"): RegExp {
  return new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), flags);
}

export interface Snippet {
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

const BEFORE = 32;
const AFTER = 120;

/** Where `query` was found in a place, on one line. */
export function snippetOf(place: Place, query: string): Snippet {
  const pattern = patternOf(query.trim());
  for (const text of textsOf(place)) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const [match] = found;
    const from = Math.max(0, found.index - BEFORE);
    const end = found.index + match.length;
    return {
      before: (from > 0 ? "…" : "") + oneLine(text.slice(from, found.index)),
      match: oneLine(match),
      after: oneLine(text.slice(end, end + AFTER)) + (text.length > end + AFTER ? "…" : ""),
    };
  }
  return { before: "", match: "", after: "" };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}

/** The texts in which a search finds a place, as the page shows them. */
function textsOf(place: Place): readonly string[] {
  switch (place.kind) {
    case "iteration":
      return [place.work.taskId];
    case "turn":
      return textsOfTurn(place);
    case "decision":
      return textsOfDecision(place);
    case "step":
      return textsOfStep(place);
    case "document":
      return textsOfDocument(place);
    case "action":
      return textsOfAction(place);
    default:
      return textsOfBlock(place);
  }
}

function textsOfTurn({ start, turnId, session }: TurnModel): readonly string[] {
  return start === undefined
    ? [turnId, session.sessionId]
    : [start.prompt, turnId, session.sessionId];
}

/** What its turn shows too is found there. */
function textsOfStep({ activity, start, end, output }: StepModel): readonly string[] {
  const isPrompt = start?.input?.kind === "prompt";
  const parts = isPrompt ? [] : stepParts({ ...end, input: start?.input, printed: output });
  return [activity, end?.reason ?? "", ...parts.map(({ text }) => text)];
}

function textsOfDocument({ event }: DocumentModel): readonly string[] {
  switch (event.type) {
    case "actions.accepted": {
      const { thoughts, response = "", variables } = event;
      const texts = thoughts.flatMap(({ type, content }) => [type, content]);
      return [response, ...texts, ...variables.set, ...variables.deleted];
    }
    case "actions.rejected":
      return event.problems.flatMap(({ path, message }) => [path, message]);
    case "actions.warning":
      return [event.text];
    case "card.ended":
      return [event.id, event.reason ?? ""];
  }
}

function textsOfAction(action: ActionModel): readonly string[] {
  const { id, action: name = "", display, params = "", message = "", end } = action;
  return [id, name, display?.label ?? "", params, message, end?.reason ?? "", end?.output ?? ""];
}

function textsOfDecision({ text, category }: DecisionItem): readonly string[] {
  return [text, category];
}

function blockContains(block: Block, contains: (text: string) => boolean): boolean {
  switch (block.kind) {
    case "reasoning":
    case "message":
      return contains(block.text);
    case "usage":
      return contains(block.used.modelId);
    default:
      return textsOfBlock(block).some(contains);
  }
}

function textsOfBlock(block: Block): readonly string[] {
  switch (block.kind) {
    case "reasoning":
    case "message":
      return [block.text];
    case "usage":
      return [block.used.modelId];
    case "reply": {
      const { text, reasoning = "", toolCalls } = block.reply;
      const calls = toolCalls.flatMap(({ name, arguments: given }) => [name, argumentText(given)]);
      return [reasoning, text, ...calls];
    }
    case "call": {
      const { result, error } = block.end ?? {};
      const texts = [block.toolName, argumentsOf(block), block.callId];
      if (result !== undefined) texts.push(result.detailedContent ?? "", result.content);
      if (error !== undefined) texts.push(error.message);
      if (block.output !== "") texts.push(block.output);
      return texts;
    }
    case "denial": {
      const { operation, target, reason } = block.denial;
      return [operation, target, reason];
    }
    case "model-failure":
      return [block.failure.message ?? "", String(block.failure.statusCode ?? "")];
    case "agent-failure":
      return [block.failure.error.message];
  }
}

const argumentTexts = new WeakMap<object, string>();

function argumentsOf(block: Block & { readonly kind: "call" }): string {
  const known = argumentTexts.get(block);
  if (known !== undefined) return known;
  const text = argumentText(block.arguments);
  argumentTexts.set(block, text);
  return text;
}

/** The arguments of a tool call as readable text: what a model gave as text stays as it is. */
export function argumentText(given: unknown): string {
  if (given === undefined) return "";
  if (typeof given === "string") return given;
  try {
    return JSON.stringify(given, null, 2) ?? "";
  } catch {
    return "(nested too deeply)";
  }
}
