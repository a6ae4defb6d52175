/** A line of a log, of whatever event. */
import type { WorkRef } from "../events/event.ts";
import type { Tone } from "./paint.ts";

export type Verbosity = "quiet" | "normal" | "verbose";

export interface EventLine {
  /** Null for the whole job. */
  readonly work: WorkRef | null;
  readonly tone: Tone;
  /** One line, harmless. */
  readonly text: string;
}

export interface Candidate extends EventLine {
  /** The lowest verbosity that shows it. */
  readonly from: Verbosity;
}
