/** What people see of an action while it runs. Nothing of it reaches the model. */
import { defined } from "../document/guards.ts";
import type { ActionDisplay } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import { beginningOf } from "../events/cut.ts";
import { withoutSequences } from "../platform/terminal-sequences.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
import type { ToolProgress } from "../tools/tool.ts";
import type { ActionSpec } from "./model.ts";

const longestLabel = 200;
/** Only the end of an action is its 100 %. */
const mostPercent = 95;
const stepPercent = 5;
const pauseMs = 200;

/**
 * One line: without control characters, line breaks and what changes the direction of text. Nothing takes the place
 * of what is hidden, and no word is cut: it is redacted later.
 */
export function labelOf(text: string): string {
  const line = withoutSequences(text.slice(0, 10 * longestLabel))
    .replaceAll(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, "")
    .trim();
  return beginningOf(line, longestLabel).trimEnd();
}

export function displayOf({ display, action }: ActionSpec): ActionDisplay | undefined {
  if (display === undefined || display === null) return undefined;
  const label = labelOf(display.label ?? "");
  return {
    kind: display.type === "progress_bar" ? "progress_bar" : "status_message",
    label: label === "" ? labelOf(action) : label,
  };
}

export interface Progress {
  readonly percent?: number;
  readonly message?: string;
}

/**
 * The progress of one call, for people: what it reports and, between, steps by the estimate of the model. It never goes
 * backward, doesn't reach the end too early, and doesn't come too often.
 */
export class CallProgress {
  readonly #clock: Clock;
  readonly #stepMs: number;
  readonly #tell: (news: Progress) => void;
  #stop: Release = () => {};
  #percent = -1;
  #message: string | undefined;
  #last = Number.NEGATIVE_INFINITY;

  constructor({ display }: ActionSpec, clock: Clock, tell: (news: Progress) => void) {
    this.#clock = clock;
    this.#stepMs = (display?.estimated_duration_seconds ?? 0) * 10 * stepPercent;
    this.#tell = tell;
  }

  report({ percent, message }: ToolProgress): void {
    const now = this.#clock.now();
    const rounded = Math.min(mostPercent, Math.floor(percent ?? Number.NaN));
    const label = typeof message === "string" ? labelOf(message) : undefined;
    const grown = rounded > this.#percent;
    const changed = label !== undefined && label !== this.#message && now - this.#last >= pauseMs;
    if (!grown && !changed) return;
    this.#last = now;
    if (grown) this.#percent = rounded;
    if (label !== undefined) this.#message = label;
    this.#tell({
      ...(this.#percent >= 0 ? { percent: this.#percent } : {}),
      ...defined({ message: label }),
    });
  }

  estimate(): void {
    if (this.#stepMs <= 0) return;
    this.#stop = startTimer(this.#clock, this.#stepMs, () => {
      if (this.#percent >= mostPercent) return;
      this.#percent = Math.min(mostPercent, Math.max(0, this.#percent) + stepPercent);
      this.#tell({ percent: this.#percent });
      this.estimate();
    });
  }

  end(): void {
    this.#stop();
  }
}
