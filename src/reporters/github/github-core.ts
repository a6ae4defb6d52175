import type { AnnotationProperties } from "@actions/core";

/** What we need of `@actions/core`, whose functions fit; `writeSummary` is made of its `summary`. */
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
