/** What a run prints and writes. */
import * as kind from "../option-kinds.ts";
import type { Rows } from "./row.ts";

export const outputOptions = {
  outputDir: {
    kind: kind.filled,
    help: "The folder for the reports of tasks, `report.md`, `index.md`, `run.json`, and a `.log` file for each command of the entry.",
    risk: "reports quote agents.",
    group: "Output",
    page: "entry-format.md#data-between-tasks",
    flag: "--output-dir <dir>",
    on: ["run", "action"],
  },
  journal: {
    kind: kind.filled,
    help: "The file for the journal: every event, as JSON lines.",
    risk: "it contains what the agent read.",
    group: "Output",
    page: "journal.md",
    flag: "--journal <file>",
    on: ["run", "action", "workflow"],
  },
  htmlReport: {
    kind: kind.filled,
    help: "The file for an HTML report of the run.",
    risk: "it contains what the agent read.",
    group: "Output",
    page: "report.md",
    flag: "--html-report <file>",
    on: ["run", "action"],
  },
  sarif: {
    kind: kind.filled,
    help: "The file for the findings as SARIF 2.1.0, for code scanning.",
    group: "Output",
    flag: "--sarif <file>",
    on: ["run", "action"],
  },
  junit: {
    kind: kind.filled,
    help: "The file for steps and findings as JUnit test cases.",
    input: "The file for steps and findings, or for several rehearsals, as JUnit test cases.",
    group: "Output",
    flag: "--junit <file>",
    on: ["run", "action"],
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
