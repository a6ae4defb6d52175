/** What a run of a workflow begins with: its parameters, and what an earlier run has done already. */
import type { Diagnostic } from "../document/diagnostic.ts";
import { DiagnosticsError } from "../document/diagnostic.ts";
import type { Limits, PermissionPreset } from "../entry/model.ts";
import type { RunEvent } from "../events/event.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { MASK } from "../events/text-stream.ts";
import { readJournalFile } from "../journal/file.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Environment } from "../platform/environment.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { bindParameters } from "../workflow/parameters.ts";
import { restoreRun, type Restored } from "../workflow/restore.ts";
import {
  allowedOf,
  given,
  type FlowReading,
  type LoadedFlow,
  type ReadWorkflowEntry,
  type WholeFlow,
} from "./flows.ts";
import { asFlag, UsageError, type WriteName } from "./options.ts";
import type { WorkflowRunOptions } from "./workflow-options.ts";

/** Of the options of a run. */
interface StartOptions extends WorkflowRunOptions {
  readonly write?: WriteName;
  readonly userInput?: string;
  readonly permissions?: PermissionPreset;
  readonly limits?: Limits;
  readonly environment: Environment;
}

/** What the loading of a workflow needs to know of its run. */
export function readingOf(
  { env, permissions }: Pick<StartOptions, "env" | "permissions">,
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
  loaded: Pick<ReadWorkflowEntry, "flows" | "whole">,
  options: StartOptions,
  script: Script | undefined,
): Promise<WorkflowStart | undefined> {
  const { params, resume, onResult } = options;
  const flow = loaded.whole === undefined ? undefined : loaded.flows[loaded.whole];
  if (flow === undefined) return undefined;
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
  { write = asFlag, params = {} }: StartOptions,
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
  options: StartOptions,
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
