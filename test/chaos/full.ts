/** `npm run test:chaos:full`: plays every case and prints the table that `docs/reliability.md` holds. */
import { problemsOf, story } from "./check.ts";
import { failures, moments, type Failure, type Moment } from "./failures.ts";
import { play } from "./play.ts";
import { caseName, expectationOf, type Case } from "./rules.ts";
import { allCases, inParallel } from "./selection.ts";

interface Played {
  readonly one: Case;
  readonly outcome: string;
  readonly milliseconds: number;
  readonly problems: readonly string[];
}

const width = 4;
const words = process.argv.slice(2);
const start = Date.now();
const cases = allCases()
  .filter((one) => words.every((word) => caseName(one).includes(word)))
  .sort((a, b) => expectationOf(b).seconds - expectationOf(a).seconds);
let done = 0;
const played = await inParallel(cases, width, async (one): Promise<Played> => {
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
  return { one, outcome, milliseconds: seen.milliseconds, problems };
});

const wrong = played.filter(({ problems }) => problems.length > 0);
console.log(`| failure | ${moments.join(" | ")} |`);
console.log(`|---|${moments.map(() => "---").join("|")}|`);
for (const failure of failures) {
  const row = moments.map((moment) => cell(failure, moment));
  if (row.some((text) => text !== "")) console.log(`| ${failure.name} | ${row.join(" | ")} |`);
}
const minutes = ((Date.now() - start) / 60_000).toFixed(1);
console.log(
  `\n${played.length} cases, ${wrong.length} wrong, ${minutes} minutes, ${width} side by side.`,
);
if (wrong.length > 0) process.exitCode = 1;

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
