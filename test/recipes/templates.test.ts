/** The templates of `agent-jobs init`: written into an empty repository, rehearsed, and played as GitHub would. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { GithubRepository } from "../rig/github-repository.ts";
import { GithubRuns } from "../rig/github-runs.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { lintWorkflow } from "../rig/lint-workflow.ts";
import { modelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { cliExits } from "../rig/cli.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { fixer, mender, reviewers, triager, writer, type Model } from "./models.ts";
import { fields, list, read, recipe, templates, type Fields, type Recipe } from "./pages.ts";
import { play, type PlayedJob, type World } from "./play.ts";
import { changedLines, makePullRequest, otherLines, pullRequestEvent } from "./pull-request.ts";
import type { PullRequest } from "./pull-request.ts";

type Template = (typeof templates)[number];

const base = {
  // The tests want another first sentence.
  "package.json": JSON.stringify({ scripts: { test: "node test.mjs" } }),
  "test.mjs": `import { readFileSync } from "node:fs";
if (!readFileSync("README.md", "utf8").includes("Truth 1")) { console.log("wanted: Truth 1"); process.exit(1); }
`,
};

const workflowOf = (name: Template): string => `.github/workflows/agent-${name}.yml`;

const writtenOnce = new Map<Template, Promise<Record<string, string>>>();

function written(name: Template): Promise<Record<string, string>> {
  const files = writtenOnce.get(name) ?? write(name);
  writtenOnce.set(name, files);
  return files;
}

async function write(name: Template): Promise<Record<string, string>> {
  const { path: cwd } = await makeRepository({ after }, base);
  const { stdout } = await cliExits(0, ["init", name, "--workflow"], { cwd });
  assert.match(
    stdout,
    /^[13] passed, 0 failed\nNext:\n {2}npx agent-jobs rehearse\n.+npx agent-jobs run [\w-]+.*\n {2}git add \.github && git commit -m .*\n$/m,
  );
  const folder = join(cwd, ".github");
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map(async (file) => {
      const place = join(file.parentPath, file.name);
      return [place.slice(cwd.length + 1), await readFile(place, "utf8")] as const;
    });
  return Object.fromEntries(await Promise.all(texts));
}

interface Result {
  readonly job: PlayedJob;
  readonly requests: readonly RecordedRequest[];
  readonly change: PullRequest;
}

type Event = (change: PullRequest) => Partial<World> | Promise<Partial<World>>;

async function played(
  t: TestContext,
  name: Template,
  model: Model,
  ...events: readonly Event[]
): Promise<readonly Result[]> {
  const files = await written(name);
  const path = workflowOf(name);
  const text = files[path] ?? assert.fail(Object.keys(files).join());
  assert.deepEqual(await lintWorkflow(text, path), []);
  const [workflow] = recipe(path, text);
  assert.ok(workflow !== undefined);
  const change = await makePullRequest(t, { ...base, ...files });
  const results: Result[] = [];
  for (const event of events)
    results.push(await playOne(t, workflow, model, change, await event(change)));
  return results;
}

async function playOne(
  t: TestContext,
  workflow: Recipe,
  model: Model,
  change: PullRequest,
  event: Partial<World>,
): Promise<Result> {
  let script: Script = () => ({ status: 400 });
  const server = await modelServer(t, (request) => script(request));
  const api = await startGithubServer(t, { permissions: { maintainer: "write" } });
  const jobs = await play(t, workflow, {
    event: "schedule",
    actor: "maintainer",
    payload: { repository: { default_branch: "main" } },
    url: change.url,
    ref: "refs/heads/main",
    sha: change.base,
    apiUrl: api.url,
    artifacts: (await makeWorkspace(t)).path,
    onWorkspace(folder) {
      script = model(folder);
    },
    inputs: {
      "provider-base-url": server.baseUrl,
      "provider-api-key": "key-0123456789",
      // Each event has a model server of its own, whose address would make another leg.
      leg: "only",
    },
    ...event,
  });
  const [job] = Object.values(jobs);
  assert.ok(job !== undefined);
  return { job, requests: server.requests, change };
}

function succeeded({ job }: Pick<Result, "job">): PlayedJob {
  const log = [...job.agents.map(({ raw }) => raw), job.log].join("\n");
  assert.equal(job.result, "success", log);
  assert.equal(job.agents[0]?.outputs["result"], "success", log);
  assert.doesNotMatch(log, /Denied/);
  return job;
}

function callsOf({ calls }: GithubRepository): readonly { path: string; body: Fields }[] {
  return calls.map(({ method, path, body }) => ({
    path: `${method} ${path.replace("/repos/octo/shop", "")}`,
    body: fields(body),
  }));
}

function pullRequestOf(github: GithubRepository): Fields {
  const of = (path: string): readonly Fields[] =>
    callsOf(github).flatMap((call) => (call.path === `POST ${path}` ? [call.body] : []));
  const [pull, ...others] = of("/pulls");
  assert.deepEqual(others, []);
  const { title, head, base, draft } = fields(pull);
  const tree = list(fields(of("/git/trees")[0])["tree"]).map((one) => fields(one)["path"]);
  const contents = of("/git/blobs").map(({ content }) => content);
  const branch = String(head).replace(/-[0-9a-f]{12}$/, "-DIGEST");
  return { title, head: branch, base, draft, tree, contents };
}

describe("a template", { timeout: 300_000 }, () => {
  it("review: two models see the change of a pull request and nothing else, and a third one merges what they find", async (t) => {
    let github: GithubRepository | undefined;
    const diff = { "src/price.mjs": "@@ -1 +1 @@\n-old\n+new" };
    const opened: Event = async (change) => {
      github = await GithubRepository.start(t, { head: change.head, diff });
      const event = { ref: "refs/pull/7/merge", sha: change.merge, apiUrl: github.url };
      return { ...(await pullRequestEvent(change)), ...event };
    };
    const [result] = await played(t, "review", reviewers, opened);
    assert.ok(result !== undefined && github !== undefined);
    const [comment] = github.comments;
    const [review] = callsOf(github).filter(({ path }) => path === "POST /pulls/7/reviews");
    const [check, ...checks] = github.checks.all;
    assert.deepEqual(
      [check?.name, check?.conclusion, check?.title, check?.annotations.length, checks.length],
      [
        "agent-jobs: review (only)",
        "success",
        "⚠ Needs work · 1 error, 1 warning: It is wrong.",
        2,
        0,
      ],
    );
    assert.match(
      comment?.body ?? "",
      /Needs\swork\s·\s`review`\n\nIt is wrong\.\n\n```diff\n[^]*Findings: 1\serror, 1\swarning/,
    );
    assert.equal(review?.body["event"], "COMMENT");
    assert.equal(review.body["body"], undefined);
    assert.match(
      comment?.body ?? "",
      /Not in the lines of the diff:[^]*docs\/price\.md[^]*`second-review`\s\|\sRounded how\?/,
    );
    const [finding, ...rest] = list(review.body["comments"]).map(fields);
    assert.deepEqual(
      [finding?.["path"], finding?.["line"], finding?.["side"], rest],
      ["src/price.mjs", 1, "RIGHT", []],
    );
    assert.match(
      String(finding?.["body"]),
      /It rounds too early, `@everyone`\.\n\n```suggestion\nexport const price = [^]*`first-review`/,
    );
    const summary = succeeded(result).agents[0]?.summary ?? "";
    for (const line of changedLines) assert.ok(summary.includes(line.slice(1, 30)), summary);
    const seen = result.requests.flatMap(({ toolResults }) => toolResults).join("\n");
    for (const line of changedLines) assert.ok(seen.includes(line), seen);
    for (const line of otherLines) assert.ok(!seen.includes(line), seen);
    const models = new Set(result.requests.map(({ model }) => model));
    assert.deepEqual([...models].toSorted(), ["claude-sonnet-4.5", "gpt-5", "gpt-5-mini"]);
  });

  it("fix-ci: reads the log of the failed run, and pushes what makes the tests pass, or says why not; never to a fork, or after its own commits", async (t) => {
    const files = await written("fix-ci");
    const servers: GithubRepository[] = [];
    const failed =
      (run: object = {}, headMessage = "Say so"): Event =>
      async ({ base: main, head }) => {
        const job = { id: 21, name: "test", step: "Run npm test", log: "wanted: Truth 1\n" };
        const entry = files[".github/agent-jobs/fix-ci.yml"] ?? "";
        const github = await GithubRepository.start(t, {
          head,
          headMessage,
          branch: "rounding",
          runs: await GithubRuns.start(t, [{ id: 11, name: "CI", jobs: [job] }]),
          files: { [`${main}:.github/agent-jobs/fix-ci.yml`]: entry },
        });
        servers.push(github);
        const account = { login: "maintainer", type: "User" };
        const workflowRun = {
          id: 11,
          name: "CI",
          event: "pull_request",
          conclusion: "failure",
          head_branch: "rounding",
          head_sha: head,
          head_repository: { id: 1001, full_name: "octo/shop" },
          head_commit: { id: head, message: headMessage },
          actor: account,
          triggering_actor: account,
          ...run,
        };
        const repository = { id: 1001, full_name: "octo/shop", default_branch: "main" };
        const payload = { workflow_run: workflowRun, repository, sender: account };
        return { event: "workflow_run", payload, apiUrl: github.url };
      };
    const [pushed, ...idle] = await played(
      t,
      "fix-ci",
      mender(true),
      failed(),
      failed({ conclusion: "success" }),
      failed({ event: "push" }),
      failed({ head_repository: { id: 2002, full_name: "stranger/shop" } }),
      failed({}, "Fix\n\nAgent-Jobs-Push: 2 (98/0123456789ab)"),
    );
    const [github] = servers;
    assert.ok(pushed !== undefined && github !== undefined);
    succeeded(pushed);
    assert.match(
      pushed.requests[0]?.prompt ?? "",
      /Failed checks: 1\. .*\n\n"CI \/ test \/ Run npm test"\n```text\nwanted: Truth 1\n```/,
    );
    assert.deepEqual(
      callsOf(github).map(({ path }) => path),
      ["POST /issues/7/comments", "POST /graphql"],
    );
    assert.match(
      github.comments[0]?.body ?? "",
      /Job `fix-ci` succeeded[^]*The README was wrong\./,
    );
    const { message = "", files: changes = {} } = github.branch.commits.get(github.head) ?? {};
    assert.match(message, /^Tell the truth\n\nIt was no truth\.\n\nAgent-Jobs-Push: 1 \(99\//);
    assert.deepEqual(Object.keys(changes), ["README.md"]);
    assert.match(String(changes["README.md"]), /^# Shop\n\nAn old line of main\.\n\nTruth 1\n/);
    assert.deepEqual(
      idle.map(({ job }) => job.result),
      ["skipped", "skipped", "skipped", "skipped"],
    );
    servers.splice(0);
    const [given] = await played(t, "fix-ci", mender(false), failed());
    assert.equal(given?.job.result, "failure");
    assert.deepEqual(
      servers.flatMap(callsOf).map(({ path }) => path),
      ["POST /issues/7/comments"],
    );
    assert.match(
      servers[0]?.comments[0]?.body ?? "",
      /Job `fix-ci` failed[^]*tests failed \(exit 1\)[^]*I don't know how\./,
    );
  });

  it("nightly: works until the tests pass, and proposes a pull request", async (t) => {
    const github = await GithubRepository.start(t, { head: "" });
    const [result] = await played(t, "nightly", fixer, () => ({
      payload: { schedule: "17 2 * * 1-5" },
      apiUrl: github.url,
    }));
    assert.ok(result !== undefined);
    succeeded(result);
    const truth = "# Shop\n\nAn old line of main.\n\nTruth 1\n";
    const others = [2, 3, 4, 5, 6, 7].map((number) => `Sentence ${number}\n`).join("");
    assert.deepEqual(pullRequestOf(github), {
      title: "Tell the truth",
      head: "agents/truth-99-DIGEST",
      base: "main",
      draft: true,
      tree: ["README.md"],
      contents: [truth + others],
    });
  });

  it("triage: labels a stranger's issue, and a maintainer's comment starts it again", async (t) => {
    const issue = { number: 7, title: "The total is wrong", body: "It is 3,\nnot 4." };
    const account = { login: "maintainer", type: "User" };
    const comment =
      (body: string, more: object = {}, association = "MEMBER") =>
      () => ({
        event: "issue_comment",
        payload: {
          issue: { ...issue, ...more },
          comment: { body, user: account, author_association: association },
          sender: account,
          repository: { id: 1001, default_branch: "main" },
        },
      });
    const stranger = { login: "stranger", type: "User" };
    const opened = {
      event: "issues",
      actor: "stranger",
      payload: {
        action: "opened",
        issue: { ...issue, user: stranger },
        sender: stranger,
        repository: { id: 1001, default_branch: "main" },
      },
    };
    const github = await GithubRepository.start(t, { head: "" });
    const [started, again, ...idle] = await played(
      t,
      "triage",
      triager,
      () => ({ ...opened, apiUrl: github.url }),
      () => ({ ...comment("/agents triage")(), apiUrl: github.url }),
      comment("Thanks!"),
      comment("/agents triage", { pull_request: { url: "https://api.example.com" } }),
      comment("/agents triage", {}, "CONTRIBUTOR"),
    );
    assert.ok(started !== undefined && again !== undefined);
    succeeded(started);
    succeeded(again);
    const call = { path: "POST /issues/7/labels", body: { labels: ["bug"] } };
    assert.deepEqual(callsOf(github), [call, call]);
    assert.match(started.requests[0]?.prompt ?? "", /The total is wrong\n\nIt is 3,\nnot 4\./);
    assert.deepEqual(
      idle.map(({ job }) => job.result),
      ["skipped", "skipped", "skipped"],
    );
  });

  it("release-notes: proposes notes of the commits since the tag before, of all of them for the first tag", async (t) => {
    const servers: GithubRepository[] = [];
    const tag =
      (name: string, sha: (change: PullRequest) => string): Event =>
      async (change) => {
        const github = await GithubRepository.start(t, { head: "" });
        servers.push(github);
        const ref = `refs/tags/${name}`;
        return { event: "push", payload: { ref }, ref, sha: sha(change), apiUrl: github.url };
      };
    const results = await played(
      t,
      "release-notes",
      writer,
      tag("v1.1.0", ({ base }) => base),
      tag("v1.0.0", ({ start }) => start),
    );
    for (const result of results) succeeded(result);
    const expected = [
      ["v1.1.0", "Count the stock"],
      ["v1.0.0", "The first commit"],
    ] as const;
    for (const [index, [release, subject]] of expected.entries()) {
      const github = servers[index] ?? assert.fail();
      assert.deepEqual(pullRequestOf(github), {
        title: `Notes of ${release}`,
        head: `agents/notes-${release}-99-DIGEST`,
        base: "main",
        draft: true,
        tree: ["CHANGELOG.md"],
        contents: [`# Changes\n\n## ${release}\n\n- ${subject}\n`],
      });
    }
  });

  it("review is what the README writes", async () => {
    const [, commands = ""] =
      /^## A job with checks\n.*?^```sh\n(.*?)^```$/ms.exec(read("README.md")) ?? [];
    assert.match(commands, /^npx agent-jobs init review --workflow$/m);
    const { [workflowOf("review")]: _, ...others } = await written("review");
    assert.deepEqual(Object.keys(others).toSorted(), [
      ".github/agent-jobs/prompts/merge.md",
      ".github/agent-jobs/prompts/review.md",
      ".github/agent-jobs/review-2.rehearsal.yml",
      ".github/agent-jobs/review-3.rehearsal.yml",
      ".github/agent-jobs/review.rehearsal.yml",
      ".github/agent-jobs/review.yml",
    ]);
  });

  it("is in this repository as init writes it, for the branch main", async () => {
    for (const name of templates) {
      const files = await written(name);
      const [here] = recipe(`examples/${name}`, files[workflowOf(name)] ?? "");
      assert.ok(here !== undefined && "jobs" in fields(here.workflow));
      const source = new URL(`../../../examples/${name}/`, import.meta.url);
      for (const [path, text] of Object.entries(files)) {
        const file = path.replace(/^\.github\/(?:workflows|agent-jobs)\//, "");
        assert.equal(text, await readFile(new URL(file, source), "utf8"), path);
      }
    }
  });
});
