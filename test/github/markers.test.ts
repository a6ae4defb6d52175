import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { markerKinds, markerOf, readMarker, type Marker } from "../../src/github/markers.ts";

const value = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("-->", "--!>", "review\n<!-- agent-jobs:report", "a=b c=d,e", "%2D", "\u{1F600}"),
);
const marker: fc.Arbitrary<Marker> = fc.record(
  {
    kind: fc.constantFrom(...markerKinds),
    job: value,
    entry: value,
    key: value,
    head: value,
    rule: value,
    severity: value,
    text: value,
    fingerprints: fc.array(fc.string({ minLength: 1 }), { maxLength: 5, minLength: 1 }),
  },
  { requiredKeys: ["kind", "job", "entry"], noNullPrototype: true },
);

test("a marker is a comment on one line, and is read as it was written, whatever its values", () => {
  fc.assert(
    fc.property(marker, (written) => {
      const line = markerOf(written);
      assert.match(line, /^<!-- [^<>\n\r]* -->$/);
      assert.equal(line.slice(4, -3).includes("--"), false);
      assert.deepEqual(readMarker(line), written);
      assert.deepEqual(readMarker(`${line}\r\n\r\nreport`), written);
    }),
  );
});

test("only the very first line of a body is a marker", () => {
  const line = markerOf({ kind: "report", job: "review", entry: "e.yml" });
  for (const body of [
    `\n${line}`,
    `Hello\n${line}`,
    `${line} and more`,
    `\`\`\`\n${line}\n\`\`\``,
    line.replace("report", "reports"),
    line.replace("job=review", ""),
    line.replace("review", "%E0%A4%A"),
    "",
  ])
    assert.equal(readMarker(body), undefined, body);
});

test("a marker of a megabyte, and one that never ends, are read in no time", () => {
  const key = "k".repeat(1_000_000);
  const fingerprints = Array.from({ length: 10_000 }, (_, index) => `f${index}`);
  const line = markerOf({ kind: "finding", job: key, entry: key, key, fingerprints });
  const read = readMarker(line);
  assert.equal(read?.key?.length, 300);
  assert.equal(read.fingerprints?.length, 3518);
  assert.equal(readMarker(`<!-- agent-jobs:report${" a=".repeat(2_000_000)}`), undefined);
  assert.equal(markerOf({ kind: "issue", job: "\ud800", entry: "" }).includes("%EF%BF%BD"), true);
});
