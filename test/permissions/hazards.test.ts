import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideShell } from "../../src/permissions/commands.ts";
import { cpuTime } from "../rig/growth.ts";

function allowed(line: string, ...patterns: string[]): boolean {
  return decideShell(line, patterns, [], "linux").allowed;
}

describe("a hazard is allowed only by name", () => {
  for (const line of [
    "/usr/bin/git log --output=pwned",
    "./tools/find . -delete",
    "sort -ro/tmp/x y",
    "curl -s4o/tmp/x y",
    "curl -#o x y",
    "curl -D headers x",
    "curl --dump-header headers x",
    "curl -c jar x",
    "curl --cookie-jar jar x",
    "curl --trace x y",
    "curl --trace-ascii x y",
    "curl --stderr x y",
    "curl --libcurl x y",
    "curl --config x",
    "curl -K x",
    "curl -sSLO x",
    "curl -w %output{pwned} x",
    "git difftool --extcmd=./x",
    "git difftool --tool=x",
    "git blame --ignore-revs-file=.env a",
    "git blame --contents=.env a",
    "tree -o pwned",
    "tree -ao pwned",
    "uniq in out",
    "uniq -c -- in -out",
    "xxd in out",
    "xxd -ac in out",
    "xxd -r in",
    "sed 1e f",
    "sed --debug p f",
    "sed -f script f",
    "sed -n -e p -e 1wpwned f",
    "sed -ne p f",
    "sed --expression=1e f",
    "sed -- wpwned",
    "sed p -i f",
    "sed --sandbox -i p f",
    "sed --sandbox -ni p f",
    "sed -e p -- --sandbox",
  ]) {
    it(line, () => {
      const [name = ""] = line.split(" ");
      assert.equal(allowed(line, `${name} *`), false, `${name} *`);
      assert.equal(allowed(line, line), true, "spelled out");
    });
  }
  it("quickly, also in long lines", () => {
    const took = cpuTime(() => {
      for (const name of ["git diff", "sed p", "uniq", "curl"])
        allowed(`${name} ${"y ".repeat(50_000)}`, "git *", "sed *", "uniq *", "curl *");
    });
    assert.ok(took < 4_000, `${took} ms`);
  });
  it("also where a wildcard could stand for two files", () => {
    assert.equal(allowed("uniq ./*", "uniq *"), false);
    assert.equal(allowed("uniq ./*", "uniq ./*"), false);
  });
  it("does not mind the others", () => {
    assert.equal(allowed("git log -L10,20:src/foo.ts -n5", "git log *"), true);
    assert.equal(allowed("curl -sSfL https://example.com/", "curl *"), true);
    assert.equal(allowed("tree -L 2 src", "tree *"), true);
    assert.equal(allowed("git log | sort | uniq -c", "git log *", "sort *", "uniq *"), true);
    assert.equal(allowed("uniq -cd words", "uniq *"), true);
    assert.equal(allowed("git log | xxd", "git log *", "xxd *"), true);
    assert.equal(allowed("xxd -p words", "xxd *"), true);
  });
});

describe("a script of sed", () => {
  for (const script of [
    "10,20p",
    "$p",
    "1d;$d; 5q",
    "/start/,/end/p",
    "/a/,+3p",
    "/^\\/\\*/!d",
    "$=",
    "s/a\\.b/c/g",
    "s/[^0-9]x*//gI;p",
    "/[a-z]/s/a/b/2p",
  ]) {
    it(`${script} only shows, leaves out and replaces lines`, () => {
      assert.equal(allowed(`sed -n '${script}' f g`, "sed *"), true);
      assert.equal(allowed(`git log | sed -nE -- '${script}'`, "git log *", "sed *"), true);
    });
  }
  for (const script of [
    "1e touch x",
    "w pwned",
    "p;w pwned",
    "r .env",
    "R .env",
    "W pwned",
    "s/a/b/e",
    "s/a/touch x/ge",
    "s/a/b/w pwned",
    "s,a,touch x,e",
    "/a/e",
    "1{e",
    "p\ne touch x",
    "s/[/]/g;/w pwned/p",
    "s/[^]/]/g;/w pwned/p",
    "s/\\\\/p/e",
    "i\\\nx",
    "bx",
    "1*",
  ]) {
    it(`${JSON.stringify(script)} is a hazard, but not in a sandbox`, () => {
      assert.equal(allowed(`sed -n '${script}' f`, "sed *", "sed -n *p *"), false);
      assert.equal(allowed(`sed --sandbox -n '${script}' f`, "sed *"), true);
      assert.equal(allowed(`sed --sandbox -n '${script}' f`, "sed --sandbox *"), true);
    });
  }
  it("is named to the letter, not by a wildcard", () => {
    assert.equal(allowed("sed s/a/touch/e f", "sed s/a/touch/e *"), true);
    assert.equal(allowed("sed -n 'w p' f", "sed -n *p *"), false);
    assert.equal(allowed("sed -n 10p f", "sed -n *p *"), true);
  });
});

describe("git diff", () => {
  for (const paths of [
    "/dev/null .git/config",
    "/dev/null .env",
    "/dev/null /other/secret.txt",
    "a ../secret.txt",
    "a sub/../../secret.txt",
    "a ..",
    "~/.netrc a",
    "~root/x a",
    "-- .env a",
    "a sub/.git/config",
  ]) {
    it(`may not lead out of the repository: ${paths}`, () => {
      const line = `git diff ${paths}`;
      assert.equal(allowed(line, "git diff *", "git *"), false);
      assert.equal(allowed(line.replace("diff", "--no-pager diff"), "git *"), false);
      assert.equal(allowed(line.replace("diff", "difftool"), "git difftool *"), false);
      assert.equal(allowed(line, line), true, "spelled out");
    });
  }
  it("says so", () => {
    const verdict = decideShell("git diff /dev/null a", ["git diff *"], [], "linux");
    assert.match(
      verdict.allowed ? "" : verdict.reason,
      /contains \/dev\/null, which can .*read other files/,
    );
  });
  it("is free inside", () => {
    for (const line of [
      "git diff HEAD~1..HEAD -- src test/a.ts .env.example",
      "git diff main...topic/x",
      "git diff .gitignore .github",
      "git log -- .env",
    ])
      assert.equal(allowed(line, "git *"), true, line);
  });
  it("gets at what lies outside only by the very words of the pattern", () => {
    assert.equal(allowed("git diff /a/b x", "git diff /a/b *"), true);
    assert.equal(allowed("git diff /a/b /c", "git diff /a/b *"), false);
    assert.equal(allowed("git diff /a/../c x", "git diff /a/* *"), false);
  });
});
