/** Coverage of a job by its rehearsals. The points come from the tree of works, so all rehearsals of a job share them. */
import type { CompositeWork, PreparedEntry, Work } from "../entry/model.ts";
import { allWorks, isLeaf, leafName, leafWorks } from "../entry/work.ts";
import type { RunEvent } from "../events/event.ts";

type Point = string;

interface Transition {
  readonly work: CompositeWork<Work<number>>;
  readonly taken: "trueWork" | "falseWork" | "noPass" | "furtherPass" | "atMost" | "items";
}

type Leaf = ReturnType<typeof leafWorks<number>>[number];

type Transitions = Readonly<Partial<Record<Transition["taken"], Point>>>;

function pointsOf(entry: PreparedEntry, jobName: string): readonly Point[] {
  const tree = entry.jobs[jobName]?.work;
  const transitions = transitionsIn(tree);
  const points = (tree === undefined ? [] : allWorks(tree)).flatMap((work): readonly Point[] => {
    if (!isLeaf(work)) return Object.values(transitions.get(work) ?? {});
    if (work.kind !== "Ref") return [ran(work)];
    const { retryTimes = 0 } = entry.tasks[work.taskId]?.criteria?.failureAction ?? {};
    return [ran(work), ...(retryTimes > 0 ? [retried(work)] : [])];
  });
  return [...new Set(points)];
}

/** The transitions of each work that has some. Of two with the same first leaf, the inner one gets a number. */
function transitionsIn(tree: Work<number> | undefined): ReadonlyMap<Work<number>, Transitions> {
  const names: string[] = [];
  const transitions = new Map<Work<number>, Transitions>();
  for (const work of tree === undefined ? [] : allWorks(tree)) {
    if (isLeaf(work)) continue;
    const name = nameOfComposite(work);
    names.push(name);
    const count = names.filter((one) => one === name).length;
    transitions.set(work, transitionsOf(work, count === 1 ? name : `${name} [${count}]`));
  }
  return transitions;
}

function nameOfComposite(work: CompositeWork<Work<number>>): string {
  const [first] = leafWorks(
    work.kind === "Alt" ? work.condition : work.kind === "Loop" ? work.body : work,
  );
  const leaf = first === undefined ? "nothing" : nameOf(first);
  return `the ${work.kind} ${work.kind === "Alt" ? "on" : "over"} ${leaf}`;
}

function transitionsOf(work: CompositeWork<Work<number>>, name: string): Transitions {
  switch (work.kind) {
    case "Seq":
    case "Par":
      return {};
    case "Alt": {
      const branch = (taken: "trueWork" | "falseWork"): Point =>
        `${taken}${work[taken] === undefined ? " (absent)" : ""} of ${name}`;
      return { trueWork: branch("trueWork"), falseWork: branch("falseWork") };
    }
    case "Loop": {
      const { preCondition, postCondition, atMost } = work;
      const repeats = atMost === undefined ? postCondition !== undefined : atMost > 1;
      const ends = (preCondition ?? postCondition) !== undefined;
      return {
        ...(preCondition !== undefined && { noPass: `no pass of ${name}` }),
        ...(repeats && { furtherPass: `a second pass of ${name}` }),
        ...(atMost !== undefined && ends && { atMost: `all passes of ${name}, and no end` }),
      };
    }
    case "Each":
      return { items: `items of ${name}` };
  }
}

function ran(work: Leaf): Point {
  const what = { Ref: "task", Flow: "workflow", Run: "command" }[work.kind];
  return `${what} ${nameOf(work)}`;
}

function retried(work: Leaf): Point {
  return `a retry of task ${nameOf(work)}`;
}

function nameOf(work: Leaf): string {
  return `${JSON.stringify(leafName(work))} (step ${work.workIdInJob})`;
}

/** The points that one run reaches: a reporter of its events and of its transitions. */
export class ReachedPoints {
  readonly points = new Set<Point>();
  readonly #leaves: readonly Leaf[];
  readonly #transitions: ReadonlyMap<Work<number>, Transitions>;

  constructor({ entry, jobName }: { readonly entry: PreparedEntry; readonly jobName: string }) {
    const tree = entry.jobs[jobName]?.work;
    this.#leaves = tree === undefined ? [] : leafWorks<number>(tree);
    this.#transitions = transitionsIn(tree);
  }

  report(event: RunEvent): void {
    const isRetry = event.type === "decision" && event.decision.kind === "criteria-retry";
    if (!isRetry && event.type !== "work.started") return;
    const leaf = this.#leaves.find(({ workIdInJob }) => workIdInJob === event.work?.workId);
    if (leaf !== undefined) this.points.add(isRetry ? retried(leaf) : ran(leaf));
  }

  take({ work, taken }: Transition): void {
    const point = this.#transitions.get(work)?.[taken];
    if (point !== undefined) this.points.add(point);
  }
}

/** A job that no rehearsal is for counts, too. */
export class CoverageOfJobs {
  readonly #jobs = new Map<
    string,
    { entry: string; job: string; points: readonly Point[]; reached: Set<Point> }
  >();

  add(
    file: string,
    entry: PreparedEntry,
    ran: { readonly jobName: string; readonly reached: ReadonlySet<Point> },
  ): void {
    for (const jobName of Object.keys(entry.jobs)) {
      const key = JSON.stringify([file, jobName]);
      const job = this.#jobs.get(key) ?? {
        entry: file,
        job: jobName,
        points: pointsOf(entry, jobName),
        reached: new Set(),
      };
      this.#jobs.set(key, job);
      if (jobName === ran.jobName) for (const point of ran.reached) job.reached.add(point);
    }
  }

  total() {
    const jobs = [...this.#jobs.values()].map(({ entry, job, points, reached }) => {
      const missed = points.filter((point) => !reached.has(point));
      return { entry, job, points: points.length, reached: points.length - missed.length, missed };
    });
    const sum = (field: "points" | "reached"): number =>
      jobs.reduce((total, job) => total + job[field], 0);
    const [points, reached] = [sum("points"), sum("reached")];
    // Never 100 with something missed.
    const percent = points === 0 ? 100 : Math.floor((reached / points) * 1000) / 10;
    return { jobs, points, reached, percent };
  }
}
