import type { Kind } from "../option-kinds.ts";

/**
 * `run` stands for the commands run, plan and merge, `access` for those that reach a model server, `host` for `JobHost`,
 * `job` for its `runJob`, and `workflow` for `runWorkflow`.
 */
export type Edge = "run" | "serve" | "access" | "action" | "host" | "job" | "workflow";

export interface Option<T = unknown> {
  readonly kind: Kind<T>;
  /** The name of the input, if it isn't that of the field. */
  readonly name?: string;
  /** Sentences in Markdown. */
  readonly help: string;
  /** Heading in the help of the command line. */
  readonly group?: string;
  /** The link to more in docs/cli.md. */
  readonly page?: string;
  /** The flag of the command line, with its argument. */
  readonly flag?: string;
  /** The variable of the environment that replaces the flag. */
  readonly env?: string;
  /** An empty value counts as none: a variable of a CI system that isn't set is empty. */
  readonly mayBeEmpty?: true;
  /** The option that can't be used beside it. */
  readonly conflicts?: string;
  readonly implies?: Readonly<Record<string, unknown>>;
  /** The default, described in words. */
  readonly without?: { readonly cli?: string; readonly action?: string };
  /** The description of the input, if it differs from `help`. */
  readonly input?: string;
  /** A warning about the input. */
  readonly risk?: string;
  /** The default of the input. */
  readonly preset?: string;
  /** The default of the input, which only a runner evaluates. */
  readonly expression?: string;
}

export type Rows = Readonly<Record<string, Option & { readonly on: readonly Edge[] }>>;
