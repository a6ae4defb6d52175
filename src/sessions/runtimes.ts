/**
 * The runtimes of sessions: how they are configured, and the one pool that the rehearsals of a process share, because
 * a start costs more than most rehearsals.
 */
import { devNull } from "node:os";
import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { findProgram } from "../platform/search-path.ts";
import { orderedPrivateGlobs, privateNamesGlob } from "../permissions/private-files.ts";
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
import type { ModelTransport } from "./transport.ts";

export interface RuntimesOptions extends Omit<RuntimePoolOptions, "configure"> {
  readonly clock: Clock;
  /** The whole environment of the process; what the runtime gets to see of it is an allow-list. */
  readonly environment: Environment;
  /** Default: `COPILOT_CLI_PATH`, else the platform package next to us. */
  readonly runtimePath?: string | undefined;
}

interface Options extends RuntimesOptions {
  readonly authentication: Authentication;
  /** Answers the model requests of sessions that have no other. */
  readonly transport: ModelTransport | undefined;
  readonly conversations: ReadonlyMap<string, Conversation>;
}

/** Starts nothing: a runtime comes up with the first session of its kind. */
export function makeRuntimes(options: Options): RuntimePool {
  const { environment, transport, conversations } = options;
  const withoutFormats = new Set<string>();
  const handler = (killRuntime: () => void): RequestHandler =>
    new RequestHandler({
      transport,
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
 * The content of the file that `RIPGREP_CONFIG_PATH` names, by which files of credentials stay out of searches: one
 * argument on each line.
 *
 * A glob alone is not enough: a glob of the model comes later, and wins. `--pre` has no such exception: for a file with
 * such a name, ripgrep searches the output of a program, and `true` has none. A program that doesn't exist has none
 * either, but ripgrep then reports an error.
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

/**
 * The owner must stop it. A sandbox names its folder, so only sessions of the same folder and permissions share a
 * runtime in one. Who ends a runtime on purpose must not share.
 */
export class SharedRuntimes {
  /** Of all who share: their sessions bring the transport that answers them. */
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

  /** Undefined: it must have a runtime of its own. */
  acquire(kind: RuntimeKind): Promise<RuntimeLease> | undefined {
    return kind.requests === "handled" ? this.#pool.acquire(kind) : undefined;
  }

  /** Ends the runtimes and all they started. Bounded, idempotent, never throws. */
  stop(): Promise<void> {
    return this.#pool.stop();
  }

  /** The same by force and at once, for a process that has no time left. */
  kill(): void {
    this.#pool.kill();
  }
}
