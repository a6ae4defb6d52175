/** A step of a workflow as a Markdown page: what was asked, the outcome, and where the workflow went on. */
import { secondsText } from "../text/numbers.ts";
import type { FlowNode } from "../events/flow.ts";
import type { StepEnded, StepStarted } from "../events/event.ts";
import { stepParts } from "./step-text.ts";
import { codeBlock, inline, harmless } from "../text/harmless-text.ts";

export interface StepRecord {
  readonly started: StepStarted | undefined;
  /** Undefined if the run ended before it. */
  readonly ended: StepEnded | undefined;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly node: FlowNode | undefined;
  readonly file: string;
  /** The files with the whole output of its scripts, by the index of the script. */
  readonly outputs: ReadonlyMap<number, string>;
}

const MAX_NAME = 60;

export function stepPageName(step: number, activity: string): string {
  const name = activity.replace(/[^\p{L}\p{N}_.-]/gu, "_").slice(0, MAX_NAME);
  return `${String(step).padStart(3, "0")}-${name}`;
}

export function stepPage(record: StepRecord): string {
  const { started, ended, node, outputs } = record;
  const { step = 0, activity = "" } = started ?? ended ?? {};
  const way =
    ended &&
    (ended.to === undefined ? "An end of the workflow" : `Continues with ${inline(ended.to, 200)}`);
  const facts = [
    `${inline(record.file, 300)}${node === undefined ? "" : `, line ${node.line}`}`,
    ...(node === undefined || node.label === "" ? [] : [`Text: ${inline(node.label, 1000)}`]),
    ...(started !== undefined && started.hit > 1 ? [`Run ${started.hit} of this activity`] : []),
    ...((started?.restored ?? ended?.restored) ? ["Taken over from an earlier run"] : []),
    timeText(record),
    resultText(ended, node),
    ...(way === undefined ? [] : [way]),
  ];
  const sections = [
    ...(ended?.reason === undefined ? [] : [section("Reason", ended.reason)]),
    ...stepParts({ ...ended, input: started?.input }, true).map(({ title, text, language }) =>
      section(title, text, language),
    ),
  ];
  const files = [...outputs].map(
    ([script, file]) => `The whole output of script ${script + 1}: [${file}](<${file}>)\n`,
  );
  return [
    `# ${step} ${inline(activity, 200)}\n`,
    `${facts.map((fact) => `- ${fact}`).join("\n")}\n`,
    ...sections,
    ...files,
  ].join("\n");
}

function timeText({ startedAt, endedAt }: StepRecord): string {
  const from = new Date(startedAt);
  const start = Number.isNaN(from.getTime()) ? "" : `Began ${from.toISOString()}`;
  return endedAt === undefined ? start : `${start}, took ${secondsText(endedAt - startedAt)}`;
}

function resultText(ended: StepEnded | undefined, node: FlowNode | undefined): string {
  if (ended === undefined) return "It did not end";
  if (ended.succeeded) return "Succeeded";
  return node?.kind === "check" ? "Does not hold" : "Failed";
}

function section(title: string, text: string, language = "text"): string {
  const tag = /^[a-z0-9]{1,20}$/.test(language) ? language : "text";
  return `## ${inline(title, 100)}\n\n${codeBlock(harmless(text), tag)}\n`;
}
