import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { substitute } from "../../../src/workflow/value.ts";
import { readCommand } from "../../../src/workflow/command-text.ts";
import { holds } from "../../rig/fuzz.ts";
import { play } from "./machine-rig.ts";

/** Undefined: no value may be there. */
function filled(command: string, value: string): string | undefined {
  const reading = readCommand(command);
  if (reading.kind === "unclear") return undefined;
  let refused = false;
  const text = substitute(command, (_name, offset) => {
    const inserted = reading.insert(value, offset);
    refused ||= inserted === undefined;
    return inserted;
  });
  return refused ? undefined : text.text;
}

const hostile = [
  "$(touch made)",
  "'$(touch made)'",
  "'; touch made; '",
  '"; touch made; "',
  "`touch made`",
  "\ntouch made\n",
  "\\",
  "a' b",
];
const expression = "a[$(touch made)]";

test("a value in a command is one word, also between quotes of the author", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "command-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const around of ["{{X}}", '"{{X}}"', "'{{X}}'", "a'b'{{X}}", '"a\'{{X}}"', "'a\"{{X}}'"]) {
    for (const value of hostile) {
      const command = filled(`printf '[%s]' ${around}`, value);
      assert.ok(command !== undefined, around);
      const output = execFileSync("bash", ["-c", command], { cwd: folder, encoding: "utf8" });
      assert.ok(output.startsWith("[") && output.endsWith("]"), command);
      assert.ok(output.includes(value) && output.split("[").length === 2, command);
    }
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("where no quotes are safe, nothing is inserted", () => {
  const unclear = [
    "echo \\{{X}}",
    "echo ${{X}}",
    "echo `cat {{X}}`",
    'echo "$(cat {{X}})"',
    'echo "`cat {{X}}`"',
    "cat <<E\n{{X}}\nE",
    "echo a # {{X}}",
    "a=({{X}})",
    "echo $'{{X}}'",
    'echo "${A:-{{X}}}"',
  ];
  for (const command of unclear) assert.equal(filled(command, "v"), undefined, command);
  for (const command of ["cat <<<{{X}}", "echo $(cat {{X}})", "echo a#{{X}} b", "echo '#' {{X}}"])
    assert.ok(filled(command, "v") !== undefined, command);
  const { done } = play('START --> SET_X[X=v] --> EXECUTE_X["Execute: echo a # {{X}}"]', []);
  assert.equal(done.status, "FAILED");
  assert.match(done.failure?.reason ?? "", /\{\{X\}\} is where no quotes are safe/);
});

test("where bash takes a text for an expression, values are whole numbers", () => {
  const commands = [
    "n={{X}}; (( n > 3 ))",
    "n={{X}}\n[[ $n -gt 3 ]]",
    "export n={{X}} && echo $(( n + 1 ))",
    "for n in {{X}}; do let m=n; done",
    "set -- {{X}}; echo $[$1]",
    "n={{X}}; b=(1 2); echo ${b[n]}",
    'n={{X}}; t=abc; echo "${t:n}"',
    "n={{X}}; echo ${!n}",
    "declare -i n; n={{X}}",
    "if read -r {{X}}; then :; fi </dev/null",
    "unset {{X}}",
    "printf -v {{X}} 1",
    "[ -v {{X}} ]",
    "(( {{X}} ))",
    "a[{{X}}]=1",
  ];
  for (const command of commands) {
    assert.equal(filled(command, expression), undefined, command);
    assert.equal(filled(command, "PATH=1"), undefined, command);
    assert.equal(filled(command, " -12\n"), command.replace("{{X}}", "-12"));
  }
  for (const command of [
    'n={{X}}; [ "$n" -gt 3 ]',
    "jq '.a[0]' {{X}}",
    'echo "a[0] ((" {{X}}',
    "while read -r line; do echo; done <<< {{X}}",
    "echo please read {{X}}",
    "echo ${A:-b} ",
  ])
    assert.ok(filled(command, "a b") !== undefined, command);
  const { done } = play(
    'START --> EXECUTE_N["Execute: n={{RESULT}}"] --> EXECUTE_M["Execute: echo $((n))"]',
    [],
    { userInput: expression },
  );
  assert.match(done.failure?.reason ?? "", /^\{\{RESULT\}\} must be a whole number/);
});

test("whatever the command is, a value in it is never run", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "command-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const part = fc.constantFrom(
    ..."' \" \\ $ ( ) { } ` # < << ; & | [ ] a (( )) [[ ]] let n= ((n)) $((n)) ${a[n]}".split(" "),
    " ",
    "\n",
    "{{X}}",
    "{{X}}",
  );
  const template = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));
  const values = fc.constantFrom(...hostile, expression, expression);
  return holds(
    t,
    fc.property(template, values, (text, value) => {
      const command = filled(text, value);
      if (command === undefined || !text.includes("{{X}}")) return;
      try {
        execFileSync("bash", ["-c", command], {
          cwd: folder,
          stdio: "ignore",
          env: { PATH: "/usr/bin:/bin" },
        });
      } catch {
        // Its meaning doesn't matter.
      }
      const made = readdirSync(folder);
      for (const one of made) rmSync(join(folder, one), { recursive: true });
      assert.equal(made.includes("made"), false, command);
    }),
    200,
  );
});
