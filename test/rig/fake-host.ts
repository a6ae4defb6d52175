import { Host, type HostOptions } from "../../src/run/host.ts";
import { runSpec } from "../../src/run/run-spec.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import type { JobSpec } from "../../src/engine/plan.ts";
import type { Limits, Task, Work } from "../../src/entry/model.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import type { SessionsOptions } from "../../src/sessions/sessions.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeSessions, type Act, type Turn } from "./fake-sessions.ts";

export interface FakeHost {
  readonly host: Host;
  readonly clock: FakeClock;
  readonly sessions: FakeSessions;
  readonly events: readonly RunEvent[];
  /** One for each time that the host needed a runtime: what it was made with, and whether it was stopped. */
  readonly made: { readonly options: SessionsOptions; stopped: boolean }[];
  /** Who does not answer. */
  unreachable: string | undefined;
}

/** A host with fake sessions and a fake clock. */
export function fakeHost(play: (turn: Turn) => Act, options: Partial<HostOptions> = {}): FakeHost {
  const clock = new FakeClock();
  const sessions = new FakeSessions(clock, play);
  const events: RunEvent[] = [];
  const made: FakeHost["made"] = [];
  const host = new Host({
    environment: {},
    clock,
    ...options,
    reporters: [{ report: (event) => void events.push(event) }, ...(options.reporters ?? [])],
    createSessions(given) {
      const one = { options: given, stopped: false };
      made.push(one);
      return {
        factory: sessions,
        startSession: () => Promise.reject(new Error("A fake host has no sessions to lend.")),
        listModels: () => Promise.resolve([]),
        find: () => undefined,
        get unreachable() {
          return fake.unreachable;
        },
        stop: async () => void (one.stopped = true),
        kill: () => undefined,
        runtimePids: [],
      };
    },
  });
  const fake: FakeHost = { host, clock, sessions, events, made, unreachable: undefined };
  return fake;
}

/** A job of these tasks for `host.run`. */
export function jobSpec(
  tasks: Readonly<Record<string, Task>>,
  work: Work,
  limits: Limits = {},
): JobSpec {
  const entry = validateEntry(
    { models: { driving: "driver" }, tasks, jobs: { job: { work } } },
    "",
  );
  return {
    ...runSpec(
      { environment: {}, redactor: createRedactor([]), clock: new FakeClock() },
      {
        entry,
        userInput: "",
        workingDirectory: "/workspace",
        limits: resolveLimits(entry.limits, limits),
        permissions: "read-only",
      },
    ),
    jobName: "job",
  };
}
