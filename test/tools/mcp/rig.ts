/** MCP servers for tests: real processes, ended with the test, which checks that none is left. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { McpHost, ServerTools } from "../../../src/tools/toolbox.ts";
import { McpServers, type McpServersOptions } from "../../../src/tools/mcp/servers.ts";
import type { Tool, ToolOutcome, ToolProgress } from "../../../src/tools/tool.ts";
import type { McpServer } from "../../../src/entry/model.ts";
import { createRedactor } from "../../../src/redaction/redactor.ts";
import { processesMarked, sendSignal } from "../../../src/platform/processes.ts";
import { RUN_MARK } from "../../../src/platform/run-folder.ts";
import { makeWorkspace, type Workspace } from "../../rig/workspace.ts";

const here = dirname(fileURLToPath(import.meta.url));
export const fixture = join(here, "fixture.js");
/** Needs of these servers in a sandbox: they and their packages are not in a job's folder. */
export const readsItself = { read: [`${join(here, "../../../..")}/**`] };
/** The published server that shows all of the protocol. */
export const everything = join(
  dirname(
    createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json"),
  ),
  "dist/index.js",
);

export const never: AbortSignal = new AbortController().signal;

export interface McpRig {
  readonly servers: McpServers;
  readonly workspace: Workspace;
  readonly mark: string;
  /** A server that misbehaves like this, and writes to the log. */
  readonly misbehaving: (
    behavior: string,
    more?: Partial<Extract<McpServer, { command: string }>>,
  ) => McpServer;
  /** The lines that misbehaving servers have written. */
  readonly log: () => readonly string[];
  /** Waits for a line that begins like this. */
  readonly logged: (start: string) => Promise<void>;
  /** The pids of the misbehaving servers and of their children. */
  readonly pids: () => readonly number[];
  readonly run: (variables?: Readonly<Record<string, string>>) => McpHost;
}

export async function makeMcpRig(
  t: TestContext,
  options: Partial<McpServersOptions> & { readonly secrets?: readonly string[] } = {},
): Promise<McpRig> {
  const workspace = await makeWorkspace(t);
  const mark = randomUUID();
  const { secrets = [], ...others } = options;
  const redactor = createRedactor(secrets);
  const servers = new McpServers({
    environment: process.env,
    redactor,
    version: "0.0.0",
    mark,
    graceMs: 300,
    ...others,
  });
  t.after(async () => {
    await servers.close();
    const left = await processesMarked(RUN_MARK, mark);
    for (const pid of left) sendSignal(pid, "SIGKILL");
    assert.deepEqual(left, [], "processes are left");
  });
  const logFile = join(workspace.path, "log");
  const log = (): readonly string[] =>
    existsSync(logFile) ? readFileSync(logFile, "utf8").trim().split("\n") : [];
  return {
    servers,
    workspace,
    mark,
    misbehaving: (behavior, more = {}) => ({
      command: process.execPath,
      args: [fixture, behavior, logFile],
      ...more,
    }),
    log,
    logged: (start) => until(() => log().some((line) => line.startsWith(start))),
    pids: () =>
      log()
        .flatMap((line) => /^(?:start|child) (\d+)$/.exec(line)?.[1] ?? [])
        .map(Number),
    run: (variables = {}) => servers.forRun({ workingDirectory: workspace.path, variables }),
  };
}

/** Fails after a minute. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn += 1) {
    assert.ok(turn < 6_000, "it did not come");
    await setTimeout(10);
  }
}

export function ready(found: ServerTools): Extract<ServerTools, { kind: "ready" }> {
  assert.equal(found.kind, "ready", "reason" in found ? found.reason : "");
  return found;
}

export function reasonOf(found: ServerTools): string {
  assert.equal(found.kind, "failed");
  return "reason" in found ? found.reason : "";
}

export function toolNamed(found: ServerTools, name: string): Tool {
  const tool = ready(found).tools.find((one) => one.name === name);
  assert.ok(tool, `no tool ${name}`);
  return tool;
}

export async function call(
  tool: Tool,
  params: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal = never,
  onProgress: (progress: ToolProgress) => void = () => {},
): Promise<ToolOutcome> {
  return tool.run({ id: "a", tool: tool.name, params }, { signal, onProgress });
}

export function failure(outcome: ToolOutcome): string {
  assert.equal(outcome.kind, "failed", JSON.stringify(outcome).slice(0, 300));
  return outcome.kind === "failed" ? outcome.reason : "";
}

export function value(outcome: ToolOutcome): unknown {
  assert.equal(outcome.kind, "succeeded", JSON.stringify(outcome).slice(0, 300));
  return outcome.kind === "succeeded" ? outcome.value : undefined;
}

/** The published server on a free port of loopback, until the end of the test. */
export async function startEverything(
  t: TestContext,
): Promise<{ readonly url: string; readonly end: () => Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  t.after(end);
  let errors = "";
  for await (const piece of child.stderr.setEncoding("utf8")) {
    errors += String(piece);
    if (/listening/i.test(errors)) break;
  }
  assert.match(errors, /listening/i);
  return { url: `http://127.0.0.1:${port}/mcp`, end };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
