import { JobHost } from "./job-host.ts";

let host: JobHost | undefined;

function defaultHost(): JobHost {
  host ??= new JobHost();
  return host;
}

type Method<Name extends keyof JobHost> = JobHost[Name];

/** Checks an entry and uses it from now on: `JobHost.installJobsEntry` of the default host. */
export const installJobsEntry: Method<"installJobsEntry"> = (...args) =>
  defaultHost().installJobsEntry(...args);
/** The installed entry; throws if there is none: `JobHost.ensureInstalledEntry` of the default host. */
export const ensureInstalledEntry: Method<"ensureInstalledEntry"> = () =>
  defaultHost().ensureInstalledEntry();
/** Starts a job and reports to its callbacks: `JobHost.startJob` of the default host. */
export const startJob: Method<"startJob"> = (...args) => defaultHost().startJob(...args);
/** Runs a job and returns its result: `JobHost.runJob` of the default host. */
export const runJob: Method<"runJob"> = (...args) => defaultHost().runJob(...args);
/** Starts a task without a job: `JobHost.startTask` of the default host. */
export const startTask: Method<"startTask"> = (...args) => defaultHost().startTask(...args);
/** True while anything of the default host runs: `JobHost.hasRunningSessions`. */
export const hasRunningSessions: Method<"hasRunningSessions"> = () =>
  defaultHost().hasRunningSessions();
/** Starts a session that belongs to no task: `JobHost.helperSessionStart` of the default host. */
export const helperSessionStart: Method<"helperSessionStart"> = (...args) =>
  defaultHost().helperSessionStart(...args);
/** Ends a session: `JobHost.helperSessionStop` of the default host. */
export const helperSessionStop: Method<"helperSessionStop"> = (...args) =>
  defaultHost().helperSessionStop(...args);
/** A running session by its id: `JobHost.helperGetSession` of the default host. */
export const helperGetSession: Method<"helperGetSession"> = (...args) =>
  defaultHost().helperGetSession(...args);
/** Adds a response to the queue of a session: `JobHost.helperPushSessionResponse` of the default host. */
export const helperPushSessionResponse: Method<"helperPushSessionResponse"> = (...args) =>
  defaultHost().helperPushSessionResponse(...args);
/** Takes the next response of a session: `JobHost.takeSessionResponse` of the default host. */
export const takeSessionResponse: Method<"takeSessionResponse"> = (...args) =>
  defaultHost().takeSessionResponse(...args);
