/** Words that mean something else to the shell, or to the program, than they seem to say. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideShell } from "../../src/permissions/commands.ts";

function allowed(line: string, ...patterns: string[]): boolean {
  return decideShell(line, patterns, [], "linux").allowed;
}

function denied(line: string, ...patterns: string[]): boolean {
  return !decideShell(line, true, patterns, "linux").allowed;
}

describe("a folder or a repository", () => {
  it("is not left for the home directory, or for the previous directory of the shell", () => {
    for (const line of [
      "cd",
      "cd --",
      "cd -P",
      "cd -",
      "cd -- -",
      "cd ''",
      "cd ~",
      "cd ..",
      "cd /",
    ])
      assert.equal(allowed(line, "cd *", "cd -P *"), false, line);
    for (const line of ["cd src", "cd -- src", "cd ./a/b"])
      assert.equal(allowed(line, "cd *"), true, line);
    assert.equal(allowed("cd", "cd"), true, "spelled out");
    assert.equal(allowed("cd -", "cd -"), true, "spelled out");
  });
  it("is the argument of fetch, pull and push only if it is origin", () => {
    for (const name of ["fetch", "pull", "push"]) {
      const decide = (rest: string, pattern = `git ${name} *`): boolean =>
        allowed(`git ${name}${rest}`, pattern);
      for (const rest of [
        "",
        " origin",
        " origin main",
        " -q origin +a:b",
        " -- origin",
        " --quiet",
      ])
        assert.equal(decide(rest), true, rest);
      for (const place of [
        "x",
        "./x.git",
        "x.git",
        "https://example.com/x",
        "ext::x",
        "a:b",
        "'a b'",
      ]) {
        assert.equal(decide(` ${place}`), false, place);
        assert.equal(decide(` -q -- ${place} main`), false, place);
      }
      assert.equal(decide(" x main", `git ${name} x *`), true, "spelled out");
      assert.equal(decide(" x", "git *"), false);
    }
  });
  it("is not made by moving files to a private name", () => {
    assert.equal(allowed("git mv a sub/b", "git mv *"), true);
    for (const to of [".git", "sub/.git", "sub/.git/config", ".npmrc"])
      assert.equal(allowed(`git mv a ${to}`, "git mv *"), false, to);
  });
});

describe("a path", () => {
  const decide = (line: string, ...patterns: string[]): boolean =>
    decideShell(line, patterns, [], "linux", undefined, undefined, (path) => path === "src")
      .allowed;
  it("is not judged before a command of the line that can replace it by a link", () => {
    const patterns = ["git *", "cat *", "cat docs/*", "tar xf *", "mv *", "npm *", "git mv *"];
    for (const line of [
      "git checkout x && cat a",
      "git checkout x; git status; cat a",
      "git pull\ncat docs/a",
      "git -P stash pop | cat - a",
      "git mv a b && cat b",
      "mv a b && cat b",
      "tar xf a.tar && cat a",
    ])
      assert.equal(decide(line, ...patterns), false, line);
    for (const line of [
      "cat a && git checkout x",
      "git checkout x && cat",
      "git checkout x && git status && npm test",
      "git checkout x | cat -",
      "git fetch origin; git log -- a | cat; cat a",
    ])
      assert.equal(decide(line, ...patterns), true, line);
    assert.equal(decide("git checkout x && cat a", ...patterns, "cat a"), true, "spelled out");
    const verdict = decideShell("git checkout x && cat a", patterns, [], "linux");
    assert.match(verdict.allowed ? "" : verdict.reason, /before it in the line.*on its own/);
  });
  it("is no folder for diff, which follows the links in it", () => {
    assert.equal(decide("diff src docs/a", "diff *"), false);
    assert.equal(decide("diff -u docs/a docs/b", "diff *"), true);
    assert.equal(decide("diff -r src docs/a", "diff -r *"), true, "spelled out");
  });
});

describe("a descriptor", () => {
  it("is one of the first ten: the others are of the shell, or of the program that runs it", () => {
    for (const line of ["cat a >&251", "cat <&10", "cat a 12>&1 2>&100"])
      assert.equal(allowed(line, "cat *"), false, line);
    assert.equal(allowed("cat a 3>&1 1>&2 2>&3 12>&1", "cat *"), true);
  });
});

describe("a word that one program takes for a value or an address and another for a file", () => {
  it("is judged as a file", () => {
    for (const line of [
      "git diff -U /etc/passwd x",
      "git diff --unified /etc/passwd x",
      "git diff -S /etc/passwd x",
      "git diff -U .env x",
    ])
      assert.equal(allowed(line, "git diff *"), false, line);
    for (const line of ["git diff -U5 x", "git diff --unified=5 x", "git diff -S x -- y"])
      assert.equal(allowed(line, "git diff *"), true, line);
    const leadsOut = (path: string): boolean => path === "https://x/y";
    const tool = (line: string): boolean =>
      decideShell(line, ["tool *"], [], "linux", leadsOut).allowed;
    assert.equal(tool("tool https://x/y"), false);
    assert.equal(tool("tool https://x/z"), true);
    assert.equal(tool("tool https://x/*"), false);
  });
  it("may not ask git to check a signature, which runs a program", () => {
    for (const line of [
      "git log --show-signature",
      "git log --format=%G?",
      "git log --pretty=%h%-GS",
      "git show '--format=%+GK'",
      "git for-each-ref '--format=%(signature:key)'",
    ])
      assert.equal(allowed(line, "git *"), false, line);
    assert.equal(allowed("git log --format=%h%gD", "git *"), true);
  });
});

describe("what a shell makes of a line before it runs it", () => {
  for (const line of [
    'cat "$\\\n(evil)"',
    'cat "$\\\n\\\n(evil)"',
    'cat "x$\\\nHOME/x"',
    "cat $\\\nHOME/x",
    "cat $\\\n\\\nHOME/x",
    "cat .{a.\\\n.f}nv",
    "cat .e\\\nnv",
    "cat a\\\n.txt",
    "cat {PATH}>/dev/null",
    "cat a {HOME}>/dev/null",
    "cat a {x}>&-",
    "cat a {x[0]}</dev/null",
    "cat x=~/y",
    "cat x=a:~/y",
    "cat x+=~",
    "cat ''x=~/y",
  ])
    it(`is not read otherwise: ${JSON.stringify(line)}`, () => {
      assert.equal(allowed(line, "cat *", "cat **", "*"), false);
      assert.equal(denied(line, "git push"), true, "nor past a denial");
    });
  it("leaves lines that are continued between words", () => {
    for (const line of [
      "cat a \\\n  b",
      "cat \\\nb",
      "cat a\\\n b",
      "cat a && \\\ncat b |\\\ncat",
      "\\\ncat b \\\n",
    ])
      assert.equal(allowed(line, "cat *"), true, line);
    assert.equal(allowed("cat a~ 'x=~' HEAD~1:x {}", "cat *"), true);
  });
});

describe("a wildcard that the shell replaces", () => {
  it("covers no pattern, number or script of a program that takes files: other names would follow", () => {
    for (const line of [
      "grep e*",
      "grep .e* x",
      "grep -e e* x",
      "rg e*",
      "fd e*",
      "head -n 5*",
      "sort -k 5* x",
      "cut -d , -f 1* x",
      "find . -name x*",
      "git log -n 5*",
      "git diff -S x* y",
      "git push o*",
      "cd d*",
    ]) {
      const [name = ""] = line.split(" ");
      assert.equal(allowed(line, `${name} *`), false, line);
    }
  });
});
