/** Errors in entries that say what to do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { availableTools } from "../../src/entry/model.ts";
import { linesOf as lines } from "./rig.ts";

const head = "models: { driving: m, coding: c }\n";
const tail = "jobs: { j: { work: { kind: Ref, taskId: a } } }\n";
const withTask = (task: string): string => `${head}tasks: { a: { ${task} } }\n${tail}`;

describe("text of YAML that has to be quoted", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["shell:\n  - !git push", '"!git push"'],
    ["shell:\n  - !git push # never", '"!git push"'],
    ["shell: [ls, !git push, pwd]", '"!git push"'],
    ["shell: [!rm *]", '"!rm *"'],
    ["read:\n  - **/*.md", '"**/*.md"'],
    ["read: [**/*.md]", '"**/*.md"'],
    ["read: [docs, *.md]", '"*.md"'],
    ["read: *.md", '"*.md"'],
    ["read:\n  - @x/y", '"@x/y"'],
    ["read:\n  - `x`", '"`x`"'],
    ["read:\n  - %x", '"%x"'],
  ];
  for (const [yaml, quoted] of cases) {
    it(`is told so: ${JSON.stringify(yaml)}`, () => {
      const [line = ""] = lines(`permissions:\n  ${yaml.replaceAll("\n", "\n  ")}\n`);
      assert.ok(line.endsWith(`(quote it: ${quoted})`), line);
    });
  }
  it("is not told where quotes would not help", () => {
    assert.match(lines("a: *x").join(), /There is no anchor &x before this alias\.$/);
    assert.doesNotMatch(lines("a: [1").join(), /quote/);
    assert.doesNotMatch(lines("a: 1\na: 2").join(), /quote/);
  });
});

describe("a name that is not there", () => {
  it("of a variable: a suggestion, and in capitals how to write it literally", () => {
    assert.match(
      lines(
        `promptVariables: { greeting: x }\n${withTask('prompt: "Say $greting", model: { category: driving }')}`,
      ).join(),
      /Cannot find prompt variable: \$greting\. \(did you mean "greeting"\?\)$/,
    );
    assert.match(
      lines(withTask('prompt: "Say $user-inptu", model: { category: driving }')).join(),
      /\(did you mean "user-input"\?\)$/,
    );
    assert.match(
      lines(withTask('prompt: "echo $PATH", model: { category: driving }')).join(),
      /Cannot find prompt variable: \$PATH\. \(write \$\$PATH for a literal \$PATH\)$/,
    );
    assert.match(
      lines(
        `promptVariables: { PATHS: x }\n${withTask('prompt: "$PATH", model: { category: driving }')}`,
      ).join(),
      /\(write \$\$PATH for a literal \$PATH\)$/,
    );
  });
  it("of toolExecuted: a suggestion, and the names that are possible", () => {
    const tools =
      "tools: { build: { description: x, parameters: {}, command: [make] } }\nmcpServers: { docs: { command: x } }\n";
    const line = (name: string, more = tools): string =>
      lines(
        withTask(
          `prompt: x, model: { category: driving }, criteria: { toolExecuted: [${name}], failureAction: { retryTimes: 1 } }`,
        ) + more,
      ).join();
    for (const name of [...availableTools, "build", "docs/…"]) {
      assert.ok(line("bash").includes(name), line("bash"));
    }
    assert.match(line("bash"), /^e\.yml:2:\d+: .*toolExecuted\[0\]: There is no tool "bash"\./);
    assert.match(line("biuld"), /There is no tool "biuld"\. \(did you mean "build"\?/);
    assert.match(line("job_boolean_treu"), /did you mean "job_boolean_true"\?/);
    assert.match(line("doc/search"), /There is no MCP server "doc"\. \(did you mean "docs"\?\)$/);
    assert.match(
      line("bash", ""),
      /possible names: job_prepare_document, [^)]*job_prerequisite_failed, job_report, [^)]*job_remember\)$/,
    );
    assert.equal(line("docs/search"), "");
    assert.equal(line("build"), "");
    assert.equal(line("job_boolean_true"), "");
  });
  it("of a model category: those that there are", () => {
    assert.match(
      lines(withTask("prompt: x, model: { category: codin }")).join(),
      /There is no model category "codin"\. \(did you mean "coding"\?\)$/,
    );
    assert.match(
      lines(withTask("prompt: x, model: { category: zzzzzz }")).join(),
      /There is no model category "zzzzzz"\. \(possible names: driving, coding\)$/,
    );
  });
});

describe("a value of the wrong form", () => {
  it("of a model: the form", () => {
    assert.match(
      lines(withTask("prompt: x, model: driving")).join(),
      /entry\.tasks\["a"\]\.model: Must be an object, not the text "driving"\. \(write \{ category: driving \}\)$/,
    );
    assert.match(lines(withTask("prompt: x, model: gpt-5")).join(), /\(write \{ id: gpt-5 \}\)$/);
    assert.match(
      lines(
        `${head}tasks: { a: { prompt: x } }\njobs: { j: { work: { kind: Ref, taskId: a, modelOverride: coding } } }\n`,
      ).join(),
      /modelOverride: Must be an object.*\(write \{ category: coding \}\)$/,
    );
  });
});

describe("a file of another kind", () => {
  it("is recognized as a rehearsal", () => {
    assert.deepEqual(lines("entry: e.yml\nsessions:\n  - turns: [hi]\n"), [
      "e.yml: This is a rehearsal, not an entry. (run it with agent-jobs rehearse, or pass it with --rehearse e.yml)",
    ]);
    assert.match(lines("entry: e.yml\n").join(), /required/);
    assert.match(lines(`sessions: []\n${head}`).join(), /Unknown field "sessions"/);
  });
});
