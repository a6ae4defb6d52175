import assert from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "../../../src/rehearsal/format/script.ts";
import { FILE, refused, script } from "../rig.ts";

const turn = (yaml: string): string[] =>
  refused(`entry: a.yml\nsessions:\n  - turns:\n      - ${yaml}`);

test("paths in a rehearsal are relative to its folder", () => {
  const { entryFile, workingDirectory } = script("  - turns: [Hi]", "workingDirectory: ..");
  assert.deepEqual([entryFile, workingDirectory], ["tests/a.yml", "."]);
  const absolute = loadScript("entry: /b/a.yml\nsessions: []", FILE);
  assert.equal(absolute.kind === "loaded" && absolute.script.entryFile, "/b/a.yml");
});

test("JSON is read as well, by the file's extension", () => {
  const json = JSON.stringify({ entry: "a.yml", sessions: [{ turns: ["Hi"] }] });
  const loaded = loadScript(json, "a.rehearsal.json");
  assert.equal(loaded.kind, "loaded");
  const broken = loadScript("{", "a.json");
  assert.equal(broken.kind, "rejected");
});

test("shorthands mean what they stand for", () => {
  const [rule] = script(`
  - turns:
      - Hi
      - prompt: Say no
        text: No
      - prompt: { contains: Both, excludes: [One, Two] }
        replies:
          - tools: [{ name: bash, arguments: { command: ls } }]
          - Done`).rules;
  assert.deepEqual(
    rule?.turns.map(({ prompt, replies }) => [
      JSON.stringify(prompt),
      replies.map(({ text, tools }) => [text, tools.map(({ name }) => name)]),
    ]),
    [
      [undefined, [["Hi", []]]],
      ['"Say no"', [["No", []]]],
      [
        '{"contains":"Both","excludes":["One","Two"]}',
        [
          [undefined, ["bash"]],
          ["Done", []],
        ],
      ],
    ],
  );
});

test("every part knows its place", () => {
  const loaded = script(
    "  - turns:\n      - replies:\n          - Hi",
    "expect:\n  works:\n    - { task: a, outcome: failed }",
  );
  assert.equal(loaded.rules[0]?.place, "sessions[0] (tests/a.rehearsal.yml:3:5)");
  assert.equal(
    loaded.rules[0]?.turns[0]?.replies[0]?.place,
    "sessions[0].turns[0].replies[0] (tests/a.rehearsal.yml:5:13)",
  );
  const place = loaded.placeOf(["expect", "works", 0]);
  assert.equal(place, "expect.works[0] (tests/a.rehearsal.yml:8:7)");
});

test("faults of the schema are reported with a position and all at once", () => {
  assert.deepEqual(
    refused(`entry: a.yml
sessions:
  - tasks: a
    repeat: none
    turns: [{ error: 200 }, { prompt: {} }, { wait: 3 }]
expect: { works: [{ task: a, outcome: succeded }] }`),
    [
      'tests/a.rehearsal.yml:3:12: rehearsal.sessions[0].tasks: Unknown field "tasks". (did you mean "task"?)',
      'tests/a.rehearsal.yml:4:13: rehearsal.sessions[0].repeat: Must be a whole number or "any", not the text "none".',
      "tests/a.rehearsal.yml:5:22: rehearsal.sessions[0].turns[0].error: Must be at least 400, not 200.",
      "tests/a.rehearsal.yml:5:39: rehearsal.sessions[0].turns[1].prompt: Must have at least one field.",
      'tests/a.rehearsal.yml:5:53: rehearsal.sessions[0].turns[2].wait: Unknown field "wait". (known fields: prompt, replies, text, document, reasoning, tools, toolResults, after, delay, finish, usage, error, cut, hang, die, times)',
      'tests/a.rehearsal.yml:6:39: rehearsal.expect.works[0].outcome: Must be "succeeded", "failed", "crashed", "canceled" or "skipped", not the text "succeded". (did you mean "succeeded"?)',
    ],
  );
  assert.deepEqual(refused("sessions: []"), [
    "tests/a.rehearsal.yml:1:1: rehearsal.entry: This field is required.",
  ]);
  assert.deepEqual(refused("[]"), [
    "tests/a.rehearsal.yml:1:1: rehearsal: Must be an object, not a list.",
  ]);
  assert.deepEqual(refused(""), ["tests/a.rehearsal.yml: The file is empty."]);
});

const contradictions: readonly (readonly [what: string, yaml: string, message: string])[] = [
  [
    "a turn with both replies and the fields of one",
    "{ text: a, replies: [b] }",
    '4:17: rehearsal.sessions[0].turns[0].text: A turn can\'t have both "replies" and the fields of its only reply (text). (move them into "replies")',
  ],
  [
    "a turn without a reply",
    "{ prompt: a }",
    '4:9: rehearsal.sessions[0].turns[0]: This turn has no reply. (add the model\'s answer, for example a "text")',
  ],
  [
    "an empty reply",
    "{ delay: 3 }",
    '4:9: rehearsal.sessions[0].turns[0]: This reply is empty. (give it a "text", "tools" or an "error"; an empty "text" is an empty answer)',
  ],
  [
    "a reply after a final error",
    "{ replies: [{ error: 503 }, a] }",
    '4:37: rehearsal.sessions[0].turns[0].replies[1]: This reply is unreachable: "error" before it happens on every request. (set "times" to limit how often it happens)',
  ],
  [
    "two endings",
    "{ cut: true, hang: true }",
    '4:28: rehearsal.sessions[0].turns[0].hang: A reply is either "cut" or "hang".',
  ],
  [
    "tools in an answer that never ends",
    "{ cut: true, tools: [{ name: bash }] }",
    '4:29: rehearsal.sessions[0].turns[0].tools: A reply with "cut" never ends, so it has no "tools".',
  ],
  [
    "both a text and a document",
    "{ text: a, document: {} }",
    '4:30: rehearsal.sessions[0].turns[0].document: A reply has either a "text" or a "document".',
  ],
  [
    "a text before an error",
    "{ error: 500, text: a }",
    '4:29: rehearsal.sessions[0].turns[0].text: Nothing arrives before "error".',
  ],
  [
    "times of an answer",
    "{ text: a, times: 2 }",
    '4:27: rehearsal.sessions[0].turns[0].times: Only "error" and "cut" can have "times".',
  ],
  [
    "tool results without tools",
    "{ replies: [{ text: a }, { text: b, toolResults: c }] }",
    "4:58: rehearsal.sessions[0].turns[0].replies[1].toolResults: The previous reply calls no tools.",
  ],
  [
    "a turn after the death of the runtime",
    "{ die: true }\n      - Hi",
    '5:9: rehearsal.sessions[0].turns[1]: This turn is unreachable: the runtime died in the previous turn, and the session with it. (add a rule with "attempt: 2" for the session that follows)',
  ],
  [
    "a broken regular expression",
    "{ prompt: { matches: '(' }, text: a }",
    "4:30: rehearsal.sessions[0].turns[0].prompt.matches: This is not a valid regular expression.",
  ],
];

for (const [what, yaml, message] of contradictions) {
  test(`${what} is refused`, () => {
    assert.deepEqual(turn(yaml), [`tests/a.rehearsal.yml:${message}`]);
  });
}

test("tool results are looked at across an error that passes", () => {
  assert.deepEqual(
    turn(
      "{ replies: [{ tools: [{ name: bash }] }, { error: 503, times: 1 }, { text: b, toolResults: c }] }",
    ),
    [],
  );
});

const expectations: readonly (readonly [what: string, yaml: string, message: string])[] = [
  [
    "a reason of a success",
    "{ reason: a }",
    '3:19: rehearsal.expect.reason: A job that succeeds has no reason. (say "result: failed")',
  ],
  [
    "a skipped work that ran",
    "{ works: [{ task: a, outcome: skipped, retries: 1 }] }",
    '3:57: rehearsal.expect.works[0].retries: A skipped step has no "retries".',
  ],
  [
    "two numbers of runs",
    "{ works: [{ task: a, outcome: [failed, succeeded], runs: 3 }] }",
    '3:66: rehearsal.expect.works[0].runs: "outcome" lists 2 runs, but "runs" is 3. (leave "runs" out)',
  ],
  [
    "a field of another kind of decision",
    "{ decisions: { include: [{ kind: criteria-retry, retries: 1 }] } }",
    '3:67: rehearsal.expect.decisions.include[0].retries: Unknown field "retries". (known fields: kind, retry, of, reason, task, workId, iteration)',
  ],
  [
    "a word that the kind of decision does not know",
    "{ decisions: { exclude: [{ kind: availability-failed, field: toolExecuted }] } }",
    '3:70: rehearsal.expect.decisions.exclude[0].field: Must be "change", "previousTasks" or "condition", not the text "toolExecuted".',
  ],
  [
    "both the fields and the text of a decision",
    "{ decisions: [{ kind: note, contains: a }] }",
    '3:47: rehearsal.expect.decisions[0].contains: Unknown field "contains". (known fields: kind, text, task, workId, iteration)',
  ],
  [
    "a misspelled condition for the text of a decision",
    "{ decisions: [{ contain: a }] }",
    '3:34: rehearsal.expect.decisions[0].contain: Unknown field "contain". (did you mean "contains"?)',
  ],
  [
    "the output of an action that failed",
    "{ actions: [{ status: failed, output: a }] }",
    '3:47: rehearsal.expect.actions[0].output: Only an action that succeeded has an output. (use "reason")',
  ],
  [
    "the reason of an action that succeeded",
    "{ actions: { sequence: [{ status: succeeded, reason: a }] } }",
    '3:62: rehearsal.expect.actions.sequence[0].reason: An action that succeeded has no reason. (use "output")',
  ],
];

for (const [what, yaml, message] of expectations) {
  test(`an expectation of ${what} is refused`, () => {
    assert.deepEqual(refused(`entry: a.yml\nsessions: []\nexpect: ${yaml}`), [
      `tests/a.rehearsal.yml:${message}`,
    ]);
  });
}

test("an expected decision with fields needs a kind", () => {
  const [line = ""] = refused(
    "entry: a.yml\nsessions: []\nexpect: { decisions: { sequence: [{ task: a }] } }",
  );
  assert.match(line, /3:35: .*sequence\[0\]\.kind: This field is required\. \(write availability-/);
});

test("tasks that expected decisions and actions name are to be checked against the entry", () => {
  const rest = "expect: { decisions: [{ kind: note, task: a }], actions: [{ id: x, task: b }] }";
  assert.deepEqual(
    script("  []", rest).names.map(({ name, at: { codePath } }) => [name, codePath]),
    [
      ["a", "rehearsal.expect.decisions[0].task"],
      ["b", "rehearsal.expect.actions[0].task"],
    ],
  );
});

test("a workspace stays within itself", () => {
  const files = (name: string): string[] =>
    refused(`entry: a.yml\nsessions: []\nworkspace: { files: { ${JSON.stringify(name)}: x } }`);
  assert.deepEqual(files("a/b.txt"), []);
  for (const name of ["../a", "/a", "a/../b", "./a", "a/", "a\\b", "C:/a", ".."]) {
    assert.equal(files(name).length, 1, name);
    assert.match(files(name)[0] ?? "", /This is not a path inside the workspace\./);
  }
  assert.deepEqual(refused("entry: a.yml\nsessions: []\nworkingDirectory: .\nworkspace: {}"), [
    "tests/a.rehearsal.yml:4:12: rehearsal.workspace: A rehearsal can't have both a workingDirectory and a workspace.",
  ]);
});

test("limits of a rehearsal are the numbers that an entry may have", () => {
  for (const name of ["tokens", "modelCalls", "loopIterations", "parallel"]) {
    for (const value of ["0.5", "0", "-1", ".inf", ".nan"]) {
      const problems = refused(`entry: a.yml\nlimits: { ${name}: ${value} }\nsessions: []`);
      assert.ok(problems.length > 0, `${name}: ${value}`);
    }
  }
  for (const value of ["0", "-1", ".inf", ".nan"]) {
    const problems = refused(`entry: a.yml\nlimits: { turnMinutes: ${value} }\nsessions: []`);
    assert.ok(problems.length > 0, value);
  }
});

const workflowFaults: readonly (readonly [what: string, yaml: string, message: string])[] = [
  [
    "parameters of an entry",
    "entry: a.yml\nparams: { A: b }",
    "2:9: rehearsal.params: Only a workflow has parameters, and the entry is none. (a job sets those of its workflows in the entry)",
  ],
  [
    "a hit without an activity",
    "entry: a.yml\nsessions: [{ hit: 1, turns: [a] }]",
    "2:19: rehearsal.sessions[0].hit: Requires activity.",
  ],
  [
    "a parameter that is no text",
    "entry: a.wf.md\nparams: { A: 3 }",
    '2:14: rehearsal.params["A"]: Must be text, not 3.',
  ],
  [
    "an ASK without an answer",
    "entry: a.wf.md\nanswers: { ASK_A: [] }",
    '2:19: rehearsal.answers["ASK_A"]: Must have at least one element.',
  ],
];

for (const [what, yaml, message] of workflowFaults) {
  test(`${what} is refused`, () => {
    const whole = yaml.includes("sessions:") ? yaml : `${yaml}\nsessions: []`;
    assert.deepEqual(refused(whole), [`tests/a.rehearsal.yml:${message}`]);
  });
}
