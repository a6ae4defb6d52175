/** Thrown by whatever finds a reason not to run. `action.ts` turns it into the result of the step. */
export class Stop extends Error {
  override readonly name = "Stop";
  readonly result: "failure" | "skipped";
  readonly reasons: readonly string[];
  /** The event is not trusted: nothing is wrong with the commit. */
  readonly isDistrust: boolean;

  constructor(result: "failure" | "skipped", reasons: readonly string[], isDistrust = false) {
    super(reasons[0] ?? result);
    this.result = result;
    this.reasons = reasons;
    this.isDistrust = isDistrust;
  }
}
