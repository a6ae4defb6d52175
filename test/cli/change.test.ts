/** The change of a job from the command line: from git, in rehearsals, in recordings, and for programs in a sandbox. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { runCli, cliExits, type CliResult } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const entry = `models: { driving: gpt-5 }
tasks:
  review:
    model: { category: driving }
    availability: { change: ["src/**"] }
    prompt: "Review $change-base..$change-head:\\n$change-files\\nDiff: $change-diff"
  docs:
    model: { category: driving }
    availability: { change: ["docs/**"] }
    prompt: Check the docs
jobs:
  review: { work: { kind: Par, works: [{ kind: Ref, taskId: review }, { kind: Ref, taskId: docs }] } }
  plain: { work: { kind: Ref, taskId: plain } }
`.replace("jobs:", "  plain: { model: { category: driving }, prompt: Say hello }\njobs:");

/** The branch work has changed a file since it left main; another one is not committed. */
async function repository(t: TestContext): Promise<Workspace> {
  const workspace = await makeRepository(t, { "e.yml": entry, "src/a.ts": "one\n" });
  await workspace.git("checkout", "--quiet", "-b", "work");
  await workspace.write("src/a.ts", "one\ntwo\n");
  await workspace.git("commit", "--quiet", "--all", "--message=Two");
  await workspace.write("src/new.ts", "three\n");
  await workspace.git("init", "--quiet", "nested");
  return workspace;
}

interface Ran extends CliResult {
  readonly prompts: readonly string[];
  readonly seen: string;
}

/** The agent looks at the diff. */
async function run(t: TestContext, { path }: Workspace, ...args: string[]): Promise<Ran> {
  let seen = "";
  const model = await modelServer(t, ({ prompt, toolResults }) => {
    seen += toolResults.join("");
    const [diff] = /\S+change\.diff/.exec(prompt) ?? [];
    return diff === undefined || toolResults.length > 0
      ? { text: "Done." }
      : { toolCalls: [{ name: "view", arguments: { path: diff } }] };
  });
  const all = ["run", "e.yml", ...args, "--provider-base-url", model.baseUrl];
  const result = await runCli(all, { cwd: path });
  return { ...result, seen, prompts: model.requests.map(({ prompt }) => prompt) };
}

describe("the change on the command line", () => {
  it("is that of the branch, and a recording rehearses it elsewhere", async (t) => {
    const workspace = await repository(t);
    const [base = "", head = ""] = (await workspace.git("rev-parse", "main", "HEAD")).split("\n");
    const args = ["review", "--base", "main", "--uncommitted", "--record", "r.rehearsal.yml"];
    const { code, stdout, stderr, prompts, seen } = await run(t, workspace, ...args);
    assert.equal(code, 0, stderr);
    const start = `Review ${base}..${head}:\nmodified src/a.ts +1 -0\nadded src/new.ts +1 -0\nadded nested (left out)\nLeft out: "nested" (a git repository of its own).\nDiff: /`;
    assert.ok(prompts[0]?.startsWith(start), prompts[0]);
    assert.match(seen, /\+two[^]*\+three/);
    assert.match(
      stdout,
      /3 changed files \(\w{12}…\w{12} and uncommitted work\)\. Left out: "nested"/,
    );
    assert.match(stdout, /#1 docs +skipped/);
    const recording = await workspace.read("r.rehearsal.yml");
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry, "r.rehearsal.yml": recording });
    await cliExits(0, "rehearse r.rehearsal.yml", { cwd });
    assert.match(recording, /status: added/);
    assert.match(recording, /notes:\n +- 'Left out: "nested"/);
  });

  it("skips a job that it has nothing for, and is not asked for by one that doesn't use it", async (t) => {
    const workspace = await makeWorkspace(t, { "e.yml": entry });
    const { code, stderr } = await run(t, workspace, "plain");
    assert.equal(code, 0, stderr);
    const repo = await repository(t);
    const none = await run(t, repo, "review", "--base", "HEAD", "--journal", "j.jsonl");
    assert.equal(none.code, 0, none.stderr);
    assert.match(none.stdout, /job review skipped: nothing ran: the change is empty\s*$/);
    assert.deepEqual(none.prompts, []);
    const { stdout } = await runCli("report j.jsonl -o -", { cwd: repo.path });
    assert.match(stdout, /nothing ran: the change is empty/);
    const chart = await runCli("chart --journal j.jsonl", { cwd: repo.path });
    assert.match(chart.stdout, /skipped/);
    const listed = await runCli("list e.yml", { cwd: repo.path });
    assert.match(listed.stdout, /CHANGE[^]*review +none +used[^]*plain +none +none/);
  });

  it("is a mistake of the user if it can't be known", async (t) => {
    const workspace = await repository(t);
    const unknown = await run(t, workspace, "review", "--base", "nowhere");
    assert.equal(unknown.code, 2, unknown.stderr);
    assert.match(
      unknown.stderr,
      /its base "nowhere" is not a commit in this checkout\. Fetch it, or name/,
    );
    assert.deepEqual(unknown.prompts, []);
    const plain = await makeWorkspace(t, { "e.yml": entry });
    const { code, stderr } = await run(t, plain, "review");
    assert.equal(code, 2, stderr);
    assert.match(stderr, /is not in a git repository/);
  });
});

/** A rehearsal with these fields, or some, of one task. */
async function rehearse(
  t: TestContext,
  fields: object | readonly object[],
  more: object = {},
  work: object = { kind: "Ref", taskId: "see" },
): Promise<CliResult> {
  const prompt = "See $change-files in $change-diff";
  const task = { model: { category: "driving" }, prompt, ...more };
  // The value of the only argument.
  const printFile = `cat "$(cut -d '"' -f 4)"`;
  const { path } = await makeWorkspace(t, {
    "e.json": JSON.stringify({
      models: { driving: "m" },
      tasks: { see: task },
      jobs: { see: { work } },
      tools: {
        print: {
          description: "Prints a file",
          parameters: { properties: { file: { type: "string" } } },
          command: ["bash", "-c", printFile],
        },
      },
    }),
    "print.wf.md": workflow,
    ...Object.fromEntries(
      [fields]
        .flat()
        .map((one, index) => [
          `${index === 0 ? "r" : index}.rehearsal.json`,
          JSON.stringify({ entry: "e.json", sessions: [], ...one }),
        ]),
    ),
  });
  return runCli("rehearse", { cwd: path });
}

const workflow = `---
permissions: { preset: read-only, shell: ["cat *"] }
---

# Prints the diff

# Workflow

\`\`\`mermaid
flowchart TD
    START --> EXECUTE_PRINT["Execute: cat {{DIFF}}"] --> SUCCESS
    PARAMS@{ shape: comment, label: "DIFF" }
\`\`\`
`;

const file = { path: "a b.ts", status: "added", additions: 1 };
const sessions = (...replies: readonly object[]): object => ({
  sessions: [{ turns: [{ prompt: 'added "a b.ts" +1 -0 in ${changeDiff}', replies }] }],
});

describe("the change of a rehearsal", () => {
  it("is data, and its diff a file that commands, tools and workflows can read", async (t) => {
    const command = 'cat "${changeDiff}"';
    const { code, stdout } = await rehearse(
      t,
      {
        change: { files: [file], diff: "the whole diff\n" },
        ...sessions(
          { tools: [{ name: "bash", arguments: { command, description: "d" } }] },
          {
            toolResults: "the whole diff",
            tools: [{ name: "print", arguments: { file: "${changeDiff}" } }],
          },
          { toolResults: "the whole diff", text: "Seen." },
        ),
      },
      { permissions: { preset: "workspace", tools: ["print"] } },
    );
    assert.equal(code, 0, stdout);
    const params = { DIFF: "$change-diff" };
    const flow = await rehearse(
      t,
      { change: { files: [file], diff: "the whole diff\n" }, expect: { report: "the whole diff" } },
      {},
      { kind: "Flow", file: "print.wf.md", params },
    );
    assert.equal(flow.code, 0, flow.stdout);
  });

  it("is that of its commits, or since a base that it names", async (t) => {
    const commit = (message: string, branch: string): object => ({
      message,
      branch,
      files: { [`${message}.ts`]: "x\n" },
    });
    const commits = [commit("one", "main"), commit("two", "work"), commit("three", "work")];
    const seeing = (prompt: string, more: object = {}): object => ({
      workspace: { commits },
      sessions: [{ turns: [{ prompt, text: "Seen." }] }],
      ...more,
    });
    const { code, stdout } = await rehearse(t, [
      seeing("See added three.ts +1 -0\nadded two.ts +1 -0 in"),
      seeing("See added three.ts +1 -0 in", { change: { base: "work~1" } }),
    ]);
    assert.equal(code, 0, stdout);
  });

  it("may be empty, and a job that was skipped is expected as that", async (t) => {
    const availability = { change: true };
    const expect = {
      result: "skipped",
      reason: "the change is empty",
      works: [{ task: "see", outcome: "skipped" }],
      decisions: [{ kind: "task-skipped", task: "see" }],
    };
    const empty = { change: { files: [] } };
    const { code, stdout } = await rehearse(t, { ...empty, expect }, { availability });
    assert.equal(code, 0, stdout);
    const wrong = await rehearse(t, empty, { availability });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout, /should have succeeded, but it was skipped: nothing ran/);
  });

  it("must be there, and whole", async (t) => {
    const missing = await rehearse(t, {});
    assert.equal(missing.code, 2, missing.stdout);
    assert.match(
      missing.stdout,
      /r\.rehearsal\.json has none\. Add `change` or `workspace\.commits` to it/,
    );
    const torn = await rehearse(t, { change: { diff: "+x" } });
    assert.equal(torn.code, 2);
    assert.match(
      torn.stdout,
      /r\.rehearsal\.json:1:\d+: .*add files; an empty list is an empty change/,
    );
  });
});

describe("git of a run, on what an agent wrote", () => {
  const proposing = `models: { driving: gpt-5 }
permissions: { preset: read-only, shell: [sh set.sh], write: ["**"], sandbox: MODE }
outputs: { proposals: { pull_request: {} } }
tasks:
  fix: { model: { category: driving }, prompt: "Fix it, then call job_propose." }
  look: { model: { category: driving }, prompt: "Look at $change-diff." }
jobs:
  fix: { work: { kind: Ref, taskId: fix } }
  look: { work: { kind: Ref, taskId: look } }
`;
  for (const mode of ["required", "off"]) {
    const skip = mode === "required" && withoutSandbox;
    it(
      `starts no filter, when it proposes and in a later run, with sandbox: ${mode}`,
      { skip },
      async (t) => {
        const outside = await makeWorkspace(t);
        const marker = join(outside.path, "ran");
        const filter = `"echo $GITHUB_TOKEN >>${marker}; cat"`;
        const workspace = await makeRepository(t, {
          "e.yml": proposing.replace("MODE", mode),
          "a.txt": "one\n",
          "set.sh": `git init --quiet nested
printf '[filter "x"]\\n\\tclean = %s\\n\\trequired = true\\n' '${filter}' >>nested/.git/config
cd nested
echo one >a.txt && git add a.txt && git -c user.name=x -c user.email=x@x commit --quiet -m one
echo '* filter=x' >.gitattributes && echo two >a.txt
`,
        });
        const replies = [
          { name: "bash", arguments: { command: "sh set.sh", description: "Set" } },
          {
            name: "create",
            arguments: { path: join(workspace.path, "b.txt"), file_text: "new\n" },
          },
          {
            name: "job_propose",
            arguments: { kind: "pull_request", title: "Fix", body: "Fixed.", branch: "fix" },
          },
        ];
        const answers: string[] = [];
        const model = await modelServer(t, ({ prompt, toolResults }) => {
          answers.push(...toolResults);
          const call = prompt.includes("job_propose") ? replies[toolResults.length] : undefined;
          return call === undefined ? { text: "Done." } : { toolCalls: [call] };
        });
        const run = (...args: string[]): Promise<CliResult> =>
          runCli(["run", "e.yml", ...args, "--provider-base-url", model.baseUrl], {
            cwd: workspace.path,
            env: { GITHUB_TOKEN: "ghp_token" },
          });
        const { code, stderr } = await run("fix");
        assert.equal(code, 0, stderr);
        assert.match(answers.at(-1) ?? "", /^Noted/);
        const later = await run("look", "--uncommitted");
        assert.match(
          later.stdout,
          /Left out: "nested" \(a git repository of its own\)/,
          later.stderr,
        );
        assert.deepEqual(await readdir(outside.path), []);
      },
    );
  }
});
