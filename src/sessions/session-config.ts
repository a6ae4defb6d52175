/** The SDK's configuration of our sessions: lean, quiet, and only with what is listed here. */
import type { SessionConfig, Tool } from "@github/copilot-sdk";
import type { Clock } from "../events/clock.ts";
import type { Permissions } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { jobTools } from "./job-tools.ts";
import type { CallOrder } from "./call-order.ts";
import { orderedPermissionHandler, permissionHandler, realFiles } from "./permission-handler.ts";
import type { Searches } from "../runtime/runtime-pool.ts";
import { toolsFor } from "../permissions/rules.ts";
import { guarded } from "./tool-guard.ts";
import { searchHooks } from "./search-results.ts";

export interface Provider {
  readonly type: "openai" | "azure" | "anthropic";
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly wireApi?: "completions" | "responses" | undefined;
}

export interface SessionConfigOptions {
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
  /** Keeps file tools and commands apart, where that is needed. */
  readonly order?: CallOrder | undefined;
  /** What the run writes about itself; absolute paths. */
  readonly kept?: readonly string[] | undefined;
  /** Beside the job tools. */
  readonly tools?: readonly Tool[] | undefined;
}

export function sessionConfig(
  options: SessionConfigOptions,
): SessionConfig & { sessionId: string } {
  const { provider, gitHubToken, permissions, workingDirectory, onActivity, order } = options;
  const asked = { permissions, workingDirectory, onActivity, kept: options.kept };
  return {
    sessionId: options.id,
    clientName: "agent-jobs",
    model: options.modelId,
    streaming: true,
    // Seen by the bound of an answer, and as a sign of life.
    includeSubAgentStreamingEvents: true,
    workingDirectory,
    tools: [...jobTools(), ...(options.tools ?? [])].map((tool) => guarded(tool, options.clock)),
    availableTools: toolsFor(permissions),
    onPermissionRequest:
      order === undefined ? permissionHandler(asked) : orderedPermissionHandler(asked, order),
    // Any hook makes every step of a turn a question to us: a guarded search needs none.
    ...(options.searches === "guarded"
      ? {}
      : { hooks: searchHooks(permissions, { workingDirectory, ...realFiles }) }),
    largeOutput: { outputDirectory: options.outputDirectory },
    infiniteSessions: { enabled: false },
    // Nothing that lies in the checkout may speak to the model or run (docs/runtime-notes.md#files-of-the-checkout).
    skipCustomInstructions: true,
    enableFileHooks: false,
    enableConfigDiscovery: false,
    enableSkills: false,
    enableSessionStore: false,
    enableSessionTelemetry: false,
    ...(provider === undefined ? {} : { provider: sdkProvider(provider) }),
    ...(gitHubToken === undefined ? {} : { gitHubToken }),
  };
}

function sdkProvider(provider: Provider): NonNullable<SessionConfig["provider"]> {
  const { type, baseUrl, apiKey, wireApi } = provider;
  return {
    type,
    baseUrl,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(wireApi === undefined ? {} : { wireApi }),
  };
}
