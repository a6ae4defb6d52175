import type { ProviderConfig, SessionConfig } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import { type JobTool, availableTools } from "../entry/model.ts";
import { verdictTools } from "../engine/criteria.ts";
import { isRecord, isText } from "../text/guards.ts";
import {
  folderMaker,
  permissionHandler,
  type PermissionHandlerOptions,
} from "./permission-handler.ts";
import type { Requests } from "../runtime/runtime-pool.ts";
import { listsCommands, toolsFor } from "../permissions/rules.ts";
import { OwnCalls, type OwnTool, guarded, sdkTools, ToolNames } from "./session-tools.ts";
import type { Provider } from "./provider.ts";

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
  const { calls = new OwnCalls(), jobTools = availableTools } = options;
  // The runtime offers these whether `availableTools` names them or not.
  const tools = [...sdkTools(verdictTools(jobTools), calls), ...(options.tools ?? [])].filter(
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
    tools: tools.map((tool) => guarded(names.shown(tool), options.clock, calls)),
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
    gitHubToken,
    provider,
    // A handler gets whole requests over HTTP; over a WebSocket they are parts.
    capi: options.requests === "handled" ? { enableWebSocketResponses: false } : undefined,
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
