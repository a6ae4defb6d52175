/**
 * The library: `import { installJobsEntry, startJob } from "agent-jobs"`. Re-exports only; the free
 * functions belong to one default `JobHost`. See `docs/library.md`.
 */
export {
  availableTools,
  permissionPresets,
  runtimeVariables,
  type Entry,
  type Job,
  type Limits,
  type Model,
  type Permissions,
  type PermissionPreset,
  type PreparedEntry,
  type Prompt,
  type Task,
  type Work,
} from "./entry/model.ts";
export { DiagnosticsError, diagnosticLine, type Diagnostic } from "./entry/diagnostic.ts";
export { expandPromptDynamic, expandPromptStatic } from "./entry/prompt.ts";
export { validateEntry } from "./entry/prepare.ts";
export { assignWorkId, simplifyWork } from "./entry/work.ts";
export { generateChartNodes, type ChartGraph } from "./entry/chart.ts";
export { renderMermaid } from "./entry/mermaid.ts";
export type { LoadedEntry } from "./entry/load.ts";
export { loadEntry } from "./app/load.ts";
export { errorToDetailedString } from "./events/error-detail.ts";
export { decisionCategory, decisionText, type Decision } from "./events/decision.ts";
export type { RunEvent, RunOutcome, WorkOutcome } from "./events/event.ts";
export type { SessionActivity } from "./events/session-activity.ts";
export type { Reporter } from "./events/sink.ts";
export { applyEvent, createRunView, type RunView } from "./events/view.ts";
export {
  startSession,
  type ICopilotSession,
  type ICopilotSessionCallbacks,
} from "./sessions/callbacks.ts";
export type { Tool } from "./sessions/sessions.ts";
export type { ModelRequest, ModelTransport } from "./sessions/transport.ts";
export { JobHost } from "./app/job-host.ts";
export type {
  ICopilotJob,
  ICopilotJobCallback,
  ICopilotTask,
  ICopilotTaskCallback,
} from "./app/job-callbacks.ts";
export type { LiveResponse } from "./app/live-responses.ts";
export type { JobHostOptions, ProviderOptions } from "./app/options.ts";
export {
  ensureInstalledEntry,
  hasRunningSessions,
  helperGetSession,
  helperPushSessionResponse,
  helperSessionStart,
  helperSessionStop,
  installJobsEntry,
  startJob,
  startTask,
  takeSessionResponse,
} from "./app/default-host.ts";
