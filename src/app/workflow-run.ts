/** What a run of a workflow begins with: its parameters, and what an earlier run has done already. */
import type { Diagnostic } from "../document/diagnostic.ts";
import { DiagnosticsError } from "../document/diagnostic.ts";
import type { RunEvent } from "../events/event.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { MASK } from "../events/text-stream.ts";
import { readJournalFile } from "../journal/file.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { bindParameters } from "../workflow/parameters.ts";
import { restoreRun, type Restored } from "../workflow/restore.ts";
import type { ReadEntry } from "./entry-files.ts";
import { allowedOf, given, type FlowReading, type LoadedFlow, type WholeFlow } from "./flows.ts";
import { asFlag, UsageError } from "./options.ts";
import type { RunOptions } from "./prepare-run.ts";

/** What the loading of a workflow needs to know of its run. */
export function readingOf(
  { env, permissions }: Pick<RunOptions, "env" | "permissions">,
  script: Script | undefined,
): FlowReading {
  return { environment: env, permissions: permissions ?? script?.permissions };
}

export interface WorkflowStart {
  readonly whole: WholeFlow;
  /** Of the run that is resumed. */
  readonly userInput?: string;
  readonly warnings: readonly Diagnostic[];
}

/** Undefined for an entry. Throws `UsageError` or `DiagnosticsError` if the workflow can't begin like this. */
export async function startOfWorkflow(
  loaded: ReadEntry,
  options: RunOptions,
  script: Script | undefined,
): Promise<WorkflowStart | undefined> {
  const { write = asFlag, params, resume, onResult } = options;
  const flow = loaded.whole === undefined ? undefined : loaded.flows[loaded.whole];
  if (flow === undefined) {
    if (Object.keys(params ?? {}).length > 0) {
      throw new UsageError(
        `${write("param")}: only a workflow has parameters, and ${loaded.file} is an entry.`,
      );
    }
    if (resume !== undefined) {
      throw new UsageError(`${write("resume")}: only a run of a workflow can be resumed.`);
    }
    return undefined;
  }
  const earlier = resume === undefined ? undefined : await readEarlier(resume, options);
  const all = { ...script?.params, ...earlier?.params, ...params };
  const userInput = earlier?.userInput ?? options.userInput ?? script?.userInput ?? "";
  const bound = bindParameters(flow.workflow, given(all, userInput));
  if (bound.kind === "incomplete") throw new DiagnosticsError(bound.diagnostics);
  const restored =
    earlier === undefined
      ? undefined
      : restoredOf(flow, { ...earlier, variables: bound.variables }, options);
  return {
    whole: { params: all, restored, onResult },
    ...(earlier === undefined ? {} : { userInput }),
    warnings: bound.warnings,
  };
}

interface Earlier {
  readonly params: Readonly<Record<string, string>>;
  readonly userInput: string;
  readonly events: readonly (StepStarted | StepEnded)[];
}

async function readEarlier(
  path: string,
  { write = asFlag, params = {} }: RunOptions,
): Promise<Earlier> {
  const events: (StepStarted | StepEnded)[] = [];
  let started: Extract<RunEvent, { type: "run.started" }> | undefined;
  const refuse = (reason: string): UsageError =>
    new UsageError(`${write("resume")}: can't resume ${path}: ${reason}`);
  try {
    await readJournalFile(path, (part) => {
      for (const event of part) {
        if (event.type === "run.started") started = event;
        if (event.type === "step.started" || event.type === "step.ended") events.push(event);
      }
    });
  } catch (error) {
    throw refuse(fileErrorMessage(error));
  }
  const work = started?.work;
  if (started === undefined || work?.kind !== "Flow") {
    throw refuse("it is not the journal of a run of a workflow.");
  }
  for (const [name, value] of Object.entries(work.params)) {
    // A secret in a parameter is not in the journal.
    if (value.includes(MASK) && !Object.hasOwn(params, name)) {
      throw refuse(
        `the journal doesn't contain the secret in the parameter ${name}. Give it again with ${write("param")} ${name}=….`,
      );
    }
  }
  return { params: work.params, userInput: started.userInput, events };
}

function restoredOf(
  { workflow }: LoadedFlow,
  earlier: Parameters<typeof restoreRun>[2],
  options: RunOptions,
): Restored {
  const { write = asFlag, resume = "", rerun = false, limits } = options;
  const environment = allowedOf(options);
  const found = restoreRun(
    workflow,
    { environment, limits: { ...workflow.settings.limits, ...limits } },
    earlier,
  );
  switch (found.kind) {
    case "refused":
      throw new UsageError(`${write("resume")}: can't resume ${resume}: ${found.reason}`);
    case "interrupted":
      if (rerun) return found.restored;
      throw new UsageError(
        `${write("resume")}: ${found.activity} was running commands when ${resume} was interrupted. Pass ${write("rerun")} to run them again.`,
      );
    case "restored":
      return found.restored;
  }
}
