/** What the toolbox of a run needs of the MCP servers of its entry. */
import type { McpServer } from "../../entry/model.ts";
import type { Sandbox } from "../../platform/sandbox.ts";
import type { Tool } from "../tool.ts";

export interface McpHost {
  /** Another one whenever a server of the run has announced that its tools have changed. */
  readonly version: number;
  /**
   * Starts the server, or uses the one that runs already. Never rejects. The tools are named `server/tool`; their
   * results and reasons are redacted. An abort of `signal` ends the wait, with a failure.
   */
  toolsOf(
    name: string,
    declaration: McpServer,
    signal: AbortSignal,
    sandbox?: Sandbox,
  ): Promise<ServerTools>;
}

export type ServerTools =
  | {
      readonly kind: "ready";
      readonly tools: readonly Tool[];
      /** In sentences, each once in a run: tools that can't be offered, and that it was started again. */
      readonly problems?: readonly string[];
    }
  | { readonly kind: "failed"; readonly reason: string };
