import type { ProviderConfig, SessionConfig, Tool, ToolResultObject } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import { type JobTool, availableTools } from "../entry/model.ts";
import { defined, isRecord, isText } from "../document/guards.ts";
import { firstLine } from "../events/cut.ts";
import {
  folderMaker,
  permissionHandler,
  type PermissionHandlerOptions,
} from "./permission-handler.ts";
import type { Requests } from "../runtime/runtime-pool.ts";
import { listsCommands, toolsFor } from "../permissions/rules.ts";
import { type OwnCalls, type OwnTool, guarded } from "./session-tools.ts";
import { ToolNames } from "./tool-names.ts";
import type { Provider } from "./provider.ts";
import { visible } from "./turn-state.ts";

interface SessionConfigOptions extends PermissionHandlerOptions {
  readonly id: string;
  readonly modelId: string;
  // So that a field which the SDK doesn't know, and would ignore, doesn't compile.
  readonly provider?: Pick<ProviderConfig, Exclude<keyof Provider, "startSeconds">> | undefined;
  readonly gitHubToken?: string | undefined;
  readonly outputDirectory: string;
  readonly clock: Clock;
  readonly requests: Requests;
  readonly jobTools?: readonly JobTool[] | undefined;
  readonly tools?: readonly OwnTool[] | undefined;
  readonly calls?: OwnCalls | undefined;
  readonly names?: ToolNames | undefined;
  readonly availableTools?: readonly string[] | undefined;
}

export function sessionConfig(
  options: SessionConfigOptions,
): SessionConfig & { sessionId: string } {
  const { provider, gitHubToken, workingDirectory, names = new ToolNames([]) } = options;
  // The runtime offers these whether `availableTools` names them or not.
  const tools = [...jobTools(options.jobTools), ...(options.tools ?? [])].filter(
    ({ name }) => options.availableTools?.includes(name) ?? true,
  );
  const answer = permissionHandler(options);
  return {
    sessionId: options.id,
    clientName: "agent-jobs",
    model: options.modelId,
    streaming: true,
    // Seen by the bound of an answer, and as a sign of life.
    includeSubAgentStreamingEvents: true,
    workingDirectory,
    tools: tools.map((tool) => guarded(names.shown(tool), options.clock, options.calls)),
    availableTools: offeredTools(options, tools, names),
    onPermissionRequest: (request) => answer(names.request(request)),
    ...folderHook(options),
    largeOutput: { outputDirectory: options.outputDirectory },
    infiniteSessions: { enabled: false },
    // Nothing that lies in the checkout may speak to the model or run (docs/internals/runtime-notes.md#files-of-the-checkout).
    skipCustomInstructions: true,
    enableFileHooks: false,
    enableConfigDiscovery: false,
    enableSkills: false,
    enableSessionStore: false,
    enableSessionTelemetry: false,
    ...defined({ gitHubToken, provider }),
    // A handler gets whole requests over HTTP; over a WebSocket they are parts.
    ...(options.requests === "handled" ? { capi: { enableWebSocketResponses: false } } : {}),
  };
}

/** With any hook, the runtime calls us at every step of a turn, so most sessions have none. */
function folderHook(asked: PermissionHandlerOptions): Pick<SessionConfig, "hooks"> {
  const { permissions } = asked;
  if (!listsCommands(permissions) || !toolsFor(permissions).includes("builtin:create")) return {};
  const makeFolder = folderMaker(asked);
  const onPreToolUse = ({ toolName, toolArgs }: { toolName: string; toolArgs: unknown }): void => {
    if (toolName === "create" && isRecord(toolArgs) && isText(toolArgs["path"]))
      makeFolder(toolArgs["path"]);
  };
  return { hooks: { onPreToolUse } };
}

/** In the runtime's notation. Some tools never request a permission, so what isn't allowed isn't offered either. */
function offeredTools(
  { permissions, availableTools }: SessionConfigOptions,
  tools: readonly OwnTool[],
  names: ToolNames,
): string[] {
  const allowed = toolsFor(permissions);
  if (availableTools === undefined) return allowed;
  const everything = allowed.includes("builtin:*");
  const custom = new Set(tools.map(({ name }) => name));
  return availableTools.flatMap((name) => {
    if (custom.has(name)) return [`custom:${names.functionOf(name)}`];
    const builtIn = `builtin:${name}`;
    const isName = /^[\w-]+$/.test(name);
    return isName && (everything || allowed.includes(builtIn)) ? [builtIn] : [];
  });
}

const descriptions: Readonly<Record<JobTool, readonly [tool: string, argument: string]>> = {
  job_prepare_document: [
    "Names a document that you were asked to prepare. One line is kept, its path or title, for this run of this task: the checks and retries of the task are told it. The content is not kept. If you call it several times, the last call counts.",
    "The path or the title of the document, in one line; further lines are dropped.",
  ],
  job_boolean_true: [
    "Reports that the condition you were asked to check HOLDS. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
    "Why the condition holds.",
  ],
  job_boolean_false: [
    "Reports that the condition you were asked to check does NOT hold. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
    "Why the condition does not hold.",
  ],
  job_prerequisite_failed: [
    "Reports that the task can't be done at all because something it needs is missing or wrong. The task then ends as failed, and is not retried. In a check after the task it changes nothing.",
    "What is missing or wrong.",
  ],
};

const parameters = (argument: string): Record<string, unknown> => ({
  type: "object",
  properties: { argument: { type: "string", description: argument } },
  required: ["argument"],
  additionalProperties: false,
});

function jobTools(names: readonly JobTool[] = availableTools): Tool[] {
  return names.map((name) => {
    const [description, argument] = descriptions[name];
    return {
      name,
      description,
      parameters: parameters(argument),
      skipPermission: true,
      defer: "never",
      handler: (given: unknown): ToolResultObject => answer(name, given),
    };
  });
}

/** The runtime checks no arguments, and hides a thrown text from the model: an error is a result. */
function answer(name: JobTool, given: unknown): ToolResultObject {
  const argument = isRecord(given) ? given["argument"] : undefined;
  const isDocument = name === "job_prepare_document";
  if (typeof argument === "string" && (!isDocument || visible.test(firstLine(argument))))
    return { resultType: "success", textResultForLlm: "Reported." };
  const next = isDocument
    ? "Call it again, with the path or the title in the first line."
    : "A call that fails leaves the check of this turn without a verdict.";
  return {
    resultType: "failure",
    textResultForLlm: `${name} takes one parameter named "argument", and it must be a string. ${next}`,
  };
}
