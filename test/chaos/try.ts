/** Plays the cases whose name holds all words of the arguments; `node build/test/chaos/try.js "401" alone`. */
import { failures } from "./failures.ts";
import { moments } from "./failure.ts";
import { caseName, expectationOf, type Case } from "./rules.ts";
import { play } from "./play.ts";
import { problemsOf, story } from "./check.ts";

const words = process.argv.slice(2);
for (const failure of failures)
  for (const moment of moments)
    for (const lasting of [false, true])
      for (const shape of ["alone", "par"] as const) {
        const one: Case = { failure, moment, lasting, shape };
        if (!failure.moments.includes(moment)) continue;
        if (failure.only !== undefined && lasting !== (failure.only === "lasting")) continue;
        if (shape === "par" && failure.neverInPar !== undefined) continue;
        const name = caseName(one);
        if (!words.every((word) => name.includes(word))) continue;
        const seen = await play(one);
        const problems = problemsOf(one, seen);
        console.log(
          problems.length === 0 ? "ok  " : "FAIL",
          name,
          `${(seen.milliseconds / 1000).toFixed(1)}/${expectationOf(one).seconds.toFixed(0)} s,`,
          `event loop ${Math.round(seen.loop?.ownMilliseconds ?? 0)}/${Math.round(seen.loop?.milliseconds ?? 0)} ms`,
        );
        for (const problem of problems) console.log("     ", problem);
        if (problems.length > 0 && process.env["STORY"]) console.log(story(seen));
      }
