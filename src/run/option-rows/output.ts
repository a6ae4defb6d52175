/** Options for what a run prints and writes. */
import * as kind from "../option-kinds.ts";
import type { Rows } from "./row.ts";

export const outputOptions = {
  outputDir: {
    kind: kind.filled,
    help: "The folder for everything that a run leaves: `journal.jsonl`, `report.html`, `findings.sarif`, `junit.xml`, `run.json`, `report.md`, `index.md`, the reports of tasks, a `.log` file for each command of the entry, and `steps/` with a page for each step of a workflow.",
    without: { action: "a folder of this step in the runner's temporary folder" },
    risk: "it contains what the agent read.",
    group: "Output",
    page: "entry-format.md#data-between-tasks",
    flag: "--output-dir <dir>",
    on: ["run", "action"],
  },
  journal: {
    kind: kind.filled,
    help: "The file for the journal: every event, as JSON lines.",
    without: { cli: "`journal.jsonl` in `--output-dir`" },
    group: "Output",
    page: "journal.md",
    flag: "--journal <file>",
    on: ["run", "job", "workflow"],
  },
  otlp: {
    kind: kind.collector,
    help: "Sends a trace and metrics to this OTLP collector.",
    without: { cli: "OTEL_EXPORTER_OTLP_ENDPOINT" },
    group: "Output",
    page: "telemetry.md",
    flag: "--otlp <url>",
    on: ["run", "serve", "host"],
  },
  chart: {
    kind: kind.flag,
    help: "Prints a Mermaid chart of what ran.",
    group: "Output",
    flag: "--chart",
    on: ["run"],
  },
  quiet: {
    kind: kind.flag,
    help: "Prints only failures, warnings and the end.",
    group: "Output",
    flag: "--quiet",
    conflicts: "verbose",
    on: ["run"],
  },
  verbose: {
    kind: kind.flag,
    help: "Also prints sessions, tool calls and messages.",
    group: "Output",
    flag: "--verbose",
    on: ["run"],
  },
} as const satisfies Rows;
