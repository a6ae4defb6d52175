import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { stringify } from "yaml";
import { loadEntry } from "../../src/entry/prepare.ts";
import { entryWith, linesOf, plainly, task } from "./rig.ts";
import { cpuTime } from "../rig/growth.ts";
import { nightly } from "../rig/nightly.ts";

const yaml = `# An entry
models:
  driving: small
tasks:
  review:
    prompt: |
      Look at $user-input.
      [Be kind](https://example.org)
    requireUserInput: true
    model: { category: driving }
jobs:
  main:
    work:
      kind: Ref
      taskId: review
`;

describe("loadEntry", () => {
  it("prepares YAML and JSON alike", () => {
    const json = JSON.stringify(entryWith());
    const [fromJson, fromYaml] = [loadEntry(json, "a.json"), loadEntry(json, "a.yaml")];
    assert.equal(fromJson.kind, "loaded");
    assert.deepEqual(plainly(fromJson), { ...Object(plainly(fromYaml)), file: "a.json" });
  });

  it("keeps block text as it is, and knows where things are", () => {
    const loaded = loadEntry(Buffer.from(yaml), "dir/a.yml");
    assert.ok(loaded.kind === "loaded");
    assert.deepEqual(loaded.entry.tasks["review"]?.prompt, [
      "Look at $user-input.\n[Be kind](https://example.org)\n",
    ]);
    assert.equal(loaded.file, "dir/a.yml");
    assert.deepEqual(loaded.locateTask("review"), { line: 6, column: 5 });
    assert.deepEqual(loaded.locateTask("nope"), { line: 5, column: 3 });
    assert.deepEqual(loaded.locate(["jobs", "main", "work", "taskId"]), { line: 15, column: 15 });
  });

  it("reports every problem at its line and column, in reading order", () => {
    const broken = yaml
      .replace("small", "[small]")
      .replace("requireUserInput: true", "requireUserInput: false")
      .replace("category: driving", "category: drivin")
      .replace("taskId: review", "taskId: reviews\n      taskid: review");
    assert.deepEqual(linesOf(broken, "a.yml"), [
      "a.yml:3:12: entry.models.driving: Must be text or an object, not a list.",
      'a.yml:9:23: entry.tasks["review"].requireUserInput: Must be true, because the prompt uses $user-input.',
      'a.yml:10:24: entry.tasks["review"].model.category: There is no model category "drivin". (did you mean "driving"?)',
      'a.yml:15:15: entry.jobs["main"].work.taskId: There is no task "reviews". (did you mean "review"?)',
      'a.yml:16:15: entry.jobs["main"].work.taskid: Unknown field "taskid". (did you mean "taskId"?)',
    ]);
  });

  it("takes no progress of a report without the comment that shows it", () => {
    const of = (report: object): string[] =>
      linesOf(JSON.stringify(entryWith({ outputs: { report } })), "a.json");
    assert.deepEqual(of({ comment: "sticky", progress: true }), []);
    assert.match(
      of({ progress: true }).join(),
      /outputs\.report\.progress: Needs `comment: sticky`\.$/,
    );
  });

  it("takes no option about later pushes without anything that remembers the earlier ones", () => {
    const of = (outputs: object): string =>
      linesOf(JSON.stringify(entryWith({ outputs })), "a.json").join("\n");
    const findings = { since: "last-review", quietAfter: { rounds: 2 } };
    assert.equal(of({ findings: { ...findings, review: "comment" } }), "");
    assert.equal(of({ findings, report: { comment: "sticky" } }), "");
    assert.match(of({ findings }), /findings\.since: Needs [^]*findings\.quietAfter: Needs /);
  });

  it("reports an unknown field at its name, also if its value is a block below it", () => {
    const text = yaml
      .replace("jobs:", "jbos:\n  - a\njobs:")
      .replace("model: {", "modle:\n      category: {");
    const lines = linesOf(text, "a.yml").filter((line) => line.includes("Unknown field"));
    assert.deepEqual(
      lines.map((line) => line.split(": ", 2).join(": ")),
      ['a.yml:10:5: entry.tasks["review"].modle', "a.yml:12:1: entry.jbos"],
    );
  });

  it("points at the variable that is at fault, and names the prompt that uses it", () => {
    const text = yaml
      .replace("tasks:", "promptVariables:\n  v: $nope\ntasks:")
      .replace("Look", "$v Look");
    assert.deepEqual(linesOf(text, "a.yml"), [
      'a.yml:5:6: entry.tasks["review"].prompt/$v: Cannot find prompt variable: $nope.',
    ]);
  });

  it("works with anchors and merge keys", () => {
    const text = yaml
      .replace("model: {", "model: &m {")
      .replace("jobs:", "  other:\n    <<: { model: *m, prompt: hi }\njobs:");
    assert.deepEqual(linesOf(text), []);
  });
});

describe("the examples of the documentation", () => {
  it("are without fault, as far as they are whole entries", () => {
    const page = readFileSync(new URL("../../../docs/entry-format.md", import.meta.url), "utf8");
    const blocks = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text]) => text ?? "");
    const entries = blocks.filter((text) => text.startsWith("models:"));
    assert.equal(entries.length, 1);
    for (const text of entries) assert.deepEqual(linesOf(text), []);
  });
});

/** Contents of files, and their first diagnostics. */
const nasty: Readonly<
  Record<string, readonly [text: string | Uint8Array, file: string, line: RegExp]>
> = {
  "a name of another kind": [
    "{}",
    "e.txt",
    /^e\.txt: The name of an entry file must end in \.json, \.yml or \.yaml\.$/,
  ],
  "no name": ["{}", "", /The name of an entry file must end in/],
  "NUL characters": ["models:\0", "e.yml", /^e\.yml:1:8: The file is binary\.$/],
  prose: [
    "Please review my code.",
    "e.yml",
    /^e\.yml:1:1: entry: Must be an object, not the text "Please review my code\."\.$/,
  ],
  Markdown: [
    "# Title\n\n- a\n- b\n",
    "e.yml",
    /^e\.yml:3:1: entry: Must be an object, not a list\.$/,
  ],
  HTML: ["<!doctype html><p>404</p>", "e.json", /^e\.json:1:1: /],
  "a number": ["42", "e.json", /^e\.json:1:1: entry: Must be an object, not 42\.$/],
  null: ["null", "e.json", /^e\.json:1:1: entry: Must be an object, not null\.$/],
  "an empty document": [
    "---\n...\n",
    "e.yml",
    /^e\.yml:\d:\d: entry: Must be an object, not null\.$/,
  ],
  "a list in every place": [
    '{"models":[],"tasks":[],"jobs":[],"grid":{},"limits":[],"permissions":[]}',
    "e.json",
    /^e\.json:1:11: entry\.models: Must be an object, not a list\.$/,
  ],
  "a null in every place": [
    "models:\ntasks:\njobs:\n",
    "e.yml",
    /^e\.yml:1:1: entry\.models: Must be an object, not null\.$/,
  ],
  infinity: [
    `${yaml}limits: { tokens: .inf }`,
    "e.yml",
    /^e\.yml:16:19: entry\.limits\.tokens: Must be a whole number, not Infinity\.$/,
  ],
  "not a number": [
    `${yaml}limits: { jobMinutes: .nan }`,
    "e.yml",
    /^e\.yml:16:23: entry\.limits\.jobMinutes: Must be a number, not NaN\.$/,
  ],
  "a huge number": [
    '{"models":{"driving":"d"},"tasks":{},"jobs":{},"limits":{"tokens":1e999}}',
    "e.json",
    /entry\.limits\.tokens: Must be a whole number, not Infinity\.$/,
  ],
};

describe("a file that holds", () => {
  for (const [what, [text, file, line]] of Object.entries(nasty)) {
    it(`${what} gets a diagnostic`, () => {
      const lines = linesOf(text, file);
      assert.match(lines[0] ?? "", line);
      assert.ok(lines.every((one) => !/\n|at .*\.[jt]s:/.test(one)));
    });
  }

  it("very many wrong elements gets a bounded number of them", () => {
    const text = `{"models":{"driving":"d"},"jobs":{},"tasks":{"a":{"prompt":[${"1,".repeat(2e5)}1]}}}`;
    const lines = linesOf(text, "e.json");
    assert.ok(lines.length > 100 && lines.length <= 20_000);
    assert.match(
      lines[0] ?? "",
      /^e\.json:1:61: entry\.tasks\["a"\]\.prompt\[0\]: Must be text or an object, not 1\.$/,
    );
  });
});

describe("a large entry", () => {
  const entry = (count: number): object => {
    const tasks = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `task-${index}`,
        {
          model: { category: "fast" },
          prompt: ["$common", `Look at part ${index} of the code.`],
          criteria: { condition: ["$check"], failureAction: { retryTimes: 2 } },
        },
      ]),
    );
    return entryWith({
      promptVariables: { common: "Be careful.", check: "job_boolean_true" },
      tasks,
      jobs: { j: { work: { kind: "Par", works: Object.keys(tasks).map(task) } } },
    });
  };
  const many = nightly ? 10_000 : 2_000;
  // On an idle machine these take a tenth of it; a check that is not linear takes minutes.
  const bound = 90_000;
  const timed = (run: () => void): void => {
    assert.ok(cpuTime(run) < bound);
  };

  it("of ten thousand tasks is loaded in no time, from YAML as well", () => {
    const text = JSON.stringify(entry(many), null, 1);
    timed(() => assert.equal(loadEntry(text, "e.json").kind, "loaded"));
    const yamlText = stringify(entry(many / 4));
    timed(() => assert.equal(loadEntry(yamlText, "e.yml").kind, "loaded"));
  });

  it("is refused as fast when everything in it is wrong", () => {
    const text = JSON.stringify(entry(many))
      .replaceAll('"category":"fast"', '"category":"fats"')
      .replaceAll("$common", "$comon")
      .replaceAll('"taskId":"task', '"taskId":"taks');
    timed(() => assert.equal(linesOf(text, "e.json").length, 3 * many));
  });
});
