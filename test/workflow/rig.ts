/** Helpers of the tests of workflows: files in memory, and short ways to write them. */
import assert from "node:assert/strict";
import { posix } from "node:path";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { readMarkdown } from "../../src/document/markdown.ts";
import { readActivities } from "../../src/workflow/read/activities.ts";
import type { Workflow, WorkflowFiles } from "../../src/workflow/model.ts";
import { Problems } from "../../src/workflow/read/problems.ts";
import {
  loadWorkflow,
  type LoadedWorkflow,
  type LoadOptions,
} from "../../src/workflow/read/load-workflow.ts";

/** A file with one flowchart, whose first line is line 5, and with prompts. */
export function workflowText(flowchart: string, prompts = ""): string {
  return `# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${flowchart}\n\`\`\`\n\n# Prompts\n\n${prompts}`;
}

/** Files by path; whatever leads out of their folder is outside. */
export function filesOf(contents: Readonly<Record<string, string>>): WorkflowFiles {
  return {
    read: (path, from) => {
      const id = posix.join(posix.dirname(from), path);
      if (id.startsWith("..") || path.startsWith("/")) {
        return { kind: "outside", reason: `"${path}" is outside of the folder of the workflow.` };
      }
      const content = Object.hasOwn(contents, id) ? contents[id] : undefined;
      if (content === undefined) return { kind: "missing", reason: `There is no file "${path}".` };
      return { kind: "found", id, file: id, content };
    },
  };
}

export function load(
  text: string | Uint8Array,
  options: Partial<LoadOptions> = {},
): LoadedWorkflow {
  return loadWorkflow(text, "a.wf.md", { files: filesOf({}), ...options });
}

/** The workflow, which must have no errors. */
export function loaded(text: string, options: Partial<LoadOptions> = {}): Workflow {
  const result = load(text, options);
  if (result.kind === "loaded") return result.workflow;
  return assert.fail(result.diagnostics.map(diagnosticLine).join("\n"));
}

/** All that is said about a file, as lines. */
export function said(
  text: string | Uint8Array,
  options: Partial<LoadOptions> = {},
): readonly string[] {
  const result = load(text, options);
  const found = result.kind === "loaded" ? result.warnings : result.diagnostics;
  return found.map(diagnosticLine);
}

/** The activities and parameters of a flowchart, without places. */
export function readFlow(flowchart: string): {
  readonly activities: readonly unknown[];
  readonly parameters: readonly unknown[];
  readonly said: readonly string[];
} {
  const markdown = readMarkdown(
    workflowText("").replace("flowchart TD\n\n", () => `${flowchart}\n`),
  );
  assert.ok(markdown.kind === "read");
  const findings = new Problems();
  const read = readActivities("a.wf.md", markdown.document.fences, findings);
  const activities = [...read.activities.values()].map(withoutPlace);
  return {
    activities,
    parameters: read.parameters.map(withoutPlace),
    said: [...findings.errors, ...findings.warnings].map(diagnosticLine),
  };
}

function withoutPlace(one: object): unknown {
  return Object.fromEntries(
    Object.entries(one).filter(([field]) => field !== "at" && field !== "label"),
  );
}
