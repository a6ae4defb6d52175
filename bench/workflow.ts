/**
 * What the activities of a workflow cost beside the model and the commands, and whether a long run stays flat in
 * memory: the interpreter, the engine, the sink with its redactor, the view and the journal, with sessions and scripts
 * that answer at once. Prints the CPU time of an activity, and the heap and the resident memory after a collection.
 *
 *   npm run bench:workflow [-- ACTIVITIES]        (default: 10,000)
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGate } from "../src/run/gate.ts";
import { createHtmlReport } from "../src/run/html-report.ts";
import { resolveLimits } from "../src/engine/limits.ts";
import type { SessionFactory } from "../src/engine/ports.ts";
import { RateLimit } from "../src/engine/rate-limit.ts";
import { runJob } from "../src/engine/run-job.ts";
import { validateEntry } from "../src/entry/prepare.ts";
import { createRedactor } from "../src/redaction/redactor.ts";
import { createSink, type Reporter } from "../src/events/sink.ts";
import { applyEvent, createRunView } from "../src/events/view.ts";
import { createJournal } from "../src/journal/write.ts";
import { Breath } from "../src/platform/breath.ts";
import { systemClock } from "../src/platform/system-clock.ts";
import { createTerminalReporter } from "../src/reports/terminal/terminal-reporter.ts";
import { flowChartOf } from "../src/workflow/describe.ts";
import { loadWorkflow } from "../src/workflow/read/load-workflow.ts";
import { runFlow } from "../src/workflow/run/run-flow.ts";
import type { Scripts } from "../src/workflow/run/script-runner.ts";

const activities = Number(process.argv[2] ?? 10_000);

const prompts = "# Prompts\n\n## System\n\nYou\n\n## User A\n\nGo on {{A}}\n";
const text = (flowchart: string): string =>
  `# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${flowchart}\n\`\`\`\n\n${prompts}`;

const chain = Array.from({ length: activities }, (_, index) => `SET_${index}[V${index % 10}=x]`);

/** By what they do most. */
const flows: Readonly<Record<string, string>> = {
  "a loop of prompts, each to a new agent":
    "START --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> SET_A[A={{RESULT}}] --> CHECK_A{A == stop}\nCHECK_A -->|no| PROMPT_S\nCHECK_A -->|yes| SUCCESS",
  "a loop of prompts in one conversation":
    "START --> PROMPT_A[Prompt: User A] --> SET_A[A={{RESULT}}] --> CHECK_A{A == stop}\nCHECK_A -->|no| PROMPT_A\nCHECK_A -->|yes| SUCCESS",
  "a loop of commands":
    "START --> EXECUTE_A[Execute: echo {{A}}] --> SET_A[A=a] --> CHECK_A{A == stop}\nCHECK_A -->|no| EXECUTE_A\nCHECK_A -->|yes| SUCCESS",
  "a loop of CALLs":
    "START --> CALL_A[[called.wf.md]] --> CHECK_A{A == stop}\nCHECK_A -->|no| CALL_A\nCHECK_A -->|yes| SUCCESS",
  "as many different activities": `START --> ${chain.join(" --> ")}`,
};

const called = text("START --> SET_A[A=a] --> SET_B[B={{A}}]");

async function run(flowchart: string, isFull: boolean): Promise<void> {
  const loaded = loadWorkflow(text(flowchart), "flow.wf.md", {
    files: {
      read: (path) =>
        path === "called.wf.md"
          ? { kind: "found", id: path, file: path, content: called }
          : { kind: "missing", reason: "There is no such file." },
    },
  });
  if (loaded.kind === "rejected") throw new Error(loaded.diagnostics[0]?.reason);
  const { workflow } = loaded;
  const limits = resolveLimits({ activities, activityHits: activities });
  const sessions: SessionFactory = {
    open: async ({ modelId }) => ({
      kind: "opened",
      session: {
        id: "s",
        modelId,
        runTurn: async () => ({ kind: "completed", toolCalls: [], text: "An answer." }),
        close: async () => {},
      },
    }),
  };
  const scripts: Scripts = {
    tags: ["sh"],
    execute: async (all) => ({
      kind: "executed",
      runs: all.map(({ code }) => ({
        code,
        output: "output",
        outputCharacters: 6,
        outputFile: "/output",
        exitCode: 0,
      })),
    }),
    checkpoint: () => ({ workingDirectory: "/", variables: {}, removed: [], functions: "" }),
    close: async () => {},
  };
  const folder = mkdtempSync(join(tmpdir(), "agent-jobs-bench-"));
  const view = createRunView();
  const stream = { isTTY: false, columns: 80, write: () => true };
  let ended = 0;
  const memory: string[] = [];
  let last = process.cpuUsage();
  let cpuMs = 0;
  const meter: Reporter = {
    report(event) {
      if (event.type !== "step.ended") return;
      ended += 1;
      if (![0.1, 0.5, 1].some((share) => ended === Math.floor(activities * share) - 1)) return;
      const { user, system } = process.cpuUsage(last);
      cpuMs += (user + system) / 1000;
      globalThis.gc?.();
      const { heapUsed, rss } = process.memoryUsage();
      memory.push(`${ended}: ${(heapUsed / 1e6).toFixed(1)}/${(rss / 1e6).toFixed(0)} MB`);
      last = process.cpuUsage();
    },
  };
  const sink = createSink({
    runId: "run",
    clock: systemClock,
    redactor: createRedactor(["a-secret-of-the-bench"]),
    reporters: [
      { report: (event) => applyEvent(view, event) },
      ...(isFull
        ? [
            createJournal(join(folder, "journal.jsonl")),
            createHtmlReport(join(folder, "report.html")),
            createTerminalReporter({
              stream,
              verbosity: "normal",
              colors: false,
              live: false,
              clock: systemClock,
            }),
          ]
        : []),
      meter,
    ],
  });
  const name = "flow.wf.md";
  const entry = validateEntry({ models: { driving: "m" }, tasks: {}, jobs: {} }, "");
  const outcome = await runJob(
    {
      entry: {
        ...entry,
        jobs: {
          [name]: { requireUserInput: false, work: { kind: "Flow", workIdInJob: 0, file: name } },
        },
      },
      jobName: name,
      version: "0.0.0",
      entryFingerprint: "",
      userInput: "",
      workingDirectory: "/",
      limits,
      permissionsOf: () => "read-only",
      flows: {
        [name]: {
          modelId: "m",
          permissions: "read-only",
          chart: flowChartOf(workflow),
          run: (context) =>
            runFlow(
              {
                workflow,
                modelId: "m",
                permissions: "read-only",
                limits,
                variables: {},
                environment: {},
                answers: {},
                scripts,
                read: () => ({ kind: "failed", reason: "There are no files." }),
                breath: new Breath(),
              },
              context,
            ),
        },
      },
    },
    {
      clock: systemClock,
      gate: createGate(8),
      rateLimit: new RateLimit(systemClock),
      random: () => 0,
      sessions,
      emit: (event) => sink.emit(event),
    },
  );
  await sink.close();
  rmSync(folder, { recursive: true });
  const each = ((cpuMs / Math.max(1, ended)) * 1000).toFixed(0);
  console.log(
    `  ${isFull ? "journal, report, log" : "view only"}: ${each} µs, ${memory.join(", ")} (${outcome.kind})`,
  );
}

for (const [name, flowchart] of Object.entries(flows)) {
  console.log(name);
  await run(flowchart, false);
  await run(flowchart, true);
}
