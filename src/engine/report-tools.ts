/** `job_report` and `job_result`: with them, a task leaves something for other tasks and for people. */
import { isRecord } from "../document/guards.ts";
import type { PreparedTask } from "../entry/model.ts";
import type { ProposalsOutput } from "../entry/outputs.ts";
import type { PlannedMemory } from "../events/memory.ts";
import type { WorkRef } from "../events/event.ts";
import type { Given } from "./job-data.ts";
import type { EnginePorts, OutputChecks, SessionTool, ToolAnswer } from "./ports.ts";

/** Bytes of UTF-8. */
const longestReport = 256_000;

export interface ReportContext {
  readonly task: PreparedTask;
  readonly work: WorkRef;
  readonly given: Given;
  /** What is wrong with a result, in sentences. */
  readonly checkResult?: ((value: unknown) => readonly string[]) | undefined;
  readonly ports: Pick<EnginePorts, "emit">;
  readonly checks?: OutputChecks | undefined;
  /** What the job may have done. */
  readonly proposals?: ProposalsOutput | undefined;
  /** What the job keeps between its runs. */
  readonly memory?: PlannedMemory | undefined;
}

/** Those that the task is offered: `job_result` with `criteria.result`, the others if its prompts or criteria name them. */
export function reportTools(context: ReportContext): readonly SessionTool[] {
  const { criteria } = context.task;
  return [
    ...(namesTool(context, "job_report") ? [jobReport(context)] : []),
    ...(criteria?.result === undefined ? [] : [jobResult(context, criteria.result)]),
  ];
}

/** In its prompt or in its criteria. */
export function namesTool({ task: { prompt, criteria } }: ReportContext, name: string): boolean {
  return JSON.stringify([prompt, criteria]).includes(name);
}

function jobReport({ work, given, ports }: ReportContext): SessionTool {
  return {
    name: "job_report",
    description:
      "Hands in the report of your task, in Markdown: for people, and for later tasks. Call it once, when you are done; if you call it several times, the last call counts.",
    parameters: {
      type: "object",
      properties: {
        title: { type: "string", description: "In one line." },
        markdown: { type: "string", description: "The whole report." },
      },
      required: ["markdown"],
      additionalProperties: false,
    },
    allowed: "always",
    run(value): ToolAnswer {
      const { title, markdown } = isRecord(value) ? value : {};
      if (typeof markdown !== "string" || markdown.trim() === "")
        return refused('job_report needs the report as a text in "markdown".');
      if (title !== undefined && typeof title !== "string")
        return refused('The "title" of job_report must be a text.');
      const bytes = new TextEncoder().encode(markdown).length;
      if (bytes > longestReport)
        return refused(
          `The report has ${bytes} bytes, and at most ${longestReport} are allowed. Call job_report again with a shorter one.`,
        );
      const line = title?.replaceAll(/\s+/gu, " ").trim() ?? "";
      const report = { ...(line === "" ? {} : { title: line }), markdown };
      given.report = report;
      ports.emit({ type: "report.given", work, ...report });
      return { succeeded: true, text: "Reported." };
    },
  };
}

function jobResult(
  { work, given, checkResult, ports }: ReportContext,
  schema: object,
): SessionTool {
  return {
    name: "job_result",
    description:
      "Hands in the result of your task as data. The arguments are the result. Call it once, when you are done; if you call it several times, the last call counts.",
    parameters: { ...schema, type: "object" },
    allowed: "always",
    run(value): ToolAnswer {
      const problems = checkResult?.(value) ?? [];
      if (problems.length > 0)
        return refused(
          `The result is not what was asked for. Call job_result again.\n${problems.join("\n")}`,
        );
      given.result = { value };
      ports.emit({ type: "result.given", work, result: value });
      return { succeeded: true, text: "Reported." };
    },
  };
}

function refused(text: string): ToolAnswer {
  return { succeeded: false, text };
}
