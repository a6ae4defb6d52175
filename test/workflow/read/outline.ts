/** A workflow in few words: what each file must mean, for the tests that read whole files. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { loadWorkflow } from "../../../src/run/workflow-run.ts";
import type { LoadedWorkflow } from "../../../src/workflow/read/load-workflow.ts";
import type { Activity, WorkflowFile } from "../../../src/workflow/model.ts";

export const fixtures = join(import.meta.dirname, "../../../../test/fixtures/workflows");

export function loadFixture(name: string): LoadedWorkflow {
  const file = join(fixtures, name);
  return loadWorkflow(readFileSync(file), file);
}

/** `title`, `NAME=default`, `ID what it does > next / other`, `# id of a prompt`, one per line. */
export function outlineOf(file: WorkflowFile): readonly string[] {
  return [
    ...(file.title === undefined ? [] : [file.title]),
    ...file.parameters.map(({ name, default: value }) =>
      value === undefined ? name : `${name}=${value}`,
    ),
    ...[...file.activities.values()].map(activityLine),
    ...[...file.prompts.keys()].map((id) => `# ${id}`),
  ];
}

export function activityLine(activity: Activity): string {
  const { id, next, other } = activity;
  const parts = [id, contentOf(activity), next && `> ${next}`, other && `/ ${other}`];
  return parts.filter(Boolean).join(" ");
}

function contentOf(activity: Activity): string | undefined {
  switch (activity.kind) {
    case "start":
    case "success":
    case "failed":
      return undefined;
    case "on":
      return `when ${activity.event}`;
    case "set":
      return `${activity.name}=${activity.value}`;
    case "assign":
      return activity.value;
    case "check": {
      const { left, operator, right } = activity.check;
      return `${left} ${operator} ${right}`;
    }
    case "prompt":
      return activity.prompt;
    case "ask":
      return activity.question;
    case "execute":
      return activity.command?.replaceAll("\n", "\\n");
    case "call":
      return basename(activity.target);
  }
}

/** `line:column`, of errors with a `!`, by file if it is another one. */
export function placesOf(loaded: LoadedWorkflow, main: string): readonly string[] {
  const found = loaded.kind === "loaded" ? loaded.warnings : loaded.diagnostics;
  return found.map(({ file = "", line, column, severity }) => {
    const where = file.endsWith(main) ? "" : `${basename(file)}:`;
    return `${where}${line}:${column}${severity === "warning" ? "" : "!"}`;
  });
}
