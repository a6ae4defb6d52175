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

type Turning = AltWork<number> | LoopWork<number> | EachWork<number>;
type Leaf = ReturnType<typeof leafWorks<number>>[number];

/** What can be reached in a job, in reading order. */
class JobPoints {
  readonly all: readonly Point[];
  readonly leaves: ReadonlyMap<number, Leaf>;
  readonly #ways = new Map<Work<number>, ReadonlyMap<Way, Point>>();

  constructor({ entry, jobName }: JobPlan) {
    const tree = entry.jobs[jobName]?.work;
    const works = tree === undefined ? [] : allWorks(tree);
    this.leaves = new Map(
      (tree === undefined ? [] : leafWorks<number>(tree)).map((leaf) => [leaf.workIdInJob, leaf]),
    );
    const names: string[] = [];
    this.all = works.flatMap((work): readonly Point[] => {
      switch (work.kind) {
        case "Ref": {
          const { retryTimes = 0 } = entry.tasks[work.taskId]?.criteria?.failureAction ?? {};
          return [ran(work), ...(retryTimes > 0 ? [retried(work)] : [])];
        }
        case "Flow":
        case "Run":
          return [ran(work)];
        case "Alt":
        case "Loop":
        case "Each": {
          const plain = nameOfTurning(work);
          // The inner one of two with the same first leaf gets a number.
          const same = names.filter((name) => name === plain).length;
          names.push(plain);
          const ways = waysOf(work, same === 0 ? plain : `${plain} [${same + 1}]`);
          this.#ways.set(work, ways);
          return [...ways.values()];
        }
        default:
          return [];
      }
    });
  }

  wayOf(work: Turning, way: Way): Point | undefined {
    return this.#ways.get(work)?.get(way);
  }
}

function nameOfTurning(work: Turning): string {
  const [first] = leafWorks(
    "condition" in work ? work.condition : "body" in work ? work.body : work.work,
  );
  const name = first === undefined ? "nothing" : nameOf(first);
  return `the ${work.kind} ${work.kind === "Alt" ? "on" : "over"} ${name}`;
}

function waysOf(work: Turning, name: string): ReadonlyMap<Way, Point> {
  const ways = new Map<Way, Point>();
  switch (work.kind) {
    case "Alt":
      for (const way of ["trueWork", "falseWork"] as const) {
        ways.set(way, `${way}${work[way] === undefined ? " (absent)" : ""} of ${name}`);
      }
      break;
    case "Loop": {
      const { preCondition, postCondition, atMost } = work;
      const repeats = atMost === undefined ? postCondition !== undefined : atMost > 1;
      if (preCondition !== undefined) ways.set("noPass", `no pass of ${name}`);
      if (repeats) ways.set("furtherPass", `a second pass of ${name}`);
      if (atMost !== undefined && (preCondition ?? postCondition) !== undefined)
        ways.set("atMost", `all passes of ${name}, and no end`);
      break;
    }
    case "Each":
      ways.set("items", `items of ${name}`);
      break;
  }
  return ways;
}

function ran(work: Leaf): Point {
  const what = { Ref: "task", Flow: "workflow", Run: "command" }[work.kind];
  return `${what} ${nameOf(work)}`;
}

function retried(work: Leaf): Point {
  return `a retry of task ${nameOf(work)}`;
}

function nameOf(work: Leaf): string {
  return `${JSON.stringify(leafName(work))} (work ${work.workIdInJob})`;
}

/** What one run reaches: a reporter of its events, and of the ways that its works take. */
export class ReachedPoints {
  readonly #job: JobPoints;
  readonly points = new Set<Point>();

  constructor(plan: JobPlan) {
    this.#job = new JobPoints(plan);
  }

  report(event: RunEvent): void {
    if (event.type === "work.started") this.#reach(event.work.workId, ran);
    if (event.type === "decision" && event.decision.kind === "criteria-retry" && event.work) {
      this.#reach(event.work.workId, retried);
    }
  }

  take({ work, taken }: { readonly work: Turning; readonly taken: Way }): void {
    const point = this.#job.wayOf(work, taken);
    if (point !== undefined) this.points.add(point);
  }

  #reach(workId: number, point: (leaf: Leaf) => Point): void {
    const leaf = this.#job.leaves.get(workId);
    if (leaf !== undefined) this.points.add(point(leaf));
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
        points: new JobPoints({ entry, jobName }).all,
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
