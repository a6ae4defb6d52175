import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { refusedName } from "../../../src/rehearsal/format/surroundings.ts";
import { rounds } from "../../rig/nightly.ts";

test("no spelling of .git is a file of a workspace, wherever it stands", () => {
  const invisible = fc.constantFrom("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad");
  const spelled = fc
    .tuple(
      fc.constantFrom(".git", "git~1", "git~12"),
      fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
      fc.option(fc.tuple(invisible, fc.nat({ max: 3 }))),
      fc.constantFrom("", ".", " ", ". .", "...", "::$INDEX_ALLOCATION", ":stream", " ::$DATA"),
    )
    .map(([name, upper, inserted, end]) => {
      const cased = name.replace(/./g, (sign, at: number) =>
        upper[at] === true ? sign.toUpperCase() : sign,
      );
      if (inserted === null) return cased + end;
      const [sign, at] = inserted;
      return cased.slice(0, at) + sign + cased.slice(at) + end;
    });
  const folder = fc.constantFrom("", "sub/", "a/b/");
  const below = fc.constantFrom("", "/config", "/hooks/post-commit", "/modules/x/config");
  fc.assert(
    fc.property(folder, spelled, below, (before, name, after) => {
      assert.match(refusedName(before + name + after)?.reason ?? "", /git would read this as/);
    }),
    rounds(500),
  );
});

test("files that only sound like it are files", () => {
  for (const name of [
    ".github/workflows/ci.yml",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    "git/config",
    "a.git/config",
    "docs/.gitkeep",
    "git~x",
    "...git",
  ]) {
    assert.equal(refusedName(name), undefined, name);
  }
});
