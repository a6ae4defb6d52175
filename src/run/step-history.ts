import type { EffectResult, FlowChart, FlowNode } from "../events/flow.ts";
import { createReadStream, readdirSync } from "node:fs";
import type { RunEvent, RunStamp, WorkRef, StepEnded, StepStarted } from "../events/event.ts";
import { plannedWorks, workKey } from "../events/plan.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import type { Reporter } from "../events/sink.ts";
import { openToReadNow, OutputFolder } from "../platform/files.ts";
import { secondsText } from "../text/numbers.ts";
import { stepParts } from "../reports/step-text.ts";
import { codeBlock, inline, harmless } from "../text/harmless-text.ts";

interface Begun {
  readonly event: StepStarted & Pick<RunStamp, "past">;
  readonly at: number;
}

/** Replaces the pages of an earlier run. Throws if the folder can't be used, or holds something else. */
export function createStepHistory(path: string, redactor: Pick<Redactor, "stream">): Reporter {
  const root = historyFolder(path);
  const folders = new Map<string, OutputFolder>();
  const begun = new Map<string, Map<number, Begun>>();
  const copies: Promise<void>[] = [];
  let charts: ReadonlyMap<number, FlowChart> = new Map();
  let isOneFlow = true;

  const folderOf = (work: WorkRef): OutputFolder => {
    if (isOneFlow) return root;
    const iteration = work.iteration > 1 ? `-iteration-${work.iteration}` : "";
    const name = `${stepPageName(work.workId, work.taskId)}${iteration}`;
    const folder = folders.get(name) ?? root.folder(name);
    folders.set(name, folder);
    return folder;
  };
  const write = (
    work: WorkRef,
    start: Begun | undefined,
    ended: (StepEnded & Pick<RunStamp, "past">) | undefined,
    at: number,
  ): void => {
    const step = start?.event ?? ended;
    if (step === undefined) return;
    const chart = charts.get(work.workId);
    const file =
      chart !== undefined && Object.hasOwn(chart.files, step.file)
        ? chart.files[step.file]
        : undefined;
    const folder = folderOf(work);
    const name = stepPageName(step.step, step.activity);
    const outputs = new Map<number, string>();
    // A journal of an earlier run may name any file.
    const isOwn = [start?.event, ended].every(
      (one) => one?.restored !== true && one?.past !== true,
    );
    for (const [script, source] of isOwn ? cutOutputs(ended?.effects ?? []) : []) {
      const copy = `${name}.output-${script + 1}.txt`;
      // Opened now: the folder of the run may be gone before everything is copied.
      const opened = openedOutput(source);
      if (opened === undefined) continue;
      outputs.set(script, copy);
      const copied = copyRedacted(opened, redactor.stream(), (text) => folder.append(copy, text));
      // `close` reports it.
      copied.catch(() => undefined);
      copies.push(copied);
    }
    const page = stepPage({
      started: start?.event,
      ended,
      startedAt: start?.at ?? at,
      endedAt: ended === undefined ? undefined : at,
      node: file?.activities.find(({ id }) => id === step.activity),
      file: file?.file ?? step.file,
      outputs,
    });
    folder.write(`${name}.md`, page);
  };
  const endAll = (key: string, work: WorkRef, at: number): void => {
    const open = begun.get(key);
    begun.delete(key);
    for (const start of open?.values() ?? []) write(work, start, undefined, at);
  };

  return {
    name: "step history",
    essential: true,
    takesPast: true,
    report(event: RunEvent) {
      switch (event.type) {
        case "run.started":
          root.clear(isPage);
          isOneFlow = event.work.kind === "Flow";
          charts = new Map(
            plannedWorks(event.work).flatMap(({ workId, chart }) =>
              chart === undefined ? [] : [[workId, chart]],
            ),
          );
          return;
        case "step.started": {
          const key = workKey(event.work);
          const open = begun.get(key) ?? new Map<number, Begun>();
          begun.set(key, open.set(event.step, { event, at: event.at }));
          return;
        }
        case "step.ended": {
          const open = begun.get(workKey(event.work));
          const start = open?.get(event.step);
          open?.delete(event.step);
          return write(event.work, start, event, event.at);
        }
        case "work.ended":
          return endAll(workKey(event.work), event.work, event.at);
        default:
      }
    },
    async close() {
      for (const [key, open] of begun) {
        const [first] = open.values();
        if (first !== undefined) endAll(key, first.event.work, first.at);
      }
      await Promise.all(copies);
    },
  };
}

function historyFolder(path: string): OutputFolder {
  const folder = new OutputFolder(path);
  if (readdirSync(path).every(isPage)) return folder;
  throw new Error("the folder contains other files. Use an empty one.");
}

/** Matches the name of a page, of a file with the output of a script, or of the folder of one of several workflows. */
function isPage(name: string): boolean {
  return /^\d{3,}-/.test(name);
}

/** The outputs that an event has only a part of, by the index of the script. */
function cutOutputs(effects: readonly EffectResult[]): readonly (readonly [number, string])[] {
  const runs = effects.flatMap((effect) => (effect.kind === "executed" ? effect.runs : []));
  return runs.flatMap(({ outputFile, outputCharacters = 0, output }, script) =>
    outputFile !== undefined && outputCharacters > output.length
      ? [[script, outputFile] as const]
      : [],
  );
}

/** In pieces, between which the event loop runs: the output of a script may have hundreds of megabytes. */
async function copyRedacted(
  fd: number,
  redacting: TextStream,
  write: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const piece of createReadStream("", { fd }))
    write(redacting.push(decoder.decode(piece, { stream: true })));
  write(redacting.push(decoder.decode()) + redacting.end());
}

/** Undefined for a link, and for what is gone. */
function openedOutput(path: string): number | undefined {
  try {
    return openToReadNow(path, "refused");
  } catch {
    return undefined;
  }
}

interface StepRecord {
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

function stepPageName(step: number, activity: string): string {
  const name = activity.replace(/[^\p{L}\p{N}_.-]/gu, "_").slice(0, MAX_NAME);
  return `${String(step).padStart(3, "0")}-${name}`;
}

/** A step of a workflow as a Markdown page: what was asked, the outcome, and where the workflow went on. */
function stepPage(record: StepRecord): string {
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
