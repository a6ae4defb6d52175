/**
 * Runtimes for the rehearsals of one process: a start costs more than most rehearsals.
 *
 * Owns which script answers in which session. Shared is what keeps nothing of a session: a runtime in a sandbox is bound
 * to one folder, and one that a script kills is lost to everyone, so neither is shared.
 */
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { findRuntime } from "../runtime/find-runtime.ts";
import { authentication, runtimeEnvironment } from "../runtime/runtime-environment.ts";
import { RuntimePool, type RuntimeKind, type RuntimeLease } from "../runtime/runtime-pool.ts";
import { RequestHandler, type Conversation } from "./request-handler.ts";
import { searchConfiguration } from "./search-results.ts";

export interface SharedRuntimesOptions {
  readonly clock: Clock;
  readonly environment: Environment;
  readonly runtimePath?: string | undefined;
  /** What all that is started carries in its environment as `AGENT_JOBS_RUN`. Default: a random one. */
  readonly mark?: string | undefined;
}

/** Its owner must stop it. */
export class SharedRuntimes {
  /** Session id → what its model requests need, of all who share. */
  readonly conversations = new Map<string, Conversation>();
  readonly #pool: RuntimePool;

  constructor(options: SharedRuntimesOptions) {
    const { clock, environment, mark } = options;
    const guard = searchConfiguration(environment);
    this.#pool = new RuntimePool({
      clock,
      mark,
      configure: ({ searches }) => ({
        path: findRuntime(options),
        searchConfiguration: searches === "guarded" ? guard : undefined,
        environment: runtimeEnvironment(environment),
        authentication: authentication({ gitHubToken: undefined, hasProvider: true }),
        requestHandler: (killRuntime) =>
          new RequestHandler({
            transport: undefined,
            environment,
            conversation: (sessionId) => this.conversations.get(sessionId),
            killRuntime,
            withoutFormats: new Set(),
          }),
      }),
    });
  }

  /** Undefined: it must have a runtime of its own. */
  acquire(kind: RuntimeKind): Promise<RuntimeLease> | undefined {
    return kind.sandbox === undefined && kind.requests === "handled"
      ? this.#pool.acquire(kind)
      : undefined;
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
