/** Lines of a log, and their colors. */
import { styleText } from "node:util";

export type Tone = "good" | "bad" | "warn" | "faint" | "name" | "plain";
export type Verbosity = "quiet" | "normal" | "verbose";
export type Paint = (tone: Tone, text: string) => string;

export interface Line {
  readonly tone: Tone;
  /** The lowest verbosity that shows it. */
  readonly from: Verbosity;
  readonly text: string;
}

const styles = { good: "green", bad: "red", warn: "yellow", faint: "dim", name: "cyan" } as const;

/** The caller, which knows the stream and the environment, has decided whether to use color. */
export function createPaint(colors: boolean): Paint {
  return (tone, text) =>
    // Without `validateStream: false` Node looks at its own stdout and at NO_COLOR instead.
    !colors || tone === "plain" || text === ""
      ? text
      : styleText(styles[tone], text, { validateStream: false });
}
