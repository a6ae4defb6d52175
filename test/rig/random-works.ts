/** Random trees of works, and how each of their runs ends. */
import * as fc from "fast-check";
import type { Work } from "../../src/entry/model.ts";
import { names, succeed } from "./commands.ts";
import { answered } from "./crashes.ts";
import { ref } from "./engine.ts";

export type Outcome = "succeeds" | "fails" | "is cut" | "crashes";

const onCrash = fc.constantFrom(undefined, "stop" as const, "continue" as const);
export const works = fc.letrec<{ work: Work }>((tie) => {
  const work = tie("work");
  const some = fc.array(work, { minLength: 1, maxLength: 3 });
  // The first one is what oneOf shrinks to, and what it ends with at its depth.
  const kinds: Readonly<Record<Exclude<Work["kind"], "Flow">, fc.Arbitrary<Work>>> = {
    Ref: fc.constantFrom(...names).map(ref),
    Run: fc.constantFrom("r", "s").map((name): Work => ({ kind: "Run", run: [name] })),
    Seq: some.map((children): Work => ({ kind: "Seq", works: children })),
    Par: fc.tuple(some, onCrash).map(([children, crash]): Work => ({
      kind: "Par",
      works: children,
      ...(crash && { onCrash: crash }),
    })),
    Alt: fc
      .record({ condition: work, trueWork: work, falseWork: work }, { requiredKeys: ["condition"] })
      .map((alt): Work => ({ kind: "Alt", ...alt })),
    Loop: fc
      .record(
        {
          body: work,
          preCondition: fc.tuple(fc.boolean(), work),
          postCondition: fc.tuple(fc.boolean(), work),
          atMost: fc.integer({ min: 1, max: 4 }),
          atMostReached: fc.constantFrom("fail" as const, "succeed" as const),
        },
        { requiredKeys: ["body"] },
      )
      .map(({ atMostReached, ...loop }): Work => ({
        kind: "Loop",
        ...loop,
        ...(loop.atMost && atMostReached && { atMostReached }),
      })),
    Each: fc
      .record({
        values: fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 4 }),
        work,
        parallel: fc.boolean(),
        atMost: fc.integer({ min: 2, max: 4 }),
        sample: fc.boolean(),
        crash: onCrash,
      })
      .map(({ values, work: inner, parallel, atMost, sample, crash }): Work => ({
        kind: "Each",
        items: { values },
        work: inner,
        parallel,
        atMost,
        sample,
        ...(crash && { onCrash: crash }),
      })),
  };
  return { work: fc.oneof({ maxDepth: 4, withCrossShrink: true }, ...Object.values(kinds)) };
}).work;

/** The n-th run of a work for the same items ends the same way, whatever runs beside it. 8 sides are no success. */
export function dice(seed: number, key: string, run: number, sides = 20): Outcome {
  let hash = seed ^ (run * 40_503);
  for (const char of key) hash = Math.imul(hash ^ char.charCodeAt(0), 2_654_435_761);
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519) >>> 0;
  const face = ((hash ^ (hash >>> 13)) >>> 0) % sides;
  return face < 2 ? "crashes" : face < 3 ? "is cut" : face < 8 ? "fails" : "succeeds";
}

export const ofCommand = (seed: number, name: string, item = ""): number | string => {
  const outcome = dice(seed, `${name} ${item}`, 0);
  return outcome === "succeeds" ? 0 : outcome === "fails" ? 1 : "it was killed";
};

export const keyOf = (workId: number, items: readonly string[]): string =>
  JSON.stringify([workId, items]);
export const itemsIn = ({
  item,
  outerItems = [],
}: {
  readonly item?: string;
  readonly outerItems?: readonly string[];
}) => (item === undefined ? [] : [...outerItems, item]);

export const acts = {
  succeeds: succeed,
  fails: {},
  "is cut": { ...succeed, cut: true },
  crashes: { crash: answered(400) },
} as const;
