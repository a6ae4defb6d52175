/** The sections of the job summary about a task with the action protocol: its actions over time, and as a table. */
import {
  worksOf,
  type ActionView,
  type ActionsView,
  type RunView,
  type WorkView,
} from "../../events/view.ts";
import { actionGantt, actionSigns } from "../action-gantt.ts";
import { rejectedText, statusWord } from "../action-line.ts";
import { plural } from "../text.ts";
import { code, fenced, inline } from "./escape.ts";
import { durationText, table, unbroken, wholeItems } from "./layout.ts";
import { nameOf, type Section } from "./section.ts";

const MAX_REASON = 300;
const MAX_REJECTION = 600;
/** A longer table is folded. */
const MAX_OPEN_ROWS = 20;

/** Of every task with actions. */
export function actionSections(view: RunView): Section[] {
  return worksOf(view).flatMap((work) => {
    const { actions } = work;
    if (actions === undefined || !hasAny(actions)) return [];
    const heading = `### Actions of ${nameOf(work)}`;
    return [
      factsSection(work, actions, heading),
      ganttSection(work, actions, heading),
      tableSection(work, actions, heading),
    ].filter(({ empty }) => !empty);
  });
}

function hasAny({ accepted, rejected, actionCount }: ActionsView): boolean {
  return accepted + rejected + actionCount > 0;
}

const statuses = [
  "succeeded",
  "failed",
  "timed_out",
  "cancelled",
  "skipped",
  "running",
  "waiting",
] as const;

function factsSection(work: WorkView, actions: ActionsView, heading: string): Section {
  const { accepted, rejected, actionCount, counts, warnings, rejections } = actions;
  const ends = statuses.flatMap((status) =>
    counts[status] === 0 ? [] : [`${counts[status]} ${statusWord(status)}`],
  );
  const facts = [
    plural(accepted, "document"),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
    `${plural(actionCount, "action")}${ends.length > 0 ? ` (${ends.join(", ")})` : ""}`,
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ].join(" · ");
  const items = rejections.map(
    ({ iteration, problems, problemCount }) =>
      `- ${inline(rejectedText({ iteration, problems }), MAX_REJECTION)}${problemCount > problems.length ? ` (${plural(problemCount, "problem")})` : ""}\n`,
  );
  return {
    name: `the documents of ${nameOf(work)}`,
    rank: 3,
    heading,
    empty: false,
    optional: true,
    render: (room) => {
      const line = `<sub>${facts}</sub>`;
      const left = room - Buffer.byteLength(heading) - Buffer.byteLength(line) - 4;
      if (left < 0) return { text: "", whole: false };
      const kept = wholeItems(items, left);
      const list = kept.length === 0 ? "" : `\n\n${kept.join("").trimEnd()}`;
      return { text: `${line}${list}`, whole: kept.length === items.length };
    },
  };
}

function ganttSection(work: WorkView, actions: ActionsView, heading: string): Section {
  const gantt = actionGantt(actions);
  const omitted =
    gantt === undefined || gantt.omitted === 0
      ? ""
      : ` · ${plural(gantt.omitted, "further action")} not drawn`;
  const legend = `✓ gray: succeeded · ✗ red: failed or timed out · ■ red border: canceled · – diamond: never started${omitted}`;
  const text =
    gantt === undefined ? "" : `${fenced(gantt.text, "mermaid")}\n\n<sub>${legend}</sub>`;
  return {
    name: `the chart of the actions of ${nameOf(work)}`,
    rank: 3,
    heading,
    empty: gantt === undefined,
    optional: true,
    render: (room) =>
      Buffer.byteLength(text) + Buffer.byteLength(heading) + 2 <= room
        ? { text, whole: true }
        : { text: "", whole: false },
  };
}

function tableSection(work: WorkView, actions: ActionsView, heading: string): Section {
  const { ended, actionCount } = actions;
  const rows = ended.toSorted((a, b) => a.number - b.number).map(rowOf);
  return {
    name: `actions of ${nameOf(work)}`,
    rank: 6,
    heading,
    empty: rows.length === 0,
    // Actions that the view dropped don't count toward the space.
    ...(actionCount > rows.length ? { optional: true } : {}),
    render: (room) => {
      const left = room - Buffer.byteLength(heading) - 500;
      // The last ones say how it ended.
      const kept = wholeItems(rows.map(lineOf).toReversed(), left).length;
      if (kept === 0) return { text: "", whole: false };
      const missing = actionCount - kept;
      const before = missing > 0 ? `${plural(missing, "earlier action")} omitted.\n\n` : "";
      const text = `${before}${table(columns, rows.slice(rows.length - kept))}`;
      const shown =
        kept <= MAX_OPEN_ROWS
          ? text
          : `<details>\n<summary>${plural(kept, "action")}</summary>\n\n${text}\n\n</details>`;
      return { text: shown, whole: missing === 0 };
    },
  };
}

const columns = [
  ["Document", "right"],
  ["Id", "left"],
  ["Action", "left"],
  ["Status", "left"],
  ["Duration", "right"],
  ["Reason", "left"],
] as const;

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |\n`;
}

function rowOf(action: ActionView): readonly string[] {
  const { iteration, task, id, group, status, startedAt, endedAt, reason } = action;
  const inGroup = group === undefined ? "" : `${code(group, 80)} › `;
  const facts = [
    ...(action.background ? ["in the background"] : []),
    ...(action.inThought ? ["in a thought"] : []),
    ...(action.replayed ? ["result of the same action before"] : []),
  ].join(", ");
  const name =
    action.kind === "group" ? `group ${inline(action.action, 80)}` : code(action.action, 80);
  return [
    `${task === undefined ? "" : `${code(task, 80)} `}${iteration}`,
    `${inGroup}${code(id, 80)}`,
    `${action.action === "" ? "" : name}${facts === "" ? "" : ` (${facts})`}`,
    unbroken(`${actionSigns[status]} ${statusWord(status)}`),
    startedAt === undefined ? "" : durationText(endedAt - startedAt),
    reason === undefined ? "" : inline(reason, MAX_REASON),
  ];
}
