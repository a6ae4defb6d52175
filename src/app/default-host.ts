/** The host behind the library's free functions: made when it is first needed, from the environment. */
import { JobHost } from "./job-host.ts";

let host: JobHost | undefined;

function defaultHost(): JobHost {
  host ??= new JobHost();
  return host;
}

type Method<Name extends keyof JobHost> = JobHost[Name];

export const installJobsEntry: Method<"installJobsEntry"> = (...args) =>
  defaultHost().installJobsEntry(...args);
export const ensureInstalledEntry: Method<"ensureInstalledEntry"> = () =>
  defaultHost().ensureInstalledEntry();
export const startJob: Method<"startJob"> = (...args) => defaultHost().startJob(...args);
export const startTask: Method<"startTask"> = (...args) => defaultHost().startTask(...args);
export const hasRunningSessions: Method<"hasRunningSessions"> = () =>
  defaultHost().hasRunningSessions();
export const helperSessionStart: Method<"helperSessionStart"> = (...args) =>
  defaultHost().helperSessionStart(...args);
export const helperSessionStop: Method<"helperSessionStop"> = (...args) =>
  defaultHost().helperSessionStop(...args);
export const helperGetSession: Method<"helperGetSession"> = (...args) =>
  defaultHost().helperGetSession(...args);
export const helperPushSessionResponse: Method<"helperPushSessionResponse"> = (...args) =>
  defaultHost().helperPushSessionResponse(...args);
export const takeSessionResponse: Method<"takeSessionResponse"> = (...args) =>
  defaultHost().takeSessionResponse(...args);
