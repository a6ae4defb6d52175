import type { AnnotationProperties } from "@actions/core";

/** The part of `@actions/core` that we use. `writeSummary` wraps its `summary`. */
export interface GithubCore {
  readonly info: (message: string) => void;
  readonly startGroup: (name: string) => void;
  readonly endGroup: () => void;
  readonly error: Annotate;
  readonly warning: Annotate;
  readonly notice: Annotate;
  /** Replaces the summary of the step. */
  readonly writeSummary: (markdown: string) => Promise<void>;
}

export type Annotate = (message: string, properties: AnnotationProperties) => void;
