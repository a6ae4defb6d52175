/**
 * The steps of a Markdown workflow: each run of an activity begins and ends with an event. The `effects` of all ended
 * steps, in order, are what came from outside: given to the interpreter again, they make the same state again.
 */
import type { WorkRef } from "./plan.ts";

export interface StepStarted {
  readonly type: "step.started";
  readonly work: WorkRef;
  /** In this run of the work, from 1 on. The step of a CALL contains those of the called file. */
  readonly step: number;
  /** The id of its file in the plan. */
  readonly file: string;
  readonly activity: string;
  /** Which run of this activity in this run of its file, from 1 on. */
  readonly hit: number;
  /** 0: of the first file, else of a called one. */
  readonly depth: number;
  /** What is asked of the outside; absent if nothing is. */
  readonly input?: StepInput;
  /** Taken over from an earlier run: nothing is done. */
  readonly restored?: true;
}

export type StepInput =
  | { readonly kind: "prompt"; readonly agent: number; readonly text: string }
  | { readonly kind: "ask"; readonly question: string; readonly times: number }
  | { readonly kind: "execute"; readonly scripts: readonly Script[] };

/** What a script prints, while it runs. */
export interface StepPrinted {
  readonly type: "step.output";
  readonly work: WorkRef;
  readonly step: number;
  /** Its index in the input. */
  readonly script: number;
  readonly text: string;
}

export interface StepEnded {
  readonly type: "step.ended";
  readonly work: WorkRef;
  readonly step: number;
  readonly file: string;
  readonly activity: string;
  /** Whether the way on is the next activity, not the other one. */
  readonly succeeded: boolean;
  readonly reason?: string;
  /** Where the flow goes on; absent at an end. */
  readonly to?: string;
  /** What came from outside, in order. Comes before what follows from it: an event that is too long is cut at its end. */
  readonly effects?: readonly EffectResult[];
  /** The shell of EXECUTE, if it has changed. */
  readonly shell?: ShellState;
  /** RESULT, if it has changed. */
  readonly result?: string;
  /** The variables that have changed. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The length of all texts in `effects` and `shell` before redaction. Shorter texts are incomplete. */
  readonly characters?: number;
  readonly restored?: true;
}

/** The length of all texts of `effects` and `shell`. */
export function stepCharacters({ effects, shell }: Pick<StepEnded, "effects" | "shell">): number {
  return textLength(effects) + textLength(shell);
}

function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + textLength(item), 0);
}

/** What came of what a workflow asked of the outside. */
export type EffectResult =
  | { readonly kind: "passed" }
  | { readonly kind: "answered"; readonly text: string }
  | { readonly kind: "executed"; readonly runs: readonly ScriptRun[] }
  | { readonly kind: "read"; readonly text: string }
  /** The activity has failed; the workflow may go on. */
  | {
      readonly kind: "failed";
      readonly reason: string;
      /** The scripts that had begun. */
      readonly runs?: readonly ScriptRun[];
    }
  /** The run is over: a limit of the whole, or a cancellation. No handler runs. */
  | { readonly kind: "stopped"; readonly reason: string };

export interface Script {
  /** The tag of the code fence, in lower case; `sh` for the command of an activity. */
  readonly tag: string;
  readonly code: string;
}

export interface ScriptRun {
  readonly code: string;
  /** stdout and stderr, as they came; both ends if it was too long. */
  readonly output: string;
  /** Of the whole output. */
  readonly outputCharacters?: number;
  /** The whole output, as bytes, while the run lasts. */
  readonly outputFile?: string;
  /** Only if they are separate. */
  readonly stdout?: string;
  readonly stderr?: string;
  /** 128 and the number of the signal, if one has ended the script. */
  readonly exitCode: number;
  /** It was ended for its time. */
  readonly timedOut?: boolean;
}

/** What the shell of a run takes over when the run is resumed. */
export interface ShellState {
  /** Absolute. */
  readonly workingDirectory: string;
  /** Exported variables that scripts have set. What the run itself provides is not among them, unless changed. */
  readonly variables: Readonly<Record<string, string>>;
  /** Variables of the run that scripts have removed. */
  readonly removed: readonly string[];
  /** The functions of the shell, as it prints them. */
  readonly functions: string;
}
