import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { errorToDetailedString } from "../../src/events/crash.ts";

function detail(error: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(Object(JSON.parse(errorToDetailedString(error)))));
}

test("an error is told with name, message, stack, causes and its own fields", () => {
  const root = Object.assign(new Error("no such host"), { code: "ENOTFOUND", errno: -3n });
  const error = new TypeError("fetch failed", { cause: root });
  const told = detail(error);
  assert.equal(told["name"], "TypeError");
  assert.equal(told["message"], "fetch failed");
  assert.match(String(told["stack"]), /error-detail\.test/);
  const cause = Object(told["cause"]);
  assert.equal(cause.message, "no such host");
  assert.equal(cause.code, "ENOTFOUND");
  assert.equal(cause.errno, "-3n");
});

test("the errors of an AggregateError are told each", () => {
  const told = detail(new AggregateError([new Error("one"), "two"], "both"));
  assert.deepEqual(
    Object(told["errors"]).map((each: unknown) =>
      typeof each === "string" ? each : Object(each).message,
    ),
    ["one", "two"],
  );
});

test("what is no error keeps its value", () => {
  assert.deepEqual(detail("gone"), { name: "NonError", message: "gone", value: "gone" });
  assert.deepEqual(detail(undefined)["value"], "[undefined]");
  assert.deepEqual(detail({ message: "m", status: 5 }), {
    name: "NonError",
    message: "m",
    value: { message: "m", status: 5 },
  });
});

test("cycles, getters that throw and revoked proxies are named, not followed", () => {
  const error = new Error("e");
  Object.assign(error, { self: error });
  error.cause = error;
  Object.defineProperty(error, "bad", {
    enumerable: true,
    get(): never {
      throw new Error("no");
    },
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  Object.assign(error, { proxy });
  const told = detail(error);
  assert.equal(told["self"], "[circular]");
  assert.equal(told["cause"], "[circular]");
  assert.equal(told["bad"], "[getter threw]");
  assert.equal(told["proxy"], "[cannot be inspected]");
  assert.match(errorToDetailedString(proxy), /NonError/);
});

test("causes of causes are told down to a depth that can be read", () => {
  let error = new Error("root");
  for (let i = 0; i < 20; i += 1) error = new Error(`around ${i}`, { cause: error });
  const text = errorToDetailedString(error);
  assert.match(text, /around 19.*around 15.*\[too deep\]/);
  assert.doesNotMatch(text, /around 10/);
});

test("huge errors stay below 80 KB", () => {
  const wide = Object.fromEntries(
    Array.from({ length: 5000 }, (_, i) => [`key ${i}`, "x ".repeat(5000)]),
  );
  let deep: unknown = "bottom";
  for (let i = 0; i < 100_000; i += 1) deep = { deep };
  const list = Array.from({ length: 40 }, () => Array.from({ length: 40 }, () => wide));
  for (const value of [
    wide,
    deep,
    list,
    "word ".repeat(1_000_000),
    new Error("y ".repeat(1e6)),
    10n ** 5000n,
  ]) {
    const text = errorToDetailedString(value);
    assert.ok(text.length < 80_000, `${text.length} characters`);
    JSON.parse(text);
  }
});

test("a long text is not cut inside a word, which might be a secret", () => {
  const secret = "k".repeat(100);
  for (let before = 8100; before < 8250; before += 7) {
    const told = String(detail(new Error(`${"w".repeat(before)} ${secret} end`))["message"]);
    assert.ok(!told.includes("kk") || told.includes(secret), told.slice(-150));
  }
});

test("anything at all gives a JSON object with a name and a message", () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withSparseArray: true,
        withNullPrototype: true,
      }),
      (value) => {
        for (const thrown of [value, new Error("e", { cause: value })]) {
          const told = detail(thrown);
          assert.equal(typeof told["name"], "string");
          assert.equal(typeof told["message"], "string");
        }
      },
    ),
  );
});
