/** What runs the scripts of EXECUTE, by the tag of their code fence. `docs/workflows.md` has the rules. */

/** Runs the code fences with certain tags. */
export interface Executor {
  /** The tags of the code fences that it runs. Upper and lower case are the same. */
  readonly tags: readonly string[];
  /** The shell command that `permissions.shell` decides about. Absent: the host vouches for everything that it runs. */
  readonly command?: (code: string) => string;
  /** Runs a script to its end, or until `signal` aborts. A rejection fails the activity. */
  readonly run: (code: string, context: ScriptContext) => Promise<ScriptEnd>;
}

/** Where a script runs. */
export interface ScriptContext {
  /** Aborts for a cancellation and for an exceeded limit. What was started must end then. */
  readonly signal: AbortSignal;
  /** Where the shell of the run is. Absolute. */
  readonly workingDirectory: string;
  /** What the shell of the run exports. */
  readonly environment: Readonly<Record<string, string>>;
  /** Passes on output, as it comes. */
  readonly write: (output: ScriptOutputPiece) => void;
}

export interface ScriptOutputPiece {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
  /** The script is over: a process in the background has written it. It is kept in the file of the script only. */
  readonly late?: boolean;
}

/** How a script has ended. */
export type ScriptEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  /** It was ended by a signal that it did not expect. */
  | { readonly kind: "killed"; readonly signal: string; readonly exitCode: number }
  /** It did not run, or nobody knows how it ended. */
  | { readonly kind: "failed"; readonly reason: string };
