/**
 * One terse line per event, the same for every run that does the same: no times, no durations, sessions and
 * tool calls numbered in the order in which they appear. Tests compare whole runs with it.
 */
import { decisionText, type Decision } from "../events/decision.ts";
import type { RunEvent, RunOutcome, WorkOutcome, WorkRef } from "../events/event.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import type { Reporter } from "../events/sink.ts";

/** Each line goes to `write`, without a line end. */
export function createDebugReporter(write: (line: string) => void): Reporter {
  const session = numbering("s");
  const tool = numbering("t");
  return {
    name: "debug",
    report(event) {
      write(debugLine(event, session, tool));
    },
  };
}

type Naming = (id: string) => string;

function numbering(prefix: string): Naming {
  const names = new Map<string, string>();
  return (id) => {
    const known = names.get(id);
    if (known !== undefined) return known;
    const name = `${prefix}${names.size + 1}`;
    names.set(id, name);
    return name;
  };
}

function debugLine(event: RunEvent, session: Naming, tool: Naming): string {
  switch (event.type) {
    case "run.started":
      return `run ${event.jobName} started: ${event.works.map(({ workId, taskId, modelId }) => `#${workId} ${taskId} ${modelId}`).join(", ")}`;
    case "run.ended":
      return `run ended: ${outcomeText(event.outcome)}`;
    case "work.started":
      return `${workName(event.work)} started ${event.modelId}`;
    case "work.ended":
      return `${workName(event.work)} ended: ${outcomeText(event.outcome)}`;
    case "decision":
      return `${event.work === null ? "run" : workName(event.work)} ${decided(event.decision, session)}`;
    case "session.started":
      return `${workName(event.work)} ${session(event.sessionId)} started ${event.role} ${event.modelId}`;
    case "session.ended":
      return `${workName(event.work)} ${session(event.sessionId)} ended ${event.role} ${event.succeeded ? "ok" : "bad"}`;
    case "turn.started":
      return `${workName(event.work)} ${session(event.sessionId)} turn ${event.purpose} retry ${event.retry} attempt ${event.attempt}: ${quoted(event.prompt)}`;
    case "turn.ended":
      return `${workName(event.work)} ${session(event.sessionId)} turn ${event.purpose} ${event.outcome}`;
    case "activity":
      return `${workName(event.work)} ${session(event.sessionId)} ${acted(event.activity, tool)}`;
  }
}

function workName(work: WorkRef): string {
  return `#${work.workId} ${work.taskId}${work.run > 1 ? ` run ${work.run}` : ""}`;
}

function outcomeText(outcome: RunOutcome | WorkOutcome): string {
  switch (outcome.kind) {
    case "succeeded":
      return "succeeded";
    case "failed":
    case "canceled":
      return `${outcome.kind}: ${quoted(outcome.reason)}`;
    case "crashed":
      return `crashed: ${outcome.crash.cause} ${quoted(outcome.crash.message)}`;
  }
}

/** The text of the decision without what changes from run to run. */
function decided(decision: Decision, session: Naming): string {
  switch (decision.kind) {
    case "session-crashed": {
      const { detail: _detail, ...crash } = decision.crash;
      return oneLine(decisionText({ ...decision, crash }));
    }
    case "session-started":
    case "session-ended":
      return oneLine(decisionText({ ...decision, sessionId: session(decision.sessionId) }));
    case "waiting":
      return oneLine(`[OPERATION] Waiting: ${decision.reason}`);
    default:
      return oneLine(decisionText(decision));
  }
}

function acted(activity: SessionActivity, tool: Naming): string {
  switch (activity.kind) {
    case "reasoning.ended":
    case "message.delta":
    case "reasoning.delta":
    case "message.ended":
      return `${activity.kind} ${quoted(activity.text)}`;
    case "tool.started":
      return `tool.started ${tool(activity.toolCallId)} ${activity.toolName} ${oneLine(JSON.stringify(activity.arguments))}`;
    case "tool.delta":
      return `tool.delta ${tool(activity.toolCallId)} ${quoted(activity.text)}`;
    case "tool.ended":
      return `tool.ended ${tool(activity.toolCallId)} ${activity.succeeded ? "ok" : "bad"}${activity.error === undefined ? "" : ` ${quoted(activity.error.message)}`}`;
    case "sub-agent.tool.failed":
      return `sub-agent.tool.failed ${quoted(activity.error.message)}`;
    case "model.replied":
      return `model.replied ${quoted(activity.text)} ${JSON.stringify(activity.toolCalls.map(({ id: _id, ...call }) => call))}`;
    case "model.used":
      return `model.used ${activity.modelId}${activity.subAgent ? " by a sub-agent" : ""}`;
    case "model.failed":
      return `model.failed ${activity.statusCode ?? "without a status"}`;
    case "permission.denied":
      return `permission.denied ${activity.operation} ${oneLine(activity.target)}: ${oneLine(activity.reason)}`;
    case "reasoning.started":
    case "message.started":
    case "agent.started":
    case "agent.ended":
    case "idle":
      return activity.kind;
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function oneLine(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\\n");
}
