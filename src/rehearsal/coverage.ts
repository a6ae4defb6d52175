/**
 * What of a job rehearsals have reached: its works, the retries of its tasks, the branches of each `Alt`, the passes of
 * each `Loop`, the items of each `Each`. The points are a fold over the tree of works, so that they are the same for all
 * rehearsals of a job.
 */
import type { AltWork, EachWork, LoopWork, PreparedEntry, Work } from "../entry/model.ts";
import { allWorks, leafName, leafWorks } from "../entry/work.ts";
import type { RunEvent } from "../events/event.ts";

/** One thing that a rehearsal can reach, in words that stand for it in a report. */
type Point = string;

type Way = "trueWork" | "falseWork" | "noPass" | "furtherPass" | "atMost" | "items";

interface JobPlan {
  readonly entry: PreparedEntry;
  readonly jobName: string;
}

/** Everything that can be reached in a job, in reading order. */
function coveragePoints({ entry, jobName }: JobPlan): readonly Point[] {
  const job = entry.jobs[jobName];
  if (job === undefined) return [];
  const names = namesOf(job.work);
  return allWorks(job.work).flatMap((work) => pointsOf(work, entry, names));
}

type Turning = AltWork<number> | LoopWork<number> | EachWork<number>;
type Names = ReadonlyMap<Work<number>, string>;

/** Of each `Alt`, `Loop` and `Each`: by its first leaf. The inner one of two with the same gets a number. */
function namesOf(tree: Work<number>): Names {
  const names = new Map<Work<number>, string>();
  for (const work of allWorks(tree)) {
    if (work.kind !== "Alt" && work.kind !== "Loop" && work.kind !== "Each") continue;
    const [first] = leafWorks(decidingPart(work));
    const plain = `the ${work.kind} ${work.kind === "Alt" ? "on" : "over"} ${first === undefined ? "nothing" : nameOf(first)}`;
    const same = [...names.values()].filter((name) => name.startsWith(plain)).length;
    names.set(work, same === 0 ? plain : `${plain} [${same + 1}]`);
  }
  return names;
}

function decidingPart(work: Turning): Work<number> {
  switch (work.kind) {
    case "Alt":
      return work.condition;
    case "Loop":
      return work.body;
    case "Each":
      return work.work;
  }
}

function pointsOf(work: Work<number>, entry: PreparedEntry, names: Names): readonly Point[] {
  switch (work.kind) {
    case "Ref": {
      const { retryTimes = 0 } = entry.tasks[work.taskId]?.criteria?.failureAction ?? {};
      return [ran(work), ...(retryTimes > 0 ? [retried(work)] : [])];
    }
    case "Flow":
    case "Run":
      return [ran(work)];
    case "Alt":
      return [wayPoint(work, "trueWork", names), wayPoint(work, "falseWork", names)];
    case "Loop": {
      const { preCondition, postCondition, atMost } = work;
      const repeats = atMost === undefined ? postCondition !== undefined : atMost > 1;
      const mayExceed = atMost !== undefined && (preCondition ?? postCondition) !== undefined;
      return [
        ...(preCondition === undefined ? [] : [wayPoint(work, "noPass", names)]),
        ...(repeats ? [wayPoint(work, "furtherPass", names)] : []),
        ...(mayExceed ? [wayPoint(work, "atMost", names)] : []),
      ];
    }
    case "Each":
      return [wayPoint(work, "items", names)];
    case "Seq":
    case "Par":
      return [];
  }
}

type Leaf = ReturnType<typeof leafWorks<number>>[number];

function ran(work: Leaf): Point {
  const what = { Ref: "task", Flow: "workflow", Run: "command" }[work.kind];
  return `${what} ${nameOf(work)}`;
}

function retried(work: Leaf): Point {
  return `a retry of task ${nameOf(work)}`;
}

function wayPoint(work: Turning, way: Way, names: Names): Point {
  const name = names.get(work) ?? "";
  switch (way) {
    case "trueWork":
    case "falseWork":
      return `${way}${work.kind === "Alt" && work[way] === undefined ? " (absent)" : ""} of ${name}`;
    case "items":
      return `items of ${name}`;
    case "noPass":
      return `no pass of ${name}`;
    case "furtherPass":
      return `a second pass of ${name}`;
    case "atMost":
      return `all passes of ${name}, and no end`;
  }
}

function nameOf(work: Leaf): string {
  return `${JSON.stringify(leafName(work))} (work ${work.workIdInJob})`;
}

/** What one run reaches: a reporter of its events, and of the ways that its works take. */
export class ReachedPoints {
  readonly #leaves: ReadonlyMap<number, Leaf>;
  readonly #names: Names;
  readonly #reached = new Set<Point>();

  constructor({ entry, jobName }: JobPlan) {
    const job = entry.jobs[jobName];
    const leaves = job === undefined ? [] : leafWorks<number>(job.work);
    this.#leaves = new Map(leaves.map((leaf) => [leaf.workIdInJob, leaf]));
    this.#names = job === undefined ? new Map() : namesOf(job.work);
  }

  report(event: RunEvent): void {
    if (event.type === "work.started") this.#reach(event.work.workId, ran);
    if (event.type === "decision" && event.decision.kind === "criteria-retry" && event.work) {
      this.#reach(event.work.workId, retried);
    }
  }

  take({ work, taken }: { readonly work: Turning; readonly taken: Way }): void {
    this.#reached.add(wayPoint(work, taken, this.#names));
  }

  get points(): ReadonlySet<Point> {
    return this.#reached;
  }

  #reach(workId: number, point: (leaf: Leaf) => Point): void {
    const leaf = this.#leaves.get(workId);
    if (leaf !== undefined) this.#reached.add(point(leaf));
  }
}

export interface JobCoverage {
  /** The entry file, as the rehearsal names it. */
  readonly entry: string;
  readonly job: string;
  readonly points: number;
  readonly reached: number;
  readonly missed: readonly Point[];
}

export interface Coverage {
  readonly jobs: readonly JobCoverage[];
  readonly points: number;
  readonly reached: number;
  /** 100 if there is nothing to reach. */
  readonly percent: number;
}

/** Of several rehearsals. A job that none of them is for counts, too. */
export class CoverageOfJobs {
  readonly #jobs = new Map<
    string,
    { entry: string; job: string; points: readonly Point[]; reached: Set<Point> }
  >();

  /** `file`: the entry. `reached`: by a run of `jobName`. */
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
        points: coveragePoints({ entry, jobName }),
        reached: new Set(),
      };
      this.#jobs.set(key, job);
      if (jobName === ran.jobName) for (const point of ran.reached) job.reached.add(point);
    }
  }

  total(): Coverage {
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
