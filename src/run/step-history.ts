import type { EffectResult, FlowChart } from "../events/flow.ts";
import { createReadStream, readdirSync } from "node:fs";
import type { RunEvent, RunStamp, WorkRef, StepEnded, StepStarted } from "../events/event.ts";
import { plannedWorks, workKey } from "../events/plan.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import type { Reporter } from "../events/sink.ts";
import { openToReadNow, OutputFolder } from "../platform/files.ts";
import { stepPage, stepPageName } from "../reports/step-page.ts";

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
