/**
 * Whether the model server is reachable, which the runtime reports only after 23 seconds. Asks for the list of models,
 * never for a completion, when no model has answered within two seconds, and after a crash without an answer;
 * and goes on asking, so that a run that is ended can say what it waited for.
 */
import type { Clock } from "../platform/clock.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { serverName, unreachableCodes } from "./model-error.ts";
import { askForModels } from "./model-server.ts";
import type { Provider } from "./provider.ts";

const firstMs = 2_000;
const answerMs = 3_500;
const againMs = 5_000;

interface ModelProbeOptions {
  readonly clock: Clock;
  readonly provider: Provider | undefined;
  readonly address: string;
  readonly onUnreachable: (server: string, reason: string) => void;
}

export class ModelProbe {
  #asks = false;
  #watches = false;
  #answered = false;
  #problem: string | undefined;
  readonly #stopped = new AbortController();
  readonly #options: ModelProbeOptions;

  readonly #server: string;

  constructor(options: ModelProbeOptions) {
    this.#options = options;
    this.#server = serverName({ baseUrl: options.provider?.baseUrl });
  }

  get unreachable(): string | undefined {
    return this.#problem === undefined ? undefined : this.#server;
  }

  /** Returns at once. Asks only if no model answers within two seconds. */
  watch(): void {
    this.#answered = false;
    if (this.#watches) return;
    this.#watches = true;
    const { signal } = this.#stopped;
    void this.#options.clock.sleep(firstMs, signal).then(() => {
      this.#watches = false;
      if (!this.#answered && !signal.aborted) this.ask();
    });
  }

  answered(): void {
    this.#answered = true;
  }

  ask(): void {
    if (this.#asks) return;
    this.#asks = true;
    void this.#ask().finally(() => (this.#asks = false));
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #ask(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const before = this.#problem;
      const problem = await this.#problemNow();
      if (signal.aborted) return;
      this.#problem = problem;
      if (problem === undefined) return;
      if (before === undefined) this.#options.onUnreachable(this.#server, problem);
      await this.#options.clock.sleep(againMs, signal);
    }
  }

  async #problemNow(): Promise<string | undefined> {
    const { clock, provider, address } = this.#options;
    const limit = startTimeLimit(clock, answerMs, this.#stopped.signal);
    try {
      const answer = await askForModels(address, provider, limit.signal);
      await answer.body?.cancel();
      return undefined;
    } catch (error) {
      if (limit.isOver) return `no answer within ${answerMs / 1000} s`;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const code = errorCode(cause) ?? "";
      // Anything else is an answer, or nothing that the runtime would meet in the same way.
      return unreachableCodes.has(code) ? errorMessage(cause) || code : undefined;
    } finally {
      limit.end();
    }
  }
}
