/** `npm run test:chaos:full`: plays every case and prints a table of the outcomes. */
import pLimit from "p-limit";
import { problemsOf, story } from "./check.ts";
import { failures } from "./failures.ts";
import { moments, type Failure, type Moment } from "./failure.ts";
import { play } from "./play.ts";
import type { LoopDelay } from "./probe.ts";
import { caseName, expectationOf, type Case } from "./rules.ts";
import { allCases } from "./selection.ts";

interface Played {
  readonly one: Case;
  readonly outcome: string;
  readonly milliseconds: number;
  readonly loop: LoopDelay | undefined;
  readonly problems: readonly string[];
}

const width = 4;
const limit = pLimit(width);
const words = process.argv.slice(2);
const start = Date.now();
const cases = allCases()
  .filter((one) => words.every((word) => caseName(one).includes(word)))
  .sort((a, b) => expectationOf(b).seconds - expectationOf(a).seconds);
let done = 0;
const played = await Promise.all(cases.map((one) => limit(playCase, one)));

const wrong = played.filter(({ problems }) => problems.length > 0);
console.log(`| failure | ${moments.join(" | ")} | event loop |`);
console.log(`|---|${moments.map(() => "---").join("|")}|---|`);
for (const failure of failures) {
  const row = moments.map((moment) => cell(failure, moment));
  if (row.some((text) => text !== "")) {
    console.log(`| ${failure.name} | ${row.join(" | ")} | ${loopOf(failure)} |`);
  }
}
const minutes = ((Date.now() - start) / 60_000).toFixed(1);
console.log(
  `\n${played.length} cases, ${wrong.length} wrong, ${minutes} minutes, ${width} side by side.`,
);
if (wrong.length > 0) process.exitCode = 1;

/** The longest block of all its cases: by ourselves, and with what else the machine did. */
function loopOf(failure: Failure): string {
  const loops = played.flatMap(({ one, loop }) =>
    one.failure === failure && loop !== undefined ? [loop] : [],
  );
  if (loops.length === 0) return "";
  const longest = (of: keyof LoopDelay): number =>
    Math.round(Math.max(...loops.map((loop) => loop[of])));
  return `${longest("ownMilliseconds")} (${longest("milliseconds")}) ms`;
}

function cell(failure: Failure, moment: Moment): string {
  const here = played.filter(({ one }) => one.failure === failure && one.moment === moment);
  const both = new Set(here.map(({ one }) => one.lasting)).size > 1;
  return [false, true]
    .flatMap((lasting) => {
      const group = here.filter(({ one }) => one.lasting === lasting);
      if (group.length === 0) return [];
      const outcomes = [...new Set(group.map(({ outcome }) => outcome))].join("/");
      const times = group.map(
        ({ milliseconds }) => `${Math.max(1, Math.round(milliseconds / 1000))}`,
      );
      const bad = group.some(({ problems }) => problems.length > 0) ? " **wrong**" : "";
      const when = both ? (lasting ? "lasting: " : "once: ") : "";
      return [`${when}${outcomes} ${[...new Set(times)].join("/")} s${bad}`];
    })
    .join("<br>");
}

async function playCase(one: Case): Promise<Played> {
  const seen = await play(one);
  const problems = problemsOf(one, seen);
  done += 1;
  const seconds = (seen.milliseconds / 1000).toFixed(1);
  console.error(
    `${done}/${cases.length} ${problems.length === 0 ? "ok" : "WRONG"} ${caseName(one)} ${seconds} s`,
  );
  for (const problem of problems) console.error(`    ${problem}`);
  if (problems.length > 0) console.error(story(seen));
  const last = seen.journal?.events.at(-1);
  const outcome =
    seen.exitCode === 2
      ? "refused"
      : last?.type === "run.ended"
        ? last.outcome.kind
        : seen.exitCode === null
          ? "cut"
          : seen.exitCode === 0
            ? "succeeded"
            : "failed";
  return { one, outcome, milliseconds: seen.milliseconds, loop: seen.loop, problems };
}
