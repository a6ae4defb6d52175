/** The workflows that deliver for another job (docs/outputs.md), from the event to the calls of GitHub's API. A verdict that fails the job is delivered, too. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { GithubRepository } from "../rig/github-repository.ts";
import { modelServer } from "../rig/model-server.ts";
import { readFixture } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { fields, recipes } from "./pages.ts";
import { play, type PlayedJob, type World } from "./play.ts";
import { makePullRequest, pullRequestEvent } from "./pull-request.ts";

const file = ".github/agent-jobs/review.yml";
const entry = `models: { driving: gpt-5-mini }
outputs:
  report: { comment: sticky }
  findings: { review: comment }
  verdict: { failOn: reject }
tasks:
  review:
    model: { category: driving }
    availability: { change: true }
    prompt: "Review $change-files with job_annotate, job_verdict and job_report."
jobs:
  review: { work: { kind: Ref, taskId: review } }
`;
const ofFork = entry.replace("outputs:", "outputs:\n  proposals: { close: {} }");

const handedIn = [
  {
    name: "job_annotate",
    arguments: { path: "src/price.mjs", line: 1, severity: "error", message: "Too early." },
  },
  { name: "job_verdict", arguments: { verdict: "reject", reason: "It is wrong." } },
  { name: "job_report", arguments: { markdown: "It rounds." } },
];

interface Forked {
  readonly github: GithubRepository;
  /** Plays the workflow of the page with that name. */
  play(name: string, event: Partial<World>): Promise<Readonly<Record<string, PlayedJob>>>;
  readonly world: Partial<World> & { readonly payload: object };
  readonly base: string;
  readonly head: string;
  readonly merge: string;
  readonly artifacts: string;
}

/** Pull request 7 comes from a fork, whose head has another entry. */
async function forked(t: TestContext, action?: string): Promise<Forked> {
  const change = await makePullRequest(t, { [file]: entry });
  const { head, base, merge, url } = change;
  const { payload, ...event } = await pullRequestEvent(change, action ? { action } : {});
  const pull = fields(fields(payload)["pull_request"]);
  const github = await GithubRepository.start(t, {
    head,
    headRepository: 2002,
    diff: { "src/price.mjs": "@@ -1 +1 @@\n-old\n+new" },
    files: {
      [`${base}:${file}`]: entry,
      [`${head}:${file}`]: ofFork,
      [`${head}:src/price.mjs`]: "export const price = (net) => Math.round(net * 1.19);\n",
    },
  });
  const server = await modelServer(t, ({ toolResults }) =>
    toolResults.length === 0 ? { toolCalls: handedIn } : { text: "Done." },
  );
  const { path: artifacts } = await makeWorkspace(t);
  const common = { url, ref: "refs/heads/main", apiUrl: github.url, scriptApiUrl: github.url };
  return {
    github,
    base,
    head,
    merge,
    artifacts,
    world: {
      ...event,
      payload: {
        ...payload,
        pull_request: { ...pull, head: { ...fields(pull["head"]), repo: { id: 2002 } } },
      },
    },
    play(name, world) {
      const recipe = recipes().find(({ title }) => title.endsWith(`: ${name}`));
      assert.ok(recipe !== undefined);
      return play(t, recipe, {
        event: "",
        actor: "maintainer",
        payload: {},
        sha: base,
        artifacts,
        inputs: { "provider-base-url": server.baseUrl },
        ...common,
        ...world,
      });
    },
  };
}

const logOf = (jobs: Readonly<Record<string, PlayedJob>>): string =>
  Object.values(jobs)
    .flatMap(({ agents }) => agents.map(({ raw }) => raw))
    .join("\n");

function assertReviewed({ github }: Forked, log: string): void {
  assert.deepEqual(
    github.calls.map(({ method, path }) => `${method} ${path}`),
    ["POST /repos/octo/shop/pulls/7/reviews", "POST /repos/octo/shop/issues/7/comments"],
    log,
  );
  assert.match(github.comments[0]?.body ?? "", /### ✗ Reject/);
  assert.deepEqual(
    github.threads.map(({ path, line }) => [path, line]),
    [["src/price.mjs", 1]],
  );
}

describe("a fork's pull request", { timeout: 300_000 }, () => {
  it("is reviewed when a maintainer sets a label, and what the review rejects is still delivered", async (t) => {
    const here = await forked(t, "labeled");
    const labeled = (name: string): ReturnType<Forked["play"]> =>
      here.play("Review of forks", {
        ...here.world,
        event: "pull_request_target",
        payload: { ...here.world.payload, label: { name } },
      });
    assert.equal((await labeled("bug"))["review"]?.result, "skipped");
    const jobs = await labeled("agent-review");
    const log = logOf(jobs);
    assert.deepEqual(
      [jobs["review"]?.result, jobs["deliver"]?.result],
      ["failure", "success"],
      log,
    );
    assertReviewed(here, log);
  });

  it("is reviewed without a key by one workflow, and another one, on workflow_run, delivers", async (t) => {
    const here = await forked(t);
    const { artifacts, head, merge, github } = here;
    const first = await here.play("Review without a key", {
      ...here.world,
      sha: merge,
      ref: "refs/pull/7/merge",
    });
    assert.equal(first["review"]?.result, "failure", logOf(first));
    assert.deepEqual(github.calls, []);
    const { payload } = await readFixture("workflow-run-fork");
    const run = { ...fields(fields(payload)["workflow_run"]), conclusion: "failure" };
    const second = {
      event: "workflow_run",
      runId: "100",
      payload: { ...fields(payload), workflow_run: { ...run, id: 99, head_sha: head } },
    };
    // A fork could have uploaded this in its place: it is about another commit.
    const journal = join(artifacts, "journal/journal.jsonl");
    const text = await readFile(journal, "utf8");
    await writeFile(journal, text.replaceAll(head, "f".repeat(40)));
    const forged = await here.play("Deliver the review", second);
    assert.equal(forged["deliver"]?.result, "failure");
    assert.match(logOf(forged), /The journal is about commit f+/);
    assert.deepEqual(github.calls, []);
    await writeFile(journal, text);
    const delivered = await here.play("Deliver the review", second);
    assert.equal(delivered["deliver"]?.result, "success", logOf(delivered));
    assertReviewed(here, logOf(delivered));
    const canceled = {
      ...second,
      payload: { ...second.payload, workflow_run: { conclusion: "cancelled" } },
    };
    assert.equal((await here.play("Deliver the review", canceled))["deliver"]?.result, "skipped");
  });
});
