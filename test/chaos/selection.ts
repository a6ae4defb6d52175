/** Which cases are played: all that make sense, and the selection that every change has to pass. */
import { failures } from "./failures.ts";
import { moments, type Failure, type Moment } from "./failure.ts";
import { caseName, type Case } from "./rules.ts";

/** Every failure at every moment it can happen, once and for good, alone and in a `Par`. */
export function allCases(): readonly Case[] {
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

/** Of this many failures, one is played in a `Par` too. */
const IN_PAR = 3;
/** So many failures at least at each moment. */
const AT_MOMENT = 4;

/**
 * Each failure at one of its moments, and every third one at another in a `Par`; each moment with four failures and
 * more, at least one of them in a `Par`. Which ones is decided by the place in the table: always the same.
 */
export function selectedCases(): readonly Case[] {
  const all = allCases();
  const chosen = new Map<string, Case>();
  const add = (fitting: readonly Case[], lasting = false): void => {
    const one = fitting.find((candidate) => candidate.lasting === lasting) ?? fitting[0];
    if (one !== undefined) chosen.set(caseName(one), one);
  };
  const at = (failure: Failure, moment: Moment | undefined, shape: Case["shape"]): Case[] =>
    all.filter((one) => one.failure === failure && one.moment === moment && one.shape === shape);

  failures.forEach((failure, place) => {
    if (failure.fullOnly === true) return;
    const { length } = failure.moments;
    const nth = (step: number): Moment | undefined => failure.moments[(place + step) % length];
    // Where one attempt takes long, five of them are left to the full matrix, but for a few.
    const long = isLong(failure);
    add(at(failure, nth(0), "alone"), place % (long ? 9 : 2) === 1);
    if (place % IN_PAR !== 0) return;
    for (let step = 1; step <= length; step += 1) {
      const beside = at(failure, nth(step), "par").filter(({ lasting }) => !(long && lasting));
      if (beside.length === 0) continue;
      add(beside);
      break;
    }
  });
  for (const moment of moments) {
    const here = (one: Case): boolean => one.moment === moment && one.failure.fullOnly !== true;
    const failing = new Set([...chosen.values()].filter(here).map(({ failure }) => failure));
    for (const one of all.filter((other) => here(other) && other.shape === "alone")) {
      if (failing.size >= AT_MOMENT || failing.has(one.failure)) continue;
      failing.add(one.failure);
      add([one]);
    }
    if (![...chosen.values()].some((one) => here(one) && one.shape === "par")) {
      add(all.filter((one) => here(one) && one.shape === "par"));
    }
  }
  return [...chosen.values()];
}

/** Why the selection falls short of what it promises; empty if it does not. */
export function shortcomings(cases: readonly Case[]): string[] {
  const missing: string[] = [];
  for (const failure of failures) {
    if (failure.fullOnly !== true && !cases.some((one) => one.failure === failure))
      missing.push(`${failure.name} is not played`);
  }
  for (const moment of moments) {
    const at = cases.filter((one) => one.moment === moment);
    const seen = new Set(at.map(({ failure }) => failure));
    if (seen.size < AT_MOMENT) missing.push(`"${moment}" has ${seen.size} failures`);
    if (!at.some(({ shape }) => shape === "par"))
      missing.push(`"${moment}" is not played in a Par`);
  }
  return missing;
}

/** Side by side, the long ones first, never more than `width` at once. */
export async function inParallel<T>(
  cases: readonly Case[],
  width: number,
  play: (one: Case) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (;;) {
      const index = next;
      next += 1;
      const one = cases[index];
      if (one === undefined) return;
      results[index] = await play(one);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
