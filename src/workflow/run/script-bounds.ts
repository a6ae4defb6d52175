/** The time and the output that the scripts of an activity may take. */
import { defined } from "../../document/guards.ts";
import type { Limits } from "../../entry/model.ts";
import type { Clock } from "../../platform/clock.ts";
import { onAbort, startTimer, type Release } from "../../platform/waiting.ts";
import { limitText } from "../../events/exceeded-limit.ts";

export type ScriptLimits = Pick<
  Limits,
  "commandMinutes" | "commandIdleMinutes" | "outputCharacters"
> & {
  /** What has set them, for texts. */
  readonly setBy?: { readonly [Name in keyof Limits]?: string };
};

export type BoundLimits = ScriptLimits & Required<Omit<ScriptLimits, "setBy">>;

export interface Problem {
  readonly reason: string;
  readonly because: "denied" | "limit" | "output" | "killed" | "broken";
  readonly limit?: "commandMinutes" | "commandIdleMinutes";
}

/** What ends the scripts of an activity before they end. */
export class Bounds {
  readonly #limits: BoundLimits;
  readonly #clock: Clock;
  readonly #outer: readonly AbortSignal[];
  readonly #over = new AbortController();
  readonly #abort = new AbortController();
  readonly #releases: readonly Release[];
  #heard: number;
  #stopped: Problem | undefined;

  constructor(limits: BoundLimits, clock: Clock, outer: readonly AbortSignal[]) {
    this.#limits = limits;
    this.#clock = clock;
    this.#outer = outer;
    this.#heard = clock.now();
    this.#releases = [
      ...outer.map((signal) => onAbort(signal, () => this.#abort.abort())),
      startTimer(clock, limits.commandMinutes * 60_000, () => this.#exceedTime("commandMinutes")),
    ];
    void this.#watchSilence();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopped(): Problem | undefined {
    return this.#stopped;
  }

  get isCanceled(): boolean {
    return this.#stopped === undefined && this.#outer.some(({ aborted }) => aborted);
  }

  heard(): void {
    this.#heard = this.#clock.now();
  }

  /** There is more output than `bytes`. */
  exceed(bytes: number): void {
    this.#stop({ because: "output", reason: `The output is longer than ${bytes} bytes` });
  }

  end(): void {
    this.#over.abort();
    for (const release of this.#releases) release();
  }

  async #watchSilence(): Promise<void> {
    const most = this.#limits.commandIdleMinutes * 60_000;
    while (!this.#over.signal.aborted) {
      const silent = this.#clock.now() - this.#heard;
      if (silent >= most) return this.#exceedTime("commandIdleMinutes");
      await this.#clock.sleep(most - silent, this.#over.signal);
    }
  }

  #exceedTime(limit: "commandMinutes" | "commandIdleMinutes"): void {
    const { setBy = {}, [limit]: value } = this.#limits;
    const source = setBy[limit];
    const bound = { limit, value, ...defined({ setBy: source }) };
    const reason = `Exceeded ${limitText(bound)}`;
    this.#stop({ because: "limit", limit, reason });
  }

  #stop(problem: Problem): void {
    if (this.#abort.signal.aborted) return;
    this.#stopped = problem;
    this.#abort.abort();
  }
}
