/** Coverage of a job by its rehearsals. The points come from the tree of works, so all rehearsals of a job share them. */
import type { Transition } from "../engine/ports.ts";
import type { CompositeWork, LeafWork, PreparedEntry, Work } from "../entry/model.ts";
import { allWorks, isLeaf, leafName, leafWorks } from "../entry/work.ts";
import type { RunEvent } from "../events/event.ts";

type Taken = Transition["taken"];

/** A point of coverage is something that a run can do with a step or a composite. */
interface Point {
  readonly work: Work<number>;
  readonly kind: "run" | "retry" | Taken;
  readonly name: string;
}

function pointsOf({ jobs, tasks }: PreparedEntry, jobName: string): readonly Point[] {
  const tree = jobs[jobName]?.work;
  const names: string[] = [];
  return (tree === undefined ? [] : allWorks(tree)).flatMap((work): readonly Point[] => {
    if (!isLeaf(work)) {
      // Of two with the same first leaf, the inner one gets a number.
      const name = nameOfComposite(work);
      names.push(name);
      const count = names.filter((one) => one === name).length;
      const own = transitionsOf(work, count === 1 ? name : `${name} [${count}]`);
      return own.map(([kind, text]) => ({ work, kind, name: text }));
    }
    const name = nameOf(work);
    const what = { Ref: "task", Flow: "workflow", Run: "command" }[work.kind];
    const run: Point = { work, kind: "run", name: `${what} ${name}` };
    const { criteria } = (work.kind === "Ref" ? tasks[work.taskId] : undefined) ?? {};
    return criteria === undefined || criteria.failureAction.retryTimes === 0
      ? [run]
      : [run, { work, kind: "retry", name: `a retry of task ${name}` }];
  });
}

function nameOfComposite(work: CompositeWork<Work<number>>): string {
  const [first] = leafWorks(
    work.kind === "Alt" ? work.condition : work.kind === "Loop" ? work.body : work,
  );
  const leaf = first === undefined ? "nothing" : nameOf(first);
  return `the ${work.kind} ${work.kind === "Alt" ? "on" : "over"} ${leaf}`;
}

function nameOf(work: LeafWork<number>): string {
  return `${JSON.stringify(leafName(work))} (step ${work.workIdInJob})`;
}

function transitionsOf(
  work: CompositeWork<Work<number>>,
  name: string,
): readonly (readonly [Taken, string])[] {
  switch (work.kind) {
    case "Seq":
    case "Par":
      return [];
    case "Alt":
      return (["trueWork", "falseWork"] as const).map((taken) => [
        taken,
        `${taken}${work[taken] === undefined ? " (absent)" : ""} of ${name}`,
      ]);
    case "Loop": {
      const { preCondition, postCondition, atMost } = work;
      const repeats = atMost === undefined ? postCondition !== undefined : atMost > 1;
      const ends = (preCondition ?? postCondition) !== undefined;
      return [
        ...(preCondition === undefined ? [] : [["noPass", `no pass of ${name}`] as const]),
        ...(repeats ? [["furtherPass", `a second pass of ${name}`] as const] : []),
        ...(atMost !== undefined && ends
          ? [["atMost", `all passes of ${name}, and no end`] as const]
          : []),
      ];
    }
    case "Each":
      return [["items", `items of ${name}`]];
  }
}

/** The points that one run reaches: a reporter of its events and of its transitions. */
export class ReachedPoints {
  readonly points = new Set<string>();
  readonly #all: readonly Point[];

  constructor({ entry, jobName }: { readonly entry: PreparedEntry; readonly jobName: string }) {
    this.#all = pointsOf(entry, jobName);
  }

  report(event: RunEvent): void {
    const isRetry = event.type === "decision" && event.decision.kind === "criteria-retry";
    if (!isRetry && event.type !== "work.started") return;
    const id = event.work?.workId;
    this.#reach(isRetry ? "retry" : "run", (work) => isLeaf(work) && work.workIdInJob === id);
  }

  take({ work, taken }: Transition): void {
    this.#reach(taken, (one) => one === work);
  }

  #reach(kind: Point["kind"], isMeant: (work: Work<number>) => boolean): void {
    for (const point of this.#all)
      if (point.kind === kind && isMeant(point.work)) this.points.add(point.name);
  }
}

/** A job that no rehearsal is for counts, too. */
export class CoverageOfJobs {
  readonly #jobs = new Map<
    string,
    { entry: string; job: string; points: readonly string[]; reached: Set<string> }
  >();

  add(
    file: string,
    entry: PreparedEntry,
    ran: { readonly jobName: string; readonly reached: ReadonlySet<string> },
  ): void {
    for (const jobName of Object.keys(entry.jobs)) {
      const key = JSON.stringify([file, jobName]);
      const job = this.#jobs.get(key) ?? {
        entry: file,
        job: jobName,
        points: pointsOf(entry, jobName).map(({ name }) => name),
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
