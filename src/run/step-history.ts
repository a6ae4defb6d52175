import {
  closeSync,
  createReadStream,
  createWriteStream,
  openSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import type { RunEvent, WorkRef } from "../events/event.ts";
import { plannedWorks, type FlowChart } from "../events/plan.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { Reporter } from "../events/sink.ts";
import type { EffectResult, StepEnded, StepStarted } from "../events/step.ts";
import { makeDirectoryNow, realPathOf } from "../platform/files.ts";
import { openToReadNow } from "../platform/reading.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { stepPage, stepPageName } from "../reports/step-page.ts";
import { UsageError } from "./options.ts";

interface Begun {
  readonly event: StepStarted;
  readonly at: number;
}

/**
 * Writes a Markdown file for each step of the workflows of a run: `001-START.md`, `002-PROMPT_ASK.md`. The whole output
 * of a script is beside it if the event has only a part of it. If the run is more than one workflow, each iteration of
 * one has a folder of its own. Throws if the folder can't be used, or holds something already.
 */
export function createStepHistory(folder: string, redactor: Pick<Redactor, "stream">): Reporter {
  prepareFolder(folder);
  const real = realPathOf(folder);
  const open = (path: string): number => newFile(folder, real, path);
  const begun = new Map<string, Map<number, Begun>>();
  const copies: Promise<void>[] = [];
  let charts: ReadonlyMap<number, FlowChart> = new Map();
  let isOneFlow = true;

  const folderOf = (work: WorkRef): string => {
    if (isOneFlow) return folder;
    const iteration = work.iteration > 1 ? `-iteration-${work.iteration}` : "";
    const path = join(folder, `${stepPageName(work.workId, work.taskId)}${iteration}`);
    makeDirectoryNow(path);
    return path;
  };
  const write = (
    work: WorkRef,
    start: Begun | undefined,
    ended: StepEnded | undefined,
    at: number,
  ): void => {
    const step = start?.event ?? ended;
    if (step === undefined) return;
    const chart = charts.get(work.workId);
    const file =
      chart !== undefined && Object.hasOwn(chart.files, step.file)
        ? chart.files[step.file]
        : undefined;
    const path = folderOf(work);
    const name = stepPageName(step.step, step.activity);
    const outputs = new Map<number, string>();
    // A journal of an earlier run may name any file.
    const isOwn = start?.event.restored !== true && ended?.restored !== true;
    for (const [script, source] of isOwn ? cutOutputs(ended?.effects ?? []) : []) {
      const copy = `${name}.output-${script + 1}.txt`;
      // Opened now: the folder of the run may be gone before everything is copied.
      const opened = openOutput(source);
      if (opened === undefined) continue;
      outputs.set(script, copy);
      const copied = copyRedacted(opened, () => open(join(path, copy)), redactor);
      // `close` reports it.
      copied.catch(() => undefined);
      copies.push(copied);
    }
    const target = open(join(path, `${name}.md`));
    const page = stepPage({
      started: start?.event,
      ended,
      startedAt: start?.at ?? at,
      endedAt: ended === undefined ? undefined : at,
      node: file?.activities.find(({ id }) => id === step.activity),
      file: file?.file ?? step.file,
      outputs,
    });
    try {
      writeFileSync(target, page);
    } finally {
      closeSync(target);
    }
  };
  const endAll = (key: string, work: WorkRef, at: number): void => {
    const open = begun.get(key);
    begun.delete(key);
    for (const start of open?.values() ?? []) write(work, start, undefined, at);
  };

  return {
    name: "step history",
    essential: true,
    report(event: RunEvent) {
      switch (event.type) {
        case "run.started":
          isOneFlow = event.work.kind === "Flow";
          charts = new Map(
            plannedWorks(event.work).flatMap(({ workId, chart }) =>
              chart === undefined ? [] : [[workId, chart]],
            ),
          );
          return;
        case "step.started": {
          const key = keyOf(event.work);
          const open = begun.get(key) ?? new Map<number, Begun>();
          begun.set(key, open.set(event.step, { event, at: event.at }));
          return;
        }
        case "step.ended": {
          const open = begun.get(keyOf(event.work));
          const start = open?.get(event.step);
          open?.delete(event.step);
          return write(event.work, start, event, event.at);
        }
        case "work.ended":
          return endAll(keyOf(event.work), event.work, event.at);
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

function keyOf({ workId, iteration }: WorkRef): string {
  return `${workId}/${iteration}`;
}

function prepareFolder(folder: string): void {
  let found: readonly string[];
  try {
    makeDirectoryNow(folder);
    found = readdirSync(folder);
  } catch (error) {
    throw new UsageError(`Can't write the history to ${folder}: ${fileErrorMessage(error)}`);
  }
  if (found.length > 0)
    throw new UsageError(
      `Can't write the history to ${folder}: the folder is not empty. Nothing in it is overwritten; name another folder.`,
    );
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

function openOutput(path: string): number | undefined {
  try {
    return openToReadNow(path, "refused");
  } catch {
    return undefined;
  }
}

/** An agent may have put a link in place of a folder: nothing is written to where it leads. */
function newFile(folder: string, real: string, path: string): number {
  const parent = dirname(path);
  if (realPathOf(parent) !== join(real, relative(folder, parent)))
    throw new Error(`In the history ${folder}, the folder was moved or replaced during the run.`);
  try {
    return openSync(path, "wx");
  } catch (error) {
    throw new Error(fileErrorMessage(error), { cause: error });
  }
}

async function copyRedacted(
  source: number,
  open: () => number,
  redactor: Pick<Redactor, "stream">,
): Promise<void> {
  let target: number;
  try {
    target = open();
  } catch (error) {
    closeSync(source);
    throw error;
  }
  await pipeline(
    createReadStream("", { fd: source }),
    async function* (bytes: AsyncIterable<Uint8Array>) {
      const decoder = new TextDecoder();
      const redacting = redactor.stream();
      for await (const piece of bytes)
        yield redacting.push(decoder.decode(piece, { stream: true }));
      yield redacting.push(decoder.decode()) + redacting.end();
    },
    createWriteStream("", { fd: target }),
  );
}
