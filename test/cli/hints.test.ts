/** What newcomers write, and the error that says what to write instead. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = (work: string): string =>
  `models: { driving: m }\ntasks:\n  a: { model: { category: driving }, prompt: Do it. }\njobs:\n  j:\n    work: ${work}\n`;
const task = (prompt: string): string =>
  `models: { driving: m }\ntasks:\n  a:\n    model: { category: driving }\n    prompt: ${prompt}\njobs:\n  j: { work: { kind: Ref, taskId: a } }\n`;
const a = "{ kind: Ref, taskId: a }";
const quotes = (inside: string, quote: string): string =>
  `5:${quote}: Not valid YAML: The ${inside.at(-1)} before this ends the text. (write ${inside} for ${inside.at(-1)} inside of them)`;

/** A file, and the end of the line that `validate` prints about it. */
const files: readonly (readonly [string, string])[] = [
  [
    entry(`{ kind: Loop, body: ${a}, postCondition: ${a} }`),
    "Must be a list, not an object. (write [true, …] or [false, …]: the outcome that goes on)",
  ],
  [
    entry(`{ kind: Loop, body: ${a}, preCondition: [a] }`),
    "Must have at least 2 elements. (write [true, …] or [false, …]: the outcome that goes on)",
  ],
  [entry("{ kind: Seq, works: [a, x.wf.md] }"), `not the text "a". (write ${a})`],
  [
    entry("{ kind: Seq, works: [x.wf.md] }"),
    'not the text "x.wf.md". (write { kind: Flow, file: x.wf.md })',
  ],
  [entry("{ kind: Par, works: a }"), 'not the text "a". (write ["a"])'],
  [entry("[a, a]"), "not a list. (write { kind: Seq, works: […] })"],
  [
    entry("{ Seq: [a] }"),
    "This field is required. (write Ref, Flow, Run, Seq, Par, Loop, Alt or Each)",
  ],
  [entry("{ kind: Ref, task: a }"), 'Unknown field "task". (did you mean "taskId"?)'],
  [entry(`${a}\n    requireUserInput: yes`), 'not the text "yes". (write true)'],
  [
    task("Review this: be strict # now"),
    '5:13: Not valid YAML: Unquoted text can\'t contain ": ". (quote it: "Review this: be strict")',
  ],
  [
    task("[Be strict: always: yes, be kind]"),
    'Unquoted text can\'t contain ": ". (quote it: "always: yes")',
  ],
  [
    task("\n      - Note: be strict"),
    'This field is required. (quote a string with a colon: "Note: be strict")',
  ],
  [
    task("Review this\n      be strict: yes"),
    "5:13: Not valid YAML: A field can't begin inside a string. (indent the next field like this one, or put all of the text in quotes)",
  ],
  [
    task("x\n    protocol:actions"),
    "This is neither a field nor part of a string. (write a space after the colon)",
  ],
  [task('"Review this'), '5:13: Not valid YAML: This text has no closing ".'],
  [task("'It's mine'"), quotes("''", "17")],
  [task('"Say "hi" to me"'), quotes('\\"', "19")],
];

describe("an error of what newcomers write", () => {
  it("says what to write instead", async (t) => {
    const names = files.map((_, index) => `e${index}.yml`);
    const texts = Object.fromEntries(files.map(([text], index) => [`e${index}.yml`, text]));
    const { path: cwd } = await makeWorkspace(t, texts);
    const { code, stdout } = await runCli(["validate", ...names], { cwd });
    assert.equal(code, 2);
    const lines = stdout.split("\n");
    for (const [index, [text, end]] of files.entries()) {
      const [first = "nothing"] = lines.filter((line) => line.startsWith(`e${index}.yml:`));
      assert.ok(first.endsWith(end), `${text}\n${first}\ninstead of\n${end}`);
    }
  });

  it("says that a file is no rehearsal, and what it is", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry(a), "w.wf.md": "# Workflow\n" });
    const { code, stdout } = await runCli(["rehearse", "e.yml", "w.wf.md"], { cwd });
    assert.equal(code, 2);
    for (const [file, what, other] of [
      ["e.yml", "an entry", "e"],
      ["w.wf.md", "a workflow", "w"],
    ] as const) {
      const line = `${file}: This is ${what}, not a rehearsal. (run it with agent-jobs run, or name its rehearsal, such as ${other}.rehearsal.yml)`;
      assert.ok(stdout.includes(`      ${line}\n`), stdout);
    }
  });

  it("says which GitHub token works, and where it belongs", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry(a) });
    const token = `ghp_${"a1B2".repeat(9)}`;
    const classic = await runCli(["run", "e.yml"], { cwd, env: { GITHUB_TOKEN: token } });
    assert.equal(classic.code, 2);
    assert.match(
      classic.stderr,
      /^agent-jobs: The GitHub token is a classic personal token \(ghp_…\), which doesn't work with GitHub Copilot\. Set a fine-grained one with “Copilot Requests” \(COPILOT_GITHUB_TOKEN, /,
    );
    const option = await runCli(["run", "e.yml", "--github-token", token], { cwd });
    assert.equal(option.code, 2);
    assert.match(option.stderr, /read from the environment: COPILOT_GITHUB_TOKEN=… agent-jobs …\)/);
    assert.ok(!(classic.stderr + option.stderr).includes(token));
  });
});
