import assert from "node:assert/strict";
import { test } from "node:test";
import { redactedValue } from "../../src/redaction/redactor.ts";

const redact = (text: string): string => text.replaceAll("secret", "***");

test("an object that stands in several places is redacted in each of them", () => {
  const shared = { key: "secret" };
  const copy = { key: "***" };
  assert.deepEqual(redactedValue([shared, { inner: shared }, shared], redact), [
    copy,
    { inner: copy },
    copy,
  ]);
});

test("more than 200 objects in each other are cut, and as many beside each other are not", () => {
  let deep: unknown = "secret";
  for (let level = 0; level < 201; level += 1) deep = [deep];
  assert.match(JSON.stringify(redactedValue(deep, redact)), /^\[{200}"\[too deep\]"\]{200}$/);
  const wide = Array.from({ length: 300 }, () => ["secret"]);
  assert.deepEqual(
    redactedValue(wide, redact),
    wide.map(() => ["***"]),
  );
});
