import type { Permissions, PreparedEntry } from "../entry/model.ts";
import type { ResolvedLimits } from "./limits.ts";

/** What to run, and within which bounds: the same for a job and for a single task. */
export interface RunSpec {
  readonly entry: PreparedEntry;
  /** Of agent-jobs. */
  readonly version: string;
  /** SHA-256 of the entry. */
  readonly entryFingerprint: string;
  /** The entry file as the user named it. */
  readonly entryFile?: string;
  readonly userInput: string;
  /** Absolute. */
  readonly workingDirectory: string;
  readonly limits: ResolvedLimits;
  readonly permissionsOf: (taskId: string) => Permissions;
}
