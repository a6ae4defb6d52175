/** The folder that a rehearsal makes: commits and branches in it, and what a recording keeps of a run. */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { cliExits, type CliResult, runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { bash, calls, entryOf, scriptOf } from "./rig.ts";

const permissions = { preset: "read-only", shell: ["git *", "ls *", "cat *"] };
const entry = entryOf({ permissions });

interface Look {
  readonly workspace: object;
  readonly command: string;
  readonly expected: unknown;
}

/** A rehearsal in which the agent looks with one command and must see `expected`. */
const looking = ({ workspace, command, expected }: Look): string =>
  scriptOf([calls(bash(command)), { toolResults: expected, text: "A" }], { workspace });

/** Rehearses all of them. */
async function look(t: TestContext, looks: readonly Look[]): Promise<CliResult> {
  const rehearsals = looks.map((one, index) => [`${index}.json`, looking(one)] as const);
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": entry,
    ...Object.fromEntries(rehearsals),
  });
  return runCli(["rehearse", ...rehearsals.map(([name]) => name)], { cwd });
}

const pullRequest = {
  files: { "README.md": "# Shop\n", "old.md": "old\n", "deep/er/x.md": "x\n" },
  commits: [
    {
      message: "Add a price",
      branch: "feature",
      files: { "src/price.ts": "export const p = 1;\n" },
    },
    { message: "Remove what is old", files: { "old.md": null, "deep/er/x.md": null } },
  ],
};

describe("workspace.commits", () => {
  it("makes git diff main...HEAD mean something, needs no files beside it, goes back to a branch, and has something to branch off from", async (t) => {
    const commits = [
      { message: "One", files: { a: "1" } },
      {
        message: "Two",
        branch: "topic/x",
        files: { a: "2", ignored: "i", ".gitignore": "ignored" },
      },
      { message: "Three", branch: "main", files: { b: "3" } },
      { message: "# Four\n\nbody", branch: "topic/x", files: { a: null, "a/b": "4" } },
    ];
    const { code, stdout } = await look(t, [
      {
        workspace: pullRequest,
        command:
          "git diff --stat main...HEAD && git log --format=%s%d && git status --short --branch && ls -a",
        expected: {
          contains: [
            "src/price.ts | 1 +",
            "old.md       | 1 -",
            "deep/er/x.md | 1 -",
            "Remove what is old (HEAD -> feature)\nAdd a price\nThe workspace of the rehearsal (main)",
            "## feature\n",
          ],
          excludes: ["\ndeep\n", "??"],
        },
      },
      {
        workspace: { commits },
        command:
          "git log --all --graph --format=%s && git diff --stat main...HEAD && git ls-files && git status --short",
        expected: {
          contains: ["# Four", "* Three", "a/b ", "ignored"],
          excludes: ["The workspace of the rehearsal", "??"],
        },
      },
      {
        workspace: { commits: [{ message: "One", branch: "feature", files: { a: "1" } }] },
        command: "git diff --stat main...HEAD",
        expected: "a | 1 +",
      },
    ]);
    assert.equal(code, 0, stdout);
  });

  it("is kept by a recording", async (t) => {
    const command = "git diff --stat main...HEAD";
    const folder = await makeWorkspace(t, {
      "e.json": entry,
      "r.json": looking({ workspace: pullRequest, command, expected: "price" }),
    });
    const options = { cwd: folder.path };
    await cliExits(0, "run e.json --rehearse r.json --record made.rehearsal.yml", options);
    assert.match(await folder.read("made.rehearsal.yml"), /Remove what is old/);
    await cliExits(0, "rehearse made.rehearsal.yml", options);
  });

  it("refuses what git would refuse, with the place", async (t) => {
    const bad = [
      [
        { message: "a", branch: "--orphan", files: {} },
        /commits\[0\]\.branch: This is not a valid branch name/,
      ],
      [
        { message: "a", branch: "a..b", files: {} },
        /commits\[0\]\.branch: This is not a valid branch name/,
      ],
      [{ message: "a", files: { ".GIT/config": "" } }, /commits\[0\]\.files/],
      [{ message: "a", files: { "../x": "" } }, /commits\[0\]\.files/],
      [{ message: "", files: {} }, /commits\[0\]\.message/],
      [
        { message: "a", files: { b: null } },
        /workspace\.commits\[0\]: there is no file b to remove/,
      ],
    ] as const;
    const { code, stdout } = await look(
      t,
      bad.map(([commit]) => ({ workspace: { commits: [commit] }, command: "ls", expected: "x" })),
    );
    assert.equal(code, 2, stdout);
    const results = stdout.split(/^(?=FAIL)/m);
    for (const [index, [, why]] of bad.entries()) assert.match(results[index] ?? "", why);
  });
});

it("a recording keeps the user input that only a condition uses", async (t) => {
  const folder = await makeWorkspace(t, {
    "e.json": entryOf({
      tasks: {
        a: {
          model: { category: "driving" },
          prompt: "Say A",
          criteria: {
            condition: "Is it about $user-input? Call job_boolean_true.",
            failureAction: { retryTimes: 0 },
          },
        },
        unused: { model: { category: "driving" }, prompt: "Say A" },
      },
      jobs: {
        job: { work: { kind: "Ref", taskId: "a" } },
        other: { work: { kind: "Ref", taskId: "unused" } },
      },
    }),
    "r.json": scriptOf([], {
      sessions: [
        {
          turns: [
            "A",
            {
              prompt: "about the weather?",
              tools: [{ name: "job_boolean_true", arguments: { argument: "y" } }],
            },
          ],
        },
      ],
    }),
    "o.json": scriptOf(["A"]),
  });
  const record = async (job: string, script: string): Promise<string> => {
    const file = `${job}.rehearsal.yml`;
    const input = ["--user-input", "the weather", "--record", file];
    await cliExits(0, ["run", "e.json", job, "--rehearse", script, ...input], {
      cwd: folder.path,
    });
    return folder.read(file);
  };
  assert.match(await record("job", "r.json"), /^userInput: the weather$/m);
  assert.doesNotMatch(await record("other", "o.json"), /userInput/);
});

// Rehearsal files that somebody wrote who means no good: they neither stop us nor start anything.

const hung = "a".repeat(5000) + "b";
async function rehearse(t: TestContext, fields: object): Promise<CliResult> {
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": entryOf({}, { prompt: hung }),
    "r.json": scriptOf(["A"], fields),
  });
  return runCli("rehearse r.json", { cwd });
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe("agent-jobs rehearse, with a hostile file", () => {
  it("answers for an expression that would backtrack, wherever it stands", async (t) => {
    const matches = "^(a+)+$";
    const { code, stdout } = await rehearse(t, {
      sessions: [{ turns: [{ prompt: { matches }, text: hung }] }],
      expect: {
        reason: { matches },
        result: "failed",
        decisions: { include: [{ matches }], exclude: [{ matches }] },
      },
    });
    assert.equal(code, 1, stdout);
    assert.ok(stdout.includes(`does not match /${matches}/`), stdout);
  });

  it("says where an expression is that takes more than linear time", async (t) => {
    const all = ["(?=a)b", "(?<!a)b", "^(a+)\\1$", "(?<n>a)\\k<n>"];
    const { code, stdout } = await rehearse(t, {
      sessions: all.map((matches) => ({ turns: [{ prompt: { matches }, text: "A" }] })),
    });
    assert.equal(code, 2, stdout);
    for (const index of all.keys()) {
      const place = `r\\.json:1:\\d+: rehearsal\\.sessions\\[${index}\\]\\.turns\\[0\\]\\.prompt\\.matches`;
      assert.match(stdout, new RegExp(`${place}: .*look-around and back-references`));
    }
  });

  const starter = (canary: string): string =>
    `[core]\n\tfsmonitor = "touch ${canary}; false"\n\thooksPath = .\n[gpg]\n\tprogram = ./evil\n` +
    `[commit]\n\tgpgSign = true\n[filter "f"]\n\tclean = "touch ${canary}; cat"\n`;
  it("starts nothing that .gitconfig or .config/git/config of the workspace names", async (t) => {
    const elsewhere = await makeWorkspace(t);
    const canary = `${elsewhere.path}/canary`;
    const evil = starter(canary);
    const homes = { ".gitconfig": evil, ".config/git/config": evil };
    const files = { ...homes, ".gitattributes": "* filter=f\n", "a.txt": "a" };
    const { code, stdout } = await rehearse(t, { workspace: { git: true, files } });
    assert.equal(code, 0, stdout);
    assert.equal(await isThere(canary), false);
  });

  it("starts nothing that a repository without a work tree names", async (t) => {
    const elsewhere = await makeWorkspace(t);
    const canary = `${elsewhere.path}/canary`;
    const { code, stdout } = await rehearse(t, {
      workspace: {
        git: true,
        files: {
          HEAD: "ref: refs/heads/main\n",
          config: starter(canary),
          "objects/info/packs": "",
          "refs/heads/x": "",
        },
      },
    });
    assert.equal(code, 0, stdout);
    assert.equal(await isThere(canary), false);
  });
});
