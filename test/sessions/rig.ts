/** Sessions on the real runtime with a scripted model server, ended when the test ends. */
import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import type {
  Opened,
  Session,
  SessionLabel,
  SessionRequest,
  TurnOptions,
  TurnOutcome,
} from "../../src/engine/ports.ts";
import type { Permissions } from "../../src/entry/model.ts";
import type { Crash } from "../../src/events/crash.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { isRunning } from "../../src/platform/processes.ts";
import type { ICopilotSession, ICopilotSessionCallbacks } from "../../src/sessions/callbacks.ts";
import {
  Runtimes,
  type ModelRequest,
  type ModelTransport,
} from "../../src/sessions/request-handler.ts";
import {
  createSessions,
  type Sessions,
  type SessionsOptions,
} from "../../src/sessions/sessions.ts";
import { tolerateAsTheProductDoes } from "../rig/broken-pipes.ts";
import {
  parseRequest,
  startModelServer,
  streamedBody,
  type ModelServer,
  type Script,
} from "../rig/model-server.ts";
import { unconfined } from "../rig/sandbox.ts";
import type { Wire } from "../rig/wires.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

export interface Rig {
  readonly server: ModelServer;
  readonly sessions: Sessions;
  readonly workspace: Workspace;
  readonly restarts: readonly string[];
  attempt(options?: OpenOptions): Promise<Opened>;
  open(options?: OpenOptions): Promise<Session>;
  /** Why it does not open. */
  refusal(options?: OpenOptions): Promise<Crash>;
  /** A session as an application starts it. */
  lend(callback?: ICopilotSessionCallbacks, permissions?: Permissions): Promise<ICopilotSession>;
}

export interface OpenOptions extends Partial<Omit<SessionRequest, "label">> {
  readonly signal?: AbortSignal;
}

export const neverAborted: AbortSignal = new AbortController().signal;

export function label(modelId: string): SessionLabel {
  return { workId: 0, taskId: "task", iteration: 1, role: "both", modelId, retry: 0, attempt: 1 };
}

export async function makeRig(
  test: TestContext,
  script: Script,
  {
    wire = "completions",
    ...options
  }: Partial<SessionsOptions> & { readonly workspace?: Workspace; readonly wire?: Wire } = {},
): Promise<Rig> {
  tolerateAsTheProductDoes();
  const workspace = options.workspace ?? (await makeWorkspace(test));
  const server = await startModelServer(script);
  const restarts: string[] = [];
  const sessions = createSessions({
    clock: systemClock,
    environment: process.env,
    provider: {
      ...(wire === "messages" ? { type: "anthropic" } : { type: "openai", wireApi: wire }),
      baseUrl: server.baseUrl,
    },
    onRuntimeRestarted: (reason) => restarts.push(reason),
    ...options,
  });
  test.after(async () => {
    const pids = options.own === undefined ? [...sessions.runtimePids] : [];
    await sessions.stop();
    await server.close();
    assert.deepEqual(
      pids.filter((pid) => isRunning(pid)),
      [],
      "a runtime survived stop()",
    );
  });
  const usual = {
    modelId: "claude-test",
    workingDirectory: workspace.path,
    permissions: "read-only",
  } as const;
  // A test that brings its own confinement is about the sandbox.
  const usable = options.confinement === undefined ? unconfined : (same: Permissions) => same;
  const attempt: Rig["attempt"] = ({ signal = neverAborted, ...request } = {}) => {
    const { modelId, permissions } = { ...usual, ...request };
    return sessions.factory.open(
      { label: label(modelId), ...usual, ...request, permissions: usable(permissions) },
      signal,
    );
  };
  return {
    server,
    sessions,
    workspace,
    restarts,
    attempt,
    async open(request) {
      const opened = await attempt(request);
      if (opened.kind === "crashed") assert.fail(`no session: ${JSON.stringify(opened.crash)}`);
      return opened.session;
    },
    async refusal(request) {
      const opened = await attempt(request);
      return opened.kind === "crashed" ? opened.crash : assert.fail("a session opened");
    },
    lend: (callback = callbackLog([]), permissions = "read-only") =>
      sessions.startSession({ ...usual, permissions: usable(permissions), callback }),
  };
}

/** Answers as the script says, and keeps what it was asked. */
export function scriptedTransport(
  script: Script,
): ModelTransport & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    async send(request) {
      const { url, headers, body } = request;
      const read = parseRequest(asked.push(request) - 1, url, headers, body);
      return new Response(streamedBody(read.model, await script(read)), {
        headers: { "content-type": "text/event-stream" },
      });
    },
  };
}

let shared: { readonly workspace: Workspace; readonly own: Runtimes } | undefined;
const removals: (() => Promise<void>)[] = [];

after(async () => {
  await shared?.own.stop();
  for (const remove of removals) await remove();
});

/** Like `makeRig`, on the runtime and in the folder of the whole file: the test must neither end nor count runtimes. */
export async function sharedRig(
  test: TestContext,
  script: Script,
  options: Parameters<typeof makeRig>[2] = {},
): Promise<Rig> {
  shared ??= {
    workspace: await makeWorkspace({ after: (remove) => removals.push(remove) }),
    own: new Runtimes({ clock: systemClock, environment: process.env }),
  };
  return makeRig(test, script, { ...shared, ...options });
}

export interface Run {
  readonly outcome: TurnOutcome;
  readonly activities: readonly SessionActivity[];
}

export async function turn(
  session: Session,
  prompt: string,
  options: Partial<TurnOptions> = {},
): Promise<Run> {
  const activities: SessionActivity[] = [];
  const outcome = await session.runTurn(prompt, {
    signal: neverAborted,
    turnMs: 60_000,
    idleMs: 30_000,
    ...options,
    onActivity: (activity) => {
      activities.push(activity);
      options.onActivity?.(activity);
    },
  });
  return { outcome, activities };
}

export function completed(run: Run): Extract<TurnOutcome, { kind: "completed" }> {
  if (run.outcome.kind !== "completed") assert.fail(`not completed: ${JSON.stringify(run)}`);
  return run.outcome;
}

export function crashOf(run: Run): Extract<TurnOutcome, { kind: "crashed" }>["crash"] {
  if (run.outcome.kind !== "crashed") assert.fail(`no crash: ${JSON.stringify(run)}`);
  return run.outcome.crash;
}

/** Whether each tool call succeeded. */
export function successes(run: Run): boolean[] {
  return completed(run).toolCalls.map(({ succeeded }) => succeeded);
}

export function denials(run: Run): (SessionActivity & { kind: "permission.denied" })[] {
  return run.activities.filter((activity) => activity.kind === "permission.denied");
}

/** Waits until `condition` holds; fails after `milliseconds`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  milliseconds = 60_000,
): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > end) assert.fail(`waited ${milliseconds} ms in vain: ${what}`);
    await systemClock.sleep(10);
  }
}

/** The real time, and `skip` moves it ahead. */
export function skippingClock(): Clock & { readonly skip: (milliseconds: number) => void } {
  let skipped = 0;
  const now = (): number => systemClock.now() + skipped;
  return {
    now,
    async sleep(milliseconds, signal) {
      const end = now() + milliseconds;
      const isOver = (): boolean => now() >= end || signal?.aborted === true;
      while (!isOver()) {
        await systemClock.sleep(Math.min(20, end - now()), signal);
      }
    },
    skip(milliseconds) {
      skipped += milliseconds;
    },
  };
}

/** Callbacks that write down their names and arguments. */
export function callbackLog(log: unknown[][]): ICopilotSessionCallbacks {
  const write =
    (name: string) =>
    (...args: unknown[]): void =>
      void log.push([name, ...args]);
  return {
    onStartReasoning: write("onStartReasoning"),
    onReasoning: write("onReasoning"),
    onEndReasoning: write("onEndReasoning"),
    onStartMessage: write("onStartMessage"),
    onMessage: write("onMessage"),
    onEndMessage: write("onEndMessage"),
    onStartToolExecution: write("onStartToolExecution"),
    onToolExecution: write("onToolExecution"),
    onEndToolExecution: write("onEndToolExecution"),
    onAgentStart: write("onAgentStart"),
    onAgentEnd: write("onAgentEnd"),
    onIdle: write("onIdle"),
  };
}
