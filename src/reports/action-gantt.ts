/** The actions of a task with the action protocol over time, as the Mermaid text of a Gantt chart. */
import type { EndedStatus } from "../events/action.ts";
import type { ActionsView, ActionView } from "../events/view.ts";
import { clip } from "../events/cut.ts";

export interface ActionGantt {
  /** Mermaid text, with a final line break. */
  readonly text: string;
  readonly bars: number;
  readonly omitted: number;
}

const MAX_BARS = 100;
/** GitHub draws no diagram of more than 50,000 characters. */
const MAX_CHARACTERS = 45_000;
/** UTF-16 units of a label, before it is escaped. */
const MAX_LABEL = 60;
/** A shorter run is measured in milliseconds. */
const SHORT_RUN_MS = 10_000;

/** Undefined if no action has ended. */
export function actionGantt({ ended, actionCount }: ActionsView): ActionGantt | undefined {
  const chosen = mostTelling(ended);
  const times = chosen.flatMap(({ startedAt, endedAt }) => [startedAt ?? endedAt, endedAt]);
  if (times.length === 0) return undefined;
  const span =
    times.reduce((last, time) => Math.max(last, time)) -
    times.reduce((first, time) => Math.min(first, time));
  const head = [
    "gantt",
    "  dateFormat x",
    `  axisFormat ${span < SHORT_RUN_MS ? "%M:%S.%L" : "%H:%M:%S"}`,
    "  todayMarker off",
  ];
  const sections = new Map<string, string[]>();
  let room = MAX_CHARACTERS - head.join("\n").length;
  let bars = 0;
  for (const action of chosen) {
    const title = sectionOf(action);
    const line = barOf(action);
    const known = sections.get(title);
    room -= line.length + (known === undefined ? title.length + 12 : 0) + 1;
    if (room < 0) break;
    bars += 1;
    if (known === undefined) sections.set(title, [line]);
    else known.push(line);
  }
  const lines = [...sections].flatMap(([title, own]) => [`  section ${title}`, ...own]);
  return { text: `${[...head, ...lines].join("\n")}\n`, bars, omitted: actionCount - bars };
}

/** All of them, or of too many those that did not succeed and then the longest; in the order of their documents. */
function mostTelling(ended: readonly ActionView[]): readonly ActionView[] {
  const duration = ({ startedAt, endedAt }: ActionView): number => endedAt - (startedAt ?? endedAt);
  const well = ({ status }: ActionView): number => Number(status === "succeeded");
  const chosen =
    ended.length <= MAX_BARS
      ? ended
      : ended.toSorted((a, b) => well(a) - well(b) || duration(b) - duration(a)).slice(0, MAX_BARS);
  return chosen.toSorted((a, b) => a.number - b.number);
}

function sectionOf({ iteration, task }: ActionView): string {
  return escapeGantt(`${task === undefined ? "" : `${task}: `}Document ${iteration}`);
}

const tags: Readonly<Record<EndedStatus, string>> = {
  succeeded: "done",
  failed: "crit",
  timed_out: "crit",
  cancelled: "done, crit",
  skipped: "milestone",
};

/** Not by color alone. */
export const actionSigns: Readonly<Record<EndedStatus, string>> = {
  succeeded: "✓",
  failed: "✗",
  timed_out: "✗",
  cancelled: "■",
  skipped: "–",
};

function barOf({ id, group, label, status, startedAt, endedAt }: ActionView): string {
  const inGroup = group === undefined ? "" : `${group} › `;
  const name = `${inGroup}${id}${label === undefined ? "" : ` ${label}`}`;
  const start = startedAt ?? endedAt;
  const tag = startedAt === undefined ? "milestone" : tags[status];
  // A bar without any length is not drawn.
  const end = startedAt === undefined ? endedAt : Math.max(start + 1, endedAt);
  return `  ${actionSigns[status]} ${escapeGantt(name)} :${tag}, ${whole(start)}, ${whole(end)}`;
}

/** Mermaid reads digits only. */
function whole(time: number): string {
  return String(Math.max(0, Math.round(time)));
}

/**
 * Text of a task or a section. The grammar has no quotes: whatever could mean something to it, to the preprocessor of
 * Mermaid, or in SVG is an entity of Mermaid.
 */
function escapeGantt(text: string): string {
  const shown = text.length <= MAX_LABEL ? text : clip(text, MAX_LABEL - 1);
  return shown
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{So} _./…›✓✗■–-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}
