/** Why a job, a task or a session is not started or not found, as values: a server must tell them apart. */
import { isAbsolute } from "node:path";
import { isDirectory } from "../platform/files.ts";

/** Why something was not started or not found. */
export type RefusalReason =
  | "JobNotFound"
  | "TaskNotFound"
  | "TaskCannotClose"
  | "SessionNotFound"
  | "ModelIdNotFound"
  | "WorkingDirectoryNotAbsolutePath"
  | "WorkingDirectoryNotExists"
  /** The job or the task requires user input, and none was given. */
  | "UserInputRequired"
  /** Parameters of the workflow have no value. */
  | "ParametersRequired"
  /** Parameters were given, and the job is no workflow. */
  | "ParametersNotPossible"
  /** No such question waits for an answer. */
  | "QuestionNotFound"
  /** The session could not be opened, the working directory could not be copied, or the host is closed. */
  | "NotStarted";

/** It was not done. */
export interface Refused {
  /** Of every refusal. */
  readonly kind: "refused";
  /** For programs. */
  readonly reason: RefusalReason;
  /** For people. */
  readonly message: string;
  /** With `ParametersRequired`: their names. */
  readonly parameters?: readonly string[];
}

export async function folderProblem(folder: string): Promise<Refused | undefined> {
  if (!isAbsolute(folder))
    return refused("WorkingDirectoryNotAbsolutePath", "The working directory must be absolute.");
  return (await isDirectory(folder))
    ? undefined
    : refused("WorkingDirectoryNotExists", "The working directory doesn't exist.");
}

export function refused(reason: RefusalReason, message: string): Refused {
  return { kind: "refused", reason, message };
}

export const noSession = refused("SessionNotFound", "There is no such session, or it has ended.");
