/** Tools of an entry in an application: on the real runtime, as real commands. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { JobHost } from "../../src/live/job-host.ts";
import type { Entry, Task, ToolDeclaration, Work } from "../../src/entry/model.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { isRunning, processesMarked } from "../../src/platform/processes.ts";
import { startModelServer, type Script } from "../rig/model-server.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { until } from "../sessions/rig.ts";

function tool(script: string, more: Partial<ToolDeclaration> = {}): ToolDeclaration {
  const command = [process.execPath, "-e", script];
  return { description: "A tool.", parameters: { type: "object" }, command, ...more };
}

interface Rig {
  readonly host: JobHost;
  readonly workspace: Workspace;
  readonly events: RunEvent[];
  readonly prompts: readonly string[];
  readonly results: readonly string[];
  /** What is in a file of the workspace; undefined if it isn't there. */
  readonly read: (name: string) => Promise<string | undefined>;
}

interface Setup {
  readonly tools: Entry["tools"];
  readonly script: Script;
  readonly tasks?: Readonly<Record<string, Partial<Task>>>;
  readonly work?: Work;
  readonly environment?: Readonly<Record<string, string>>;
  readonly env?: readonly string[];
}

async function makeRig(t: TestContext, setup: Setup): Promise<Rig> {
  const { tools, script, tasks = { only: {} }, environment = {}, env } = setup;
  const { work = { kind: "Ref", taskId: Object.keys(tasks)[0] ?? "" } } = setup;
  const model = { category: "driving" } as const;
  const server = await startModelServer(script);
  const workspace = await makeWorkspace(t);
  const events: RunEvent[] = [];
  const host = new JobHost({
    provider: { baseUrl: server.baseUrl },
    environment: { ...process.env, ...environment },
    reporters: [{ report: (event) => void events.push(event) }],
    ...(env === undefined ? {} : { env }),
  });
  t.after(async () => {
    await host.close();
    await server.close();
  });
  await host.installJobsEntry({
    models: { driving: "m" },
    permissions: { preset: "workspace", tools: ["*"] },
    ...(tools === undefined ? {} : { tools }),
    tasks: Object.fromEntries(
      Object.entries(tasks).map(([name, task]) => [name, { model, prompt: name, ...task }]),
    ),
    jobs: { job: { work } },
  });
  return {
    host,
    workspace,
    events,
    get prompts() {
      return server.requests.map(({ prompt }) => prompt);
    },
    get results() {
      return server.requests.at(-1)?.toolResults ?? [];
    },
    read: (name) => readFile(join(workspace.path, name), "utf8").catch(() => undefined),
  };
}

const once =
  (name: string): Script =>
  ({ toolResults }) =>
    toolResults.length > 0 ? { text: "Done" } : { toolCalls: [{ name }] };

describe("a tool of an installed entry", () => {
  it("ends with a run that is canceled, with every process it has started", async (t) => {
    const script = `
      const { spawn } = require("node:child_process");
      spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
      require("node:fs").writeFileSync("begun", "");
      setInterval(() => {}, 1000);`;
    // Programs in a sandbox don't know the numbers of their processes outside.
    const MARK = randomUUID();
    const rig = await makeRig(t, {
      tools: { build: tool(script) },
      script: once("build"),
      environment: { MARK },
      env: ["MARK"],
    });
    const stop = new AbortController();
    const running = rig.host.runJob("job", {
      workingDirectory: rig.workspace.path,
      signal: stop.signal,
    });
    await until(async () => (await rig.read("begun")) !== undefined, "the tool began");
    const pids = await processesMarked("MARK", MARK);
    stop.abort();
    assert.equal((await running).outcome.kind, "canceled");
    assert.ok(pids.length >= 2, pids.join());
    // An orphan that has ended may still wait for init.
    await until(() => !pids.some((pid) => isRunning(pid)), "the end of the tool and its child");
  });

  it("does not run twice at once in a run, unless it is parallelSafe", async (t) => {
    const alone = `
      const { appendFileSync } = require("node:fs");
      appendFileSync("alone", "<");
      setTimeout(() => appendFileSync("alone", ">"), 300);`;
    // Waits for another one to begin.
    const beside = `
      const { appendFileSync, readFileSync } = require("node:fs");
      appendFileSync("beside", "<");
      const end = Date.now() + 20_000;
      const look = () => {
        if (readFileSync("beside", "utf8").startsWith("<<")) return;
        if (Date.now() > end) appendFileSync("beside", ">");
        else setTimeout(look, 20);
      };
      look();`;
    const rig = await makeRig(t, {
      tools: { alone: tool(alone), beside: tool(beside, { parallelSafe: true }) },
      tasks: { first: {}, second: {} },
      work: {
        kind: "Par",
        works: [
          { kind: "Ref", taskId: "first" },
          { kind: "Ref", taskId: "second" },
        ],
      },
      script: ({ toolResults }) =>
        toolResults.length > 0
          ? { text: "Done" }
          : {
              toolCalls: ["alone", "beside", "alone", "beside"].map((name, index) => ({
                name,
                id: `call-${index}`,
              })),
            },
    });
    const { outcome } = await rig.host.runJob("job", { workingDirectory: rig.workspace.path });
    assert.equal(outcome.kind, "succeeded");
    assert.equal(await rig.read("alone"), "<><><><>");
    assert.equal(await rig.read("beside"), "<<<<");
  });
});
