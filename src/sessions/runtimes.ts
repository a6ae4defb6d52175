/** Runtimes of sessions. The rehearsals of a process share a pool: a start costs more than most rehearsals. */
import { devNull } from "node:os";
import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { findProgram } from "../platform/search-path.ts";
import { orderedPrivateGlobs, privateNamesGlob } from "../platform/private-files.ts";
import { findRuntime } from "../runtime/find-runtime.ts";
import {
  authentication,
  runtimeEnvironment,
  type Authentication,
} from "../runtime/runtime-environment.ts";
import {
  RuntimePool,
  type RuntimeKind,
  type RuntimeLease,
  type RuntimePoolOptions,
} from "../runtime/runtime-pool.ts";
import { RequestHandler, type Conversation } from "./request-handler.ts";
import type { Provider } from "./provider.ts";
import type { ModelTransport } from "./transport.ts";

export interface RuntimesOptions extends Omit<RuntimePoolOptions, "configure"> {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Default: `COPILOT_CLI_PATH`, else the platform package next to us. */
  readonly runtimePath?: string | undefined;
}

export function makeRuntimes(
  options: RuntimesOptions & {
    readonly authentication: Authentication;
    readonly transport: ModelTransport | undefined;
    readonly provider?: Provider | undefined;
    readonly conversations: ReadonlyMap<string, Conversation>;
  },
): RuntimePool {
  const { environment, transport, provider, conversations } = options;
  const withoutFormats = new Set<string>();
  const handler = (killRuntime: () => void): RequestHandler =>
    new RequestHandler({
      transport,
      provider,
      environment,
      conversation: (sessionId) => conversations.get(sessionId),
      killRuntime,
      withoutFormats,
    });
  return new RuntimePool({
    ...options,
    configure: ({ searches, requests, sandbox }) => ({
      path: findRuntime(options),
      sandbox,
      searchConfiguration: searches === "guarded" ? searchConfiguration(environment) : undefined,
      environment: runtimeEnvironment(environment),
      authentication: options.authentication,
      requestHandler: requests === "direct" ? undefined : handler,
    }),
  });
}

/**
 * Keeps files of credentials out of the runtime's searches. A glob alone is not enough: a glob of the model comes later,
 * and wins. `--pre` has no exception: for such a file, ripgrep searches the output of `true`, which is
 * empty; for a program that doesn't exist, it would report an error.
 */
export function searchConfiguration(environment: Environment): string {
  const lines = [
    `--pre=${findProgram("true", environment) ?? join(devNull, "none")}`,
    ...orderedPrivateGlobs().map((glob) => `--pre-glob=${glob}`),
    // Only so that a large folder of such a name isn't gone through file by file.
    `--glob=!${privateNamesGlob}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Sessions share a runtime in a sandbox only with the same folder and permissions. The owner must stop it. */
export class SharedRuntimes {
  readonly conversations = new Map<string, Conversation>();
  readonly #pool: RuntimePool;

  constructor(options: RuntimesOptions) {
    this.#pool = makeRuntimes({
      ...options,
      authentication: authentication({ hasProvider: true }),
      transport: undefined,
      conversations: this.conversations,
    });
  }

  acquire(kind: RuntimeKind): Promise<RuntimeLease> | undefined {
    return kind.requests === "handled" ? this.#pool.acquire(kind) : undefined;
  }

  stop(): Promise<void> {
    return this.#pool.stop();
  }

  kill(): void {
    this.#pool.kill();
  }
}
