import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import picomatch from "picomatch";
import { partsMatch, readGlob } from "../../src/entry/glob.ts";
import { cpuTime } from "../rig/growth.ts";
import { rounds } from "../rig/nightly.ts";
import { entryWithTask, problemsOf } from "./rig.ts";

function matches(glob: string, path: string, anyCase = false): boolean {
  const read = readGlob(glob);
  assert.ok(typeof read !== "string", glob);
  const names = path.split("/").filter((name) => name !== "");
  return read.some(({ parts }) => partsMatch(parts, names, anyCase));
}

describe("a glob", () => {
  const cases: readonly (readonly [glob: string, path: string, expected: boolean])[] = [
    ["src", "src", true],
    ["src", "src/a", false],
    ["src/", "src/a/b", true],
    ["./src/*", "src/a", true],
    ["src/*", "src/a/b", false],
    ["src/**", "src", true],
    ["src/**", "src/.hidden/a", true],
    ["**/a", "a", true],
    ["**/a", "b/c/a", true],
    ["a/**/b", "a/b", true],
    ["a/**/b", "a/x/y/b", true],
    ["a/**/b", "a/x/y/c", false],
    ["*.ts", "a.ts", true],
    ["*.ts", ".ts", true],
    ["*.ts", "a/b.ts", false],
    ["a**b", "axxb", true],
    ["a**b", "a/b", false],
    ["?.ts", "a.ts", true],
    ["?.ts", "ab.ts", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[^a-c]x", "dx", true],
    ["[]]x", "]x", true],
    ["[a-]x", "-x", true],
    ["[x", "[x", true],
    ["{a,b}/c", "b/c", true],
    ["{a,b/c}/**", "b/c/d", true],
    ["x{a,{b,c}}", "xc", true],
    ["{a}", "{a}", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["\\{a,b\\}", "{a,b}", true],
    ["app/(group)/*", "app/(group)/page.tsx", true],
    ["é?", "éa", true],
    ["/**", "", true],
  ];
  for (const [glob, path, expected] of cases) {
    it(`${glob} ${expected ? "matches" : "does not match"} ${path}`, () => {
      assert.equal(matches(glob, path), expected);
    });
  }

  it("ignores case where it is asked to", () => {
    for (const glob of ["SRC/*.TS", "s[Q-S]c/*", "SR?/**"]) {
      assert.equal(matches(glob, "src/a.ts", true), true, glob);
      assert.equal(matches(glob, "src/a.ts"), false, glob);
    }
  });

  it("that can't be read for sure is refused with a reason", () => {
    const reasons: Readonly<Record<string, RegExp>> = {
      "": /empty/,
      ["a".repeat(1_001)]: /1000 characters/,
      "+(a|b)": /extended globs such as \+\(…\)/,
      "!(a)": /extended globs/,
      "a{1..9}": /write \{1,2,3\}/,
      "[[:alpha:]]": /\[:alpha:\]/,
      "*/../x": /\.\. after a wildcard/,
      "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}": /more than 100 patterns/,
    };
    for (const [glob, reason] of Object.entries(reasons)) {
      const read = readGlob(glob);
      assert.ok(typeof read === "string", glob);
      assert.match(read, reason);
    }
  });

  it("with many wildcards takes no time", () => {
    for (const glob of ["*a*a*a*a*b", "**/a/**/a/**/a/**/b", `${"*a".repeat(400)}b`]) {
      const took = cpuTime(() => {
        assert.equal(matches(glob, "a".repeat(4_000)), false);
        assert.equal(matches(glob, "a/".repeat(2_000)), false);
      });
      assert.ok(took < 4_000, glob);
    }
  });
});

test("a glob means what the usual matcher takes it for", () => {
  const pieces = ["a", "b", "*", "?", "/", "**", "[ab]", "[!a]", "{a,b}", "{a,*b}", ".", "\\*"];
  const names = fc.array(fc.constantFrom("a", "b", "ab", ".a", "aab", "*", "ba.b"), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }),
      names,
      (parts, path) => {
        const glob = parts.join("");
        // picomatch treats these in its own way.
        fc.pre(!/[*\]}?]\/\*\*(?:$|\/)/.test(glob));
        fc.pre(!/\*\*[^/]|[^/]\*\*|^\/|\/\/|\/$|(?:^|\/)\.{1,2}(?:\/|$)/.test(glob));

        const text = path.join("/");
        const theirs = picomatch(glob, { dot: true, nonegate: true, posix: true })(text);
        assert.equal(matches(glob, text), theirs, `${glob} ${text}`);
      },
    ),
    rounds(5_000),
  );
});

test("validation points at a glob that can't be read", () => {
  const task = { permissions: { write: ["!{1..3}"] } };
  assert.deepEqual(problemsOf(entryWithTask(task, { permissions: { read: ["src/**", "+(a)"] } })), [
    'entry.tasks["a"].permissions.write[0]: Is not a valid glob: ranges in braces are not supported: write {1,2,3}.',
    "entry.permissions.read[1]: Is not a valid glob: extended globs such as +(…) are not supported: write \\( for a parenthesis.",
  ]);
});
