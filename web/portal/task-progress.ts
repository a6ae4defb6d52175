/** A task in a borrowed session: a fold over the responses of its feed. Pure. */

export type TaskResponse =
  | { readonly callback: "taskDecision"; readonly reason: string }
  | { readonly callback: "taskSucceeded" | "taskFailed" }
  | { readonly callback: "taskSessionStarted" | "taskSessionStopped" | "onResponsesDropped" }
  | { readonly callback?: undefined; readonly taskError: string };

export interface TaskProgress {
  readonly status: "running" | "succeeded" | "failed";
  readonly decisions: readonly string[];
  readonly error: string | undefined;
}

export const startedTask: TaskProgress = { status: "running", decisions: [], error: undefined };

export function progress(task: TaskProgress, response: TaskResponse): TaskProgress {
  if (response.callback === undefined)
    return typeof response.taskError === "string" ? { ...task, error: response.taskError } : task;
  switch (response.callback) {
    case "taskDecision":
      return { ...task, decisions: [...task.decisions, response.reason] };
    case "taskSucceeded":
      return { ...task, status: "succeeded" };
    case "taskFailed":
      return { ...task, status: "failed" };
    case "taskSessionStarted":
    case "taskSessionStopped":
    case "onResponsesDropped":
      return task;
  }
}

/** A decision begins with its kind: `[OPERATION] …`. */
export function splitDecision(reason: string): { readonly kind: string; readonly text: string } {
  const found = /^\[([A-Z][A-Z ]{0,40})\]\s*/.exec(reason);
  if (found === null) return { kind: "", text: reason };
  const [all, kind = ""] = found;
  return { kind: kind.charAt(0) + kind.slice(1).toLowerCase(), text: reason.slice(all.length) };
}
