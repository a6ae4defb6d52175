/** A share of the failures, side by side: each waits most of its time. All of them: `npm run test:chaos:full`. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { problemsOf, story } from "./check.ts";
import { moments, type Failure } from "./failure.ts";
import { failures } from "./failures.ts";
import { play, type Observation } from "./play.ts";
import { caseName, effectOf, type Case } from "./rules.ts";

const isFull = process.env["AGENT_JOBS_CHAOS"] === "full";

/** Every failure at every moment it can happen, once and for good, alone and in a `Par`. */
function allCases(): readonly Case[] {
  return failures.flatMap((failure, place) =>
    failure.moments.flatMap((moment, index) =>
      durationsOf(failure).flatMap((lasting) => {
        const alone: Case = { failure, moment, lasting, shape: "alone" };
        const beside: Case = { ...alone, shape: "par" };
        // Minutes of waiting for the runtime's own retries teach nothing new at another moment.
        const tooSlow = failure.slow === true && lasting && failure.only === undefined;
        if (tooSlow) return index === 0 ? [alone] : [];
        // Beside siblings once for each moment: the two durations take turns, where five attempts are quick.
        const onlyOnce = failure.onceInPar === true || isLong(failure);
        const turn = onlyOnce ? !lasting : lasting === ((place + index) % 2 === 0);
        const inPar =
          failure.neverInPar === undefined &&
          (failure.slow !== true || failure.onceInPar === true) &&
          (turn || failure.only !== undefined);
        return inPar ? [alone, beside] : [alone];
      }),
    ),
  );
}

/** One attempt takes so long that five of them are minutes. */
const isLong = ({ slow, effect }: Failure): boolean =>
  slow === true || (effect.kind === "crash" && effect.first.seconds > 3);

const durationsOf = ({ only }: Failure): readonly boolean[] =>
  only === undefined ? [false, true] : [only === "lasting"];

/**
 * What every change has to pass: one failure of each kind, so that each moment is among them, a quarter of them in a
 * `Par`. Always the same ones, by their place in the table. What takes long is left to the full matrix.
 */
function selectedCases(): readonly Case[] {
  const all = allCases().filter(
    ({ failure, lasting }) =>
      failure.fullOnly !== true && failure.slow !== true && !(lasting && isLong(failure)),
  );
  const chosen: Case[] = [];
  for (const kind of new Set(all.map(kindOf))) {
    const alike = all.filter((one) => kindOf(one) === kind);
    const isNew = ({ moment }: Case): boolean => !chosen.some((one) => one.moment === moment);
    const { moment } = alike.find(isNew) ?? alike[(chosen.length * 3) % alike.length] ?? {};
    const fitting = alike.filter((one) => one.moment === moment);
    const shape = chosen.length % 4 === 3 ? "par" : "alone";
    const once = fitting.find((one) => one.shape === shape && !one.lasting);
    chosen.push(...[once ?? fitting[0]].filter((one) => one !== undefined));
  }
  return chosen;
}

/** The distinctions of the rules: the effect, and for a crash the remedy. */
function kindOf(one: Case): string {
  const effect = effectOf(one);
  return effect.kind === "crash" ? effect.first.remedy : effect.kind;
}

interface Played {
  readonly one: Case;
  readonly seen: Observation;
  readonly isRight: boolean;
}

const played: Played[] = [];

/** For each failure and moment the outcomes and times, and the longest block of the event loop. */
function printTable(): void {
  const columns = ["failure", ...moments, "event loop"];
  console.log(`| ${columns.join(" | ")} |\n|${"---|".repeat(columns.length)}`);
  for (const failure of failures) {
    const own = played.filter(({ one }) => one.failure === failure);
    if (own.length === 0) continue;
    const cells = moments.map((moment) => {
      const here = own.filter(({ one }) => one.moment === moment);
      return [...new Set(here.map(cellOf))].sort().join("<br>");
    });
    const blocked = Math.max(...own.map(({ seen }) => Math.round(seen.blockedMs ?? 0)));
    console.log(`| ${[failure.name, ...cells, `${blocked} ms`].join(" | ")} |`);
  }
}

function cellOf({ one, seen, isRight }: Played): string {
  const last = seen.journal?.events.at(-1);
  const outcome = last?.type === "run.ended" ? last.outcome.kind : `exit code ${seen.exitCode}`;
  const seconds = Math.max(1, Math.round(seen.milliseconds / 1000));
  const when = one.lasting ? "lasting" : "once";
  return `${when}: ${outcome} ${seconds} s${isRight ? "" : " **wrong**"}`;
}

const concurrency = isFull ? 4 : 3;
describe("a failure", { skip: process.platform !== "linux", concurrency }, () => {
  if (isFull) after(printTable);

  it("is tried at every moment", () => {
    const momentsOf = (cases: readonly Case[]): Set<string> =>
      new Set(cases.map(({ moment }) => moment));
    assert.deepEqual(momentsOf(selectedCases()), momentsOf(allCases()));
  });

  for (const one of isFull ? allCases() : selectedCases())
    it(`ends as the rules say, with nothing left: ${caseName(one)}`, async () => {
      const seen = await play(one, isFull ? 1 : 5);
      const problems = problemsOf(one, seen, isFull);
      played.push({ one, seen, isRight: problems.length === 0 });
      assert.equal(problems.length, 0, [caseName(one), ...problems, story(seen)].join("\n"));
    });
});
