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
import {
  durationText,
  fold,
  lastItems,
  nameOf,
  tableHead,
  tableRow,
  unbroken,
  type Section,
} from "./layout.ts";

const MAX_REASON = 300;
const MAX_REJECTION = 600;
/** A longer table is folded. */
const MAX_OPEN_ROWS = 20;

export function actionSections(view: RunView): Section[] {
  return worksOf(view).flatMap((work) => {
    const { actions } = work;
    if (actions === undefined) return [];
    const { accepted, rejected, actionCount } = actions;
    if (accepted + rejected + actionCount === 0) return [];
    const heading = `### Actions of ${nameOf(work)}`;
    return [
      factsSection(work, actions, heading),
      ganttSection(work, actions, heading),
      actionsSection(work, actions, heading),
    ];
  });
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
    text: `<sub>${facts}</sub>\n\n${items.join("")}`.trimEnd(),
  };
}

function ganttSection(work: WorkView, actions: ActionsView, heading: string): Section {
  const about = { name: `the chart of the actions of ${nameOf(work)}`, rank: 3, heading };
  const gantt = actionGantt(actions);
  if (gantt === undefined) return { ...about, text: "" };
  const omitted =
    gantt.omitted === 0 ? "" : ` · ${plural(gantt.omitted, "further action")} not drawn`;
  const legend = `✓ gray: succeeded · ✗ red: failed or timed out · ■ red border: canceled · – diamond: never started${omitted}`;
  return { ...about, text: `${fenced(gantt.text, "mermaid")}\n\n<sub>${legend}</sub>` };
}

/** The last ones say how it ended. */
function actionsSection(
  work: WorkView,
  { ended, actionCount }: ActionsView,
  heading: string,
): Section {
  const rows = ended.toSorted((a, b) => a.number - b.number).map(rowOf);
  const kept = lastItems(rows.map(tableRow));
  const missing = actionCount - kept.length;
  const before = missing > 0 ? `${plural(missing, "earlier action")} omitted.\n\n` : "";
  const text = `${before}${tableHead(columns)}${kept.join("")}`.trimEnd();
  const shown = kept.length <= MAX_OPEN_ROWS ? text : fold(plural(kept.length, "action"), text);
  return {
    name: `actions of ${nameOf(work)}`,
    rank: 6,
    heading,
    text: kept.length === 0 ? "" : shown,
    isCut: kept.length > 0 && missing > 0,
  };
}

const columns = ["Document:", "Id", "Action", "Status", "Duration:", "Reason"] as const;

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
