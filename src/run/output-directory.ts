/** A folder with what a run came to. Reports are written when they are handed in, the rest at the end. */
import { join } from "node:path";
import type { WorkRef } from "../events/event.ts";
import { itemsIn } from "../events/plan.ts";
import type { Reporter } from "../events/sink.ts";
import { givenInOrder, keyOfGiven } from "../events/view.ts";
import { codeText } from "../github/markdown.ts";
import { endReason } from "../outputs/verdict.ts";
import { readSmallFile, longestName, OutputFolder, plainName } from "../platform/files.ts";
import { jobReport, runJson } from "../reports/run-json.ts";

export const reportFile = "report.md";
const runFile = "run.json";
const longestRunJson = 200_000_000;

export function openOutputDirectory(folder: string): Reporter {
  const output = new OutputFolder(folder);
  // Readers would take files of an earlier run for those of this one.
  for (const name of [reportFile, "index.md", runFile]) output.remove(name);
  const files = new Map<string, string>();
  const taken = new Set([reportFile, "index.md"]);
  /** Reports as they were handed in; the view cuts long ones. */
  const whole = new Map<string, string>();
  const write = (name: string, text: string): void => {
    output.write(name, text.endsWith("\n") ? text : `${text}\n`);
  };
  const fileOf = (work: WorkRef): string => {
    const key = keyOfGiven(work);
    const known = files.get(key);
    if (known !== undefined) return known;
    const name = [work.taskId, ...itemsIn(work)]
      .map((text) => plainName(text))
      .join("-")
      .slice(0, longestName);
    let file = `${name}.md`;
    for (let number = 2; taken.has(file.toLowerCase()); number += 1) file = `${name}-${number}.md`;
    files.set(key, file);
    taken.add(file.toLowerCase());
    return file;
  };
  return {
    name: "output directory",
    essential: true,
    takesPast: true,
    report(event, view) {
      if (event.type === "report.given") {
        const { title, markdown, work } = event;
        whole.set(keyOfGiven(work), markdown);
        write(fileOf(work), title === undefined ? markdown : `# ${title}\n\n${markdown}`);
      }
      if (event.type !== "run.ended") return;
      const report = jobReport(view, whole);
      if (report !== undefined) write(reportFile, report);
      const why = endReason(view);
      // A later run of its step has left none, or was left out.
      for (const [key, file] of files)
        if (view.given.get(key)?.report === undefined) output.remove(file);
      const lines = givenInOrder(view).flatMap(([key, { taskId, items, report: one }]) => {
        const file = files.get(key);
        const name = [taskId, ...items].map((text) => codeText(text, longestName)).join(" › ");
        const title = one?.title === undefined ? "" : `: ${codeText(one.title, 256)}`;
        return file === undefined || one === undefined
          ? []
          : [`- [${name}](${encodeURI(file)})${title}`];
      });
      write(
        "index.md",
        [
          `# ${view.jobName}: ${view.status}${view.rehearsed ? " (rehearsal)" : ""}`,
          why,
          lines.join("\n"),
        ]
          .filter((text) => text !== "")
          .join("\n\n"),
      );
      write(runFile, JSON.stringify(runJson(view, files), null, 2));
    },
  };
}

/** The `run.json` of a run that has ended, with the names of its files. Undefined if it wasn't written. */
export function writtenRunJson(folder: string | undefined): object | undefined {
  if (folder === undefined) return undefined;
  try {
    const bytes = readSmallFile(join(folder, runFile), longestRunJson);
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // The reporter says why.
    return undefined;
  }
}
