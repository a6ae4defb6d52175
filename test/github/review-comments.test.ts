import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readMarker } from "../../src/github/markers.ts";
import { reviewOf, type Review } from "../../src/github/deliver-review.ts";
import { alive, structure } from "./alive.ts";
import { hostile, hostileText, longTexts } from "./hostile.ts";
import { finding, hostileFinding, ours, publisher } from "./published.ts";
import { rounds } from "../rig/nightly.ts";

const GITHUB_LIMIT = 65_536;
type InDiff = Parameters<typeof reviewOf>[0]["isInDiff"];
const everything: InDiff = () => true;
/** Our own block, whose text a button applies. */
const applied = { ...ours, fences: /^suggestion$/ };

function review(
  findings: Parameters<typeof reviewOf>[0]["findings"],
  isInDiff = everything,
): Review {
  return reviewOf({ ...publisher, findings, isInDiff });
}

function withoutMarker(body = ""): string {
  return body.slice(body.indexOf("\n") + 2);
}

test("a finding in the diff is a comment at its lines in the head, with a suggestion that replaces them", () => {
  const { body, comments } = review([
    finding({ line: 7, endLine: 9, headLine: 17, title: "Lost", suggestion: "a();\n\tb();" }),
    finding({ fingerprint: "f1", suggestion: "" }),
  ]);
  const [first, second] = comments;
  assert.deepEqual(
    { ...first, body: withoutMarker(first?.body) },
    {
      path: "src/a.ts",
      startLine: 17,
      line: 19,
      body: [
        "**⚠ warning**: Lost",
        "The error is swallowed.",
        "```suggestion\na();\n\tb();\n```",
        "<sub>`review` · [run](https://github.com/o/r/actions/runs/77/attempts/1)</sub>",
      ].join("\n\n"),
    },
  );
  assert.deepEqual(readMarker(first?.body ?? "")?.key, "f0");
  assert.equal(second?.line, 3);
  assert.equal(second.startLine, undefined);
  // It deletes the line.
  assert.match(second.body, /\n```suggestion\n```\n/);
  assert.equal(readMarker(body)?.kind, "review");
  assert.match(body, /^Job `review` found 2 warnings\.$/m);
});

test("a finding that the diff doesn't show stands in the body, and one that it shows in part has no button", () => {
  const { headLine: _, ...unmapped } = finding({ fingerprint: "f2", message: "Elsewhere." });
  const { body, comments } = review(
    [
      finding({ headLine: 5, endLine: 9, suggestion: "x" }),
      finding({ fingerprint: "f1", headLine: 50, message: "Far away." }),
      unmapped,
    ],
    (_path, from, to) => from === 5 && to === 5,
  );
  assert.deepEqual(
    comments.map(({ line, startLine }) => [line, startLine]),
    [[5, undefined]],
  );
  assert.doesNotMatch(comments[0]?.body ?? "", /```suggestion/);
  assert.match(body, /Not in the lines of the diff:\n\n\| Severity/);
  assert.match(body, /Far away\./);
  assert.match(body, /Elsewhere\./);
  assert.deepEqual(alive(body, ours), []);
});

test("what a suggestion holds can't end it, and one that doesn't show all that it holds is not applied", () => {
  const fence = review([finding({ suggestion: "```\n````\n@everyone" })]).comments[0]?.body ?? "";
  assert.match(fence, /\n`````suggestion\n```\n````\n@everyone\n`````\n/);
  assert.deepEqual(alive(fence, applied), []);
  for (const suggestion of ["a\u202Eb", "a\0", "\u001B[31ma"]) {
    const [comment] = review([finding({ suggestion })]).comments;
    assert.doesNotMatch(comment?.body ?? "", /suggestion/, JSON.stringify(suggestion));
  }
});

test("no text of an agent is alive in a review", () => {
  const check = (text: string): void => {
    for (const isInDiff of [everything, () => false]) {
      const { body, comments } = review([hostileFinding(text)], isInDiff);
      for (const one of [body, ...comments.map((comment) => comment.body)]) {
        assert.deepEqual(alive(one, applied).slice(0, 3), [], one.slice(0, 1000));
        assert.ok(one.length <= GITHUB_LIMIT);
        assert.match(structure(one), /paragraph_open inline paragraph_close$/);
      }
    }
  };
  check(hostileText);
  fc.assert(fc.property(hostile, check), rounds(500));
  for (const text of longTexts(1_000_000).filter((_, index) => index % 8 === 1)) check(text);
});

test("a thousand findings outside of the diff fit into a body", () => {
  const findings = Array.from({ length: 1000 }, (_, index) =>
    finding({ message: "m ".repeat(500), fingerprint: String(index).padStart(32, "0") }),
  );
  const { body } = review(findings, () => false);
  assert.ok(body.length <= GITHUB_LIMIT);
  assert.match(body, /and \d+ more/);
});
