import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { operators, parseCheck } from "../../src/workflow/kinds/check.ts";
import type { Check, Comparison } from "../../src/workflow/model.ts";

interface Fault {
  readonly offset: number;
  readonly reason: string;
}

function read(text: string): {
  readonly check: Check | undefined;
  readonly faults: readonly Fault[];
} {
  const faults: Fault[] = [];
  const check = parseCheck(text, (offset, reason) => {
    faults.push({ offset, reason });
  });
  return { check, faults };
}

describe("the expressions of CHECK", () => {
  it("have a left side, an operator and a right side", () => {
    const cases: readonly (readonly [string, string, Comparison, string])[] = [
      ["RESULT == 'SUCCESS'", "RESULT", "eq", "'SUCCESS'"],
      ["RESULT NE x", "RESULT", "ne", "x"],
      ["RESULT contains a == b", "RESULT", "contains", "a == b"],
      ["RESULT MATCHES '^a|b$'", "RESULT", "matches", "'^a|b$'"],
      ["SCORE >= 3", "SCORE", "ge", "3"],
      ["SCORE Lt 3", "SCORE", "lt", "3"],
      ["'a == b' == RESULT", "'a == b'", "eq", "RESULT"],
      ["User Ask != ''", "User Ask", "ne", "''"],
      ["eq == eq", "eq", "eq", "eq"],
      ["  RESULT   ==   a b ", "RESULT", "eq", "a b"],
      ['RESULT == "it\'s"', "RESULT", "eq", '"it\'s"'],
    ];
    for (const [text, left, operator, right] of cases) {
      assert.deepEqual(read(text), { check: { left, operator, right }, faults: [] }, text);
    }
  });

  it("are refused at the place that is wrong", () => {
    const cases: readonly (readonly [string, number, RegExp])[] = [
      ["", 0, /needs an expression/],
      ["RESULT", 0, /compares two values/],
      ["RESULT is x", 7, /Unknown operator "is"/],
      ["RESULT EQUALS x", 7, /Unknown operator "EQUALS"/],
      ["RESULT=='x'", 6, /space before and after ==/],
      ["RESULT ==x", 7, /space before and after ==/],
      ["RESULT ==", 9, /right side of == is missing/],
      ["RESULT == 'x", 10, /quote ' is never closed/],
      ["'RESULT == x", 0, /quote ' is never closed/],
    ];
    for (const [text, offset, reason] of cases) {
      const [fault] = read(text).faults;
      assert.equal(fault?.offset, offset, text);
      assert.match(fault.reason, reason, text);
    }
  });

  it("say of a constant expression that it can't be matched", () => {
    const fault = (right: string): string | undefined =>
      read(`RESULT MATCHES ${right}`).faults[0]?.reason;
    assert.equal(fault("'^ok'"), undefined);
    assert.equal(fault("PATTERN"), undefined);
    assert.equal(fault("User Pattern"), undefined);
    assert.match(fault("^(a") ?? "", /not a valid regular expression/);
    assert.match(fault("'(a'") ?? "", /not a valid regular expression/);
    assert.match(fault("'(?=a)b'") ?? "", /not supported/);
  });
});

describe("the value of a CHECK", () => {
  const holds = (operator: Comparison, left: string, right: string): boolean => {
    const value = operators[operator](left, right);
    return typeof value === "boolean" ? value : assert.fail(value.reason);
  };

  it("takes yes and no as people write them, and only as a whole", () => {
    for (const yes of ["Yes", "YES.", " yes!\nBecause of …"]) {
      assert.ok(holds("eq", yes, "yes"), yes);
      assert.ok(!holds("ne", yes, "YES"), yes);
      assert.ok(holds("ne", yes, "no"), yes);
    }
    assert.ok(!holds("eq", "Yes, but", "yes"));
    assert.ok(!holds("eq", "Done", "done"));
  });

  it("compares the first line, trimmed", () => {
    assert.equal(holds("eq", "SUCCESS\n\nAll tools are there.", "SUCCESS"), true);
    assert.equal(holds("eq", " SUCCESS \r\nmore", "SUCCESS"), true);
    assert.equal(holds("eq", "success", "SUCCESS"), false);
    assert.equal(holds("eq", "SUCCESS.", "SUCCESS"), false);
    assert.equal(holds("eq", "\nSUCCESS", "SUCCESS"), false);
    assert.equal(holds("ne", "FAILED\nSUCCESS", "SUCCESS"), true);
    assert.equal(holds("eq", "", ""), true);
  });

  it("looks for a text or an expression in all lines", () => {
    assert.equal(holds("contains", "one\ntwo", "two"), true);
    assert.equal(holds("contains", "one", "two"), false);
    assert.equal(holds("matches", "one\ntwo 22", "t.o \\d+"), true);
    assert.equal(holds("matches", "xay", "a"), true);
    assert.equal(holds("matches", "xay", "^a"), false);
    assert.equal(holds("matches", "it is a\nsuccess.", "(?im)^SUCCESS"), true);
    assert.equal(holds("matches", "it is a\nSuccess", "^success"), false);
    assert.equal(holds("matches", "a\nb", "(?s)a.b"), true);
    assert.equal(holds("matches", "a\nb", "a.b"), false);
  });

  it("orders numbers as numbers, and everything else as text", () => {
    assert.equal(holds("gt", "10", "9"), true);
    assert.equal(holds("gt", "10\nbecause", " 9 "), true);
    assert.equal(holds("lt", "1e2", "1000.5"), true);
    assert.equal(holds("ge", "-1", "-1.0"), true);
    assert.equal(holds("le", ".5", "+0.5"), true);
    assert.equal(holds("gt", "10", "9a"), false);
    assert.equal(holds("lt", "apple", "pear"), true);
    assert.equal(holds("ge", "b", "b"), true);
    assert.equal(holds("lt", "", "0"), true);
    assert.equal(holds("lt", "Infinity", "1"), false);
  });

  it("takes linear time, also with an expression that makes others backtrack for ever", () => {
    assert.equal(holds("matches", "a".repeat(30_000), "(a+)+b"), false);
    const long = operators.matches("a".repeat(9_000_000), "(a|b|ab)*c");
    assert.match(typeof long === "object" ? long.reason : "", /is limited to texts of/);
    assert.equal(typeof operators.matches("a", "("), "object");
  });
});
