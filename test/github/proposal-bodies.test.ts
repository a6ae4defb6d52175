import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Proposal } from "../../src/events/output-shapes.ts";
import { safeTitle } from "../../src/text/harmless-text.ts";
import { readMarker } from "../../src/github/markers.ts";
import { proposalBody } from "../../src/github/deliver-proposal.ts";
import { alive, structure } from "./alive.ts";
import { hostile, hostileText } from "./hostile.ts";
import { origin, ours, publisher } from "./published.ts";
import { rounds } from "../rig/nightly.ts";

type WithText = Exclude<Proposal, { kind: "label" | "reviewers" }>;

function proposals(text: string): readonly WithText[] {
  const pull = { title: text, branch: text, base: origin.head, files: [] };
  return [
    { kind: "comment", body: text, reason: text },
    { kind: "issue", title: text, body: text, labels: [text] },
    { kind: "pull_request", body: text, ...pull },
    { kind: "close", reason: text },
  ];
}

test("the text of a proposal says who proposes it, and has a marker by which a re-run finds it", () => {
  const body = proposalBody(
    { kind: "issue", title: "t", body: "The nightly run **fails**.", reason: "It should not." },
    { ...publisher, task: "triage", key: "k1" },
  );
  const [marker = "", ...rest] = body.split("\n\n");
  assert.deepEqual(readMarker(marker), {
    kind: "issue",
    job: "review",
    entry: publisher.entry,
    head: origin.head,
    key: "k1",
  });
  assert.deepEqual(rest, [
    "The nightly run **fails**.",
    "**Why:** It should not.",
    "<sub>Proposed by job `review`, task `triage` · [run](https://github.com/o/r/actions/runs/77/attempts/1)</sub>",
  ]);
});

test("no text of an agent is alive in a proposal, and none is longer than GitHub allows", () => {
  const check = (text: string): void => {
    for (const proposal of proposals(text)) {
      const body = proposalBody(proposal, { ...publisher, job: text, task: text, key: text });
      assert.deepEqual(alive(body, ours).slice(0, 3), [], body.slice(0, 1000));
      assert.match(structure(body), /paragraph_open inline paragraph_close$/);
      assert.ok(body.length <= 65_536);
    }
  };
  check(hostileText);
  fc.assert(fc.property(hostile, check), rounds(300));
  check("word ".repeat(1_000_000));
  check("`".repeat(5_000_000));
});

test("a title is one line without references, which a squashed commit would follow, and a label is one line", () => {
  assert.equal(safeTitle(" Fix\nthe \u001B[31mloop\t\u202E "), "Fix the loop \uFFFD");
  assert.equal(
    safeTitle("fixes #1, GH-2, o/r#3 @everyone https://x.example"),
    "fixes #\u20601, GH-\u20602, o/r#\u20603 @\u2060everyone https:\u2060//x.example",
  );
  fc.assert(
    fc.property(hostile, (text) => {
      assert.doesNotMatch(safeTitle(text.repeat(50)), /[\p{Cc}\p{Cs}\u2028-\u202E]/u);
      assert.doesNotMatch(safeTitle(text), /@\w|#\d|GH-\d|:\/\//i);
    }),
  );
  assert.equal(safeTitle("x".repeat(5_000_000)).length, 256);
});
