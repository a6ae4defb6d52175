/** The steps of workflows, and the actions of tasks. */
import type { EndedStatus } from "../events/action.ts";
import type { StepPart } from "../events/flow.ts";
import { truncateMiddle, truncate } from "../text/truncate.ts";
import {
  flowNode,
  hasFailed,
  worksOf,
  type ActionsView,
  type ActionView,
  type FlowView,
  type RunView,
  type StepView,
  type WorkView,
} from "../events/view.ts";
import { rejectedText, statusWord } from "../reports/event-lines.ts";
import { flowPathChart } from "../reports/flow-chart.ts";
import { stepParts, stepSubject } from "../reports/step-text.ts";
import { harmless, code, codeBlock, inline } from "../text/harmless-text.ts";
import { plural, durationText, unbroken } from "../text/numbers.ts";
import { fold, lastItems, nameOf, tableHead, tableRow, type Section } from "./layout.ts";

const MAX_TEXT = 3000;
const MAX_STEP_REASON = 500;
const MAX_SUBJECT = 100;

export function flowSections(view: RunView): Section[] {
  return worksOf(view).flatMap((work) => {
    const { flow } = work;
    if (flow === undefined || flow.stepCount === 0) return [];
    const heading = `### Workflow ${nameOf(work)}`;
    return [pathSection(work, flow, heading), stepsSection(work, flow, heading)];
  });
}

export function isOneFlow({ plan, works }: RunView): boolean {
  if (plan?.work.kind !== "Flow") return false;
  return (works.get(plan.work.workIdInJob)?.flow?.stepCount ?? 0) > 0;
}

function pathSection(work: WorkView, flow: FlowView, heading: string): Section {
  const about = { name: `the flowchart of ${nameOf(work)}`, rank: 3, heading };
  if (flow.chart === undefined) return { ...about, text: "" };
  const chart = flowPathChart(flow);
  const text =
    chart === undefined
      ? "<sub>The flowchart is too large for GitHub. The steps below are the path.</sub>"
      : `${codeBlock(harmless(chart), "mermaid")}\n\n<sub>${legend(flow)}</sub>`;
  return { ...about, text };
}

function legend(flow: FlowView): string {
  const numbers = `Numbers: ${plural(flow.stepCount, "step")} in their order`;
  return `${numbers} · thick arrows: taken · ✓ green: succeeded · ✗ red: failed · ↪ light blue: a check that did not hold · gray: not visited`;
}

function stepsSection(work: WorkView, flow: FlowView, heading: string): Section {
  const kept = lastItems(flow.steps.map((step) => `${stepText(flow, step)}\n\n`));
  const missing = flow.stepCount - kept.length;
  const before = missing > 0 ? `${plural(missing, "earlier step")} omitted.\n\n` : "";
  return {
    name: `steps of ${nameOf(work)}`,
    rank: 6,
    heading,
    text: kept.length === 0 ? "" : `<b>Steps</b>\n\n${before}${kept.join("")}`.trimEnd(),
    isCut: missing > 0,
  };
}

function stepText(flow: FlowView, step: StepView): string {
  const parts = stepParts(step).map(partText);
  if (step.reason !== undefined) parts.unshift(inline(step.reason, MAX_STEP_REASON));
  const line = stepLine(flow, step);
  return parts.length === 0 ? line : fold(line, parts.join("\n\n"));
}

function stepLine(flow: FlowView, step: StepView): string {
  const { activity, file, hit, endedAt, startedAt, to, restored } = step;
  const subject = stepSubject(step);
  const inFile = file === flow.chart?.main ? "" : ` in ${code(file, 80)}`;
  const took = endedAt === undefined ? 0 : endedAt - startedAt;
  const facts = [
    ...(hit > 1 ? [`run ${hit}`] : []),
    ...(took < 100 ? [] : [durationText(took)]),
    ...(restored === true ? ["from the earlier run"] : []),
  ].join(", ");
  return [
    `<b>${step.step}</b> ${signOf(flow, step)} ${code(activity, 80)}${inFile}`,
    subject && ` ${inline(subject, MAX_SUBJECT)}`,
    facts && ` (${facts})`,
    to === undefined ? "" : ` → ${code(to, 80)}`,
  ].join("");
}

function signOf(flow: FlowView, step: StepView): string {
  switch (step.status) {
    case "succeeded":
      return flowNode(flow, step)?.kind === "failed" ? "✗" : "✓";
    case "failed":
      return hasFailed(flow, step) ? "✗" : "↪";
    case "running":
      return "…";
    case "canceled":
      return "■";
  }
}

const languages: ReadonlySet<string> = new Set(["sh", "bash", "python"]);

function partText({ title, text, language = "" }: StepPart): string {
  const shown = harmless(text).trim();
  // GitHub draws what some other tags stand before.
  const tag = languages.has(language) ? language : "text";
  return `${inline(title, 100)}:\n\n${codeBlock(truncateMiddle(shown, MAX_TEXT), tag)}`;
}

const MAX_ACTION_REASON = 300;
const MAX_REJECTION = 600;

export function actionSections(view: RunView): Section[] {
  return worksOf(view).flatMap((work) => {
    const { actions } = work;
    if (actions === undefined || actions.accepted + actions.rejected + actions.actionCount === 0)
      return [];
    return [overviewSection(work, actions), tableOf(work, actions)];
  });
}

function headingOf(work: WorkView): string {
  return `### Actions of ${nameOf(work)}`;
}

function overviewSection(work: WorkView, actions: ActionsView): Section {
  const { accepted, rejected, actionCount, ended, warnings, rejections } = actions;
  const facts = [
    plural(accepted, "document"),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
    plural(actionCount, "action"),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ].join(" · ");
  const items = rejections.map((one) => `- ${inline(rejectedText(one), MAX_REJECTION)}`);
  const gantt = actionGantt(actions);
  const undrawn = actionCount - (gantt === undefined ? 0 : Math.min(ended.length, MAX_BARS));
  const parts = [
    `<sub>${facts}</sub>`,
    items.join("\n"),
    gantt === undefined ? "" : codeBlock(gantt, "mermaid"),
    undrawn > 0 ? `<sub>${plural(undrawn, "further action")} not drawn</sub>` : "",
  ];
  return {
    name: `the documents of ${nameOf(work)}`,
    rank: 3,
    heading: headingOf(work),
    text: parts.filter((part) => part !== "").join("\n\n"),
  };
}

const columns = ["Document:", "Id", "Action", "Status", "Duration:", "Reason"] as const;

function tableOf(work: WorkView, { ended, actionCount }: ActionsView): Section {
  const kept = lastItems(ended.toSorted((a, b) => a.number - b.number).map(rowOf));
  const missing = actionCount - kept.length;
  const title = `${plural(kept.length, "action")}${missing > 0 ? `, ${missing} earlier omitted` : ""}`;
  return {
    name: `actions of ${nameOf(work)}`,
    rank: 6,
    heading: headingOf(work),
    text: kept.length === 0 ? "" : fold(title, (tableHead(columns) + kept.join("")).trimEnd()),
    isCut: kept.length > 0 && missing > 0,
  };
}

function rowOf(action: ActionView): string {
  const { iteration, task, id, group, kind, status, startedAt, endedAt, reason } = action;
  const facts = [
    ...(action.background ? ["in the background"] : []),
    ...(action.replayed ? ["result of the same action before"] : []),
  ].join(", ");
  const name = action.action === "" ? "" : code(action.action, 80);
  return tableRow([
    `${task === undefined ? "" : `${code(task, 80)} `}${iteration}`,
    `${group === undefined ? "" : `${code(group, 80)} › `}${code(id, 80)}`,
    `${kind === "group" ? "group " : ""}${name}${facts === "" ? "" : ` (${facts})`}`,
    unbroken(`${actionSigns[status]} ${statusWord(status)}`),
    startedAt === undefined ? "" : durationText(endedAt - startedAt),
    reason === undefined ? "" : inline(reason, MAX_ACTION_REASON),
  ]);
}

const MAX_BARS = 100;
/** GitHub draws no diagram of more than 50,000 characters. */
const MAX_CHARACTERS = 45_000;
const MAX_LABEL = 60;

/** Draws at most `MAX_BARS` actions: failures, and then the latest. Undefined if GitHub would not draw them. */
export function actionGantt({ ended }: ActionsView): string | undefined {
  if (ended.length === 0) return undefined;
  const wentWell = ({ status }: ActionView): number => Number(status === "succeeded");
  const drawn = ended
    .toReversed()
    .sort((a, b) => wentWell(a) - wentWell(b))
    .slice(0, MAX_BARS);
  const sections = new Map<string, string[]>();
  for (const action of drawn.sort((a, b) => a.number - b.number)) {
    const { iteration, task } = action;
    const title = escapeGantt(`${task === undefined ? "" : `${task}: `}Document ${iteration}`);
    sections.set(title, [...(sections.get(title) ?? []), barOf(action)]);
  }
  const lines = [...sections].flatMap(([title, bars]) => [`  section ${title}`, ...bars]);
  const head = ["gantt", "  dateFormat x", "  axisFormat %H:%M:%S", "  todayMarker off"];
  const text = [...head, ...lines].join("\n");
  return text.length <= MAX_CHARACTERS ? text : undefined;
}

const tags: Readonly<Record<EndedStatus, string>> = {
  succeeded: "done",
  failed: "crit",
  timed_out: "crit",
  cancelled: "done, crit",
  skipped: "milestone",
};

const actionSigns: Readonly<Record<EndedStatus, string>> = {
  succeeded: "✓",
  failed: "✗",
  timed_out: "✗",
  cancelled: "■",
  skipped: "–",
};

function barOf({ id, label, status, startedAt, endedAt }: ActionView): string {
  const name = escapeGantt(label ?? id);
  const start = startedAt ?? endedAt;
  const tag = startedAt === undefined ? "milestone" : tags[status];
  // A bar without any length is not drawn.
  const end = startedAt === undefined ? endedAt : Math.max(start + 1, endedAt);
  return `  ${actionSigns[status]} ${name} :${tag}, ${whole(start)}, ${whole(end)}`;
}

/** Mermaid reads digits only. */
function whole(time: number): string {
  return String(Math.max(0, Math.round(time)));
}

/** The grammar has no quotes: whatever could mean something to it, to Mermaid or in SVG is an entity of Mermaid. */
function escapeGantt(text: string): string {
  return truncate(text, MAX_LABEL - 1, "…")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{So} _./…›✓✗■–-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}
