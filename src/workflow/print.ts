/** A workflow as a flowchart again: Mermaid text that is read back as the same activities. */
import type { Check, Comparison } from "./check.ts";
import { escapeFlowText } from "./flowchart-text.ts";
import type { Activity, Parameter, WorkflowFile } from "./model.ts";
import { isQuoted } from "./value.ts";

const signs: Readonly<Record<Comparison, string>> = {
  eq: "==",
  ne: "!=",
  contains: "CONTAINS",
  matches: "MATCHES",
  gt: "gt",
  ge: "ge",
  lt: "lt",
  le: "le",
};

/** The Mermaid text, with a final line break. */
export function printFlowchart(file: Pick<WorkflowFile, "activities" | "parameters">): string {
  const lines = ["flowchart TD"];
  if (file.parameters.length > 0) {
    const label = file.parameters.map(parameterText).join(", ").replaceAll("\\", "\\\\");
    lines.push(`  PARAMS@{ shape: comment, label: "${escapeFlowText(label)}" }`);
  }
  const activities = Object.values(file.activities);
  for (const activity of activities) lines.push(`  ${activity.id}${shape(activity)}`);
  for (const activity of activities) {
    for (const [to, label] of arrowsOf(activity)) {
      lines.push(`  ${activity.id} -->${label === undefined ? "" : `|${label}|`} ${to}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** What the box of an activity says; empty for the ends. */
export function labelOf(activity: Activity): string {
  switch (activity.kind) {
    case "start":
    case "success":
    case "failed":
    case "on":
      return "";
    case "set":
      return `Set: ${activity.name}=${activity.value}`;
    case "assign":
      return `Assign: ${activity.value}`;
    case "check":
      return `Check: ${checkText(activity.check)}`;
    case "prompt":
      return `Prompt: ${activity.prompt}`;
    case "ask":
      return `Ask: ${activity.question ?? ""}`.trim();
    case "execute":
      return `Execute: ${activity.command ?? ""}`.trim();
    case "call":
      return `Call: ${isQuoted(activity.path) ? `"${activity.path}"` : activity.path}`;
  }
}

function checkText({ left, operator, right }: Check): string {
  return `${left} ${signs[operator]} ${right}`;
}

function shape(activity: Activity): string {
  const label = `"${escapeFlowText(labelOf(activity))}"`;
  switch (activity.kind) {
    case "start":
      return '(("start"))';
    case "success":
    case "failed":
    case "on":
      return `(["${activity.id}"])`;
    case "check":
      return `{${label}}`;
    case "ask":
      return `[/${label}/]`;
    case "call":
      return `[[${label}]]`;
    case "set":
    case "assign":
    case "prompt":
    case "execute":
      return `[${label}]`;
  }
}

function arrowsOf({ kind, next, other }: Activity): readonly (readonly [string, string?])[] {
  const isCheck = kind === "check";
  return [
    ...(next === undefined ? [] : [isCheck ? ([next, "TRUE"] as const) : ([next] as const)]),
    ...(other === undefined ? [] : [[other, isCheck ? "FALSE" : "FAILED"] as const]),
  ];
}

function parameterText({ name, default: value }: Parameter): string {
  if (value === undefined) return name;
  const isQuotedWord =
    /^['"]/.test(value) && value.indexOf(value.charAt(0), 1) === value.length - 1;
  const isPlain = value === value.trim() && !isQuotedWord && !/[,\n]|\\n/.test(value);
  const quote = value.includes("'") ? '"' : "'";
  return `${name}=${isPlain ? value : quote + value + quote}`;
}
