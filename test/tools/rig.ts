/** A toolbox with real processes in a folder of its own, and a clock that stands still. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { startCall, type CallEnd, type RunningCall } from "../../src/tools/call.ts";
import { createToolbox, type Toolbox, type ToolboxOptions } from "../../src/tools/toolbox.ts";
import type { Tool, ToolOutcome, ToolProgress } from "../../src/tools/tool.ts";
import type { ToolDeclaration } from "../../src/entry/model.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { makeTemporaryDirectory, removeDirectory } from "../../src/platform/files.ts";
import { makeRunFolder, RUN_MARK } from "../../src/platform/run-folder.ts";
import { processesMarked } from "../../src/platform/processes.ts";
import { StillClock } from "../workflow/run/scripts-rig.ts";

export const secret = "s3cr3t-of-the-tests";

export type Declared = Omit<ToolDeclaration, "description" | "parameters"> &
  ({ readonly command: readonly string[] } | { readonly module: string; readonly export?: string });

export interface CallsRig {
  readonly toolbox: Toolbox;
  readonly workspace: string;
  readonly clock: StillClock;
  readonly tool: (name: string) => Promise<Tool>;
  /** Runs a call to its end, without a time limit. */
  readonly call: (name: string, params?: Readonly<Record<string, unknown>>) => Promise<Called>;
  /** The value that a call returns. */
  readonly resultOf: (name: string, params?: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** Why a call fails. */
  readonly failure: (
    name: string,
    params?: Readonly<Record<string, unknown>>,
  ) => Promise<ReturnType<typeof failureOf>>;
  /** Starts a call with a time limit of a minute of the clock, which stands still. */
  readonly start: (name: string, onProgress?: (progress: ToolProgress) => void) => Promise<Started>;
  /** The pids of all processes of the run that are there. */
  readonly leftovers: () => Promise<number[]>;
}

export interface Called {
  readonly outcome: ToolOutcome;
  readonly progress: readonly ToolProgress[];
}

export interface Started extends RunningCall {
  /** Resolves with the first progress that has this text, or this percentage. */
  readonly said: (text: string, percent?: number) => Promise<ToolProgress>;
}

/** Tools that need no files. */
export function toolsRig(
  t: TestContext,
  tools: Readonly<Record<string, Declared>>,
  options?: Partial<ToolboxOptions>,
): Promise<CallsRig> {
  return callsRig(t, {}, tools, options);
}

/** `files`: by path in the working directory; those that begin with `#!` can be executed. */
export async function callsRig(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  tools: Readonly<Record<string, Declared>>,
  options: Partial<ToolboxOptions> = {},
): Promise<CallsRig> {
  const folder = await makeRunFolder("calls-");
  t.after(() => removeDirectory(folder.path));
  const workspace = realpathSync(await makeTemporaryDirectory("calls-"));
  t.after(() => removeDirectory(workspace));
  writeFiles(workspace, files);
  const clock = new StillClock();
  const toolbox = createToolbox({
    declarations: {
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, declared]) => [
          name,
          { description: name, parameters: { type: "object" }, ...declared },
        ]),
      ),
    },
    workingDirectory: workspace,
    environment: process.env,
    redact: createRedactor([secret]).stream,
    clock,
    folder,
    graceMs: 200,
    ...options,
  });
  t.after(() => toolbox.close());
  const tool = async (name: string): Promise<Tool> => {
    const { tools: all } = await toolbox.toolsFor("all", new AbortController().signal);
    const found = all.find((one) => one.name === name);
    if (found === undefined) throw new Error(`There is no tool ${name}.`);
    return found;
  };
  const call: CallsRig["call"] = async (name, params = {}) => {
    const progress: ToolProgress[] = [];
    const { signal } = new AbortController();
    const context = { signal, onProgress: (one: ToolProgress) => void progress.push(one) };
    const outcome = await (await tool(name)).run({ id: "call", tool: name, params }, context);
    return { outcome, progress };
  };
  return {
    toolbox,
    workspace,
    clock,
    tool,
    call,
    async resultOf(name, params) {
      const { outcome } = await call(name, params);
      return outcome.kind === "succeeded" ? outcome.value : assert.fail(JSON.stringify(outcome));
    },
    failure: async (name, params) => failureOf((await call(name, params)).outcome),
    start: async (name) => {
      const called = await tool(name);
      const heard: ToolProgress[] = [];
      let listen: () => void = () => {};
      const running = startCall(
        (context) => called.run({ id: "a", tool: name, params: {} }, context),
        {
          clock,
          seconds: 60,
          graceSeconds: 3600,
          onProgress: (progress) => {
            heard.push(progress);
            listen();
          },
        },
      );
      const said = (text: string, wanted?: number): Promise<ToolProgress> =>
        new Promise((resolve, reject) => {
          listen = () => {
            const found = heard.find(({ message, percent }) =>
              wanted === undefined ? message?.includes(text) : percent === wanted,
            );
            if (found !== undefined) resolve(found);
          };
          listen();
          void running.ended.then((end) => reject(new Error(`It ended: ${JSON.stringify(end)}`)));
        });
      return { ...running, said };
    },
    leftovers: () => processesMarked(RUN_MARK, folder.mark),
  };
}

export function writeFiles(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    if (text.startsWith("#!")) chmodSync(path, 0o755);
  }
}

/** The reason of an outcome that is a failure. */
export function failureOf(outcome: CallEnd): { readonly reason: string; readonly tail: string } {
  if (outcome.kind !== "failed") throw new Error(`It didn't fail: ${JSON.stringify(outcome)}`);
  return { reason: outcome.reason, tail: outcome.tail ?? "" };
}
