/** What the entry of a run offers to its tasks, as far as the permissions of each allow it. */
import type { Entry, Permissions } from "../entry/model.ts";
import type { Clock } from "../events/clock.ts";
import type { TextStream } from "../events/text-stream.ts";
import type { Environment } from "../platform/environment.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import type { McpHost } from "./mcp-host.ts";
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

export interface ToolboxOptions {
  readonly declarations: Pick<Entry<number>, "tools" | "mcpServers">;
  /** Where commands run and what modules are relative to: the job's. Absolute. */
  readonly workingDirectory: string;
  /** Of this process. Tools see what is on the allow-list for every process, and `variables`. */
  readonly environment: Environment;
  /** What the caller has allowed in addition (`--env NAME`), and what the run itself sets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** For what tools print, and for why they fail. */
  readonly redact: () => TextStream;
  readonly clock: Clock;
  /** For files of the toolbox. Its mark is in the environment of each process. The caller removes it. */
  readonly folder: RunFolder;
  /** Default: each declared server fails. */
  readonly servers?: McpHost;
  /** Default: none. */
  readonly relics?: Toolbox["relicsFor"];
  /** How long processes may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number;
}

/** Starts nothing: processes and servers start with the first use. */
export function createToolbox({ relics = () => [] }: ToolboxOptions): Toolbox {
  return {
    toolsFor: () => Promise.resolve({ tools: [], failures: [] }),
    relicsFor: relics,
    close: () => Promise.resolve(),
  };
}
