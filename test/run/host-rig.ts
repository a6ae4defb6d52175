/** A host on a scripted model server, and callbacks that write down what they are told. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ICopilotJobCallback, ICopilotTaskCallback } from "../../src/host/job-callbacks.ts";
import { JobHost } from "../../src/host/job-host.ts";
import type { LiveResponse } from "../../src/host/feed.ts";
import type { Entry } from "../../src/entry/model.ts";
import type { RunEvent } from "../../src/events/event.ts";
import type { ICopilotSession } from "../../src/sessions/callbacks.ts";
import { modelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { unconfinedEntry } from "../rig/sandbox.ts";
import { makeWorkspace } from "../rig/workspace.ts";

export interface HostRig {
  readonly host: JobHost;
  readonly folder: string;
  readonly requests: readonly RecordedRequest[];
  readonly events: readonly RunEvent[];
  readonly prompts: () => string[];
  /** Starts a task in the folder; without a session, in sessions of its own. A crash fails the test, by default. */
  readonly startTask: (
    name: string,
    callback: ICopilotTaskCallback,
    more?: TaskStart,
  ) => ReturnType<JobHost["startTask"]>;
}

interface TaskStart {
  readonly session?: ICopilotSession;
  readonly userInput?: string;
  readonly ignorePrerequisites?: true;
  readonly modelId?: string;
  readonly onCrash?: (error: unknown) => void;
}

export async function makeHost(t: TestContext, entry: Entry, script: Script): Promise<HostRig> {
  const server = await modelServer(t, script);
  const workspace = await makeWorkspace(t);
  const events: RunEvent[] = [];
  const host = new JobHost({
    provider: { baseUrl: server.baseUrl },
    reporters: [{ report: (event) => void events.push(event) }],
  });
  t.after(() => host.close());
  await host.installJobsEntry(unconfinedEntry(entry));
  return {
    host,
    folder: workspace.path,
    requests: server.requests,
    events,
    prompts: () => server.requests.map(({ prompt }) => prompt),
    startTask(name, callback, { session, userInput = "", ignorePrerequisites, ...more } = {}) {
      const { modelId, onCrash = (error) => assert.fail(String(error)) } = more;
      const ignores = ignorePrerequisites === true;
      const { path } = workspace;
      return host.startTask(name, userInput, session, ignores, callback, modelId, path, onCrash);
    },
  };
}

export interface Log<Callback> {
  readonly log: string[];
  readonly callback: Callback;
  readonly ended: Promise<void>;
}

export function jobLog(): Log<ICopilotJobCallback> {
  const { log, ended, last } = ending();
  return {
    log,
    ended,
    callback: {
      jobSucceeded: last("jobSucceeded"),
      jobFailed: last("jobFailed"),
      jobCanceled: last("jobCanceled"),
      workStarted: (workId, taskId) => void log.push(`workStarted ${workId} ${taskId}`),
      workStopped: (workId, succeeded) => void log.push(`workStopped ${workId} ${succeeded}`),
    },
  };
}

/** Ids of sessions are written as `s1`, `s2`… in the order of their starts. */
export function taskLog(): Log<ICopilotTaskCallback> & { readonly sessions: ICopilotSession[] } {
  const { log, ended, last } = ending();
  const sessions: ICopilotSession[] = [];
  const name = (id: string): string =>
    `s${sessions.findIndex(({ rawSection }) => rawSection.sessionId === id) + 1}`;
  return {
    log,
    ended,
    sessions,
    callback: {
      taskSucceeded: last("taskSucceeded"),
      taskFailed: last("taskFailed"),
      taskDecision: (reason) =>
        void log.push(
          reason.replace(/[0-9a-f-]{36}/g, (id) => (name(id) === "s0" ? "ID" : name(id))),
        ),
      taskSessionStarted(session, id, isDriving) {
        sessions.push(session);
        log.push(`started ${name(id)} ${isDriving}`);
      },
      taskSessionStopped(session, id, succeeded) {
        assert.equal(session.rawSection.sessionId, id);
        log.push(`stopped ${name(id)} ${succeeded}`);
      },
    },
  };
}

function ending(): {
  readonly log: string[];
  readonly ended: Promise<void>;
  readonly last: (line: string) => () => void;
} {
  const log: string[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  return {
    log,
    ended,
    last: (line) => () => {
      log.push(line);
      end();
    },
  };
}

/** Takes what a session has, until nothing comes for a moment. */
export async function drain(host: JobHost, session: ICopilotSession): Promise<LiveResponse[]> {
  const taken: LiveResponse[] = [];
  for (;;) {
    const response = await host.takeSessionResponse(session, 50);
    if (response === undefined) return taken;
    taken.push(response);
  }
}
