/** The engine's port for a Markdown workflow: a leaf of a job that sends its own prompts. */
import type { FlowChart } from "../events/flow.ts";
import type { Permissions } from "../entry/model.ts";
import type { WorkOutcome, WorkRef } from "../events/event.ts";
import type { UnderWay } from "./past.ts";
import type { UsageBudget } from "./budgets.ts";
import type { LastErrors } from "./outcome.ts";
import type { EnginePorts, ToolSource } from "./ports.ts";
import type { Scope } from "./scope.ts";

export interface FlowSpec {
  readonly modelId: string;
  readonly permissions: Permissions;
  readonly chart: FlowChart;
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly toolSource?: ToolSource | undefined;
  /** Never throws. Emits the steps; the engine emits the start and the end of the work. */
  readonly run: (context: FlowContext) => Promise<FlowEnd>;
}

export type FlowEnd = WorkOutcome & { readonly report?: string };

export interface FlowContext {
  readonly work: WorkRef;
  /** Stops with the job. The engine disposes of it. */
  readonly scope: Scope;
  /** The budget of the whole job. A workflow with limits of its own counts against a `child` of it. */
  readonly usage: UsageBudget;
  readonly params: Readonly<Record<string, string>>;
  readonly userInput: string;
  readonly workingDirectory: string;
  /** The workflow continues after these steps. */
  readonly past?: UnderWay | undefined;
  readonly nextTurnId: () => string;
  readonly lastErrors: LastErrors;
  readonly ports: EnginePorts;
}
