/** A refused report fails the step as much as an accepted one, on the real runtime. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { calls, entryOf, scriptOf } from "./rig.ts";

const annotate = (line: number, severity: string, more: object = {}): object => {
  const finding = { path: "a.txt", line, severity, message: "It is wrong.", ...more };
  return { name: "job_annotate", arguments: finding };
};
const verdict = (word: string, reason = "It is so."): object => ({
  name: "job_verdict",
  arguments: { verdict: word, reason },
});
const refused = (call: object): object => ({ ...call, fails: "" });
const failOn = { findings: { failOn: "error" }, verdict: { failOn: "reject" } };
const never = { findings: { failOn: "never" }, verdict: { failOn: "never" } };
const required = { verdict: { required: true } };
const pass = verdict("pass");
const beyond = refused(annotate(99, "error"));
const gone = refused(annotate(1, "error", { path: "deleted.txt" }));
const odd = annotate(1, "warning", { message: "Odd." });
const unsaid = refused(verdict("reject", ""));
const unsaidPass = refused(verdict("pass", ""));
const unknown = refused(verdict("rejected"));
const critical = refused(annotate(1, "critical"));
const info = refused(annotate(1, "info"));
const warning = annotate(1, "warning");
const fixed = annotate(1, "notice", { message: "Other words." });

/** The calls of each answer. */
const cases: readonly (readonly [
  what: string,
  outputs: object,
  answers: readonly (readonly object[])[],
  fails: RegExp | undefined,
  warns?: true,
])[] = [
  ["an error beyond the end of its file", failOn, [[pass, beyond]], /`line` is 99/],
  ["an error in a deleted file", failOn, [[pass, gone]], /error .*not be reported: .*deleted/],
  ["a lost error beside a warning", failOn, [[pass, beyond, odd]], /1 .* error .*, and could not/],
  ["an error, reported then", failOn, [[pass, beyond], [annotate(1, "error")]], /1 finding is an/],
  ["a lost error that became a warning", failOn, [[pass, beyond], [warning]], undefined],
  ["a severity that there isn't", failOn, [[pass, critical]], /must be one of/],
  ["one that was corrected", failOn, [[pass, info], [fixed]], undefined],
  ["a lost warning", failOn, [[pass, refused(annotate(99, "warning"))]], undefined],
  [
    "a lost error where nothing fails",
    never,
    [[beyond, refused(verdict("reject", " "))]],
    undefined,
  ],
  ["a refused rejection", failOn, [[unsaid]], /last verdict was refused.*needs a text in "reason"/],
  ["a refused rejection after a pass", failOn, [[pass], [unsaid]], /is not pass/],
  ["a word that there isn't", failOn, [[pass], [unknown]], /must be one of/],
  ["a refused rejection before a pass", failOn, [[unsaid], [pass]], undefined],
  ["a refused pass", failOn, [[unsaidPass]], undefined, true],
  ["no verdict", failOn, [[warning]], undefined, true],
  ["no required verdict", required, [], /gave a verdict \(`outputs\.verdict\.required: true`\)/],
  ["a refused pass where one is required", required, [[unsaidPass]], /no task gave/],
  ["a verdict that is required", required, [[pass]], undefined],
  ["no verdict, and nothing about one in the entry", {}, [], undefined],
];

describe("the exit code after outputs that were refused or are missing", () => {
  for (const [what, outputs, answers, fails, warns = false] of cases)
    it(`${fails === undefined ? "is 0" : "is 1"}: ${what}`, async (t) => {
      const replies = [...answers.map((tools) => calls(...tools)), "Done."];
      const { path: cwd } = await makeWorkspace(t, {
        "a.txt": "one\ntwo\n",
        "e.json": entryOf({ outputs }, { prompt: "Use job_annotate and job_verdict." }),
        "r.json": scriptOf(replies),
      });
      const { code, stderr, stdout } = await runCli("run e.json --rehearse r.json", {
        cwd,
      });
      assert.equal(code, fails === undefined ? 0 : 1, stdout + stderr);
      assert.match(stdout, /job job succeeded/);
      if (fails !== undefined) assert.match(stdout.trimEnd().split("\n").at(-1) ?? "", fails);
      assert.equal(/warning: No task gave a verdict, so/.test(stderr), warns, stderr);
    });
});
