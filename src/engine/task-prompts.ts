/**
 * What a task adds to the sending of a prompt: its variables, the session of each purpose, its models,
 * and the work that the events belong to.
 */
import type { ExpandedPrompt } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { Purpose } from "../events/decision.ts";
import { MANAGED_ATTEMPTS, roundRobin, sameModel, type Attempts } from "./attempts.ts";
import type { Judged } from "./criteria.ts";
import { sendPrompt } from "./send-prompt.ts";
import type { Sender } from "./sender.ts";
import { SessionKeeper } from "./session-keeper.ts";
import type { TaskContext } from "./task-context.ts";

export interface TaskPrompt {
  readonly purpose: Purpose;
  readonly role: "driving" | "task";
  readonly prompt: ExpandedPrompt;
  /** 0, else the criteria retry that this is a part of. */
  readonly retry: number;
  /** Whether a turn that completed has served its purpose; a session of its own ends with that. */
  readonly wentWell: (judged: Judged) => boolean;
}

export type Sent =
  | ({ readonly kind: "completed" } & Judged)
  /** No attempt is left. */
  | { readonly kind: "exhausted"; readonly crash: Crash }
  | { readonly kind: "stopped" };

export class TaskPrompts {
  readonly #context: TaskContext;
  readonly #keeper: SessionKeeper;
  readonly #sender: Sender;

  constructor(context: TaskContext) {
    const { ports, scope, limits, budgets, latest, latestOfRun, work, nextTurnId } = context;
    this.#context = context;
    this.#keeper = new SessionKeeper(context);
    this.#sender = {
      ports,
      scope,
      limits,
      budgets,
      nextTurnId,
      subject: `task "${work.taskId}"`,
      emit: (event) => ports.emit({ ...event, work }),
      onAttempt: (attempt, attempts) => {
        for (const one of [latest, latestOfRun]) Object.assign(one, { attempt, attempts });
      },
    };
  }

  async send({ purpose, role, prompt, retry, wentWell }: TaskPrompt): Promise<Sent> {
    const { variables, scope, mode } = this.#context;
    const outcome = await sendPrompt(this.#sender, {
      purpose,
      retry,
      text: () => variables.expand(prompt),
      attempts: this.#attempts(role),
      lent: mode.kind === "borrowed",
      sessions: this.#keeper.source(role, retry),
      onTurn: ({ toolCalls }) => variables.report(toolCalls),
    });
    switch (outcome.kind) {
      case "canceled":
        return { kind: "stopped" };
      case "crashed":
        return { kind: "exhausted", crash: outcome.crash };
      case "completed":
      case "cut": {
        const judged = { toolCalls: outcome.toolCalls, cut: outcome.kind === "cut" };
        await this.#keeper.purposeServed(wentWell(judged));
        return scope.stopped === undefined ? { kind: "completed", ...judged } : { kind: "stopped" };
      }
    }
  }

  /** Ends the session that is open, if there is one. */
  end(succeeded: boolean): Promise<void> {
    return this.#keeper.end(succeeded);
  }

  #attempts(role: "driving" | "task"): Attempts {
    const { entry, mode, modelId } = this.#context;
    const { driving } = entry.models;
    const budgets = entry.drivingSessionRetries;
    switch (mode.kind) {
      case "borrowed":
        return sameModel(mode.session.modelId, 1);
      case "single":
        return sameModel(modelId, MANAGED_ATTEMPTS);
      case "multiple":
        if (role === "task") return sameModel(modelId, MANAGED_ATTEMPTS);
        return budgets === undefined
          ? sameModel(driving, MANAGED_ATTEMPTS)
          : roundRobin(driving, budgets);
    }
  }
}
