/** Random work trees through the job routes, against a model of the documents' rules in a few lines. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import * as fc from "fast-check";
import type { Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { entryOf, jobFeed, sessions } from "../rig/server-fixtures.ts";

type Leaf = "ok" | "fails" | "first" | "later";
type Work =
  | { readonly kind: "Ref"; readonly taskId: Leaf }
  | { readonly kind: "Seq" | "Par"; readonly works: readonly Work[] }
  | {
      readonly kind: "Loop";
      readonly preCondition?: readonly [boolean, Work];
      readonly body: Work;
      readonly postCondition?: readonly [boolean, Work];
    }
  | {
      readonly kind: "Alt";
      readonly condition: Work;
      readonly trueWork?: Work;
      readonly falseWork?: Work;
    };

const leaf = (...ids: readonly Leaf[]): fc.Arbitrary<Work> =>
  fc.constantFrom(...ids).map((taskId) => ({ kind: "Ref", taskId }));

/** Loops end: no condition asks for more than one further iteration. */
const works = fc.letrec<{ work: Work; seq: Work; par: Work; loop: Work; alt: Work }>((tie) => {
  const work = tie("work");
  const list = fc.array(work, { minLength: 1, maxLength: 3 });
  const again = fc.oneof(
    fc.tuple(fc.constant(true), leaf("first", "fails")),
    fc.tuple(fc.constant(false), leaf("later", "ok")),
  );
  return {
    work: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      leaf("ok", "ok", "fails", "first", "later"),
      tie("seq"),
      tie("par"),
      tie("loop"),
      tie("alt"),
    ),
    seq: list.map((parts): Work => ({ kind: "Seq", works: parts })),
    par: list.map((parts): Work => ({ kind: "Par", works: parts })),
    loop: fc.record(
      {
        kind: fc.constant("Loop" as const),
        preCondition: fc.tuple(fc.boolean(), work),
        body: work,
        postCondition: again,
      },
      { requiredKeys: ["kind", "body"] },
    ),
    alt: fc.record(
      { kind: fc.constant("Alt" as const), condition: work, trueWork: work, falseWork: work },
      { requiredKeys: ["kind", "condition"] },
    ),
  };
});

/** What must happen, as lines of `jobFeed`; the branches of a Par one after the other. */
function play(job: Work): { readonly lines: string[]; readonly ordered: boolean } {
  const ids = new Map<Work, number>();
  const number = (work: Work): void => {
    if (work.kind === "Ref") ids.set(work, ids.size);
    else partsOf(work).forEach(number);
  };
  number(job);
  const lines: string[] = [];
  const starts = new Map<number, number>();
  let ordered = true;
  const run = (work: Work): boolean => {
    switch (work.kind) {
      case "Ref": {
        const id = ids.get(work) ?? -1;
        const start = (starts.get(id) ?? 0) + 1;
        starts.set(id, start);
        const { taskId } = work;
        const succeeds = { ok: true, fails: false, first: start === 1, later: start > 1 }[taskId];
        lines.push(`${id} started`, `${id} ${succeeds ? "succeeded" : "failed"}`);
        return succeeds;
      }
      case "Seq":
        return work.works.every(run);
      case "Par":
        ordered &&= work.works.length < 2;
        return work.works.map(run).every(Boolean);
      case "Loop":
        for (;;) {
          const { preCondition: before, body, postCondition: again } = work;
          if (before !== undefined && run(before[1]) !== before[0]) return true;
          if (!run(body)) return false;
          if (again === undefined || run(again[1]) !== again[0]) return true;
        }
      case "Alt": {
        const chosen = run(work.condition) ? work.trueWork : work.falseWork;
        return chosen === undefined || run(chosen);
      }
    }
  };
  lines.push(run(job) ? "jobSucceeded" : "jobFailed");
  return { lines, ordered };
}

function partsOf(work: Exclude<Work, { kind: "Ref" }>): readonly Work[] {
  switch (work.kind) {
    case "Seq":
    case "Par":
      return work.works;
    case "Loop":
      return present(work.preCondition?.[1], work.body, work.postCondition?.[1]);
    case "Alt":
      return present(work.condition, work.trueWork, work.falseWork);
  }
}

function present(...parts: readonly (Work | undefined)[]): Work[] {
  return parts.filter((part) => part !== undefined);
}

const seed = Date.now() % 1_000_000;
const trees = fc
  .sample(works.work, { numRuns: 200, seed })
  .filter((tree) => tree.kind !== "Ref" && play(tree).lines.length <= 30)
  .slice(0, 12);
const byName = Object.fromEntries(trees.map((tree, index) => [`job ${index}`, { ...tree }]));

const server = await startServer({ entry: entryOf(byName), sessions });
after(() => server.stop());

describe(`random work trees (seed ${seed})`, { concurrency: 4 }, () => {
  for (const [index, tree] of trees.entries()) {
    it(`go the way that the documents say: ${JSON.stringify(tree)}`, async () => {
      const { lines, ordered } = play(tree);
      const { job } = await server.runJob(`job ${index}`);
      assert.deepEqual(job.at(-1), { callback: lines.at(-1) });
      if (ordered) {
        assert.deepEqual(job, jobFeed(lines, job));
        return;
      }
      assert.deepEqual(byWork(job), byWork(jobFeed(lines, [])));
    });
  }
});

/** What happens to each work, in its order. */
function byWork(feed: readonly Answer[]): Map<unknown, unknown[]> {
  const found = new Map<unknown, unknown[]>();
  for (const { callback, workId, succeeded } of feed)
    found.set(workId, [...(found.get(workId) ?? []), [callback, succeeded]]);
  return found;
}
