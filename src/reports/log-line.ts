/** A line of a log, of whatever event. */
import type { Tone } from "./paint.ts";

export type Verbosity = "quiet" | "normal" | "verbose";

export interface Line {
  readonly tone: Tone;
  /** The lowest verbosity that shows it. */
  readonly from: Verbosity;
  readonly text: string;
}

export function plain(text: string): Line {
  return { tone: "plain", from: "normal", text };
}

export function warning(text: string): Line {
  return { tone: "warn", from: "normal", text };
}

export function detail(text: string): Line {
  return { tone: "faint", from: "verbose", text };
}
