import type { PreparedTask } from "../entry/model.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { Crashed, Dialogue } from "./dialogue.ts";
import type { Budgets, Deadline } from "./limits.ts";
import type { Given } from "./job-data.ts";
import type { LastErrors } from "./outcome.ts";
import type { RunSpec } from "./plan.ts";
import type { EnginePorts, Session, SessionTool } from "./ports.ts";
import type { CommandContext } from "./run-command.ts";
import type { Scope } from "./scope.ts";
import type { Variables } from "./variables.ts";

export interface TaskContext {
  readonly spec: RunSpec;
  readonly task: PreparedTask;
  readonly work: WorkRef;
  readonly mode:
    | { readonly kind: "single" | "multiple" }
    | { readonly kind: "borrowed"; readonly session: Session };
  readonly modelId: string;
  readonly variables: Variables;
  readonly scope: Scope;
  readonly budgets: Budgets;
  readonly given: Given;
  readonly jobTools: readonly SessionTool[];
  readonly commands: CommandContext;
  /** Whether a file of `criteria.changed` differs from the start of the task. */
  readonly isChanged: () => Promise<boolean>;
  readonly lastErrors: LastErrors;
  readonly nextTurnId: () => string;
  readonly startDialogue: ((deadline: Deadline) => Promise<Dialogue | Crashed>) | undefined;
  /** Of the task that has delegated it. */
  readonly around: Deadline | undefined;
  readonly ports: EnginePorts;
}

export function decide(context: TaskContext, decision: MadeDecision): void {
  context.ports.emit({ type: "decision", work: context.work, decision });
}
