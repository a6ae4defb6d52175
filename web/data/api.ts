/** The routes of the server (docs/server.md), typed. What goes wrong is a value. */
import type {
  Answer,
  ApiError,
  Config,
  Jobs,
  JournalPage,
  Model,
  RunListItem,
  SessionListItem,
  TaskListItem,
} from "./api-types.ts";
export type * from "./api-types.ts";

/** The inputs that a job is started with. */
export interface JobInputs {
  readonly workingDirectory: string;
  readonly userInput: string;
  /** The parameters of a workflow. */
  readonly params?: Readonly<Record<string, string>>;
  /** The inputs of the entry. */
  readonly inputs?: Readonly<Record<string, string>>;
}

export const api = {
  stopServer: () => act<object>("api/stop"),
  config: () => read<Config>("api/config"),
  models: () => field(read<{ models: Model[] }>("api/copilot/models"), "models"),
  jobs: () => read<Jobs>("api/copilot/job"),
  runs: () => field(read<{ jobs: RunListItem[] }>("api/copilot/job/recent"), "jobs"),
  runStatus: (jobId: string) => read<object>(apiPath`copilot/job/${jobId}/status`),
  startJob: (jobName: string, inputs: JobInputs) =>
    field(
      act<{ jobId: string }>(apiPath`copilot/job/start/${jobName}`, JSON.stringify(inputs)),
      "jobId",
    ),
  answer: (jobId: string, question: string, text: string) =>
    act<object>(
      `${apiPath`copilot/job/${jobId}/answer`}?question=${encodeURIComponent(question)}`,
      text,
    ),
  stopJob: (jobId: string) => act<{ result: string }>(apiPath`copilot/job/${jobId}/stop`),
  tasks: () => field(read<{ tasks: TaskListItem[] }>("api/copilot/task"), "tasks"),
  startTask: (taskName: string, sessionId: string, userInput: string) => {
    const path = apiPath`copilot/task/start/${taskName}/session/${sessionId}`;
    return field(act<{ taskId: string }>(path, userInput), "taskId");
  },
  sessions: () =>
    field(read<{ sessions: SessionListItem[] }>("api/copilot/session/recent"), "sessions"),
  startSession: (modelId: string, workingDirectory: string) => {
    const path = apiPath`copilot/session/start/${modelId}`;
    return field(act<{ sessionId: string }>(path, workingDirectory), "sessionId");
  },
  query: (sessionId: string, prompt: string) =>
    act<object>(apiPath`copilot/session/${sessionId}/query`, prompt),
  stopSession: (sessionId: string) =>
    act<{ result: string }>(apiPath`copilot/session/${sessionId}/stop`),
  journals: () => read<JournalPage>("api/copilot/journal"),
  /** `next`: the position from the previous page. */
  olderJournals: (next: string) =>
    read<JournalPage>(`api/copilot/journal?after=${encodeURIComponent(next)}`),
  journalOf: (runId: string) =>
    read<JournalPage>(`api/copilot/journal?run=${encodeURIComponent(runId)}`),
};

/** A path below `api/`, with every value encoded. Relative, so that a proxy may put the server anywhere. */
export function apiPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return `api/${String.raw(texts, ...values.map(encodeURIComponent))}`;
}

async function field<T, Key extends keyof T>(
  asked: Promise<Answer<T>>,
  key: Key,
): Promise<Answer<T[Key]>> {
  const answer = await asked;
  return answer.ok ? { ok: true, value: answer.value[key] } : answer;
}

function read<T extends object>(path: string): Promise<Answer<T>> {
  return request(path, {});
}

function act<T extends object>(path: string, body = ""): Promise<Answer<T>> {
  return request(path, {
    method: "POST",
    body,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}

/** The server and this page are of one version: an answer without `error` has the documented shape. */
async function request<T extends object>(path: string, options: RequestInit): Promise<Answer<T>> {
  // The browser would take such a name for a folder and its parent, and ask for another address.
  const dots = path.split("/").find((part) => part === "." || part === "..");
  if (dots !== undefined)
    return {
      ok: false,
      error: "NameNotPossible",
      reason: `"${dots}" can't be part of an address. Give it another name in the entry.`,
    };
  let response: Response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch {
    return { ok: false, error: "Unreachable", reason: "The server can't be reached." };
  }
  const text = await response.text().catch(() => "");
  const error = errorIn(text);
  if (error !== undefined) return { ok: false, ...error };
  const value: T = JSON.parse(text);
  return { ok: true, value };
}

/** The error that a JSON answer reports. */
export function errorIn(text: string): ApiError | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null)
    return { error: "UnexpectedAnswer", reason: "The server answered something that is not JSON." };
  if (!("error" in value) || typeof value.error !== "string") return undefined;
  const { error } = value;
  const reason = "reason" in value ? String(value.reason) : describeError(error);
  const parameters =
    "parameters" in value && Array.isArray(value.parameters) ? value.parameters.map(String) : [];
  return { error, reason, ...(parameters.length > 0 && { parameters }) };
}

export function failure(error: string): ApiError {
  return { error, reason: describeError(error) };
}

function describeError(error: string): string {
  return reasons.get(error) ?? `The server answered ${error}.`;
}

/** The errors that the documents name carry no text. */
const reasons = new Map([
  ["JobNotFound", "The server doesn't know this run. Runs are kept for an hour after they end."],
  ["TaskNotFound", "The server doesn't know this task."],
  ["SessionNotFound", "The server doesn't know this session. It may have been stopped."],
  ["ModelIdNotFound", "There is no such model."],
  ["WorkingDirectoryNotAbsolutePath", "Enter an absolute path."],
  ["WorkingDirectoryNotExists", "There is no such folder on the server."],
  ["NotFound", "The server has nothing at this address."],
  ["UserInputRequired", "This job needs an input."],
  ["ParametersRequired", "A parameter has no value."],
]);
