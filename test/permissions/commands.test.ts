import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it, type TestContext } from "node:test";
import * as fc from "fast-check";
import { readShell, shellRefusal } from "../../src/permissions/commands.ts";
import { cpuTime } from "../rig/growth.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { rounds } from "../rig/nightly.ts";

function allowed(line: string, ...patterns: string[]): boolean {
  const allow = patterns.filter((pattern) => !pattern.startsWith("!"));
  const deny = patterns.filter((pattern) => pattern.startsWith("!")).map((one) => one.slice(1));
  return shellRefusal(line, allow.length === 0 ? true : allow, deny) === undefined;
}

describe("a shell pattern", () => {
  const cases: readonly (readonly [line: string, pattern: string, expected: boolean])[] = [
    ["git diff", "git diff *", true],
    ["git diff HEAD~1 -- src", "git diff *", true],
    ["git  diff\tHEAD", "git diff *", true],
    ["git 'diff' \"HEAD\"", "git diff *", true],
    ["git difftool", "git diff *", false],
    ["git diffx", "git diff*", true],
    ["git diff HEAD", "git diff", false],
    ["git diff", "git diff", true],
    ["GIT diff", "git diff", false],
    ["./git diff", "git diff", false],
    ["npm run test:unit", "npm run test:*", true],
    ["npm run test:unit -- --watch", "npm run test:*", false],
    ["npm --prefix a/b test -- x", "npm * test *", true],
    ["npm test", "npm * test *", true],
    ["npm run x", "npm * test *", false],
    ["eslint --fix src", "eslint **", true],
    ["cat src/*.ts ~/x {a,b}", "cat *", true],
    ["git diff > out.txt", "git diff *", true],
    ["git diff > out.txt", "git diff", true],
    ["git diff > out.txt HEAD", "git diff", false],
    ["git diff 2&> out.txt", "git diff", false],
    ["ls a.b", "ls a?b", false],
    ["anything at all", "*", true],
    ["cat --any ../../path", "*", true],
    ["anything $(at all)", "any*", false],
    ["CI=1 npm test", "npm test", false],
    ["CI=1 npm test", "CI=1 npm test", true],
    ['git diff "$BASE..." ${HEAD} $1', "git diff *", true],
  ];
  for (const [line, pattern, expected] of cases) {
    it(`${expected ? "allows" : "does not allow"} ${JSON.stringify(line)} by ${JSON.stringify(pattern)}`, () => {
      assert.equal(allowed(line, pattern), expected);
    });
  }
});

describe("every command of a line must match", () => {
  const patterns = ["git diff *", "head *"];
  for (const line of [
    "git diff | head -5",
    "git diff; git diff",
    "git diff && head x || head y",
    "git diff\n\nhead x\n",
    "git diff # && rm -rf /",
    "git diff 2>&1 | head 2>/dev/null",
    "git diff |& head",
    "git \\\n diff",
    "git diff & head x",
    "git diff {a,b} *.ts 2> x",
    "git diff <<< x",
    "git diff '2'>x 3>&1 &>> y",
  ]) {
    it(`allows ${JSON.stringify(line)}`, () => assert.equal(allowed(line, ...patterns), true));
  }
  for (const line of [
    "git diff | sh",
    "git diff; rm x",
    "git diff & rm x",
    "git diff\nrm x",
    "git diff |& tee x",
    "git diff $(rm x)",
    "git diff `rm x`",
    'git diff "$(rm x)"',
    "git diff <(rm x)",
    "git diff >(rm x)",
    "git diff << EOF\nrm x\nEOF",
    "git diff <<'EOF'; rm x\nEOF",
    "git diff <<EOF\nhead '\nEOF\nrm x\nhead '",
    "git diff <\\\n<EOF\nhead '\nEOF\nrm x\nhead '",
    "git diff <",
    "git diff >; head '\nrm x\n'",
    "git diff ;; head '\nrm x\n'",
    "git diff {PATH}>x",
    "PATH=.",
    "PATH=. git diff",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "'PATH'=. git diff",
    "a[0]=x git diff",
    "env git diff",
    "sh -c 'git diff'",
    "(git diff)",
    "{ git diff; }",
    "! git diff",
    "if git diff; then rm x; fi",
    "git() { rm x; }; git diff",
    "$X diff",
    "git diff ${X:-$(rm x)}",
    "git diff ${X@P}",
    "git diff $((1+1))",
    "git diff $'\\x3brm'",
    'git diff $"x"',
    "git diff 'unclosed",
    'git diff "unclosed',
    "git diff \\",
    "git diff \u0000 rm",
    "",
    "   ",
    "# only a comment",
    ";",
  ]) {
    it(`does not allow ${JSON.stringify(line)}`, () =>
      assert.equal(allowed(line, ...patterns), false));
  }
});

describe("on Windows", () => {
  it("patterns only deny, since PowerShell reads commands in another way", () => {
    for (const line of ["git log", 'git log "a\\"; calc #"']) {
      const reason = shellRefusal(line, ["git log *"], [], "win32");
      assert.match(reason ?? "", /Windows.*PowerShell.*shell: true/);
      assert.notEqual(shellRefusal(line, true, ["git log"], "win32"), undefined);
      assert.equal(shellRefusal(line, true, [], "win32"), undefined);
    }
  });
});

describe("a denial wins", () => {
  for (const line of [
    "rm x",
    "rm",
    "/bin/rm x",
    "ls; rm x",
    "env rm x",
    "sudo -n rm x",
    "xargs rm",
    "find . -exec rm {} +",
    "sh -c 'rm x'",
    'bash -c "ls && rm x"',
    "RM x",
    "'rm' x",
    "r\\m x",
    "$(echo rm) x",
    "if ls; then rm x; fi",
    'X="$(rm x)"',
    "cat <<EOF\nrm x\nEOF",
  ]) {
    it(`denies ${line} by !rm *`, () => {
      assert.equal(allowed(line, "!rm *"), false);
      assert.equal(allowed(line, "*", "!rm *"), false);
    });
  }
  it("and leaves the rest alone", () => {
    for (const line of ["ls", "git rm-x", "echo 'a b'", "npm run rmx", "(cd x; echo $(ls) $X)"]) {
      assert.equal(allowed(line, "!rm *"), true, line);
    }
  });
  it("a longer command is denied by a shorter pattern", () => {
    assert.equal(allowed("git push origin main --force", "!git push"), false);
    assert.equal(allowed("git -C . --no-pager push", "!git push"), false);
    assert.equal(allowed("git pull", "!git push"), true);
    assert.equal(allowed("git commit push", "!git push"), true);
    assert.equal(allowed("git push origin main --force", "!git push --force"), false);
    assert.equal(allowed("rm -fr x", "!rm -rf"), false);
    assert.equal(allowed("rm -r x", "!rm -rf"), true);
  });
});

describe("properties", () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9./:-]{0,8}$/);
  const words = fc.array(word, { minLength: 1, maxLength: 5 });
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

  it("quoting a word does not change what it is", () => {
    const styles = fc.constantFrom(
      (text: string) => text,
      quoted,
      (text: string) => `"${text}"`,
      (text: string) => text.replace(/./g, "\\$&"),
      (text: string) => `${text.slice(0, 1)}''${quoted(text.slice(1))}`,
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(word, styles), { minLength: 1, maxLength: 5 }), (parts) => {
        const plain = parts.map(([text]) => text);
        fc.pre(readShell(plain.join(" ")).unclear === undefined);
        const line = parts.map(([text, style]) => style(text)).join(" ");
        assert.deepEqual(readShell(line), { commands: [plain] });
      }),
    );
  });

  it("any text at all, single-quoted, is one word", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        fc.pre(!text.includes("\0"));
        assert.deepEqual(readShell(`x ${quoted(text)}`), { commands: [["x", text]] });
      }),
    );
  });

  it("a line is allowed only if each of its commands is", () => {
    const separators = fc.constantFrom(" ; ", "&&", " || ", "|", "\n");
    fc.assert(
      fc.property(words, fc.array(fc.tuple(separators, words), { maxLength: 4 }), (first, rest) => {
        const commands = [first, ...rest.map(([, command]) => command)];
        const line = first.join(" ") + rest.map(([sep, one]) => sep + one.join(" ")).join("");
        fc.pre(commands.every((one) => readShell(one.join(" ")).unclear === undefined));
        const patterns = commands.map((one) => one.join(" "));
        assert.equal(shellRefusal(line, patterns, []), undefined);
        for (const left of patterns) {
          const others = patterns.filter((pattern) => pattern !== left);
          assert.notEqual(shellRefusal(line, others, []), undefined);
        }
      }),
    );
  });

  it("bash runs nothing that was not read, whatever the line", async (t) => {
    const pieces =
      `a|a |evil| evil|b | |\t|\n|; |;|&|&&|&>f|2>|1|>|<f|<|<<|<<<|<<E|\nE\n|(|)|{ |}|{x}|"|"|'|'|#| #|\\|\\\n|
      |$ |$.|$X.|$'|$(|\`|\${X:-|\${|=|A=1 |PATH=.|!|if |then |fi|for i in |do |done|time |*|[|,`.split(
        "|",
      );
    const separators = ["|", "||", "|&"];
    const lines = fc
      .array(fc.constantFrom(...pieces, ...separators), { maxLength: 9 })
      .map((parts) => parts.join(""));
    const readings = fc
      .sample(lines, rounds(10_000))
      .map((line) => ({ line, ...readShell(line) }))
      .filter(({ unclear }) => unclear === undefined);
    const run = await runByBash(
      t,
      readings.map(({ line }) => line),
    );
    const before = /^(?:\w+=.*|!|if|then|fi|for|do|done|time|\{|)$/;
    let count = 0;
    readings.forEach(({ line, commands }, index) => {
      for (const words of run[index] ?? []) {
        count += 1;
        const isRead = commands.some((command) => {
          const rest = command.length - words.length;
          return (
            rest >= 0 &&
            command.slice(rest).join("\0") === words.join("\0") &&
            command.slice(0, rest).every((word) => before.test(word))
          );
        });
        assert.ok(isRead, `${JSON.stringify({ line, commands })}: bash runs ${words.join(" ")}`);
      }
    });
    assert.ok(count > readings.length / 10, `${count} commands`);
  });

  it("matching is fast, also for hostile patterns and long lines", () => {
    const took = cpuTime(() => {
      assert.equal(allowed("a".repeat(30_000), "*a*a*a*b"), false);
      assert.equal(allowed("a ".repeat(15_000), "* a * a * a * b"), false);
      assert.equal(allowed("x".repeat(40_000), "x*"), false, "too long");
      assert.equal(allowed("git ".repeat(8_000), "!git --x"), true);
      assert.equal(allowed("(".repeat(30_000), "!git --x"), true);
    });
    assert.ok(took < 4_000, `${took} ms`);
  });
});

/** The commands of each line that bash runs, each with its words. What follows `&&` and `||` runs as well. */
async function runByBash(t: TestContext, lines: readonly string[]): Promise<string[][][]> {
  const { path: cwd } = await makeWorkspace(t, { f: "", "lines.txt": lines.join("\0") + "\0" });
  const script = `exec 7>&1 8<lines.txt >/dev/null 2>&1
command_not_found_handle() { local IFS=$'\x1f'; printf '%s\x1d' "$*" >&7; return $status; }
set -f +B; X='$X'
while IFS= read -r -u 8 -d '' line; do
  for status in 0 1; do PATH=/no; eval "$line"; wait; done
  printf '\x1e' >&7
done`;
  const { PATH } = process.env;
  const output = execFileSync("bash", ["-c", script], {
    // Redirections write there.
    cwd,
    encoding: "utf8",
    env: { PATH },
    maxBuffer: 1e8,
    timeout: 120_000,
  });
  return output.split("\u001e").map((ran) =>
    ran
      .split("\u001d")
      .slice(0, -1)
      .map((words) => words.split("\u001f")),
  );
}
