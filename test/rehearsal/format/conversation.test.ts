import assert from "node:assert/strict";
import { test } from "node:test";
import type { Conversation } from "../../../src/events/output-shapes.ts";
import { fingerprintOf } from "../../../src/outputs/check-finding.ts";
import { renderRehearsal } from "../../../src/rehearsal/format/script.ts";
import { githubFields } from "../../../src/rehearsal/format/surroundings.ts";
import { previousFinding } from "../../rig/conversation.ts";
import { refused, script } from "../rig.ts";

const github = `github:
  findings:
    - { path: a.ts, line: 2, rule: errors, severity: error, code: "  two", text: Wrong. }
    - { path: b.ts, rule: style, text: Ugly. }
  threads:
    - { finding: F2, resolvedBy: mona, gone: true }
  replies:
    - { finding: F1, author: mona, text: Why? }
    - { finding: F1, text: Because. }
`;

test("a rehearsal has the findings of earlier runs with their threads and replies", () => {
  assert.deepEqual(script("  - turns: [Hi]", github).conversation, {
    findings: [
      previousFinding("F1", {
        key: fingerprintOf("errors", "a.ts", "two", 0),
        path: "a.ts",
        text: "Wrong.",
        replies: [
          { author: "mona", text: "Why?" },
          { author: "github-actions", text: "Because.", own: true },
        ],
      }),
      {
        id: "F2",
        key: "F2",
        severity: "warning",
        rule: "style",
        path: "b.ts",
        resolvedBy: "mona",
        gone: true,
        text: "Ugly.",
        thread: "resolved",
        byPerson: true,
        replies: [],
      },
    ],
    round: 0,
  });
});

for (const [change, problem] of [
  ["finding: F2, resolvedBy", /:8:\d+: .*github\.threads\[0\]\.finding.*no finding "F3".*F1, F2/],
  ["finding: F1, author", /:10:\d+: .*github\.replies\[0\]\.finding.*no finding "F3".*F1, F2/],
] as const)
  test(`"${change}" of an unknown finding is a problem with its place`, () => {
    const text = github.replace(change, change.replace(/F\d/, "F3"));
    const [first = "", ...others] = refused(`entry: a.yml\nsessions: []\n${text}`);
    assert.match(first, problem);
    assert.deepEqual(others, []);
  });

test("a recording keeps the conversation", () => {
  const findings = [
    previousFinding("F1", { replies: [{ author: "mona", text: "Why?" }] }),
    previousFinding("F2", { thread: "resolved", resolvedBy: "mona", byPerson: true }),
    previousFinding("F3", { thread: "resolved", outdated: true, gone: true }),
  ];
  const recorded = githubFields({ findings, round: 2 });
  const file = { entry: "a.yml", sessions: [], ...(recorded && { github: recorded }) };
  const [, yaml = ""] = renderRehearsal(file).split(/(?=^github:)/m);
  const expected: Conversation = { findings, round: 0 };
  assert.deepEqual(script("  - turns: [Hi]", yaml).conversation, expected);
  assert.equal(githubFields({ findings: [], round: 0 }), undefined);
});
