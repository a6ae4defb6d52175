/** A host for a server, with a rehearsal in place of the models, and what readers of its feeds get. */
import type { TestContext } from "node:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readRehearsal } from "../../src/run/entry-files.ts";
import type { FeedKind, LiveRuns } from "../../src/host/live-runs.ts";
import type { JobHostOptions } from "../../src/host/host-options.ts";
import { JobHost } from "../../src/host/job-host.ts";
import type { Entry } from "../../src/entry/model.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { makeWorkspace } from "../rig/workspace.ts";

export type Response = Readonly<Record<string, unknown>>;

export interface LiveRig {
  readonly host: JobHost;
  readonly live: LiveRuns;
  /** The working directory. */
  readonly folder: string;
  readonly feeds: string;
}

/** `rules`: the `sessions` of a rehearsal. */
export async function makeLive(
  t: TestContext,
  entry: Entry,
  sessions: readonly object[],
  options: JobHostOptions & { readonly script?: object } = {},
): Promise<LiveRig> {
  const { path: folder } = await makeWorkspace(t);
  const { path: scripts } = await makeWorkspace(t);
  const { path: feeds } = await makeWorkspace(t);
  const { script = {}, ...hostOptions } = options;
  await writeFile(join(scripts, "entry.json"), JSON.stringify(entry));
  const file = join(scripts, "a.rehearsal.json");
  await writeFile(file, JSON.stringify({ entry: "entry.json", ...script, sessions }));
  const host = new JobHost({
    rehearsal: await readRehearsal(file),
    feedsFolder: feeds,
    environment: { PATH: process.env["PATH"], HOME: scripts },
    ...hostOptions,
  });
  t.after(() => host.close());
  await host.installJobsEntry(entry);
  return { host, live: host.live, folder, feeds };
}

/** Everything that `live` responds until it is closed. */
export async function drain(live: LiveRuns, kind: FeedKind, id: string): Promise<Response[]> {
  const all: Response[] = [];
  for (;;) {
    const taken = await live.take(kind, id, 60_000);
    if (taken.kind !== "response") return [...all, { error: taken.kind }];
    all.push(parsed(taken.json));
  }
}

export function parsed(json: string): Response {
  const value: unknown = JSON.parse(json);
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a feed has only objects
  return value as Response;
}

/** Its callback, or the name of its error. */
export function nameOf(response: Response): string {
  const { callback } = response;
  return typeof callback === "string" ? callback : (Object.keys(response)[0] ?? "");
}

export function callbacksOf(responses: readonly Response[]): string[] {
  return responses.map(nameOf).filter((name) => name !== "taskDecision");
}

export function started<T extends { readonly kind: string }>(
  result: T,
): Extract<T, { kind: "started" }> {
  if (result.kind !== "started") throw new Error(JSON.stringify(result));
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- just checked
  return result as Extract<T, { kind: "started" }>;
}

/** The real time, and as much of it later as a test wants. */
export class LaterClock implements Clock {
  later = 0;
  now(): number {
    return systemClock.now() + this.later;
  }
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(milliseconds, signal);
  }
}
