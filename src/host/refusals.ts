/** Descriptions of jobs for clients of a server, and refusals as values, which a server tells apart. */
import { isAbsolute } from "node:path";
import { isDirectory } from "../platform/files.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { withUserInput } from "../run/workflow-run.ts";
import {
  asOption,
  type Inputs,
  inputsOf,
  missingUserInput,
  type Params,
  UsageError,
} from "../run/options.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { describeWorkflow, type WorkflowDescription } from "../workflow/describe.ts";
import type { Workflow } from "../workflow/model.ts";

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
  | "InputsNotPossible"
  /** No such question waits for an answer. */
  | "QuestionNotFound"
  /** The session could not be opened, the working directory could not be copied, or the host is closed. */
  | "NotStarted";

/** It was not done. */
export interface Refused {
  /** Distinguishes a refusal from a result. */
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

export type Workflows = Readonly<Record<string, WorkflowDescription>>;

/** `workflow`: the only job. A parameter that the rehearsal has is a default. */
export function describeWorkflowJobs(
  [jobName]: readonly string[],
  workflow: Workflow | undefined,
  rehearsal: Script | undefined,
): Workflows {
  if (workflow === undefined || jobName === undefined) return {};
  const described = describeWorkflow(workflow);
  const { params = {} } = rehearsal ?? {};
  const parameters = described.parameters.map((one) =>
    Object.hasOwn(params, one.name) ? { ...one, default: params[one.name] ?? "" } : one,
  );
  return { [jobName]: { ...described, parameters } };
}

/** Undefined: every parameter has a value. `workflow`: undefined for any other job. */
export function missingParameters(
  workflow: WorkflowDescription | undefined,
  params: Params,
  userInput: string | undefined,
): Refused | undefined {
  if (workflow === undefined) return undefined;
  const all = withUserInput(params, userInput ?? "");
  const missing = workflow.parameters
    .filter((one) => one.default === undefined && !Object.hasOwn(all, one.name))
    .map(({ name }) => name);
  if (missing.length === 0) return undefined;
  const message = `Parameters without a value: ${missing.join(", ")}.`;
  return { ...refused("ParametersRequired", message), parameters: missing };
}

export function notInEntry(what: "job" | "task", name: string): Refused {
  const reason = what === "job" ? "JobNotFound" : "TaskNotFound";
  return refused(reason, `There is no ${what} ${JSON.stringify(name)} in an installed entry.`);
}

/** Why a run was not started, for people and for programs. */
export class NotStarted extends UsageError {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Checks what the caller gives to a job. Returns the inputs with their defaults. */
export function checkGiven(
  entry: PreparedEntry,
  jobName: string,
  { userInput, inputs }: { readonly userInput: string; readonly inputs: Inputs },
): Inputs {
  const noInput = missingUserInput("job", jobName, entry.jobs[jobName], userInput);
  if (noInput !== undefined) throw new NotStarted("UserInputRequired", noInput);
  try {
    return inputsOf(entry, inputs, asOption);
  } catch (error) {
    throw new NotStarted("InputsNotPossible", errorMessage(error));
  }
}

export function refuseParams(params: Params): void {
  if (Object.keys(params).length > 0)
    throw new NotStarted(
      "ParametersNotPossible",
      "Only a workflow (*.wf.md) has parameters. A job gives its workflows theirs, and `inputs` are those of the entry.",
    );
}

export function maskedTexts(texts: Params, mask: (text: string) => string): Params {
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [name, mask(value)] as const),
  );
}
