/**
 * The library: `import { installJobsEntry, startJob } from "agent-jobs"`. Re-exports only; the free
 * functions belong to one default `JobHost`. See `docs/library.md`.
 */
export * from "./entry/index.ts";
export { loadEntry, readRehearsal } from "./run/entry-files.ts";
export { loadWorkflow } from "./run/workflow-run.ts";
export type { Budget, RateLimit, Spent, TurnGate } from "./engine/ports.ts";
export { errorToDetailedString } from "./events/crash.ts";
export { decisionCategory, decisionText, type Decision } from "./events/decision.ts";
export {
  decisionOf,
  type DecisionOfWork,
  type RunEvent,
  type RunOutcome,
  type WorkOutcome,
} from "./events/event.ts";
export type { SessionActivity } from "./events/session-activity.ts";
export type { Reporter } from "./events/sink.ts";
export { applyEvent, createRunView, type RunView, type WorkView } from "./events/view.ts";
export { type JournalProblem, parseJournal, type ParsedJournal } from "./journal/read.ts";
export type { JournalStore } from "./journal/store.ts";
export { createJournal, type JournalOptions } from "./journal/write.ts";
export {
  startSession,
  type ICopilotSession,
  type ICopilotSessionCallbacks,
} from "./sessions/callbacks.ts";
export type { OfferedModel } from "./sessions/offered-models.ts";
export type { Tool } from "./sessions/sessions.ts";
export type { ModelRequest, ModelTransport } from "./sessions/request-handler.ts";
export type {
  ICopilotJob,
  ICopilotJobCallback,
  ICopilotTask,
  ICopilotTaskCallback,
  JobResult,
  RunJobOptions,
} from "./host/job-callbacks.ts";
export type { Feed, FeedItem, LiveResponse, Taken } from "./host/feed.ts";
export type { JobHostOptions, Rehearsal } from "./host/host-options.ts";
export type { AskedItem, SessionState } from "./host/session-feeds.ts";
export type { FeedKind, LiveRuns } from "./host/live-runs.ts";
export type { Refused, RefusalReason } from "./host/refusals.ts";
export type { JobState, OpenQuestion, WorkState } from "./host/live-job.ts";
export type { ProviderOptions } from "./run/options-provider.ts";
export { runWorkflow, type RunWorkflowOptions, type WorkflowResult } from "./host/run-workflow.ts";
export {
  actionDocumentSchema,
  createActionExecutor,
  type ActionExecutorOptions,
} from "./run/action-executor.ts";
export type {
  ActionExecutor,
  RunEnd as ActionRunEnd,
  Turn as ActionTurn,
  ExecuteOptions as ActionExecuteOptions,
} from "./protocol/executor.ts";
export type { CardOutput, Standing as ActionStanding } from "./protocol/standing.ts";
export type {
  Delegation,
  Monument,
  Standard as StandardFunction,
  ExecutorLimits as ActionLimits,
} from "./protocol/catalogue.ts";
export {
  type DeliveredResult,
  type Delivery as ActionDelivery,
  type Handle as ActionHandle,
  newsText,
  problemsText,
} from "./protocol/delivery.ts";
export type { ProblemCode, ProtocolProblem } from "./protocol/read-message.ts";
export { teachingText, type TeachingOptions } from "./protocol/teaching.ts";
export type { TaskView as ActionView } from "./protocol/task.ts";
export type {
  CallContext,
  Relic,
  Tool as ActionTool,
  ToolCall,
  ToolOutcome,
  ToolProgress,
} from "./tools/tool.ts";
export type { ActionEvent } from "./events/action.ts";
export type { Executor, ScriptContext, ScriptEnd } from "./workflow/run/executors.ts";
export type { LoadedWorkflow } from "./workflow/read/load-workflow.ts";
export type { Answer, Answers, Asker, Question, Workflow } from "./workflow/model.ts";
export {
  JobHost,
  ensureInstalledEntry,
  hasRunningSessions,
  helperGetSession,
  helperPushSessionResponse,
  helperSessionStart,
  helperSessionStop,
  installJobsEntry,
  runJob,
  startJob,
  startTask,
  takeSessionResponse,
} from "./host/job-host.ts";
