/** Search over everything of a run: a scan without an index, which costs nothing while nobody searches. */
import { argumentText } from "../parts/tool-text.ts";
import { stepParts } from "../../src/reports/step-text.ts";
import type { CallBlock, DocumentModel, Place, RunModel } from "./model.ts";

export interface Hits {
  /** In the order of the run. */
  readonly places: readonly Place[];
  /** There are more. */
  readonly more: boolean;
}

export const MAX_HITS = 2000;

/** Finds all places that contain `query`, without regard to case. An empty query finds nothing. */
export function search(model: RunModel, query: string, max = MAX_HITS): Hits {
  const wanted = query.trim();
  if (wanted === "") return { places: [], more: false };
  const pattern = patternOf(wanted);
  const { decisions, steps, documents, actions, turns } = model;
  const all: Place[] = [
    ...turns.flatMap((turn) => [turn, ...turn.blocks]),
    // A block shows what was derived from it.
    ...decisions.filter(({ block }) => block === undefined),
    ...steps,
    ...documents,
    ...actions,
  ];
  const places = all
    .filter((place) => textsOf(place).some((text) => pattern.test(text)))
    .sort((a, b) => a.at - b.at);
  return { places: places.slice(0, max), more: places.length > max };
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
      return [place.start?.prompt ?? "", place.turnId, place.session.sessionId];
    case "decision":
      return [place.text, place.category];
    case "step": {
      const { activity, start, end, output } = place;
      // Its turn shows a prompt, too, and is found.
      const isPrompt = start?.input?.kind === "prompt";
      const parts = isPrompt ? [] : stepParts({ ...end, input: start?.input, printed: output });
      return [activity, end?.reason ?? "", ...parts.map(({ text }) => text)];
    }
    case "document":
      return textsOfDocument(place);
    case "action": {
      const { id, action = "", display, params = "", message = "", end } = place;
      const { reason = "", output = "" } = end ?? {};
      return [id, action, display?.label ?? "", params, message, reason, output];
    }
    case "reasoning":
    case "message":
      return [place.text];
    case "usage":
      return [place.used.modelId];
    case "reply": {
      const { text, reasoning = "", toolCalls } = place.reply;
      const calls = toolCalls.flatMap(({ name, arguments: given }) => [name, argumentText(given)]);
      return [reasoning, text, ...calls];
    }
    case "call": {
      const { end, toolName, callId, output } = place;
      const { content = "", detailedContent = "" } = end?.result ?? {};
      const error = end?.error?.message ?? "";
      return [toolName, argumentsOf(place), callId, detailedContent, content, error, output];
    }
    case "denial":
      return [place.denial.operation, place.denial.target, place.denial.reason];
    case "model-failure":
      return [place.failure.message ?? "", String(place.failure.statusCode ?? "")];
    case "agent-failure":
      return [place.failure.error.message];
  }
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

const argumentTexts = new WeakMap<object, string>();

function argumentsOf(block: CallBlock): string {
  const known = argumentTexts.get(block);
  if (known !== undefined) return known;
  const text = argumentText(block.arguments);
  argumentTexts.set(block, text);
  return text;
}
