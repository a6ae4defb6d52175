/** Why there is no run, said by whoever finds out; `action.ts` makes the end of the step of it. */
export class Stop extends Error {
  override readonly name = "Stop";
  readonly result: "failure" | "skipped";
  /** All of them; the message is the first. */
  readonly reasons: readonly string[];

  constructor(result: "failure" | "skipped", reasons: readonly string[]) {
    super(reasons[0] ?? result);
    this.result = result;
    this.reasons = reasons;
  }
}
