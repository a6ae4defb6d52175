/** `findings.since`: which commit the change is asked for, and what a conversation that can't be read means for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";
import { ConversationUnknown, type Conversation } from "../../src/events/output-shapes.ts";
import { prepareRun } from "../../src/run/prepare.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = (findings: string): string => `models: { driving: m }
outputs: { findings: ${findings} }
tasks:
  review: { model: { category: driving }, prompt: "Review $change-files" }
jobs:
  review: { work: { kind: Ref, taskId: review } }
`;
const reviewed = "b".repeat(40);
const known: Conversation = { findings: [], round: 1, lastReviewedHead: reviewed };

const cases: readonly (readonly [string, string, Conversation | Error, string | undefined])[] = [
  ["the head that was reviewed last", "{ since: last-review, review: comment }", known, reviewed],
  [
    "nothing before the first review",
    "{ since: last-review, review: comment }",
    { findings: [], round: 0 },
    undefined,
  ],
  ["nothing without the option", "{ review: comment }", known, undefined],
  [
    "nothing if the reviews can't be read, with a warning",
    "{ since: last-review, review: comment }",
    new ConversationUnknown(
      "The earlier findings on #7 can't be read: needs `pull-requests: read`",
    ),
    undefined,
  ],
];
for (const [name, findings, answer, expected] of cases)
  test(`the change begins after ${name}`, async (t) => {
    const { path } = await makeWorkspace(t, { "e.yml": entry(findings) });
    const asked: unknown[] = [];
    const prepared = await prepareRun({
      entryFile: join(path, "e.yml"),
      workingDirectory: path,
      environment: process.env,
      findConversation: () =>
        answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer),
      findChange(_folder, since) {
        asked.push(since);
        return Promise.resolve({ base: "a".repeat(40), head: "c".repeat(40), files: [], diff: "" });
      },
    });
    await prepared.cleanUp();
    assert.deepEqual(asked, [expected]);
    const warnings = prepared.warnings.map(({ reason }) => reason).join("\n");
    assert.equal(
      /needs `pull-requests: read`[^]*The change is the whole pull/.test(warnings),
      answer instanceof Error,
    );
  });
