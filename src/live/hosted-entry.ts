/** An entry that is installed on a host, with its workflows: what a run of it begins with. */
import { defined } from "../document/guards.ts";
import { resolve } from "node:path";
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { resolveLimits, setBy, type ResolvedLimits } from "../engine/limits.ts";
import type { RunSpec } from "../engine/plan.ts";
import type { Entry, PermissionPreset, PreparedEntry } from "../entry/model.ts";
import { prepareEntry } from "../entry/prepare.ts";
import type { Clock } from "../platform/clock.ts";
import { warningChecks } from "../run/warning-checks.ts";
import type { Asker } from "../workflow/run/ask.ts";
import type { Workflow } from "../workflow/model.ts";
import { overrideModels, type ReadEntry } from "../run/entry-files.ts";
import { allowedOf } from "../run/allowed-variables.ts";
import {
  flowSpecs,
  loadFlows,
  modelNeed,
  noModelNamed,
  type FlowReading,
  type Flows,
  type ModelNeed,
  type WholeFlow,
} from "../run/flows.ts";
import type { JobHostOptions } from "./host-options.ts";
import type { Host } from "../run/host.ts";
import { UsageError } from "../run/options.ts";
import { callersOfJob, runSpec } from "../run/run-spec.ts";
import { checkSandboxOption } from "../run/sandbox-option.ts";
import type { WorkflowRunOptions } from "../run/workflow-options.ts";
import { startOfWorkflow, type WorkflowStart } from "../run/workflow-run.ts";

/** An entry as it was read, with its workflows. */
export type CheckedEntry = Pick<ReadEntry, "entry" | "warnings" | "flows" | "whole">;

/** How a workflow that is the entry begins. */
export interface FlowStart extends Pick<
  WorkflowRunOptions,
  "params" | "asker" | "resume" | "rerun" | "onResult"
> {
  readonly jobName: string;
  readonly userInput: string;
}

/** What a run of the entry is given. */
export interface RunInputs {
  readonly userInput: string;
  readonly workingDirectory: string;
  readonly whole?: WholeFlow | undefined;
  readonly ask?: Asker | undefined;
}

export interface HostOfEntry {
  readonly options: JobHostOptions;
  readonly host: Host;
  readonly clock: Clock;
  /** Default permissions, and an upper bound for those of the entry. */
  readonly permissions: PermissionPreset | undefined;
}

/** Checks an entry, and reads its workflows relative to the folder. Throws the diagnostics. */
export function checkEntry(
  entry: Entry,
  folder: string,
  reading: FlowReading,
  otherTools: readonly string[] = [],
): CheckedEntry {
  const result = prepareEntry(entry, { checks: { ...warningChecks, otherTools } });
  if (result.kind === "rejected") throw new DiagnosticsError(result.diagnostics);
  const { leaves } = result;
  const { flows, warnings } = loadFlows({ entry: result.entry, leaves, folder }, reading);
  return { entry: result.entry, flows, warnings: [...result.warnings, ...warnings] };
}

export class HostedEntry {
  /** With the models of the host. */
  readonly entry: PreparedEntry;
  readonly #checked: CheckedEntry;
  readonly #host: HostOfEntry;

  /** Throws a `UsageError` for options of the host that the entry doesn't allow. */
  constructor(checked: CheckedEntry, host: HostOfEntry) {
    const { rehearsal, models, sandbox } = host.options;
    this.entry = overrideModels(checked.entry, { ...rehearsal?.models, ...models });
    const callers = Object.keys(this.entry.jobs).flatMap((name) =>
      callersOfJob(this.entry, name, host.permissions, checked.flows),
    );
    checkSandboxOption(sandbox, callers, (option) => `The option ${option}`);
    this.#checked = checked;
    this.#host = host;
  }

  get warnings(): readonly Diagnostic[] {
    return this.#checked.warnings;
  }

  get flows(): Flows {
    return this.#checked.flows;
  }

  /** The workflow that is the entry, if it is one. */
  get workflow(): Workflow | undefined {
    const { whole } = this.#checked;
    return whole === undefined ? undefined : this.flows[whole]?.workflow;
  }

  modelNeed(jobName: string, params?: Readonly<Record<string, string>>): ModelNeed {
    return modelNeed(this.entry, jobName, this.flows, params);
  }

  /** Undefined for a job that is no workflow. Rejects if it can't begin like this. */
  async begin(start: FlowStart): Promise<WorkflowStart | undefined> {
    if (this.workflow === undefined && Object.keys(start.params ?? {}).length > 0)
      throw new UsageError(
        "Only a workflow (*.wf.md) has parameters. A job gives its workflows theirs.",
      );
    const { options, host } = this.#host;
    const { env, executors, rehearsal: script } = options;
    const begun = await startOfWorkflow(this.#checked, {
      options: {
        ...start,
        environment: host.environment,
        write: (option) => option,
        ...defined({ env, executors }),
      },
      script,
      entry: this.entry,
      limits: this.#limits,
    });
    const need = this.modelNeed(start.jobName, begun?.whole.params);
    if (typeof need === "object") throw new UsageError(noModelNamed(need.unnamed));
    return begun;
  }

  spec({ userInput, workingDirectory: folder, whole, ask }: RunInputs): RunSpec {
    const { options, host, clock, permissions } = this.#host;
    const { env, answers, executors, rehearsal } = options;
    const { environment } = host;
    const workingDirectory = resolve(folder);
    const variables = allowedOf({ environment, env });
    return runSpec({
      entry: this.entry,
      fingerprintOf: this.#checked.entry,
      flows: this.flows,
      specsOf: (run) =>
        flowSpecs(this.flows, {
          ...run,
          environment,
          env,
          answers: { ...rehearsal?.answers, ...answers },
          ask,
          executors,
          clock,
          mark: host.mark,
          confinement: host.confinement,
          redact: () => host.redactor.stream(),
          whole,
        }),
      tools: {
        environment,
        env,
        mark: host.mark,
        confinement: host.confinement,
        redact: () => host.redactor.stream(),
        clock,
        servers: host.mcp.forRun({ workingDirectory, variables }),
      },
      userInput,
      workingDirectory,
      limits: this.#limits,
      permissions,
    });
  }

  get #limits(): ResolvedLimits {
    const { limits, rehearsal, limitNames = setBy(limits, "the JobHost") } = this.#host.options;
    return resolveLimits(
      this.entry.limits,
      rehearsal && { ...rehearsal.limits, setBy: setBy(rehearsal.limits, rehearsal.file) },
      { ...limits, setBy: limitNames },
    );
  }
}
