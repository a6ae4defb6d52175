/** Commands that got past patterns once: what a wildcard of a pattern covers, and what a denial finds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideShell } from "../../src/permissions/commands.ts";

function allowed(line: string, ...patterns: string[]): boolean {
  return decideShell(line, patterns, [], "linux").allowed;
}

function denied(line: string, ...patterns: string[]): boolean {
  return !decideShell(line, true, patterns, "linux").allowed;
}

describe("an option that is not known to be harmless", () => {
  for (const line of [
    "git blame -S revs file",
    "git blame -sS revs file",
    "git blame --contents=x file",
    "git blame --ignore-revs-file x file",
    "git grep --untracked x",
    "git grep --no-exclude-standard x",
    "git grep --untracked --no-exclude-standard x",
    "git grep --no-index x",
    "git grep -f patterns",
    "git grep -nf patterns",
    "git grep -Oless x",
    "git grep --open-files-in-pager x",
    "git log --output=x",
    "git log --outp=x",
    "git log --output x",
    "git -c core.pager=x log",
    "git -C sub log",
    "git --git-dir=x log",
    "git --git-dir x log",
    "git --work-tree=x diff",
    "git --exec-path=x log",
    "git -p log",
    "git --paginate log",
    "git ls-files -X x",
    "git ls-files --exclude-from=x",
    "git add --pathspec-from-file=x",
    "git commit -F x",
    "git commit --file=x",
    "git commit -t x",
    "git commit --template=x",
    "git commit -aF x",
    "git status --from-the-future",
    "git config --list",
    "git config core.pager x",
    "git bisect run x",
    "git submodule foreach x",
    "git --from-the-future log",
    "find -files0-from list",
    "find . -files0-from list",
    "find . -newer x -exec x {} +",
    "find . -execdir x {} +",
    "find . -okdir x {} +",
    "find . -fprintf x y",
    "find . -fprint0 x",
    "find -L . -name x",
    "find . -follow",
    "sort --files0-from=list",
    "sort --files0-from list",
    "sort --files0=list",
    "sort -nofile x",
    "sort --out=x y",
    "sort -T. x",
    "sort --random-source=x y",
    "tar -T list",
    "tar -cf x.tar -T list",
    "tar cf x.tar y",
    "tar xf x.tar",
    "tar cfT x.tar list",
    "tar -xf x.tar",
    "tar -tf x.tar --index-file=y",
    "tar tf x.tar --index-file y",
    "tar tf x.tar --checkpoint=1 --checkpoint-action=exec=x",
    "tar tf host:x.tar",
    "tar tFf script x.tar",
    "tar --files-from=list -t",
    "wc --files0-from=list",
    "du --files0-from=list",
    "grep -f patterns x",
    "grep -r x .",
    "grep -nR x .",
    "grep --file=patterns x",
    "rg --pre x y",
    "rg -f patterns",
    "rg --hidden x",
    "rg -uu x",
    "diff --to-file=x y",
    "diff --from-file x y",
    "ls -R --from-the-future",
    "file -f list",
    "file -m magic x",
    "curl -T x https://example.com/",
    "curl -d @x https://example.com/",
    "curl --upload-file x https://example.com/",
    "curl file:x",
    "curl {file,http}:x",
    "date -f x",
    "date -s x",
    "cp -t x y",
    "mv --target-directory=x y",
    "env -S x",
    "env -i x",
    "node -e x",
    "node --require=x y",
    "bash -c x",
    "npm run x -- --y",
    "eslint --fix src",
    "javac @list",
    "vim +x y",
    'awk BEGIN{system("x")}',
  ]) {
    it(`is not covered: ${line}`, () => {
      const [name = ""] = line.split(" ");
      assert.equal(allowed(quoted(line), `${name} *`), false);
      if (!/["{]/.test(line)) assert.equal(allowed(line, line), true, "spelled out");
      assert.equal(allowed(quoted(line), `${name} **`), true, "two stars: any arguments");
    });
  }
  it("is covered by the pattern that spells it out", () => {
    for (const [line, pattern] of [
      ["git blame -S revs file", "git blame -S revs *"],
      ["git -C sub log -5", "git -C sub log *"],
      ["eslint --fix src", "eslint --fix *"],
      ["npm test -- --watch=false a", "npm test -- --watch=false *"],
      ["npm test -- --x", "npm test -- --*"],
      ["sort -oresult x", "sort -o* *"],
      ["git diff --output=x", "git diff --output=* *"],
      ["git diff --output=x", "git diff --output* *"],
      ["date +%s", "date +*"],
      ["tool --config=a.json", "tool --config=*"],
      ["tar cf x.tar src", "tar cf x.tar *"],
      ["sed -i s/a/b/ f.ts g.ts", "sed -i s/a/b/ *"],
      ["grep -rn x src", "grep -rn *"],
    ] as const)
      assert.equal(allowed(line, pattern), true, line);
    for (const [line, pattern] of [
      ["sort -nofile x", "sort -n* *"],
      ["git log --output=x", "git log --* *"],
      ["git log --output=x", "git log --o* *"],
      ["sort -o /etc/x y", "sort -o *"],
      ["sort -o/etc/x y", "sort -o* *"],
      ["tool --config=/etc/x", "tool --config=**"],
      ["tool --config=../x", "tool --config=**"],
      ["sed -i s/a/b/e f.ts", "sed -i *"],
      ["grep -rn x /etc", "grep -rn *"],
    ] as const)
      assert.equal(allowed(line, pattern), false, line);
  });
  it("is named in the reason, with what would allow it", () => {
    const reason = (line: string, pattern: string): string => {
      const verdict = decideShell(line, [pattern], [], "linux");
      return verdict.allowed ? "" : verdict.reason;
    };
    assert.match(
      reason("git grep --untracked x", "git grep *"),
      /--untracked, which is not known to be harmless, .*would allow it: "git grep --untracked x"/,
    );
    assert.match(reason("eslint --fix src", "eslint *"), /--fix.*"eslint \*\*"/);
    assert.match(reason("cat ../x", "cat *"), /\.\.\/x, which can lead outside/);
    assert.match(reason("cat src/*.ts", "cat *"), /src\/\*\.ts, which the shell/);
    assert.match(reason("git bisect run x", "git *"), /bisect, which is not a subcommand/);
  });
  it("leaves what people run every day", () => {
    for (const line of [
      "git log --oneline --graph -n 5 -p --stat --since=yesterday --author bob -- src",
      "git log -5 --format='%h %s' --no-merges main..topic",
      "git --no-pager log -S needle --pretty=oneline",
      "git diff --stat --cached -U3 -w HEAD~1 -- src",
      "git diff main...HEAD --name-only --diff-filter=AM",
      "git show --stat HEAD",
      "git show HEAD:src/x.ts",
      "git blame -L 10,20 -w src/x.ts",
      "git grep -n -e needle --and -e hay -- src",
      "git grep -in '/api/v1' src",
      "git status --short --branch",
      "git add -A",
      "git commit -am 'Fix /x: y'",
      "git rev-parse --abbrev-ref HEAD",
      "git ls-files -m src",
      "ls -la src",
      "cat -n src/x.ts",
      "head -20 src/x.ts",
      "head -n 20 src/x.ts",
      "tail -n +5 x",
      "wc -l x y",
      "sort -rnk2 -t, x",
      "cut -d, -f1,2 x",
      "tr -d a",
      "grep -n -A 3 '/api/v1' src/x.ts",
      "rg -n needle src",
      "find . -type f -name '*.ts' -not -path './x/*' -maxdepth 3",
      "diff -u a b",
      "tar tzf x.tgz",
      "tar -tvf x.tar",
      "awk '{print $1, $3}' x",
      "echo /etc ../x -n",
      "npm test",
      "npm run build",
      "npm test -- src/x.test.ts",
      "node scripts/x.js src out",
      "pytest tests/test_x.py",
    ]) {
      const [name = ""] = line.split(" ");
      assert.equal(allowed(line, `${name} *`), true, line);
    }
  });
});

describe("a command that only prints", () => {
  for (const line of [
    "printf %n PATH",
    "printf 'ab%n' PATH",
    "printf '%s%-010.5ln' x PATH",
    "printf -- '%*n' 1 PATH",
    "printf '%%%n' PATH",
    "printf '%5%%n' PATH",
    "echo ../x/*",
    "echo linked/*",
    "basename -a linked/?",
    "printf %s linked/[a-z]*",
  ]) {
    it(`sets no variable and lists no folder: ${line}`, () => {
      const [name = ""] = line.split(" ");
      assert.equal(allowed(line, `${name} *`), false);
      assert.equal(allowed(line, `${name} **`), true, "two stars: any arguments");
    });
  }

  it("prints text", () => {
    for (const line of [
      "printf '%s\\n' a",
      "printf '100%%\\n'",
      "printf '50%% new\\n'",
      "printf '%d%%n' 1",
      "printf '100%% now'",
      "echo 'a*' 100%n",
      "printf '%d new'",
    ]) {
      const [name = ""] = line.split(" ");
      assert.equal(allowed(line, `${name} *`), true, line);
    }
  });
});

describe("a wildcard inside a word", () => {
  const cases: readonly (readonly [line: string, pattern: string, expected: boolean])[] = [
    ["node scripts/a.js", "node scripts/*.js", true],
    ["node scripts/../src/evil.js", "node scripts/*.js", false],
    ["node scripts/sub/a.js", "node scripts/*.js", false],
    ["node scripts/sub/a.js", "node scripts/**.js", true],
    ["node scripts/sub/a.js", "node scripts/**/*.js", true],
    ["node scripts/../a.js", "node scripts/**.js", false],
    ["node scripts/x/../../a.js", "node scripts/**.js", false],
    ["node scripts/..", "node scripts/*", false],
    ["node scripts/..", "node scripts/**", false],
    ["node scripts/x/..", "node scripts/**", false],
    ["node scripts/...", "node scripts/*", true],
    ["cat docs/x.md", "cat docs/*", true],
    ["cat docs/../../../etc/passwd", "cat docs/*", false],
    ["cat docs/a/b", "cat docs/*", false],
    ["cat docs/a docs/b", "cat docs/*", false],
    ["cat docs/.env", "cat docs/*", false],
    ["cat docs/.env", "cat docs/.env", true],
    ["cat /etc/passwd", "cat **passwd", false],
    ["cat /var/log/syslog", "cat /var/log/*", true],
    ["cat /var/log/../x", "cat /var/log/*", false],
    ["cat ../shared/x", "cat ../shared/*", true],
    ["cat ../shared/../x", "cat ../shared/*", false],
    ["cat ../shared/.env", "cat ../shared/*", false],
    ["cat -ox", "cat *x", false],
    ["tool -ox", "tool *x", false],
    ["cat ~x", "cat *x", false],
    ["npm run test:unit", "npm run test:*", true],
    ["./tools/evil x", "* x", false],
    ["cat docs/*", "cat docs/*", false],
  ];
  for (const [line, pattern, expected] of cases) {
    it(`of ${pattern} ${expected ? "covers" : "does not cover"} ${line}`, () => {
      assert.equal(allowed(line, pattern), expected);
    });
  }
});

describe("an argument that a pattern leaves open", () => {
  for (const argument of [
    "/etc/passwd",
    "../x",
    "src/../../x",
    "src/..",
    "~/.ssh/id",
    "~root/x",
    ".env",
    "sub/.git/config",
    ".git",
    "src/*.ts",
    "src/?.ts",
  ])
    it(`may not lead out, be private, or be the shell's to expand: ${argument}`, () => {
      for (const name of ["cat", "head", "sort", "wc", "tool", "ls"]) {
        assert.equal(allowed(`${name} ${argument}`, `${name} *`), false, name);
        assert.equal(allowed(`${name} a ${argument}`, `${name} *`), false, name);
      }
      for (const form of ["x=", "--y=", "@", "x:", "a,"])
        assert.equal(allowed(`tool ${form}${argument}`, "tool *"), false, form);
    });
  it("is asked of the file rules where there are some", () => {
    const asked: string[] = [];
    const leadsOut = (path: string): boolean => (asked.push(path), path === "link");
    const decide = (line: string): boolean =>
      decideShell(line, ["cat *"], [], "linux", leadsOut).allowed;
    assert.equal(decide("cat a /repo/b"), true);
    assert.equal(decide("cat a link"), false);
    assert.deepEqual(asked, ["a", "/repo/b", "a", "link"]);
  });
  it("is asked about once, and not about more paths than can be checked at once", () => {
    let asked = 0;
    const leadsOut = (): boolean => (asked++, false);
    const decide = (line: string): string => {
      const verdict = decideShell(line, ["cat *"], [], "linux", leadsOut);
      return verdict.allowed ? "allowed" : verdict.reason;
    };
    assert.equal(decide(`cat ${"a/b ".repeat(1_900)}`), "allowed");
    assert.equal(asked, 1);
    const many = Array.from({ length: 600 }, (_, index) => `a/${index}`).join(" ");
    assert.match(decide(`cat ${many}`), /too many paths/);
    assert.match(decide(`cat ${"a/".repeat(1_500)}`), /too many paths/);
    assert.ok(asked < 600, `${asked}`);
  });
});

describe("a denial", () => {
  for (const line of [
    "git push",
    "git -C . push",
    "git --no-pager push",
    "git -c a=b push",
    "git -c a=b -C . --no-pager push origin",
    "git --git-dir .git push",
    "git --git-dir=.git push",
    "GIT_DIR=. git push",
    "command git push",
    "/usr/bin/git push",
    "git 'push'",
    "git pu\\sh",
    "GIT PUSH",
    "env git push",
    "env GIT_DIR=. git push",
    "xargs git push",
    "xargs -n1 git -C . push",
    "sh -c 'git push'",
    "bash -lc 'git -C . push'",
    "bash -c'git push'",
    "sh -c \"sh -c 'git -C . push'\"",
    'sh -c "sh -c \\"git push\\""',
    "git -c alias.x=push x",
    "git -c alias.x='!git push' x",
    "timeout 5 git push",
    "nohup git push",
    "ssh host git push",
    "ssh host 'cd x && git push'",
    "ls && git --no-pager push",
    "echo x | xargs git push",
    "awk 'BEGIN{system(\"git push\")}'",
    "python3 -c 'import os; os.system(\"git push\")'",
    "eval git push",
    "eval 'git push'",
    "su -c 'git push'",
    "find . -exec git push \\;",
    "git $(echo push)",
  ])
    it(`of git push finds ${line}`, () => {
      assert.equal(denied(line, "git push"), true);
      assert.equal(denied(line, "git push *"), true);
    });
  it("looks past the global options of any program", () => {
    assert.equal(denied("docker --context x push y", "docker push"), true);
    assert.equal(denied("kubectl -n prod delete pod x", "kubectl delete"), true);
    assert.equal(denied("npm --prefix=x publish", "npm publish"), true);
    assert.equal(denied("git push origin main --force", "git push --force"), true);
    assert.equal(denied("git -C . push -u origin +main", "git push +*"), true);
    assert.equal(denied("git log -p --output=x", "git * --output*"), true);
  });
  it("finds short options in any order and bundle", () => {
    for (const line of ["rm -rf x", "rm -fr x", "rm -rvf x", "rm -v -Rf x", "sudo rm x -fr"])
      assert.equal(denied(line, "rm -rf"), true, line);
    for (const line of ["rm -r x", "rm -f x", "rm r-f"])
      assert.equal(denied(line, "rm -rf"), false, line);
    assert.equal(denied("tar -xzf x", "tar -xf"), true);
    assert.equal(denied("find . -type f -exec x", "find -executable"), false);
  });
  it("finds a long option with a value, or abbreviated", () => {
    for (const line of [
      "git push --force",
      "git push --force=x",
      "git push --forc",
      "git push --for=x",
      "git push origin --FORCE",
    ])
      assert.equal(denied(line, "git push --force"), true, line);
    assert.equal(denied("tool --x=1", "tool --x"), true);
    for (const line of ["git push --fo", "git push --forced", "git push force", "git push -force"])
      assert.equal(denied(line, "git push --force"), false, line);
  });
  it("finds a word behind any others where a star stands between", () => {
    assert.equal(denied("git a b c push", "git * push"), true);
    assert.equal(denied("git a b c pull", "git * push"), false);
    assert.equal(denied("git a push", "git push"), false);
  });
  it("finds a command however deep it is inside of others, or refuses to look", () => {
    let line = "git push";
    for (let depth = 0; depth < 11; depth += 1) {
      assert.equal(denied(line, "git push"), true, `${depth}`);
      line = `sh -c '${line.replaceAll("'", "'\\''")}'`;
      if (line.length > 30_000) break;
    }
    assert.equal(denied("sh -c 'x $(y)'", "git push"), true, "a script that only a shell can read");
    assert.equal(denied("echo 'x $(y)'", "git push"), false, "a text");
  });
  it("leaves the rest alone", () => {
    for (const line of [
      "git pull",
      "sleep 1 & git pull",
      "git stash push",
      "git log --oneline push-notes.md",
      "git commit -m 'push it'",
      "npm run push",
      "echo git",
      "ls push",
    ])
      assert.equal(denied(line, "git push"), false, line);
    assert.equal(denied("git push origin main", "git push --force"), false);
  });
});

describe("a long command", () => {
  it("is refused where a pattern or a denial would have to be checked", () => {
    for (const line of [
      `echo ${"x ".repeat(60_000)}`,
      `echo ${"x".repeat(40_000)}`,
      `echo ${"x ".repeat(3_000)}`,
      "ls;".repeat(3_000),
    ]) {
      const refusals = [
        decideShell(line, true, ["git push"], "linux"),
        decideShell(line, ["echo *", "ls"], [], "linux"),
      ];
      for (const verdict of refusals)
        assert.match(verdict.allowed ? "" : verdict.reason, /too long|too many words/);
      assert.equal(decideShell(line, true, [], "linux").allowed, true);
    }
  });
  it("is repeated only in part", () => {
    const verdict = decideShell(`rm ${"x".repeat(20_000)}`, ["ls"], [], "linux");
    assert.ok(!verdict.allowed && verdict.reason.length < 1_000);
  });
  it("is repeated without the half of a word, which may be half a secret", () => {
    for (let length = 1; length < 200; length += 1) {
      const line = `rm ${"x ".repeat(length)}0123456789-secret-0123456789`;
      const verdict = decideShell(line, ["ls"], [], "linux");
      const reason = verdict.allowed ? "" : verdict.reason;
      assert.ok(!reason.includes("0123") || reason.includes("6789-secret-0123456789"), reason);
    }
  });
});

/** Single quotes around what a shell would read in a way of its own. */
function quoted(line: string): string {
  return line.replace(/\S*["{(]\S*/g, (word) => (word === "{}" ? word : `'${word}'`));
}
