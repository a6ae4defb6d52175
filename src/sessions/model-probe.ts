/**
 * Whether the model server is reachable, which the runtime reports only after 23 seconds. Asks for the list of models,
 * never for a completion, when no model has answered within two seconds, and after a crash without an answer;
 * and goes on asking, so that a run that is ended can say what it waited for. A server that refuses two connections and
 * has never answered is absent: nobody waits for it.
 */
import type { Crash } from "../events/crash.ts";
import { capitalized } from "../events/decision.ts";
import type { Clock } from "../platform/clock.ts";
import { serverName, unreachableCodes } from "./model-error.ts";
import { askForModels } from "./offered-models.ts";
import type { Environment } from "../platform/environment.ts";
import { variable } from "./forward.ts";
import type { Provider } from "./provider.ts";

const firstMs = 2_000;
const answerMs = 3_500;
const againMs = 5_000;
/** Two attempts are over within five seconds. */
const secondMs = 1_500;
const startMs = 500;

interface ModelProbeOptions {
  readonly clock: Clock;
  readonly provider: Provider | undefined;
  readonly environment: Environment;
  readonly addresses: readonly string[];
  readonly onUnreachable: (server: string, reason: string) => void;
}

export class ModelProbe {
  #asks = false;
  #watches = false;
  #answered = false;
  #hasAnswered = false;
  #absence = new AbortController();
  #absent: Crash | undefined;
  #problem: string | undefined;
  #startBy: number | undefined;
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

  /** Why a turn can't begin or go on. `absence` is aborted with it. */
  get absent(): Crash | undefined {
    return this.#absent;
  }

  get absence(): AbortSignal {
    return this.#absence.signal;
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
    this.#hasAnswered = true;
    if (this.#absent === undefined) return;
    this.#absent = undefined;
    this.#absence = new AbortController();
  }

  /** A call of a model failed: with a status, the server has answered. */
  failed(status: number | undefined): void {
    if (status === undefined) this.ask();
    else this.answered();
  }

  ask(): void {
    if (this.#asks) return;
    this.#asks = true;
    void this.#ask().finally(() => (this.#asks = false));
  }

  /** Waits, for so long at most, until a server that has never answered lists its models. */
  async waitForStart(seconds: number, signal: AbortSignal): Promise<void> {
    const { clock, onUnreachable } = this.#options;
    this.#startBy ??= clock.now() + seconds * 1_000;
    for (let says = true; !this.#hasAnswered && clock.now() < this.#startBy; says = false) {
      const { problem, isUp } = await this.#look();
      if (isUp) this.answered();
      else if (signal.aborted || this.#stopped.signal.aborted) return;
      else await clock.sleep(startMs, signal);
      if (says && problem !== undefined) onUnreachable(this.#server, problem.reason);
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #ask(): Promise<void> {
    const { signal } = this.#stopped;
    const { clock, onUnreachable } = this.#options;
    for (let refusals = 0; !signal.aborted;) {
      const before = this.#problem;
      const { problem, isUp } = await this.#look();
      if (signal.aborted) return;
      this.#problem = problem?.reason;
      if (isUp) this.answered();
      if (problem === undefined) return;
      if (before === undefined) onUnreachable(this.#server, problem.reason);
      if (problem.refused) refusals += 1;
      if (refusals >= 2 && !this.#hasAnswered) this.#declareAbsent(problem);
      await clock.sleep(refusals < 2 && !this.#hasAnswered ? secondMs : againMs, signal);
    }
  }

  async #look(): Promise<{ readonly problem: Problem | undefined; readonly isUp: boolean }> {
    const { addresses } = this.#options;
    const found = await Promise.all(addresses.map((address) => this.#problemOf(address)));
    const problem = found.find((one) => typeof one === "object");
    return { problem, isUp: found.every((one) => one === "answered") };
  }

  #declareAbsent({ address, reason }: Problem): void {
    const { provider } = this.#options;
    const at = provider === undefined ? ` at ${address}` : "";
    const question = provider === undefined ? "" : ". Is it running?";
    const message = `${capitalized(this.#server)} can't be reached${at}: ${reason}${question}`;
    this.#absent = { cause: "unreachable", absent: true, message };
    this.#absence.abort();
  }

  async #problemOf(address: string): Promise<Problem | "answered" | "unclear"> {
    const { provider } = this.#options;
    const { signal } = this.#stopped;
    const asking = { ...this.#options, milliseconds: answerMs, signal };
    const listing = await askForModels(address, provider, asking);
    switch (listing.kind) {
      case "answered":
        // 503: it loads its model.
        return listing.status === 503 ? "unclear" : "answered";
      case "keyless":
        // The model's request says why.
        return "unclear";
      case "silent": {
        const { reason, code } = listing;
        if (code === undefined) return { address, refused: false, reason };
        // Anything else may be an answer, or nothing that the runtime would meet in the same way.
        return unreachableCodes.has(code) ? { address, refused: true, reason } : "unclear";
      }
    }
  }
}

interface Problem {
  readonly address: string;
  readonly refused: boolean;
  readonly reason: string;
}

/**
 * Where the models are, and where a session gets the access to them. An enterprise with data residency has its own
 * addresses. The runtime is not given its other variables for it, `COPILOT_GH_HOST` and `COPILOT_API_URL`.
 */
export function copilotService(environment: Environment): readonly string[] {
  const host = (variable(environment, "GH_HOST") ?? "")
    .replace(/^https?:\/\//i, "")
    .replace(/\/.*$/s, "")
    .toLowerCase();
  return /^[a-z0-9-]+\.ghe\.com$/.test(host)
    ? [`https://copilot-api.${host}`, `https://api.${host}`]
    : ["https://api.githubcopilot.com", "https://api.github.com"];
}
