/** How long the policy takes to judge a command, an address or a word, against its size. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import { decideShell } from "../../src/permissions/commands.ts";
import { findDenial, readDenial } from "../../src/permissions/denials.ts";
import { objectionsTo } from "../../src/permissions/objections.ts";
import { readShell } from "../../src/permissions/shell-reading.ts";
import { urlDenied, urlMatches } from "../../src/permissions/urls.ts";
import { wildcardMatches, wordMatches } from "../../src/permissions/wildcard.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInTime } from "../rig/growth.ts";

const no = (): boolean => false;
const judge = {
  leadsOut: no,
  isDenied: no,
  isFolder: no,
  expanded: new Set<string>(),
  moved: false,
  wasMoved: no,
};
const times =
  (text: string) =>
  (size: number): string =>
    text.repeat(Math.ceil(size / text.length));

describe("takes time in proportion to the size of a command", () => {
  const texts: Readonly<Record<string, string>> = {
    words: "a ",
    "one word": "a",
    commands: "git -C . log;",
    options: "-C ",
    wildcards: "x*",
    "wildcards of words": "x/* ",
    quotes: "'a b'",
    "quoted words": "'git log' ",
    redirections: "2>&1 ",
    "half redirections": "2>&1 <&- ",
    braces: "{",
    "braces and commas": "x{,",
    comments: "x #y\n",
    backslashes: "\\ ",
    equals: "a=b=c=! ",
    dots: "../",
    "double quotes": '"a\\"b" ',
    separators: "x|",
  };
  for (const [name, text] of Object.entries(texts)) {
    it(`to read it: ${name}`, () => {
      linearInTime({ name, make: times(text), run: (line) => readShell(`x ${line}`) });
    });
    it(`to find a denial in it: ${name}`, () => {
      const denials = ["git push", "git * --force", "*a*a*a*b", "rm *", "a a a b"].map(readDenial);
      linearInTime({
        name,
        make: (size) => times(text)(size).split(" "),
        run: (words) => findDenial(["x", ...words], denials),
        sizes: [2_000, 16_000],
      });
    });
    it(`to judge its words: ${name}`, () => {
      for (const start of ["git grep", "find", "sed p", "tool"])
        linearInTime({
          name: `${start}: ${name}`,
          make: (size) => times(text)(size).split(" "),
          run: (words) => objectionsTo([...start.split(" "), ...words], judge),
          sizes: [2_000, 16_000],
        });
    });
    it(`to decide on it: ${name}`, () => {
      for (const start of ["echo", "sh -c", "git"])
        linearInTime({
          name: `${start}: ${name}`,
          make: (size) => `${start} ${times(text)(size)}`,
          run: (line) =>
            decideShell(line, ["git *", "echo *", "tool **/x"], ["git push"], "linux", () => false),
        });
    });
  }
  it("also where one command is in another", () => {
    const nested = (size: number): string => {
      let text = "echo x y";
      while (text.length < size) {
        const next = `sh -c '${text.replaceAll("'", "'\\''")}' a`;
        if (next.length > size) return `${text} ${"z ".repeat((size - text.length) / 2)}`;
        text = next;
      }
      return text;
    };
    linearInTime({
      name: "nested",
      make: nested,
      run: (line) => decideShell(line, true, ["git push"], "linux"),
      sizes: [2_000, 16_000],
    });
  });
  it("and in that of a word or an address", () => {
    for (const pattern of ["*a*a*b", "**a**a**b", "*a*/**/*b", "https://*a*a*b/*c*c*d"]) {
      linearInTime({
        name: pattern,
        make: times("a/"),
        run: (text) => [wildcardMatches(text, pattern), wordMatches(text, pattern)],
      });
      linearInTime({
        name: `address ${pattern}`,
        make: (size) => `https://${times("a.")(size / 2)}/${times("a/%61")(size / 2)}`,
        run: (url) => [urlMatches(url, pattern), urlDenied(url, pattern)],
      });
    }
  });
});

test("a wildcard of a word means the same as a regular expression, without `..`", async (t) => {
  const letters = fc.constantFrom("a", "b", "/", ".", "..", "-", "~", "=");
  const word = fc.array(letters, { maxLength: 7 }).map((parts) => parts.join(""));
  const pattern = fc
    .array(fc.oneof(letters, fc.constantFrom("*", "**")), { maxLength: 6 })
    .map((parts) => parts.join(""));
  const property = fc.property(word, pattern, (text, glob) => {
    const source = glob
      .replace(/[.]/g, "\\.")
      .replace(/\*+/g, (stars) => (stars.length > 1 ? ".*" : "[^/]*"));
    const matches = wordMatches(text, glob);
    if (!glob.includes("*")) assert.equal(matches, text === glob);
    else if (matches) assert.match(text, new RegExp(`^${source}$`));
    else if (!text.includes("..") && !/^[-/~]/.test(text))
      assert.doesNotMatch(text, new RegExp(`^${source}$`));
    // What the wildcard of a pattern adds is never a way up.
    const up = (path: string): number => path.split("/").filter((part) => part === "..").length;
    if (matches) assert.ok(up(text) <= up(glob));
  });
  await holds(t, property, 5_000);
});

test("whatever stands between, a denial finds its words", async (t) => {
  const gap = fc.array(
    fc.constantFrom("-C .", "-c a=b", "--no-pager", "--git-dir=x", "--work-tree x", "-v"),
    { maxLength: 4 },
  );
  const before = fc.constantFrom(
    "",
    "env ",
    "sudo -n ",
    "/usr/bin/",
    "command ",
    "ls; ",
    "xargs -n1 ",
  );
  const around = fc.array(
    fc.constantFrom(
      (line: string) => `sh -c '${line.replaceAll("'", "'\\''")}'`,
      (line: string) => `bash -lc "${line.replace(/["\\$`]/g, "\\$&")}"`,
      (line: string) => `ls && ${line}`,
      (line: string) => `timeout 5 ${line}`,
    ),
    { maxLength: 3 },
  );
  const after = fc.constantFrom("", " origin", " -f", " && ls");
  const property = fc.property(before, gap, after, around, (start, between, end, wrappers) => {
    const inner = `${start}git ${[...between, "push"].join(" ")}${end}`;
    const line = wrappers.reduce((text, wrap) => wrap(text), inner);
    assert.equal(decideShell(line, true, ["git push"], "linux").allowed, false, line);
  });
  await holds(t, property, 2_000);
});
