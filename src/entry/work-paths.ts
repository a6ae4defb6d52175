/** Where the workflows of a job are in the document that describes them. */
import type { Path } from "../document/problem.ts";
import { entryCheck } from "./problems.ts";
import type { Entry, FlowWork, Work } from "./model.ts";
import { partsOf } from "./work.ts";

/** A workflow in a job, as the document has it. */
export interface FlowLeaf {
  readonly path: Path;
  /** Of its `file`. */
  readonly codePath: string;
  readonly work: FlowWork;
}

/** All workflows in the jobs of an entry, in reading order. */
export function flowLeaves({ jobs }: Pick<Entry, "jobs">): readonly FlowLeaf[] {
  const found = (path: Path, work: Work): readonly FlowLeaf[] =>
    work.kind === "Flow"
      ? [{ path, codePath: entryCheck.codePath([...path, "file"]), work }]
      : partsOf(path, work).flatMap(([at, part]) => found(at, part));
  return Object.entries(jobs).flatMap(([name, { work }]) => found(["jobs", name, "work"], work));
}
