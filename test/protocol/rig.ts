/** Tools and documents for tests of the action protocol. */
import { readFileSync } from "node:fs";
import type { ActionEvent } from "../../src/events/action.ts";
import {
  type ActionExecutor,
  createActionExecutor,
  type ExecutorOptions,
  type Turn,
} from "../../src/protocol/executor.ts";
import type { ExecuteOptions } from "../../src/protocol/executor.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import type { Tool, ToolOutcome } from "../../src/tools/tool.ts";
import type { ProtocolProblem } from "../../src/protocol/read-message.ts";

const folder = new URL("../../../test/fixtures/action-protocol/", import.meta.url);

/** The text of a prototype of the protocol, 1 to 6. */
export function prototype(number: number): string {
  return readFileSync(new URL(`prototype-${number}.json`, folder), "utf8");
}

export const anyParams = { type: "object" };

export function tool(
  name: string,
  parts: Partial<Tool> & { readonly returns?: unknown } = {},
): Tool {
  const { returns = `${name} done`, ...rest } = parts;
  const outcome: ToolOutcome = { kind: "succeeded", value: returns };
  return { name, parameters: anyParams, run: () => Promise.resolve(outcome), ...rest };
}

export type Json = Readonly<Record<string, unknown>>;

export function action(name: string, fields: Json = {}): Json {
  return { action: name, type: "tool", params: {}, ...fields };
}

export function group(id: string, members: readonly Json[], fields: Json = {}): Json {
  return { action: "group", type: "internal", action_id: id, sub_actions: members, ...fields };
}

export function documentOf(actions: readonly Json[] | null, fields: Json = {}): string {
  return JSON.stringify({
    status: "EXECUTING",
    thoughts: [],
    actions,
    stop: false,
    response: null,
    ...fields,
  });
}

/** `code path`, for comparison. */
export function shortly(problems: readonly ProtocolProblem[]): string[] {
  return problems.map(({ code, path }) => `${code} ${path}`);
}

export function internal(name: string, params: Json, fields: Json = {}): Json {
  return { action: name, type: "internal", params, ...fields };
}

/** Calls of tools of the bench: `slow` goes on in the background. */
export const safe = (id: string, params: Json = {}, fields: Json = {}): Json =>
  action("safe", { action_id: id, params, ...fields });
export const slow = (id: string, params: Json = {}, fields: Json = {}): Json =>
  action("slow", { action_id: id, params, execution: "ASYNC", ...fields });

type Answer = string | readonly Json[] | undefined;

export interface Bench {
  readonly executor: ActionExecutor;
  readonly clock: FakeClock;
  readonly events: ActionEvent[];
  /** The ids of the actions that were called, in order. */
  readonly started: string[];
  readonly ended: string[];
  /** Executes an answer, or a document with actions and fields, and lets time pass until it is done. */
  readonly execute: (answer: Answer, fields?: Json, options?: ExecuteOptions) => Promise<Turn>;
  /** Executes it, and returns the results for the next prompt: `id status text`. */
  readonly results: (answer: Answer, fields?: Json) => Promise<string[]>;
  readonly until: <T>(promise: Promise<T>) => Promise<T>;
}

/** A tool whose calls are scripted by their params: `{ returns, fails, seconds, stubborn, percent, says }`. */
export function scripted(
  clock: FakeClock,
  name: string,
  { usual = 0, onCall, ...parts }: Partial<Tool> & Scripting = {},
): Tool {
  return {
    name,
    parameters: anyParams,
    timeoutSeconds: 60,
    ...parts,
    run: async ({ id, params }, { signal, onProgress }) => {
      onCall?.(id, "started");
      const { returns = `${id} done`, fails, seconds = usual, stubborn, percent, says } = params;
      if (typeof percent === "number") onProgress({ percent, message: "working" });
      if (typeof says === "string") onProgress({ percent: 10, message: says });
      if (Number(seconds) > 0) {
        await clock.sleep(Number(seconds) * 1000, stubborn === true ? undefined : signal);
      }
      onCall?.(id, "ended");
      return typeof fails === "string"
        ? { kind: "failed", reason: fails, tail: "the end of stderr" }
        : { kind: "succeeded", value: returns };
    },
  };
}

interface Scripting {
  /** Seconds of a call that names none. */
  readonly usual?: number;
  readonly onCall?: (id: string, what: "started" | "ended") => void;
}

/** `slow` takes 10 seconds unless it is told otherwise, `unsafe` and `unsafe2` are not parallelSafe, `read` only reads. */
export function bench(options: Partial<ExecutorOptions> = {}): Bench {
  const clock = new FakeClock();
  const events: ActionEvent[] = [];
  const started: string[] = [];
  const ended: string[] = [];
  const own = (name: string, parts: Partial<Tool>, usual = 0): Tool =>
    scripted(clock, name, {
      ...parts,
      usual,
      onCall: (id, what) => void { started, ended }[what].push(id),
    });
  const executor = createActionExecutor({
    tools: [
      own("safe", { parallelSafe: true }),
      own("slow", { parallelSafe: true }, 10),
      own("unsafe", {}),
      own("unsafe2", {}),
      own("read", { parallelSafe: true, readOnly: true }),
      own("lookup", { readOnly: true }),
    ],
    clock,
    emit: (event) => events.push(event),
    ...options,
  });
  const until = <T>(promise: Promise<T>): Promise<T> => clock.runUntil(promise);
  const execute: Bench["execute"] = (answer, fields, more) =>
    until(executor.execute(Array.isArray(answer) ? documentOf(answer, fields) : answer, more));
  return {
    executor,
    clock,
    events,
    started,
    ended,
    until,
    execute,
    results: async (answer, fields) => {
      const turn = await execute(answer, fields);
      if (turn.kind === "rejected") return shortly(turn.problems);
      const { results } = await executor.collect();
      return results.map(({ id, status, text }) => `${id} ${status} ${text}`);
    },
  };
}

/** The result of the last action of a document, as a value; of one that did not succeed, its status and reason. */
export async function valueOf(
  { execute, executor }: Bench,
  answer: Answer,
  fields?: Json,
): Promise<unknown> {
  await execute(answer, fields);
  const { results } = await executor.collect();
  const last = results.at(-1);
  return last?.status === "succeeded" ? JSON.parse(last.text) : `${last?.status} ${last?.text}`;
}
