/** Completion in real shells, and the help that fits on a screen. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it, test } from "node:test";
import { cliExits } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const has = (program: string): boolean => {
  try {
    execFileSync(program, ["-c", "exit"]);
    return true;
  } catch {
    return false;
  }
};

const shells = {
  bash: (words: readonly string[]) =>
    `COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}; _agent_jobs; printf '%s\\n' "\${COMPREPLY[@]}"`,
  fish: (words: readonly string[]) => `complete -C '${words.join(" ")}'`,
};

for (const [shell, commandOf] of Object.entries(shells))
  describe(`in ${shell}`, { skip: !has(shell) }, () => {
    let script = "";
    before(async () => {
      script = (await cliExits(0, ["completion", shell], { cwd: "." })).stdout;
    });

    for (const [words, completed] of [
      [["rehe"], ["rehearse"]],
      [
        ["run", "re"],
        ["release", "review"],
      ],
      [["run", "review", "--permi"], ["--permissions"]],
      [["run", "review", "--sandbox", "a"], ["auto"]],
      [["tool", "c"], ["call"]],
      [["tool", "call", "--ent"], ["--entry"]],
      [["init", "ni"], ["nightly"]],
    ] as const)
      test(`${words.join(" ")} is completed`, async (t) => {
        const { path: cwd } = await makeWorkspace(t, {
          ".github/agent-jobs/review.yml": "",
          ".github/agent-jobs/review.rehearsal.yml": "",
          ".github/agent-jobs/release.wf.md": "",
          ".github/agent-jobs/re$(touch run-by-completion).yml": "",
        });
        execFileSync("git", ["init", "--quiet"], { cwd });
        await writeFile(join(cwd, "complete.sh"), script);
        const command = `source ./complete.sh; ${commandOf(["agent-jobs", ...words])}`;
        const printed = execFileSync(shell, ["-c", command], { cwd, encoding: "utf8" });
        assert.deepEqual(printed.trim().replaceAll(/\t.*/g, "").split("\n").toSorted(), completed);
        assert.equal(existsSync(join(cwd, "run-by-completion")), false);
      });
  });

it("zsh gets the script of bash", async () => {
  const [bash, zsh] = await Promise.all(
    ["bash", "zsh"].map((shell) => cliExits(0, ["completion", shell], { cwd: "." })),
  );
  assert.equal(zsh?.stdout, `autoload -U +X bashcompinit && bashcompinit\n${bash?.stdout}`);
});

describe("the help of run", () => {
  const flags = (text: string): readonly string[] => text.match(/^ {2}-.*$/gm) ?? [];
  it("has at most 24 options and three examples", async () => {
    const { stdout } = await cliExits(0, "run --help", { cwd: "." });
    assert.ok(flags(stdout).length <= 24, stdout);
    assert.equal(stdout.match(/^ {2}agent-jobs run /gm)?.length, 3);
  });

  it("has all others if it is asked for them", async () => {
    const { stdout } = await cliExits(0, "run --help-all", { cwd: "." });
    assert.ok(flags(stdout).length > 30);
    assert.match(stdout, /--max-parallel <n>/);
  });
});
