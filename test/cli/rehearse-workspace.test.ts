/** The folder that a rehearsal makes: commits and branches in it, and what a recording keeps of a run. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const entry = {
  models: { driving: "gpt-5-mini" },
  permissions: { preset: "read-only", shell: ["git *", "ls *", "cat *"] },
  tasks: { a: { model: { category: "driving" }, prompt: "Say A" } },
  jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
};

/** A rehearsal in which the agent looks with one command and must see `expected`. */
async function look(
  t: TestContext,
  workspace: object,
  command: string,
  expected: unknown,
): Promise<CliResult & { readonly folder: Workspace }> {
  const folder = await makeWorkspace(t, {
    "e.json": JSON.stringify(entry),
    "r.json": JSON.stringify({
      entry: "e.json",
      workspace,
      sessions: [
        {
          turns: [
            {
              replies: [
                { tools: [{ name: "bash", arguments: { command, description: "d" } }] },
                { toolResults: expected, text: "A" },
              ],
            },
          ],
        },
      ],
    }),
  });
  return { ...(await runCli(["rehearse", "r.json"], { cwd: folder.path })), folder };
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
  it("makes git diff main...HEAD mean something", async (t) => {
    const { code, stdout } = await look(
      t,
      pullRequest,
      "git diff --stat main...HEAD && git log --format=%s%d && git status --short --branch && ls -a",
      {
        contains: [
          "src/price.ts | 1 +",
          "old.md       | 1 -",
          "deep/er/x.md | 1 -",
          "Remove what is old (HEAD -> feature)\nAdd a price\nThe workspace of the rehearsal (main)",
          "## feature\n",
        ],
        excludes: ["\ndeep\n", "??"],
      },
    );
    assert.equal(code, 0, stdout);
  });

  it("needs no files beside it, and goes back to a branch", async (t) => {
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
    const { code, stdout } = await look(
      t,
      { commits },
      "git log --all --graph --format=%s && git diff --stat main...HEAD && git ls-files && git status --short",
      {
        contains: ["# Four", "* Three", "a/b ", "ignored"],
        excludes: ["The workspace of the rehearsal", "??"],
      },
    );
    assert.equal(code, 0, stdout);
  });

  it("gives a first commit with a branch of its own something to branch off from", async (t) => {
    const commits = [{ message: "One", branch: "feature", files: { a: "1" } }];
    const { code, stdout } = await look(t, { commits }, "git diff --stat main...HEAD", "a | 1 +");
    assert.equal(code, 0, stdout);
  });

  it("is kept by a recording", async (t) => {
    const { folder } = await look(t, pullRequest, "git diff --stat main...HEAD", "price");
    const options = { cwd: folder.path };
    const run = await runCli(
      ["run", "e.json", "--rehearse", "r.json", "--record", "made.rehearsal.yml"],
      options,
    );
    assert.equal(run.code, 0, run.stdout);
    assert.match(await folder.read("made.rehearsal.yml"), /Remove what is old/);
    const replay = await runCli(["rehearse", "made.rehearsal.yml"], options);
    assert.equal(replay.code, 0, replay.stdout);
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
    for (const [commit, why] of bad) {
      const { code, stdout } = await look(t, { commits: [commit] }, "ls", "x");
      assert.equal(code, 2, stdout);
      assert.match(stdout, why);
    }
  });
});

it("a rehearsal gives no advice about model servers, whatever the script answers", async (t) => {
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": JSON.stringify(entry),
    "r.json": JSON.stringify({ entry: "e.json", sessions: [{ turns: [{ error: 401 }] }] }),
  });
  const args = ["run", "e.json", "--rehearse", "r.json", "--verbose"];
  const { code, stdout, stderr } = await runCli(args, { cwd });
  assert.equal(code, 1, stdout);
  assert.doesNotMatch(stdout + stderr, /Check the|model server|base URL|API key|the plan/);
});

it("a recording keeps the user input that only a condition uses", async (t) => {
  const folder = await makeWorkspace(t, {
    "e.json": JSON.stringify({
      ...entry,
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
    "r.json": JSON.stringify({
      entry: "e.json",
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
    "o.json": JSON.stringify({ entry: "e.json", sessions: [{ turns: ["A"] }] }),
  });
  const record = async (job: string, script: string): Promise<string> => {
    const file = `${job}.rehearsal.yml`;
    const input = ["--user-input", "the weather", "--record", file];
    const run = await runCli(["run", "e.json", job, "--rehearse", script, ...input], {
      cwd: folder.path,
    });
    assert.equal(run.code, 0, run.stdout);
    const replay = await runCli(["rehearse", file], { cwd: folder.path });
    assert.equal(replay.code, 0, replay.stdout);
    return folder.read(file);
  };
  assert.match(await record("job", "r.json"), /^userInput: the weather$/m);
  assert.doesNotMatch(await record("other", "o.json"), /userInput/);
});
