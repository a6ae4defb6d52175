import assert from "node:assert/strict";
import { test } from "node:test";
import {
  amount,
  both,
  count,
  dictionary,
  either,
  exactly,
  faultOf,
  flag,
  list,
  natural,
  nested,
  nullable,
  optional,
  pair,
  positive,
  record,
  tagged,
  text,
  words,
  yes,
  type Shape,
} from "../../src/events/shape.ts";

const tree: Shape<unknown> = nested(() => record({ works: list(tree) }));

/** `good` fits, and each of `bad` has the fault. */
const cases: readonly (readonly [Shape<unknown>, readonly unknown[], Record<string, unknown[]>])[] =
  [
    [text, ["", "a"], { "it must be a text": [1, null, undefined, {}] }],
    [amount, [0, 1.5], { "it must be a number of 0 or more": [-1, NaN, Infinity, "1"] }],
    [positive, [0.5], { "it must be a number greater than 0": [0, -1] }],
    [count, [0, 3], { "it must be a whole number of 0 or more": [1.5, -1, 2 ** 60] }],
    [natural, [1], { "it must be a whole number greater than 0": [0, 1.5] }],
    [flag, [true, false], { "it must be true or false": ["true", 0] }],
    [yes, [true], { "it must be true": [false] }],
    [exactly(429), [429], { "it must be 429": [428] }],
    [words("a", "b"), ["a"], { "it must be a or b": ["c", 1] }],
    [nullable(text), [null, "a"], { "it must be a text": [1] }],
    [list(text), [[], ["a"]], { "it must be a list": [{}], "[1] must be a text": [["a", 1]] }],
    [
      pair(flag, text),
      [[true, "a"]],
      { "it must be a list of two": [[true]], "it must be a text": [[true, 1]] },
    ],
    [
      dictionary(text),
      [{}, { a: "b" }],
      { "it must be an object": [[]], '["a.b"] must be a text': [{ "a.b": 1 }] },
    ],
    [
      record({ a: record({ b: text }), c: optional(count) }),
      [{ a: { b: "" } }, { a: { b: "", more: 1 }, c: 1, more: 1 }],
      {
        "it must be an object": [null, []],
        "a must be an object": [{}],
        "a.b must be a text": [{ a: {} }, { a: Object.create({ b: "inherited" }) }],
        "c must be a whole number of 0 or more": [{ a: { b: "" }, c: null }],
      },
    ],
    [
      tagged("kind", { x: { a: text }, y: {} }),
      [{ kind: "x", a: "" }, { kind: "y" }],
      {
        "a must be a text": [{ kind: "x" }],
        'kind "z" is not known': [{ kind: "z" }],
        "kind is missing and is not known": [{}],
      },
    ],
    [
      both(record({ a: text }), record({ b: text })),
      [{ a: "", b: "" }],
      { "a must be a text": [{}], "b must be a text": [{ a: "" }] },
    ],
    [
      either(words("all"), record({ a: text })),
      ["all", { a: "" }],
      { "it must be all": ["none"], "a must be a text": [{}] },
    ],
  ];

test("a value fits its shape, or has a fault with its place", () => {
  for (const [shape, good, bad] of cases) {
    for (const value of good) assert.equal(faultOf(shape, value), undefined, JSON.stringify(value));
    for (const [fault, values] of Object.entries(bad))
      for (const value of values) assert.equal(faultOf(shape, value), fault, JSON.stringify(value));
  }
});

test("a shape that contains itself is checked to a depth, again and again", () => {
  let deep: object = { works: [] };
  for (let level = 0; level < 1500; level += 1) deep = { works: [deep] };
  for (const _time of [1, 2]) {
    assert.match(faultOf(tree, deep) ?? "", / is nested deeper than 1000 levels$/);
    assert.equal(faultOf(tree, { works: [{ works: [] }] }), undefined);
  }
});
