/** What a run of a workflow begins with: its parameters, and what an earlier run has done already. */
import { basename } from "node:path";
import { type Diagnostic, DiagnosticsError } from "../document/diagnostic.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import type { RunEvent } from "../events/event.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { damageOf, readJournalFile, type JournalCondition } from "../journal/file.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Environment } from "../platform/environment.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { bindParameters } from "../workflow/parameters.ts";
import { restoreRun, type Restored } from "../workflow/run/restore.ts";
import { scriptTags } from "../workflow/run/script-runner.ts";
import { workflowFingerprint } from "./fingerprint.ts";
import {
  given,
  type FlowReading,
  type LoadedFlow,
  type ReadEntry,
  type WholeFlow,
} from "./flows.ts";
import { allowedForPrograms } from "./variables.ts";
import { asFlag, UsageError, type WriteName } from "./options.ts";
import { refusing, sameInput, sameTexts } from "./same-values.ts";
import type { WorkflowRunOptions } from "./workflow-options.ts";

interface StartOptions extends WorkflowRunOptions {
  readonly write?: WriteName;
  readonly userInput?: string;
  readonly permissions?: PermissionPreset;
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

interface StartContext {
  readonly options: StartOptions;
  readonly script: Script | undefined;
  /** With overridden models. */
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
}

/** Undefined for an entry. Throws `UsageError` or `DiagnosticsError` if the workflow can't begin like this. */
export async function startOfWorkflow(
  loaded: Pick<ReadEntry, "flows" | "whole">,
  context: StartContext,
): Promise<WorkflowStart | undefined> {
  const { options, script } = context;
  const { params, resume, onResult } = options;
  const flow = loaded.whole === undefined ? undefined : loaded.flows[loaded.whole];
  if (flow === undefined) return undefined;
  const earlier = resume === undefined ? undefined : await readEarlier(resume, options);
  const all = earlier === undefined ? { ...script?.params, ...params } : earlier.params;
  const userInput = earlier?.userInput ?? options.userInput ?? script?.userInput ?? "";
  const bound = bindParameters(flow.workflow, given(all, userInput));
  if (bound.kind === "incomplete") throw new DiagnosticsError(bound.diagnostics);
  const restored =
    earlier === undefined
      ? undefined
      : restoredOf(flow, { ...earlier, variables: bound.variables }, context);
  return {
    whole: { params: all, restored, onResult },
    ...(earlier === undefined ? {} : { userInput }),
    warnings: bound.warnings,
  };
}

interface Earlier {
  readonly params: Readonly<Record<string, string>>;
  readonly userInput: string;
  readonly fingerprint: string | undefined;
  /** As the journal names it. */
  readonly file: string;
  readonly events: readonly (StepStarted | StepEnded)[];
  readonly hasEnded: boolean;
  readonly restoredSteps: number | undefined;
}

async function readEarlier(path: string, options: StartOptions): Promise<Earlier> {
  const refuse = refusing(options);
  const { started, events, hasEnded, condition } = await readLastRun(path).catch(
    (error: unknown) => {
      throw refuse(`${fileErrorMessage(error)}.`);
    },
  );
  const damage = damageOf(condition);
  if (damage !== undefined) throw refuse(`line ${damage.line}: ${damage.reason}`);
  const work = started?.work;
  if (started === undefined || work?.kind !== "Flow") {
    throw refuse("it is not the journal of a run of a workflow.");
  }
  const { file, chart, restoredSteps } = work;
  return {
    params: sameTexts("param", work.params, options.params ?? {}, options),
    userInput: sameInput(started.userInput, options),
    fingerprint: chart.fingerprint,
    file,
    events,
    hasEnded,
    restoredSteps,
  };
}

/** Of the run that began last, if the journal holds several. */
async function readLastRun(path: string): Promise<{
  readonly started: Extract<RunEvent, { type: "run.started" }> | undefined;
  readonly events: readonly (StepStarted | StepEnded)[];
  readonly hasEnded: boolean;
  readonly condition: JournalCondition;
}> {
  let started: Extract<RunEvent, { type: "run.started" }> | undefined;
  let events: (StepStarted | StepEnded)[] = [];
  let hasEnded = false;
  const condition = await readJournalFile(path, (part) => {
    for (const event of part) {
      if (event.type === "run.started") {
        started = event;
        events = [];
        hasEnded = false;
      } else if (event.runId !== started?.runId) continue;
      else if (event.type === "step.started" || event.type === "step.ended") events.push(event);
      else if (event.type === "work.ended") hasEnded = true;
    }
  });
  return { started, events, hasEnded, condition };
}

function restoredOf(
  flow: LoadedFlow,
  earlier: Earlier & { readonly variables: Readonly<Record<string, string>> },
  { entry, limits, options }: StartContext,
): Restored {
  const { workflow } = flow;
  const { write = asFlag, resume = "", rerun = false, executors } = options;
  const refuse = refusing(options);
  if (earlier.fingerprint !== workflowFingerprint(workflow)) {
    const file = basename(workflow.file);
    throw refuse(
      earlier.file === file
        ? `${workflow.file}, or a file that it uses, has changed since then.`
        : `it is of ${earlier.file}, not of ${file}.`,
    );
  }
  const tags = scriptTags({ executors });
  const found = restoreRun(
    workflow,
    { environment: allowedForPrograms(entry, options), limits, tags },
    earlier,
  );
  switch (found.kind) {
    case "refused":
      throw refuse(found.reason);
    case "interrupted": {
      if (rerun) return found.restored;
      const { activity, failed } = found;
      const why =
        failed === undefined
          ? `${activity} was running commands when ${resume} was interrupted.`
          : `The commands of ${activity} had begun when it failed: ${failed}`;
      throw new UsageError(`${write("resume")}: ${why} Pass ${write("rerun")} to run them again.`);
    }
    case "restored":
      return found.restored;
  }
}
