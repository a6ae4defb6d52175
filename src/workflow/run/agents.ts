/**
 * The sessions of the agents of a workflow. After a crash, an `Assistant` prompt or a resumption, a new one is given
 * the conversation so far. An agent has at most one open session; every session that was started is ended.
 */
import {
  closeSession,
  offeredTools,
  openSession,
  type OpeningContext,
} from "../../engine/open-session.ts";
import type { Session, ToolSource } from "../../engine/ports.ts";
import type { SessionSource } from "../../engine/send-prompt.ts";
import type { Permissions } from "../../entry/model.ts";
import type { Conversation } from "./state.ts";

export interface AgentOptions {
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  readonly tools: readonly string[];
  readonly toolSource: ToolSource | undefined;
}

export class Agents {
  readonly #context: OpeningContext;
  readonly #options: AgentOptions;
  /** `known`: how many messages of the conversation the session knows. */
  readonly #open = new Map<number, { readonly session: Session; known: number }>();
  readonly #reported = new Set<string>();

  constructor(context: OpeningContext, options: AgentOptions) {
    this.#context = context;
    this.#options = options;
  }

  source(agent: number, conversation: Conversation): SessionSource {
    const { system, messages } = conversation;
    return {
      acquire: async (modelId, attempt, signal) => {
        const open = this.#open.get(agent);
        if (open?.known === messages.length) return { kind: "opened", session: open.session };
        await this.#close(agent, true);
        const { workingDirectory, permissions, tools } = this.#options;
        const tooling = { ...this.#options, only: tools, reported: this.#reported };
        const own = await offeredTools(this.#context, tooling, signal);
        if (this.#context.scope.stopped !== undefined) return { kind: "canceled", toolCalls: [] };
        if ("crash" in own) return own;
        const acquired = await openSession(this.#context, {
          role: "task",
          retry: 0,
          attempt,
          modelId,
          signal,
          workingDirectory,
          permissions,
          availableTools: [...new Set([...tools, ...(own.tools ?? []).map(({ name }) => name)])],
          ...own,
          ...(messages.length === 0 ? {} : { history: messages }),
          ...(system === undefined ? {} : { systemPrompt: { mode: "replace", text: system } }),
        });
        if (acquired.kind === "opened")
          this.#open.set(agent, { session: acquired.session, known: messages.length });
        return acquired;
      },
      discard: () => this.discard(agent),
    };
  }

  /** Its next prompt gets a session that is given the conversation. */
  discard(agent: number): Promise<void> {
    return this.#close(agent, false);
  }

  /** Its session has answered: it knows the prompt and the answer. */
  answered(agent: number): void {
    const open = this.#open.get(agent);
    if (open !== undefined) open.known += 2;
  }

  /** Ends the sessions of agents that nobody can prompt any more. */
  async keep(agents: Readonly<Record<number, unknown>>): Promise<void> {
    for (const agent of this.#open.keys()) {
      if (!Object.hasOwn(agents, agent)) await this.#close(agent, true);
    }
  }

  async close(succeeded: boolean): Promise<void> {
    await Promise.all([...this.#open.keys()].map((agent) => this.#close(agent, succeeded)));
  }

  async #close(agent: number, succeeded: boolean): Promise<void> {
    const open = this.#open.get(agent);
    if (open === undefined) return;
    this.#open.delete(agent);
    await closeSession(this.#context, open.session, "task", succeeded);
  }
}
