import type { PreparedTask } from "../entry/model.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { Dialogue } from "./dialogue.ts";
import type { Given, JobData } from "./job-data.ts";
import type { CallBudget, UsageBudget } from "./budgets.ts";
import type { Deadline, ResolvedLimits } from "./limits.ts";
import type { LastErrors, Scope } from "./scope.ts";
import type { RunSpec } from "./plan.ts";
import type { Crashed, EnginePorts, Session, SessionTool } from "./ports.ts";
import type { Variables } from "./variables.ts";

/** What the steps of a job share. */
export interface JobContext {
  readonly spec: RunSpec;
  readonly ports: EnginePorts;
  readonly jobScope: Scope;
  readonly usage: UsageBudget;
  readonly data: JobData;
  readonly lastErrors: LastErrors;
  readonly nextTurnId: () => string;
}

/** A task to run: a step of the job, or one that a step delegates. */
export interface TaskInput {
  readonly work: WorkRef;
  readonly scope: Scope;
  readonly modelId: string;
  readonly userInput: string;
  readonly previousTask: string | undefined;
  readonly previousResult?: string | undefined;
  readonly ignoresAvailability?: boolean | undefined;
  readonly borrowed?: Session | undefined;
  /** How many tasks delegate to it, and the deadline of the nearest one. */
  readonly depth: number;
  readonly around?: Deadline;
}

export interface TaskContext extends JobContext, TaskInput {
  readonly task: PreparedTask;
  readonly limits: ResolvedLimits;
  /** Each check and each prompt has a session of its own. */
  readonly isMultiple: boolean;
  readonly variables: Variables;
  readonly calls: CallBudget;
  readonly deadline: Deadline;
  readonly given: Given;
  readonly jobTools: readonly SessionTool[];
  /** Whether a file of `criteria.changed` differs from the start of the task. */
  readonly isChanged: () => Promise<boolean>;
  readonly startDialogue: (() => Promise<Dialogue | Crashed>) | undefined;
}

export function decide(
  { ports, work }: Pick<TaskContext, "ports" | "work">,
  decision: MadeDecision,
): void {
  ports.emit({ type: "decision", work, decision });
}
