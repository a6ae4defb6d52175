/** A difference between a journal and what was written. */
export interface JournalProblem {
  /** 1-based. */
  readonly line: number;
  /** A sentence for people. */
  readonly reason: string;
  /**
   * `torn`: the last line is incomplete, because the process was killed or still runs. `removed`: such a line was
   * removed here when the journal was continued. `unknown`: an intact event of a type that a newer agent-jobs has
   * added. `damaged`: everything else.
   */
  readonly kind: "torn" | "removed" | "unknown" | "damaged";
}
