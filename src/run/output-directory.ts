/**
 * A folder with what a run came to: a Markdown file for each report, an `index.md`, `report.md` with the report of the
 * job, and `run.json`. Reports are written when they are handed in, the rest at the end.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunEvent } from "../events/event.ts";
import type { Reporter } from "../events/sink.ts";
import { applyEvent, createRunView, endText } from "../events/view.ts";
import { jobReport, runJson } from "../reports/run-json.ts";

export const reportFile = "report.md";

/** Throws if the folder can't be made. */
export function openOutputDirectory(folder: string): Reporter {
  mkdirSync(folder, { recursive: true });
  // What an earlier run has left there would be taken for that of this one.
  for (const name of [reportFile, "index.md", "run.json"])
    rmSync(join(folder, name), { force: true });
  const view = createRunView();
  const files = new Map<string, string>();
  const write = (name: string, text: string): void => {
    writeFileSync(join(folder, name), text.endsWith("\n") ? text : `${text}\n`);
  };
  const fileOf = ({
    taskId,
    item,
    outerItems = [],
  }: Extract<RunEvent, { type: "report.given" }>["work"]): string => {
    const items = item === undefined ? [] : [...outerItems, item];
    const key = JSON.stringify([taskId, items]);
    const known = files.get(key);
    if (known !== undefined) return known;
    const name = [taskId, ...items].map(plain).join("-").slice(0, longestName);
    const taken = new Set([...files.values(), ...reserved].map((one) => one.toLowerCase()));
    let file = `${name}.md`;
    for (let number = 2; taken.has(file.toLowerCase()); number += 1) file = `${name}-${number}.md`;
    files.set(key, file);
    return file;
  };
  return {
    name: "output directory",
    essential: true,
    report(event) {
      applyEvent(view, event);
      if (event.type === "report.given") {
        const { title, markdown, work } = event;
        write(fileOf(work), title === undefined ? markdown : `# ${title}\n\n${markdown}`);
      }
      if (event.type !== "run.ended") return;
      const report = jobReport(view);
      if (report !== undefined) write(reportFile, report);
      const why = endText(view);
      const lines = [...view.given].flatMap(([key, { taskId, items, report: one }]) => {
        const file = files.get(key);
        const name = [taskId, ...items]
          .map((text) => text.replaceAll(/[\s[\]\\`*_<>]+/gu, " "))
          .join(" › ");
        return file === undefined || one === undefined
          ? []
          : [`- [${name}](${encodeURI(file)})${one.title === undefined ? "" : `: ${one.title}`}`];
      });
      write(
        "index.md",
        [`# ${view.jobName}: ${view.status}`, why, lines.join("\n")]
          .filter((text) => text !== "")
          .join("\n\n"),
      );
      write("run.json", JSON.stringify(runJson(view, files), null, 2));
    },
  };
}

const longestName = 120;
const reserved = [reportFile, "index.md"];

/** As a part of the name of a file, on any system. */
function plain(text: string): string {
  const name = text.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replaceAll(/^[-.]+|[-.]+$/g, "");
  return name === "" ? "item" : name;
}
