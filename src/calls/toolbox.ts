/** What the entry of a run offers to its tasks, as far as the permissions of each allow it. */
import type { Permissions } from "../entry/model.ts";
import type { Relic, Tool } from "./tool.ts";

export interface Toolbox {
  /**
   * The tools that `permissions.tools` allows, those of MCP servers included: these are started if they have not been.
   * Never throws. `failures`: servers that can't be used.
   */
  toolsFor(
    permissions: Permissions,
    signal: AbortSignal,
  ): Promise<{
    readonly tools: readonly Tool[];
    readonly failures: readonly { readonly server: string; readonly reason: string }[];
  }>;
  /** By name. They read what the permissions allow. */
  relicsFor(names: readonly string[] | undefined, permissions: Permissions): readonly Relic[];
  /** Cancels builds and calls that are under way. Bounded in time, never throws. */
  close(): Promise<void>;
}
