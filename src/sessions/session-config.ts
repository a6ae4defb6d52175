/** The SDK's configuration of our sessions: lean, quiet, and only with what is listed here. */
import type { SessionConfig, SessionHooks } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import type { JobTool, Permissions } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { defined, isRecord, isText } from "../document/guards.ts";
import { jobTools } from "./job-tools.ts";
import {
  folderMaker,
  permissionHandler,
  realFiles,
  type PermissionHandlerOptions,
} from "./permission-handler.ts";
import type { Requests, Searches } from "../runtime/runtime-pool.ts";
import { listsCommands, toolsFor } from "../permissions/rules.ts";
import { type OwnCalls, type OwnTool, guarded } from "./tool-guard.ts";
import { ToolNames } from "./tool-names.ts";
import { searchHooks } from "./search-results.ts";
import type { Provider } from "./model-server.ts";

interface SessionConfigOptions {
  readonly id: string;
  readonly modelId: string;
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  readonly provider?: Provider | undefined;
  readonly gitHubToken?: string | undefined;
  readonly outputDirectory: string;
  /** How the session's runtime searches. */
  readonly searches: Searches;
  readonly onActivity: (activity: SessionActivity) => void;
  readonly clock: Clock;
  /** What the run writes about itself; absolute paths. */
  readonly kept?: readonly string[] | undefined;
  /** Who sends its model requests. */
  readonly requests: Requests;
  /** Default: all. */
  readonly jobTools?: readonly JobTool[] | undefined;
  /** Beside the job tools. */
  readonly tools?: readonly OwnTool[] | undefined;
  /** The calls of these tools. */
  readonly calls?: OwnCalls | undefined;
  /** How the model knows them. Default: as they are called. */
  readonly names?: ToolNames | undefined;
  /** Folders that may be read, besides what the permissions allow. Absolute. */
  readonly readable?: readonly string[] | undefined;
  /** The only tools that are offered. Default: all that the permissions can allow. */
  readonly availableTools?: readonly string[] | undefined;
}

export function sessionConfig(
  options: SessionConfigOptions,
): SessionConfig & { sessionId: string } {
  const { provider, gitHubToken, permissions, workingDirectory, onActivity } = options;
  const { names = new ToolNames([]), readable } = options;
  // The runtime offers these whether `availableTools` names them or not.
  const tools = [...jobTools(options.jobTools), ...(options.tools ?? [])].filter(
    ({ name }) => options.availableTools?.includes(name) ?? true,
  );
  const asked = { permissions, workingDirectory, onActivity, kept: options.kept, readable };
  const answer = permissionHandler(asked);
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
    hooks: hooksFor(options.searches, asked),
    largeOutput: { outputDirectory: options.outputDirectory },
    infiniteSessions: { enabled: false },
    // Nothing that lies in the checkout may speak to the model or run (docs/internals/runtime-notes.md#files-of-the-checkout).
    skipCustomInstructions: true,
    enableFileHooks: false,
    enableConfigDiscovery: false,
    enableSkills: false,
    enableSessionStore: false,
    enableSessionTelemetry: false,
    ...(provider === undefined ? {} : { provider: sdkProvider(provider) }),
    ...defined({ gitHubToken }),
    // A handler gets whole requests over HTTP; over a WebSocket they are parts.
    ...(options.requests === "handled" ? { capi: { enableWebSocketResponses: false } } : {}),
  };
}

/** With any hook, the runtime calls us at every step of a turn, so most sessions have none. */
function hooksFor(searches: Searches, asked: PermissionHandlerOptions): SessionHooks {
  const { permissions, workingDirectory } = asked;
  const hooks =
    searches === "guarded" ? {} : searchHooks(permissions, { workingDirectory, ...realFiles });
  if (!listsCommands(permissions) || !toolsFor(permissions).includes("builtin:create"))
    return hooks;
  const makeFolder = folderMaker(asked);
  return {
    ...hooks,
    onPreToolUse(input, invocation) {
      const { toolName, toolArgs } = input;
      if (toolName === "create" && isRecord(toolArgs) && isText(toolArgs["path"]))
        makeFolder(toolArgs["path"]);
      return hooks.onPreToolUse?.(input, invocation);
    },
  };
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

function sdkProvider(provider: Provider): NonNullable<SessionConfig["provider"]> {
  const { type, baseUrl, apiKey, wireApi } = provider;
  return {
    type,
    baseUrl,
    ...defined({ apiKey, wireApi }),
  };
}
