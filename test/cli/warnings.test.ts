/** Warnings about a valid entry, in every command that takes one. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { cliExits, type CliResult, runCli } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const odd = `models: { driving: m }
permissions: { shell: [ls, "npm test && npm run lint"] }
tasks:
  a: { prompt: Say hello, model: { category: driving } }
  lone: { prompt: Nobody asks, model: { category: driving } }
jobs:
  j: { work: { kind: Ref, taskId: a } }
`;
/** With the same warnings, and a job of a command, which needs no runtime. */
const oddCommand = odd
  .replace(/^ {2}a: .*$/m, "  # No task.")
  .replace("kind: Ref, taskId: a", "kind: Run, run: echo done");
const rehearsal = "entry: odd.yml\nsessions:\n  - turns: [hello]\n";
const pattern =
  /odd\.yml:2:\d+: warning: entry\.permissions\.shell\[1\]: No command can match this pattern: it contains 2 commands/;
const lone = /odd\.yml:5:\d+: warning: entry\.tasks\["lone"\]: No job uses this task\./;
const userInput = /odd\.yml:7:\d+: warning: entry\.jobs\["j"\]: The user input is not used: /;

describe("agent-jobs validate", () => {
  for (const [what, args, code, shown, hidden] of [
    ["prints warnings, and the file stays valid", "", 0, [/^odd\.yml: valid$/m, pattern, lone]],
    [
      "lets them count as errors with --strict",
      "--strict ",
      2,
      [/^odd\.yml:5:\d+: entry\.tasks\["lone"\]: No job uses this task\.$/m],
      /warning|: valid/,
    ],
    [
      "has them in JSON",
      "--format json ",
      0,
      [/^\{\n {2}"valid": true,/, /"severity": "warning"[^]*"severity": "warning"/],
    ],
    ["has them as errors in JSON", "--strict --format json ", 2, [/"valid": false/], /severity/],
    [
      "has them in workflow commands",
      "--format github ",
      0,
      [/^::warning file=odd\.yml,line=5,col=\d+::entry\.tasks/m],
    ],
    [
      "has them as errors in workflow commands",
      "--strict --format github ",
      2,
      [/^::error file=odd\.yml,line=5/m],
      /::warning/,
    ],
  ] as const)
    it(what, async (t) => {
      const { path: cwd } = await makeWorkspace(t, { "odd.yml": odd });
      const { stdout } = await cliExits(code, `validate ${args}odd.yml`, { cwd });
      for (const one of shown) assert.match(stdout, one);
      if (hidden !== undefined) assert.doesNotMatch(stdout, hidden);
    });

  it("says that the user input of a rehearsal is not used", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "odd.yml": odd,
      "a.rehearsal.yml": `${rehearsal}userInput: x\n`,
      "b.rehearsal.yml": rehearsal,
      "c.rehearsal.yml": rehearsal.replace("odd.yml", "no.yml"),
    });
    const files = ["a", "b", "c"].map((name) => `${name}.rehearsal.yml`);
    const { stdout } = await cliExits(0, ["validate", ...files], { cwd });
    assert.match(stdout, userInput);
    assert.equal(stdout.trimEnd().split("\n").length, 4, stdout);
  });
});

describe("agent-jobs validate with a model server", () => {
  const named = `models: { driving: gpt-5-mini, other: gpt-5-mni }
tasks: { a: { prompt: Say hello, model: { id: gone } } }
jobs: { j: { work: { kind: Ref, taskId: a, modelOverride: { category: other } } } }
`;
  async function check(t: TestContext, listed: readonly string[]): Promise<CliResult> {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": named });
    const server = await modelServer(t, () => ({ text: "" }), { models: listed });
    return runCli(`validate e.yml --check-models --provider-base-url ${server.baseUrl}`, {
      cwd,
    });
  }

  it("reports the models that it doesn't offer", async (t) => {
    const { code, stdout } = await check(t, ["gpt-5-mini", "gpt-5"]);
    assert.equal(code, 2, stdout);
    assert.match(
      stdout,
      /^e\.yml:1:\d+: entry\.models\["other"\]: The model "gpt-5-mni" is not offered\. \(did you mean "gpt-5-mini"\?\)$/m,
    );
    assert.match(stdout, /^e\.yml:2:\d+: entry\.tasks\["a"\]\.model\.id: The model "gone" is not/m);
    assert.equal(stdout.trimEnd().split("\n").length, 2, stdout);
  });

  it("calls nothing valid that it could not check, because no model is listed", async (t) => {
    const { code, stdout } = await check(t, []);
    assert.equal(code, 2, stdout);
    assert.match(stdout, /^e\.yml:1:\d+: entry\.models: The models can't be checked, because none/);
    assert.doesNotMatch(stdout, /: valid/);
  });
});

describe("a run", () => {
  it("says them before it begins, and that its user input is not used", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "odd.yml": oddCommand,
      "r.yml": "entry: odd.yml\nsessions: []\n",
    });
    const args = ["run", "odd.yml", "--rehearse", "r.yml", "--user-input", "something"];
    const { stderr } = await cliExits(0, args, { cwd });
    for (const expected of [pattern, lone, userInput]) assert.match(stderr, expected);
    const quiet = await runCli([...args, "--quiet"], { cwd });
    assert.equal(quiet.stderr, "");
  });
  it("as a rehearsal says them once", async (t) => {
    const rehearsal = "entry: odd.yml\nsessions: []\n";
    const { path: cwd } = await makeWorkspace(t, {
      "odd.yml": oddCommand,
      "a.rehearsal.yml": `${rehearsal}userInput: x\n`,
      "b.rehearsal.yml": rehearsal,
    });
    const { stderr } = await cliExits(0, "rehearse a.rehearsal.yml b.rehearsal.yml", {
      cwd,
    });
    for (const expected of [pattern, lone, userInput]) assert.match(stderr, expected);
    assert.equal(stderr.trimEnd().split("\n").length, 3);
  });
});

const model = "model: { category: driving }";
const handOver = `models: { driving: m }
tasks:
  review: { prompt: "Review. Call job_prepare_document.", ${model} }
  fix: { prompt: "Fix these issues: $reported-document", ${model} }
jobs:
  j: { work: { kind: Seq, works: [{ kind: Ref, taskId: review }, { kind: Ref, taskId: fix }] } }
`;
const played = `entry: e.yml
sessions:
  - { task: review, turns: ["the document is lost"] }
  - { task: fix, turns: [{ prompt: "Fix these issues: <MISSING>", text: "What issues?" }] }
`;
const missing = "$reported-document has no value: the prompt has <MISSING> in its place";

describe("a variable that has no value", () => {
  it("is a warning of validate, at the prompt that uses it", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": handOver });
    const { stdout } = await cliExits(0, "validate e.yml", { cwd });
    assert.match(
      stdout,
      /^e\.yml:4:\d+: warning: entry\.tasks\["fix"\]\.prompt: \$reported-document has no value when this prompt is first sent: no earlier prompt of the task mentions job_prepare_document\. \(\$previous-result is /m,
    );
  });

  it("is a warning in the log, also with --quiet, and below the line of a rehearsal", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": handOver, "r.yml": played });
    const quiet = await runCli("run e.yml --rehearse r.yml --quiet", { cwd });
    assert.ok(quiet.stdout.includes(`#1 fix    [OPERATION] ${missing}\n`), quiet.stdout);
    const rehearsed = await cliExits(0, "rehearse r.yml", { cwd });
    assert.match(
      rehearsed.stdout,
      /^ok {4}r\.yml .*\n {6}warning: #1 fix: \$reported-document has no/,
    );
  });
});

describe("what a run goes on without", () => {
  it("is listed by rehearse: a server that doesn't start", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.yml": `models: { driving: m }
permissions: { preset: workspace, tools: ["*"] }
mcpServers: { tracker: { command: no-such-program, required: false } }
tasks: { a: { prompt: Close it., ${model} } }
jobs: { j: { work: { kind: Ref, taskId: a } } }
`,
      "r.yml": `entry: e.yml
sessions: [{ task: a, turns: [Closed.] }]
`,
    });
    const { stdout } = await runCli("rehearse r.yml", { cwd });
    assert.match(stdout, /^ok [^]*\n {6}warning: #0 a: MCP server tracker: /);
  });
});

// Common mistakes of newcomers, and the error that says what to write instead.

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
  [
    entry("{ kind: Seq, works: [x.wf.md] }"),
    'There is no task "x.wf.md". (write { kind: Flow, file: x.wf.md })',
  ],
  [entry("{ kind: Par, works: a }"), 'not the text "a". (write ["a"])'],
  [entry("[a, []]"), "Must have at least one element."],
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
    const { stdout } = await cliExits(2, ["validate", ...names], { cwd });
    const lines = stdout.split("\n");
    for (const [index, [text, end]] of files.entries()) {
      const [first = "nothing"] = lines.filter((line) => line.startsWith(`e${index}.yml:`));
      assert.ok(first.endsWith(end), `${text}\n${first}\ninstead of\n${end}`);
    }
  });

  it("says that a file is no rehearsal, and what it is", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry(a), "w.wf.md": "# Workflow\n" });
    const { stdout } = await cliExits(2, "rehearse e.yml w.wf.md", { cwd });
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
    const classic = await cliExits(2, "run e.yml", { cwd, env: { GITHUB_TOKEN: token } });
    assert.match(
      classic.stderr,
      /^agent-jobs: The GitHub token is a classic personal token \(ghp_…\), which doesn't work with GitHub Copilot\. Set a fine-grained one with “Copilot Requests” \(COPILOT_GITHUB_TOKEN, /,
    );
    const option = await cliExits(2, ["run", "e.yml", "--github-token", token], { cwd });
    assert.match(option.stderr, /read from the environment: COPILOT_GITHUB_TOKEN=… agent-jobs …\)/);
    assert.ok(!(classic.stderr + option.stderr).includes(token));
  });
});
