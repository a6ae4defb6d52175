/** What an edge needs to find or install the native runtime; the sessions find it by themselves. */
export {
  platformName,
  runtimeInPackage,
  RuntimeNotFoundError,
  runtimeProblem,
} from "../sessions/runtime.ts";
export type { RuntimeKeeper } from "../sessions/sessions.ts";
