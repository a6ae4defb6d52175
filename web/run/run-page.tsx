/** One run. */
import type { RunSource } from "../data/run-source.ts";
import "../parts/flowchart.ts";
import "../parts/markdown.tsx";
import "../parts/virtual-list.tsx";
import { PageHeading } from "../parts/notes.tsx";
import type { RunPart } from "../routes.ts";

export interface RunActions {
  stop(): Promise<void>;
  startAgain(): Promise<void>;
}

export function RunPage({
  source,
}: {
  source: RunSource;
  route: RunPart;
  /** What can be done with it; only in the portal. */
  actions?: RunActions;
}) {
  return <PageHeading eyebrow="Run">{source.runId}</PageHeading>;
}
