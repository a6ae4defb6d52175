/** The addresses of the page. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  hrefOf,
  parseRoute,
  placeOf,
  proposedDirectory,
  runHref,
  type Route,
} from "../../web/routes.ts";
import { holds } from "../rig/fuzz.ts";

const unknown = (hash: string) => ({ page: "unknown", hash });

describe("the route of an address", () => {
  for (const hash of ["", "#", "#/"])
    it(`is the start for ${JSON.stringify(hash)}`, () => {
      assert.deepEqual(parseRoute(hash), { page: "home" });
    });

  it("names a run and its parts", () => {
    const run = (part: object) => ({ page: "run", runId: "r1", part });
    assert.deepEqual(parseRoute("#/run/r1"), run({ kind: "overview" }));
    assert.deepEqual(
      parseRoute("#/run/r1/work/3"),
      run({ kind: "work", workId: 3, iteration: undefined }),
    );
    assert.deepEqual(
      parseRoute("#/run/r1/work/3/2"),
      run({ kind: "work", workId: 3, iteration: 2 }),
    );
    assert.deepEqual(parseRoute("#/run/r1/call/c%2F1"), run({ kind: "call", toolCallId: "c/1" }));
  });

  it("names a session, a new one, and the journals", () => {
    assert.deepEqual(parseRoute("#/session/s1"), { page: "session", sessionId: "s1" });
    assert.deepEqual(parseRoute("#/session"), { page: "session", sessionId: undefined });
    assert.deepEqual(parseRoute("#/journals"), { page: "journals" });
  });

  for (const hash of [
    "#/nowhere",
    "#/run",
    "#/run//call/c",
    "#/run/r1/work",
    "#/run/r1/work/x",
    "#/run/r1/work/-1",
    "#/run/r1/nothing/1",
    "#/session/a/b",
    "#/run/%E0%A4%A",
  ])
    it(`is unknown for ${hash}`, () => assert.deepEqual(parseRoute(hash), unknown(hash)));
});

it("an address leads back to its route", async (t) => {
  const id = fc.string({ minLength: 1, unit: "grapheme" });
  const number = fc.nat({ max: 999_999_999 });
  const part = fc.oneof(
    fc.constant({ kind: "overview" as const }),
    fc.record({
      kind: fc.constant("work" as const),
      workId: number,
      iteration: fc.option(number, { nil: undefined }),
    }),
    fc.record({ kind: fc.constant("call" as const), toolCallId: id }),
  );
  const route: fc.Arbitrary<Exclude<Route, { page: "unknown" }>> = fc.oneof(
    fc.record({ page: fc.constant("run" as const), runId: id, part }),
    fc.record({
      page: fc.constant("session" as const),
      sessionId: fc.option(id, { nil: undefined }),
    }),
  );
  await holds(
    t,
    fc.property(route, (one) => {
      assert.deepEqual(parseRoute(hrefOf(one)), structuredClone(one));
    }),
    200,
  );
});

it("all parts of a run are one place", () => {
  const part = runHref("r1", { kind: "work", workId: 1, iteration: undefined });
  assert.equal(placeOf(parseRoute(part)), placeOf(parseRoute("#/run/r1")));
  assert.notEqual(placeOf(parseRoute(part)), placeOf(parseRoute("#/run/r2")));
});

describe("the working directory that an address proposes", () => {
  for (const [search, root, expected] of [
    ["", "/a/repo", "/a/repo"],
    ["?project=", "/a/repo", "/a/repo"],
    ["?project=shop", "/a/repo", "/a/shop"],
    ["?project=shop", "/repo/", "/shop"],
    ["?project=$%26", "C:\\code\\repo", "C:\\code\\$&"],
    ["?project=shop", "/", "/"],
    ["?wb=%2Fb%20c&project=shop", "/a/repo", "/b c"],
  ] as const)
    it(`is ${expected} for ${search} beside ${root}`, () => {
      assert.equal(proposedDirectory(search, root), expected);
    });
});
