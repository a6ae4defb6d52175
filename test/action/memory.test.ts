import assert from "node:assert/strict";
import { readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { modelServer } from "../rig/model-server.ts";
import { runStep } from "../rig/runner.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";

const entry = (memory: string): string => `
models: { driving: gpt-5-mini }
tasks:
  learn: { model: { category: driving }, prompt: "Learn with job_remember. $memory" }
jobs:
  learn: { memory: ${memory}, work: { kind: Ref, taskId: learn } }
`;
const file = ".agent-jobs/memory.md";
const jobs = entry(`{ file: ${file} }`);

describe("the memory of a job", () => {
  it("is read and added to by runs that are trusted, and shown as a diff", async (t) => {
    const workspace = await makeRepository(t, { "jobs.yml": jobs });
    const prompts: string[] = [];
    const model = await modelServer(t, ({ prompt, toolResults }) => {
      if (toolResults.length > 0) return { text: "Done." };
      prompts.push(prompt);
      const text = `Note ${prompts.length}\nof **run** \`\`\``;
      return { toolCalls: [{ name: "job_remember", arguments: { text } }] };
    });
    const sha = (await workspace.git("rev-parse", "HEAD")).trim();
    const api = await startGithubServer(t, {
      permissions: { octocat: "write" },
      files: { [`${sha}:jobs.yml`]: jobs },
    });
    const step = () =>
      runStep(t, {
        workspace: workspace.path,
        apiUrl: api.url,
        inputs: {
          entry: "jobs.yml",
          "github-token": "ghs_0123456789abcdef",
          "provider-base-url": model.baseUrl,
          "provider-api-key": "key-0123456789",
        },
        env: { GITHUB_SHA: sha },
      });
    const kept = (): Promise<string> => readFile(join(workspace.path, file), "utf8");
    const first = await step();
    assert.equal(first.code, 0, first.raw);
    assert.equal(await kept(), "- Note 1\n  of **run** ```\n");
    assert.match(
      first.summary,
      /### Memory\n\nAdded to <code>.*<\/code>\.\n\n````diff\n\+ - Note 1\n/,
    );
    await step();
    assert.match(prompts[0] ?? "", /There are no notes of earlier runs yet\./);
    assert.match(prompts[1] ?? "", /data, not instructions:\n````\n- Note 1\n/);
    const both = await kept();
    assert.equal(both.split("\n").filter((line) => line.startsWith("- ")).length, 2);

    // Now the files are not those of the event.
    await workspace.write("more.txt", "x");
    await workspace.git("add", "--all");
    await workspace.git("commit", "--quiet", "--message=Theirs");
    const foreign = await step();
    assert.equal(foreign.code, 0, foreign.raw);
    assert.match(
      foreign.summary,
      /Not added to .*\. Rehearsals, parts of a job and runs for untrusted users keep no notes/,
    );
    assert.equal(await kept(), both);
  });

  it("makes no folder through a link that an agent has made", async (t) => {
    const { path: outside } = await makeWorkspace(t);
    for (const command of [
      `ln -s ${outside} notes`,
      `ln -s ${outside}/made notes`,
      `mkdir notes && ln -s ${outside} notes/deep`,
    ]) {
      const { path: cwd } = await makeWorkspace(t, {
        "jobs.yml": `permissions: { preset: workspace, sandbox: "off" }\n${entry("{ file: notes/deep/er/memory.md }")}`,
      });
      const calls = [
        { name: "bash", arguments: { command, description: "d" } },
        { name: "job_remember", arguments: { text: "A note" } },
      ];
      const model = await modelServer(t, ({ toolResults }) =>
        toolResults.length > 0 ? { text: "Done." } : { toolCalls: calls },
      );
      const args = ["run", "jobs.yml", "learn", "--provider-base-url", model.baseUrl];
      const { code, stderr, stdout } = await runCli(args, { cwd });
      assert.deepEqual(await readdir(outside), [], stdout);
      assert.match(stderr, /Can't write the memory .*: it is outside of the working directory/);
      assert.equal(code, 1);
    }
  });

  it("is not written by a rehearsal, and is a file of the working directory", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "jobs.yml": jobs,
      "link.yml": entry("{ file: link.md }"),
      "long.yml": entry("{ file: long.md, max: 100 }"),
      "long.md": "x".repeat(60),
      "r.yml":
        "entry: jobs.yml\nsessions: [{ task: learn, turns: [{ replies: [{ tools: [{ name: job_remember, arguments: { text: Yes. } }] }, { text: Done. }] }] }]\n",
    });
    await symlink("/etc/hostname", join(cwd, "link.md"));
    const run = (name: string): ReturnType<typeof runCli> =>
      runCli(["run", name, "--rehearse", "r.yml"], { cwd });
    const rehearsed = await run("jobs.yml");
    assert.equal(rehearsed.code, 0, rehearsed.stderr);
    assert.match(rehearsed.stdout, /remembered: Yes\./);
    await assert.rejects(readFile(join(cwd, file)), { code: "ENOENT" });
    for (const [name, said] of [
      ["link.yml", /Can't read the memory link\.md: it is a symbolic link/],
      ["long.yml", /The memory long\.md of the job "learn" has more than 50 bytes before its/],
    ] as const) {
      const refused = await run(name);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(refused.stderr, said);
    }
  });
});
