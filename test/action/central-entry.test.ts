/** Entries of other repositories: one that is checked out is refused, one that is named with its commit is read there. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { GithubRepository } from "../rig/github-repository.ts";
import { asReal } from "../journal/rig.ts";
import type { Mode } from "../../src/action/actions.ts";
import { cliExits, runCli } from "../rig/cli.ts";
import { readFixture, runStep } from "../rig/runner.ts";
import type { GithubServerOptions } from "../rig/github-server.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { assertNothingRan, entry, tryEvent, type Test } from "./rig.ts";

const commit = "a".repeat(40);
const central = `org/agents/teams/review.yml@${commit}`;
const maintainer = { permissions: { maintainer: "write", stranger: "write" } } as const;

/** The prompt is a file, and the other job a workflow that includes what another one calls. */
const theirs = `models: { driving: m }
permissions: { shell: [touch *], write: ["**"] }
tasks:
  ask: { model: { category: driving }, prompt: { file: ../prompts/ask.md } }
jobs:
  ask: { work: { kind: Ref, taskId: ask } }
  flow: { work: { kind: Flow, file: ../flows/main.wf.md } }
`;
const atCommit = (files: Readonly<Record<string, string>>, repository = "org/agents") =>
  Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`${repository}@${commit}:${name}`, text]),
  );
const organisation = atCommit({
  "teams/review.yml": theirs,
  "prompts/ask.md": "prompt of the organisation",
  "flows/main.wf.md": workflowText('START --> CALL_A[["called.wf.md"]] --> SUCCESS'),
  "flows/called.wf.md": workflowText('START --> EXECUTE_A["touch ran-theirs"]'),
});
/** Files of the repository itself, by the names that the entry uses. */
const own = {
  "teams/review.yml": theirs,
  "prompts/ask.md": "prompt of the repository",
  "flows/main.wf.md": workflowText('START --> EXECUTE_A["touch ran-own"]'),
};

const tried = (
  t: Test,
  entryInput: string,
  github: GithubServerOptions,
  more: Readonly<Record<string, string>> = {},
  workspace?: Workspace,
  env: Readonly<Record<string, string>> = {},
) =>
  tryEvent(t, "pull-request", {
    github: { ...maintainer, ...github },
    given: { entry: entryInput, "user-input": "", "output-dir": "out", ...more },
    env,
    ...(workspace && { workspace }),
  });

const reasonOf = ({ result }: { result: { outputs: Readonly<Record<string, string>> } }): string =>
  result.outputs["reason"] ?? "";

describe("an entry in a checkout of another repository", () => {
  /** A workspace as `actions/checkout` with `repository: org/agents` and `path: agents` leaves it, beside the repository. */
  async function twoCheckouts(t: Test, remote: string, path = "agents") {
    const workspace = await makeRepository(t, own);
    const sha = (await workspace.git("rev-parse", "HEAD")).trim();
    const inside = path === "" ? workspace.path : join(workspace.path, path);
    await workspace.write(
      join(path, "teams/review.yml"),
      theirs.replace("tasks", "# Theirs\ntasks"),
    );
    if (path !== "") await workspace.git("init", "--quiet", path);
    await workspace.git("-C", inside, "add", ".");
    await workspace.git("-C", inside, "commit", "--quiet", "--message=Theirs");
    await workspace.git("-C", inside, "remote", "add", "origin", remote);
    const head = (await workspace.git("-C", inside, "rev-parse", "HEAD")).trim();
    const files = Object.fromEntries(
      Object.entries(own).map(([name, text]) => [`${sha}:${name}`, text]),
    );
    return { workspace, files, head, env: { GITHUB_SHA: sha } };
  }

  for (const [name, path, remote] of [
    ["in a folder", "agents", "https://github.com/org/agents"],
    ["at the root, by SSH", "", "git@github.com:Org/Agents.git"],
  ] as const)
    it(`is refused, and not replaced by a file of the repository (${name})`, async (t) => {
      const { workspace, files, env } = await twoCheckouts(t, remote, path);
      const file = join(path, "teams/review.yml");
      const attempt = await tried(t, file, { files }, { job: "ask" }, workspace, env);
      assertNothingRan(attempt, "failure");
      const expected = `${file} is in a checkout of another repository, org/agents, and is not used`;
      assert.ok(reasonOf(attempt).startsWith(expected), reasonOf(attempt));
      assert.match(reasonOf(attempt), /write `entry: org\/agents\/PATH@SHA`/);
    });

  it("is still the repository's own file where a fork, or another commit of it, is checked out", async (t) => {
    for (const [remote, isFork] of [
      ["https://github.com/octo/shop.git/", false],
      ["https://github.com/stranger/shop", true],
    ] as const) {
      const { workspace, files, head, env } = await twoCheckouts(t, remote, "pr");
      const answers = isFork ? { [`/repos/octo/shop/commits/${head}`]: { sha: head } } : {};
      const attempt = await tried(
        t,
        "pr/teams/review.yml",
        { files, answers },
        { job: "ask" },
        workspace,
        env,
      );
      assert.deepEqual(attempt.prompts, ["prompt of the repository"], attempt.result.raw);
    }
  });
});

describe("an entry of another repository, with its commit", () => {
  it("is read there with its prompts, by the token for it, and named in journal and summary", async (t) => {
    const workspace = await makeWorkspace(t, own);
    const more = { job: "ask", "entry-token": "ghs_forentriesonly" };
    const attempt = await tried(t, central, { files: organisation }, more, workspace);
    assert.equal(attempt.result.code, 0, attempt.result.raw);
    assert.deepEqual(attempt.prompts, ["prompt of the organisation"]);
    assert.match(await workspace.read("out/journal.jsonl"), new RegExp(`"entryFile":"${central}"`));
    assert.match(attempt.result.summary, /org\/agents\/teams\/review\.yml/);
    assert.deepEqual(attempt.tokens.slice(-2), [
      "token ghs_forentriesonly",
      "token ghs_forentriesonly",
    ]);
    assert.equal(attempt.tokens[0], "token ghs_0123456789abcdef");
    assert.match(attempt.result.log, /Read from org\/agents, a{40}: prompts\/ask\.md\./);
  });

  it("has the workflows of its repository, in whatever work tree, and its programs work in the checkout", async (t) => {
    const workspace = await makeRepository(t, own);
    const sha = (await workspace.git("rev-parse", "HEAD")).trim();
    await workspace.git("commit", "--quiet", "--allow-empty", "--message=Other");
    for (const GITHUB_SHA of [undefined, sha]) {
      const more = { job: "flow" };
      const env: Record<string, string> = GITHUB_SHA === undefined ? {} : { GITHUB_SHA };
      const attempt = await tried(t, central, { files: organisation }, more, workspace, env);
      assert.equal(attempt.result.code, 0, attempt.result.raw);
      await workspace.git("ls-files", "--error-unmatch", "--others", "ran-theirs");
      await assert.rejects(workspace.read("ran-own"));
    }
  });

  it("reports its own problems at its own place", async (t) => {
    const broken = atCommit({ "hello.yml": entry.replace("taskId: greet", "taskId: gret") });
    const invalid = await tried(t, `org/agents/hello.yml@${commit}`, { files: broken });
    assert.match(reasonOf(invalid), /^The entry is not valid: org\/agents\/hello\.yml:\d+/);
  });

  it("is no file of the repository that has an @ in its name", async (t) => {
    const workspace = await makeWorkspace(t, {
      "packages/@shop/a.yml": theirs,
      "packages/prompts/ask.md": "mine",
      "packages/flows/main.wf.md": own["flows/main.wf.md"],
    });
    const attempt = await tried(t, "packages/@shop/a.yml", {}, { job: "ask" }, workspace);
    assert.deepEqual(attempt.prompts, ["mine"], attempt.result.raw);
  });

  it("names the permission and the input for a token if GitHub doesn't show it, and masks that token", async (t) => {
    for (const status of [404, 403, 401]) {
      const broken = Array.from({ length: 4 }, (_, index) =>
        index === 0 ? undefined : { status },
      );
      const attempt = await tried(t, central, { broken }, { "entry-token": "ghs_forentriesonly" });
      assertNothingRan(attempt, "failure");
      assert.match(
        reasonOf(attempt),
        /^org\/agents\/teams\/review\.yml can't be read from org\/agents \(commit a{40}, there teams\/review\.yml\): GitHub answered 40.*`contents: read` for org\/agents.*Give `entry-token` a token/,
      );
      assert.ok(
        attempt.result.commands.some(
          ({ name, message }) => name === "add-mask" && message === "ghs_forentriesonly",
        ),
      );
    }
  });

  it("is not read by the command line, which says so", async (t) => {
    const { path: cwd } = await makeWorkspace(t);
    for (const args of [
      ["run", central, "ask"],
      ["validate", central],
    ]) {
      const { code, stdout, stderr } = await runCli(args, { cwd });
      assert.equal(code, 2);
      assert.match(stdout + stderr, /only the GitHub Action reads an entry of another repository/);
    }
  });

  it("says what the action `deliver` and `agent-jobs deliver` may do, under a name that outlives the commit", async (t) => {
    const fixtures = fileURLToPath(new URL("../../../test/fixtures/outputs/", import.meta.url));
    const read = (name: string): Promise<string> => readFile(join(fixtures, name), "utf8");
    const script = await read("deliver.rehearsal.yml");
    const workspace = await makeWorkspace(t, {
      "deliver.rehearsal.yml": script,
      "deliver.yml": await read("deliver.yml"),
      "src/a.ts": "one\ntwo\nthree\n",
    });
    const head = "c".repeat(40);
    const files = atCommit({ "deliver.yml": await read("deliver.yml") });
    const github = await GithubRepository.start(t, { head, files });
    const step = (mode: Mode, inputs: Readonly<Record<string, string>>) =>
      runStep(t, {
        mode,
        workspace: workspace.path,
        event: "pull-request-target",
        apiUrl: github.url,
        env: { GITHUB_RUN_ID: "99", GITHUB_RUN_ATTEMPT: "1" },
        inputs: {
          entry: `org/agents/deliver.yml@${commit}`,
          "github-token": "ghs_0123456789abcdef",
          ...inputs,
        },
      });
    const ran = await step("rehearse", { files: "deliver.rehearsal.yml", "output-dir": "out" });
    assert.equal(ran.code, 0, ran.raw);
    const journal = "out/journal.jsonl";
    const digest = { "journal-digest": await asReal(join(workspace.path, journal)) };
    const deliver = { journal, ...digest };
    const gone = `org/agents/gone.yml@${commit}`;
    const missing = await step("deliver", { ...deliver, entry: gone });
    assert.match(
      missing.outputs["reason"] ?? "",
      /gone\.yml can't be read from org\/agents.*`entry-token`/,
    );
    const delivered = await step("deliver", deliver);
    assert.equal(delivered.code, 0, delivered.raw);
    const { event, payload } = await readFixture("pull-request-target");
    const entry = `org/agents/deliver.yml@${commit}`;
    const args = [journal, "--entry", entry, "--digest", digest["journal-digest"]];
    const again = await cliExits(0, ["deliver", ...args], {
      cwd: workspace.path,
      env: {
        GITHUB_TOKEN: "ghs_0123456789abcdef",
        GITHUB_REPOSITORY: "octo/shop",
        GITHUB_RUN_ID: "99",
        GITHUB_API_URL: github.url,
        GITHUB_EVENT_NAME: event,
        GITHUB_EVENT_PATH: await workspace.write("event.json", JSON.stringify(payload)),
      },
    });
    assert.match(
      again.stdout,
      /^report comment on #7: skipped: already published by this run or a later one/m,
    );
    const [comment, ...others] = github.comments;
    assert.deepEqual(others, []);
    assert.match(comment?.body ?? "", /entry=org%2Fagents%2Fdeliver\.yml /);
    assert.doesNotMatch(comment?.body ?? "", /a{40}/);
  });
});
