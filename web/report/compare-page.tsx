/** Two runs side by side. */
import type { RunSource } from "../data/run-source.ts";
import { PageHeading } from "../parts/notes.tsx";

export function ComparePage(_props: { sources: readonly RunSource[] }) {
  return <PageHeading>Compare</PageHeading>;
}
