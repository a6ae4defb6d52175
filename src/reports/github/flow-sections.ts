import { bothEnds } from "../../events/cut.ts";
import type { StepPart } from "../../events/flow.ts";
import {
  flowNode,
  hasFailed,
  worksOf,
  type FlowView,
  type RunView,
  type StepView,
  type WorkView,
} from "../../events/view.ts";
import { flowPathChart } from "../flow-chart.ts";
import { stepParts, stepSubject } from "../step-text.ts";
import { harmless, plural } from "../text.ts";
import { code, fenced, inline } from "./escape.ts";
import { durationText, fold, lastItems, nameOf, type Section } from "./layout.ts";

const MAX_TEXT = 3000;
const MAX_REASON = 500;
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
      : `${fenced(harmless(chart), "mermaid")}\n\n<sub>${legend(flow)}</sub>`;
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
  if (step.reason !== undefined) parts.unshift(inline(step.reason, MAX_REASON));
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
  return `${inline(title, 100)}:\n\n${fenced(bothEnds(shown, MAX_TEXT), tag)}`;
}
