/** What an open `*` leaves to the words of a command: which of them are scripts, files, repositories. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideShell } from "../../src/permissions/commands.ts";

function allowed(line: string, pattern: string, leadsOut?: (path: string) => boolean): boolean {
  return decideShell(line, [pattern], [], "linux", leadsOut).allowed;
}

describe("the operands of a command", () => {
  it("are files where an option brings the pattern, in whatever way it is written", () => {
    for (const [line, pattern] of [
      ["grep -e x ../f", "grep *"],
      ["grep -ne x ../f", "grep *"],
      ["grep --regexp x ../f", "grep *"],
      ["grep --regexp=x ../f", "grep *"],
      ["egrep -e x ../f", "egrep *"],
      ["rg -e x ../f", "rg *"],
      ["rg --regexp x ../f", "rg *"],
      ["git grep -e x ../f", "git grep *"],
      ["grep -f list ../f", "grep -f list *"],
      ["grep -nf list ../f", "grep -nf *"],
      ["grep -flist ../f", "grep -flist *"],
      ["rg -f list ../f", "rg -f *"],
    ] as const) {
      assert.equal(allowed(line, pattern), false, line);
      assert.equal(allowed(line.replace("../f", "f"), pattern), true, line);
    }
    assert.equal(allowed("grep ../f a", "grep *"), true, "a pattern");
    assert.equal(allowed("git grep ../f a", "git grep *"), true, "a pattern");
  });

  it("are files, all of them, behind an option that may have taken the pattern", () => {
    for (const [line, pattern] of [
      ["grep --x ../f", "grep --x *"],
      ["git grep --x ../f", "git grep --x *"],
    ] as const) {
      assert.equal(allowed(line, pattern), false, line);
      assert.equal(allowed(line.replace("../f", "f"), pattern), true, line);
    }
  });

  it("are not the values of harmless options", () => {
    assert.equal(allowed("sort -t : -k 2 f", "sort *"), true);
    assert.equal(allowed("grep -e /etc f", "grep *"), true);
    assert.equal(allowed("cut -d / -f 1 f", "cut *"), true);
  });

  it("may be folders, but for diff", () => {
    const withFolders = (line: string, pattern: string): boolean =>
      decideShell(line, [pattern], [], "linux", undefined, undefined, () => true).allowed;
    assert.equal(withFolders("ls src", "ls *"), true);
    assert.equal(withFolders("diff src x", "diff *"), false);
  });

  it("may be addresses, without anything else in the same word", () => {
    assert.equal(allowed("tool https://example.com/a", "tool *"), true);
    assert.equal(allowed("tool 'https://example.com =/etc/passwd'", "tool *"), false);
  });

  it("are asked about only if they have few parts", () => {
    let asked = 0;
    const count = (): boolean => (asked++, false);
    assert.equal(allowed(`tool ${"a=".repeat(10)}b`, "tool *", count), true);
    assert.ok(asked > 0);
    asked = 0;
    assert.equal(allowed(`tool ${"a=".repeat(40)}b`, "tool *", count), false);
    assert.equal(asked, 0);
  });
});

describe("a wildcard that is not the last word", () => {
  it("stands for no option of an unknown program", () => {
    for (const [line, pattern] of [
      ["vim +x f", "vim *x f"],
      ["javac @list", "javac *list"],
      ["tool -x", "tool *x"],
    ] as const) {
      assert.equal(allowed(line, pattern), false, line);
      assert.equal(allowed(line.replace(/[-+@]/, "a"), pattern), true, line);
    }
  });
});

describe("a script in an argument", () => {
  const dangerous = ["1e id", "s/x/y/e", "w out", "r ../f", "p;e"];
  it("may only show and replace lines, also as the value of an option", () => {
    for (const options of ["", "-n ", "-e ", "-n -e ", "-ne ", "-e p -e "]) {
      for (const script of dangerous)
        assert.equal(allowed(`sed ${options}'${script}' f`, `sed ${options}*`), false, script);
      assert.equal(allowed(`sed ${options}p f`, `sed ${options}*`), true, options);
    }
  });
  it("may do no more if it is glued to its option", () => {
    for (const script of dangerous) {
      for (const option of ["-e", "-ne", "-Ee", "--expression=", "--expr="])
        assert.equal(allowed(`sed ${option}'${script}' f`, `sed ${option}* f`), false, script);
    }
    assert.equal(allowed("sed -ep f", "sed -e* *"), true);
    assert.equal(allowed("sed -i.bak p f", "sed -i* p *"), true);
    for (const option of ["-e", "--source="]) {
      const line = `gawk ${option}'BEGIN{system("id")}' f`;
      assert.equal(allowed(line, `gawk ${option}* f`), false, line);
    }
  });
  it("is judged wherever it may stand", () => {
    const script = "'BEGIN{system(\"id\")}'";
    for (const [line, pattern] of [
      [`awk --sandbox ${script} f`, "awk --sandbox *"],
      [`awk -v x ${script} f`, "awk -v *"],
      [`awk -v x=1 ${script}`, "awk -v x=1 *"],
      ["sed -n --sandbox '1e id' f", "sed -n --sandbox *"],
    ] as const)
      assert.equal(allowed(line, pattern), false, line);
    assert.equal(allowed("sed --sandbox '1e id' f", "sed --sandbox *"), true);
  });
});

describe("a command of git", () => {
  it("is judged by where its folder really is", () => {
    const isLink = (path: string): boolean => /(?:^|\/)link/.test(path);
    for (const [line, pattern] of [
      ["git -C sub/link log", "git -C sub/* log"],
      ["git -C link log", "git -C * log"],
      ["git --git-dir link log", "git --git-dir * log"],
    ] as const) {
      assert.equal(allowed(line, pattern, isLink), false, line);
      assert.equal(allowed(line.replace("link", "x"), pattern, isLink), true, line);
      assert.equal(allowed(line, line, isLink), true, "spelled out");
    }
    assert.equal(
      allowed("git -C ../x log", "git -C ../* log"),
      true,
      "outside, as the pattern says",
    );
  });
  it("gets no setting that its pattern does not name", () => {
    for (const option of ["-c", "--config-env"]) {
      for (const pattern of ["*", "core.*", "**"])
        assert.equal(
          allowed(`git ${option} core.pager=x log`, `git ${option} ${pattern} log`),
          false,
          pattern,
        );
      assert.equal(allowed(`git ${option} user.name=x log`, `git ${option} user.name=* log`), true);
      assert.equal(allowed(`git ${option} a.b=x log`, `git ${option} a.b=x log`), true);
    }
  });
  it("reads what follows an unknown option as the name of a file", () => {
    const isLink = (path: string): boolean => path === "link" || path.startsWith("/");
    for (const command of ["git grep -f", "git blame -S", "git commit -F", "git log --x"]) {
      for (const file of ["link", ".env", "../f", "/etc/passwd"])
        assert.equal(
          allowed(`${command} ${file} x`, `${command} *`, isLink),
          false,
          `${command} ${file}`,
        );
      assert.equal(allowed(`${command} file x`, `${command} *`, isLink), true, command);
    }
  });
  it("does not look outside of its repository", () => {
    const leadsOut = (path: string): boolean => path.startsWith("/etc");
    for (const name of ["log", "show", "blame", "ls-files", "checkout", "status"]) {
      for (const path of ["../x", "~/x", "-- ../x", "a ../x", "/etc/passwd", "-- /etc/passwd"])
        assert.equal(allowed(`git ${name} ${path}`, `git ${name} *`, leadsOut), false, path);
      assert.equal(allowed(`git ${name} -- /repo/x`, `git ${name} *`, leadsOut), true, name);
    }
  });
  it("may have options before it that only change its output", () => {
    for (const options of ["--no-pager", "-P", "--no-optional-locks --no-pager"]) {
      assert.equal(allowed(`git ${options} log -5`, "git log *"), true, options);
      assert.equal(allowed(`git ${options} push`, "git log *"), false, options);
      assert.equal(allowed(`git ${options} --paginate log`, "git log *"), false, options);
    }
    assert.equal(allowed("tool --no-pager log", "tool log *"), false);
  });
  it("without a subcommand is not covered by an open wildcard", () => {
    for (const line of ["git --version", "git --no-pager", "git --x", "git -C x"])
      assert.equal(allowed(line, "git *"), false, line);
    assert.equal(allowed("git --version", "git --version"), true, "spelled out");
  });
});
