/** Where the works of a job are in the document that describes them. */
import type { Path } from "../document/problem.ts";
import { entryCheck } from "./problems.ts";
import type { Entry, FlowWork, Work } from "./model.ts";

/** The works directly inside a work, with their paths. */
export function partsOf(path: Path, work: Work): readonly (readonly [Path, Work])[] {
  const at = (part: Work | undefined, ...more: Path): readonly (readonly [Path, Work])[] =>
    part === undefined ? [] : [[[...path, ...more], part]];
  switch (work.kind) {
    case "Ref":
    case "Flow":
      return [];
    case "Seq":
    case "Par":
      return work.works.flatMap((part, index) => at(part, "works", index));
    case "Loop":
      return [
        ...at(work.preCondition?.[1], "preCondition", 1),
        ...at(work.body, "body"),
        ...at(work.postCondition?.[1], "postCondition", 1),
      ];
    case "Alt":
      return [
        ...at(work.condition, "condition"),
        ...at(work.trueWork, "trueWork"),
        ...at(work.falseWork, "falseWork"),
      ];
  }
}

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
