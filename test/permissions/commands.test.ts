import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { decideShell } from "../../src/permissions/commands.ts";
import { readShell } from "../../src/permissions/shell-reading.ts";
import { cpuTime } from "../rig/growth.ts";
import { makeWorkspace } from "../rig/workspace.ts";

function allowed(line: string, ...patterns: string[]): boolean {
  const allow = patterns.filter((pattern) => !pattern.startsWith("!"));
  const deny = patterns.filter((pattern) => pattern.startsWith("!")).map((one) => one.slice(1));
  return decideShell(line, allow.length === 0 ? true : allow, deny).allowed;
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
    ["ls a.b", "ls a?b", false],
    ["anything at all", "*", true],
    ["cat --any ../../path", "*", true],
    ["anything $(at all)", "*", false],
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
  ]) {
    it(`allows ${JSON.stringify(line)}`, () => assert.equal(allowed(line, ...patterns), true));
  }
  for (const line of [
    "git diff | sh",
    "git diff; rm x",
    "git diff && rm x",
    "git diff || rm x",
    "git diff & rm x",
    "git diff\nrm x",
    "git diff |& tee x",
    "git diff $(rm x)",
    "git diff `rm x`",
    'git diff "$(rm x)"',
    'git diff "`rm x`"',
    "git diff <(rm x)",
    "git diff >(rm x)",
    "git diff << EOF\nrm x\nEOF",
    "git diff <<< x",
    "PATH=. git diff",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "'PATH'=. git diff",
    "a[0]=x git diff",
    "env git diff",
    "command git diff",
    "sudo git diff",
    "exec git diff",
    "eval git diff",
    "sh -c 'git diff'",
    "(git diff)",
    "{ git diff; }",
    "! git diff",
    "if git diff; then rm x; fi",
    "for i in 1; do rm x; done",
    "while git diff; do rm x; done",
    "git() { rm x; }; git diff",
    "function git { rm x; }",
    "time git diff",
    "coproc git diff",
    "git diff $X",
    "git diff ${X}",
    "git diff $((1+1))",
    "git diff $'\\x3brm'",
    'git diff $"x"',
    "git diff 'unclosed",
    'git diff "unclosed',
    "git diff \\",
    "git diff \u0000 rm",
    "git diff\rrm x",
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
  it("no command matches a pattern, since PowerShell reads it in another way", () => {
    for (const line of ["git log", 'git log "a\\"; calc #"']) {
      const verdict = decideShell(line, ["git log *"], [], "win32");
      assert.match(verdict.allowed ? "" : verdict.reason, /Windows.*PowerShell.*shell: true/);
      assert.equal(decideShell(line, true, ["rm"], "win32").allowed, false);
      assert.equal(decideShell(line, true, [], "win32").allowed, true);
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
  ]) {
    it(`denies ${line} by !rm *`, () => {
      assert.equal(allowed(line, "!rm *"), false);
      assert.equal(allowed(line, "*", "!rm *"), false);
    });
  }
  it("and leaves the rest alone", () => {
    for (const line of ["ls", "git rm-x", "echo 'a b'", "npm run rmx"]) {
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

interface Readable {
  readonly line: string;
  readonly commands: readonly (readonly string[])[];
}

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
        fc.pre(readShell(plain.join(" ")).kind === "commands");
        const line = parts.map(([text, style]) => style(text)).join(" ");
        assert.deepEqual(readShell(line), {
          kind: "commands",
          commands: [plain],
        });
      }),
    );
  });

  it("any text at all, single-quoted, is one word", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        // eslint-disable-next-line no-control-regex
        fc.pre(!/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text));
        assert.deepEqual(readShell(`x ${quoted(text)}`), {
          kind: "commands",
          commands: [["x", text]],
        });
      }),
    );
  });

  it("a line is allowed only if each of its commands is", () => {
    const separators = fc.constantFrom(" ; ", "&&", " || ", "|", "\n");
    fc.assert(
      fc.property(words, fc.array(fc.tuple(separators, words), { maxLength: 4 }), (first, rest) => {
        const commands = [first, ...rest.map(([, command]) => command)];
        const line = first.join(" ") + rest.map(([sep, one]) => sep + one.join(" ")).join("");
        fc.pre(commands.every((one) => readShell(one.join(" ")).kind === "commands"));
        const patterns = commands.map((one) => one.join(" "));
        assert.equal(decideShell(line, patterns, []).allowed, true);
        for (const left of patterns) {
          const others = patterns.filter((pattern) => pattern !== left);
          assert.equal(decideShell(line, others, []).allowed, false);
        }
      }),
    );
  });

  it("whatever is added to a line, it never becomes allowed by what it was not", () => {
    const evil = fc.constantFrom(
      "; evil",
      "&& evil",
      "| evil",
      "\nevil",
      "& evil",
      "$(evil)",
      "`evil`",
      "<(evil)",
      "|| evil",
      '"$(evil)"',
      "\\\n;evil",
      "'\n'; evil",
      "# x\nevil",
    );
    fc.assert(
      fc.property(words, evil, words, (before, middle, after) => {
        const line = `git diff ${before.join(" ")} ${middle} ${after.join(" ")}`;
        assert.equal(decideShell(line, ["git diff *"], []).allowed, false, line);
      }),
    );
  });

  it("no text makes the reader throw, and what it reads is what bash runs", async (t) => {
    const alphabet = "ab \t'\"\\;&|#*?[]{}()$`<>=!~,.-1\n".split("");
    const lines = fc
      .array(fc.constantFrom(...alphabet), { maxLength: 14 })
      .map((letters) => letters.join(""));
    const readable: Readable[] = [];
    fc.assert(
      fc.property(lines, (line) => {
        const reading = readShell(line);
        if (reading.kind === "commands") readable.push({ line, commands: reading.commands });
      }),
      { numRuns: 20_000 },
    );
    const simple = readable
      .filter(({ line, commands }) => commands.length === 1 && !/[|&<>]|^[\s;]*#/.test(line))
      .slice(0, 400);
    assert.ok(simple.length > 100, `${simple.length} readable lines`);
    assertReadAsByBash(simple, (await makeWorkspace(t)).path);
  });

  it("nor is what bash joins, replaces or redirects before it runs a line", async (t) => {
    const alphabet = "$,\\\n,HOME,{,},..,a,=,:,~,/,\",',>out,2>&1,{x}, ,(,<,.,&".split(",");
    const lines = fc
      .array(fc.constantFrom(...alphabet), { maxLength: 8 })
      .map((parts) => `x a${parts.join("")}`);
    const readable: Readable[] = [];
    fc.assert(
      fc.property(lines, (line) => {
        const reading = readShell(line);
        if (reading.kind !== "commands" || line.includes("&")) return;
        readable.push({ line, commands: reading.commands });
      }),
      { numRuns: 20_000 },
    );
    // A file that is read has to be there.
    const simple = readable.filter(
      ({ line, commands }) => commands.length === 1 && !line.includes("<"),
    );
    assert.ok(simple.length > 500, `${simple.length} readable lines`);
    assertReadAsByBash(simple.slice(0, 2_000), (await makeWorkspace(t)).path);
  });

  /** Bash itself says which words each line has: every command is replaced by one that prints them. */
  function assertReadAsByBash(simple: readonly Readable[], folder: string): void {
    const script = simple
      .map(({ line, commands }) => {
        const name = commands[0]?.[0] ?? "";
        const shown = line.replace(/^(?:[ \t\n]|\\\n)*/, "");
        return name === "" ? "" : `set -f +B; p ${shown}\nprintf '\\036' >&9`;
      })
      .join("\n");
    const output = execFileSync(
      "bash",
      ["-c", `exec 9>&1\np() { printf '%s\\037' "$@" >&9; }\n${script}`],
      {
        // Redirections write there.
        cwd: folder,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
        // A tilde is bash's to expand; it can't make a command of it. This one stays what it is.
        env: { PATH: process.env["PATH"], HOME: "~" },
      },
    );
    const printed = output.split("\u001e").slice(0, -1);
    const named = simple.filter(({ commands }) => (commands[0]?.[0] ?? "") !== "");
    assert.equal(printed.length, named.length);
    named.forEach(({ line, commands }, index) => {
      // A file that can't be written: nothing ran.
      if (printed[index] === "" && line.includes(">")) return;
      assert.deepEqual(
        (printed[index] ?? "").split("\u001f").slice(0, -1),
        commands[0],
        JSON.stringify(line),
      );
    });
  }

  it("matching is fast, also for hostile patterns and long lines", () => {
    const took = cpuTime(() => {
      assert.equal(allowed("a".repeat(30_000), "*a*a*a*b"), false);
      assert.equal(allowed("a ".repeat(15_000), "* a * a * a * b"), false);
      readShell(`x ${"'y' ".repeat(50_000)}`);
    });
    assert.ok(took < 4_000, `${took} ms`);
  });
});
