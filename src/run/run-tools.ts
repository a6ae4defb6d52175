/** Tools that the entry of a run offers to its tasks: made for the first session that needs them, ended with the run. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EntryTools, McpHost } from "../tools/toolbox.ts";
import type { ModelCalls } from "../tools/model-calls.ts";
import type { Tool } from "../tools/tool.ts";
import type { SessionTool, ToolOffer, ToolSource } from "../engine/ports.ts";
import type { Permissions, PreparedEntry } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import { removeDirectory } from "../platform/files.ts";
import { makeRunFolder, type RunFolder } from "../platform/run-folder.ts";
import { allowedForPrograms } from "./variables.ts";
import type { Flows, ProgramSettings } from "./workflow-run.ts";
import type { RunTrace } from "./telemetry.ts";
import { within } from "../platform/waiting.ts";
import { realFiles } from "../sessions/permission-handler.ts";

export interface RunToolsOptions extends ProgramSettings {
  /** Called if the entry declares servers. */
  readonly servers?: (() => Promise<McpHost | undefined>) | undefined;
  readonly entry: PreparedEntry;
  readonly flows?: Flows | undefined;
  readonly workingDirectory: string;
  readonly trace?: RunTrace | undefined;
  /** An earlier part of the run may have written to the working directory. */
  readonly resumed?: boolean;
}

const closeMs = 5_000;

interface Opened {
  readonly toolbox: EntryTools;
  readonly calls: ModelCalls;
  readonly folder: RunFolder;
  /** The folder of `keep`, which agents may read. */
  readonly results: string;
}

export class RunTools implements ToolSource {
  readonly #options: RunToolsOptions;
  #opening: Promise<Opened> | undefined;
  #closing: Promise<void> | undefined;
  #kept = 0;

  constructor(options: RunToolsOptions) {
    this.#options = options;
  }

  /** Before an agent can change what the tools are made of; the client would block sessions for too long. */
  async prepare(): Promise<void> {
    await this.open().catch(() => undefined);
    if (Object.keys(this.#options.entry.mcpServers ?? {}).length === 0) return;
    const { loadClient } = await import("../tools/mcp/connection.ts");
    // Whoever needs it finds out why it can't be loaded.
    await loadClient().catch(() => undefined);
  }

  async refusal(permissions: Permissions, tools: readonly Tool[]): Promise<Crash | undefined> {
    if (!tools.some(({ startsPrograms }) => startsPrograms === true)) return undefined;
    return this.#options.confinement?.refusal(permissions);
  }

  async keep(name: string, text: string): Promise<string> {
    const { results } = await this.open();
    const plain = name.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(0, 64);
    const path = join(results, `${(this.#kept += 1)}-${plain}.txt`);
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return path;
  }

  /** Idempotent, bounded in time, never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async offer(
    permissions: Permissions,
    signal: AbortSignal,
    only?: readonly string[],
  ): Promise<ToolOffer> {
    if (this.#closing !== undefined) return { tools: [], failures: [] };
    const { toolbox, results, calls } = await this.open();
    const { tools, failures, changed } = await toolbox.toolsFor(permissions, signal, only);
    const sessionTools = (all: readonly Tool[]): SessionTool[] =>
      all.map((tool) => this.#sessionTool(tool, calls));
    return {
      tools: sessionTools(tools),
      readable: [results],
      failures,
      changed: async (now) => {
        const next = await changed(now);
        return next && { ...next, tools: sessionTools(next.tools) };
      },
    };
  }

  #sessionTool(tool: Tool, calls: ModelCalls): SessionTool {
    const { name, description = "", parameters, startsPrograms = false } = tool;
    return {
      name,
      startsPrograms,
      description,
      parameters: { ...parameters },
      // The call has a limit of its own, which begins when the call does.
      timeoutSeconds: Infinity,
      run: (given, { toolCallId: id, sessionId, signal, onProgress }) => {
        const traceparent = this.#options.trace?.traceparentOf(sessionId, id);
        return calls.call(tool, { id, given, signal, onProgress, traceparent });
      },
    };
  }

  /** Rejects if the folder of the run can't be made. */
  open(): Promise<Opened> {
    this.#opening ??= this.#make();
    return this.#opening;
  }

  async #make(): Promise<Opened> {
    const { entry, flows, env, environment, mark, servers, confinement, readable, ...options } =
      this.#options;
    const { resumed = false } = options;
    const { createToolbox } = await import("../tools/toolbox.ts");
    const { createRelics } = await import("../tools/relics.ts");
    const { ModelCalls: Calls } = await import("../tools/model-calls.ts");
    const { RESULTS } = await import("../tools/tool-programs.ts");
    const hasServers = Object.keys(entry.mcpServers ?? {}).length > 0;
    const folder = await makeRunFolder("tools-", mark);
    const results = join(folder.path, "results");
    await mkdir(results, { mode: 0o700 });
    const toolbox = createToolbox({
      ...options,
      declarations: entry,
      environment,
      variables: {
        ...allowedForPrograms(entry, { environment, env }, flows),
        [RESULTS]: results,
      },
      folder,
      hasWriters: confinement && (() => resumed || confinement.hasWriters),
      confine:
        confinement &&
        ((permissions) =>
          confinement.ofProgram(
            permissions,
            { workingDirectory: options.workingDirectory, readable },
            { readable: [folder.path] },
          )),
      servers: hasServers ? await servers?.() : undefined,
      relics: createRelics({ ...options, declarations: entry.relics ?? {}, files: realFiles }),
    });
    const keep = (tool: string, text: string): Promise<string> => this.keep(tool, text);
    return { toolbox, folder, results, calls: new Calls({ clock: options.clock, keep }) };
  }

  async #close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    if (opened === undefined) return;
    const { toolbox, folder } = opened;
    await within(toolbox.close(), closeMs, this.#options.clock).catch(() => undefined);
    await removeDirectory(folder.path).catch(() => undefined);
  }
}

/** Undefined if the entry has nothing to call. */
export function runTools(options: RunToolsOptions): RunTools | undefined {
  const { tools, mcpServers, tasks } = options.entry;
  const declared = { ...tools, ...mcpServers };
  const hasProtocol = Object.values(tasks).some(({ protocol }) => protocol !== undefined);
  return Object.keys(declared).length === 0 && !hasProtocol ? undefined : new RunTools(options);
}
