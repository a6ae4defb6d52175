import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plainCopy, plainLimits } from "../../src/document/plain.ts";
import { problemsOf, entryWith } from "../entry/rig.ts";

const refusal = (value: unknown): string => {
  const copy = plainCopy(value);
  return copy.kind === "copied" ? "copied" : `${copy.path.join(".")}: ${copy.reason}`;
};

describe("plainCopy", () => {
  it("copies plain data and leaves out what is undefined", () => {
    const value = { a: [1, "x", null, { b: true }], c: undefined };
    const copy = plainCopy(value);
    assert.equal(JSON.stringify(copy), '{"kind":"copied","value":{"a":[1,"x",null,{"b":true}]}}');
    assert.deepEqual(copy.kind === "copied" && Object.keys(Object(copy.value)), ["a"]);
  });

  it("makes null of an undefined item, or leaves it out where it is told to", () => {
    const value = { a: [1, undefined, 2], b: [undefined, 3] };
    assert.equal(
      JSON.stringify(plainCopy(value, ([field]) => field === "b")),
      '{"kind":"copied","value":{"a":[1,null,2],"b":[3]}}',
    );
  });

  it("refuses what contains itself, at the place where it does", () => {
    const list: unknown[] = [];
    list.push({ list });
    assert.equal(refusal({ a: list }), "a.0.list: Contains itself.");
  });

  it("accepts parts that are used twice", () => {
    const part = { x: 1 };
    assert.equal(refusal([part, part]), "copied");
  });

  it("refuses more than 100 levels", () => {
    let value: unknown = 1;
    for (let level = 0; level < 100; level++) value = [value];
    assert.equal(refusal(value), "copied");
    assert.match(refusal([value]), /^(?:0\.){99}0: Nested deeper than 100 levels\.$/);
    for (let level = 0; level < 100_000; level++) value = [value];
    assert.match(refusal(value), /Nested deeper than 100 levels\.$/);
  });

  it("refuses more than a million values, however they are shared", () => {
    let value: unknown = [1];
    for (let level = 0; level < 40; level++) value = [value, value];
    assert.equal(refusal(value), `: Has more than ${plainLimits.values} values.`);
    const sparse: unknown[] = [];
    sparse.length = 4_000_000_000;
    assert.equal(refusal(sparse), `: Has more than ${plainLimits.values} values.`);
  });

  it("refuses what is no data", () => {
    assert.equal(refusal({ a: new Map() }), "a: Must be plain data, not a Map.");
    assert.equal(refusal([new Date()]), "0: Must be plain data, not a Date.");
  });

  it("refuses what cannot be read", () => {
    const throwing = {
      get a(): unknown {
        throw new Error("no");
      },
    };
    assert.equal(refusal(throwing), "a: Cannot be read: no.");
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    assert.match(refusal({ b: proxy }), /^b: Cannot be read: /);
  });

  it("reads a getter once", () => {
    let reads = 0;
    const value = {
      get a(): number {
        return ++reads;
      },
    };
    assert.equal(JSON.stringify(plainCopy(value)), '{"kind":"copied","value":{"a":1}}');
  });

  it("stands in front of every other check", () => {
    const entry: Record<string, unknown> = { ...entryWith() };
    entry["promptVariables"] = { self: entry };
    assert.deepEqual(problemsOf(entry), ['entry.promptVariables["self"]: Contains itself.']);
  });
});
