/** Each recipe is played on a repository with a pull request of three commits. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { startGithubServer } from "../rig/github-server.ts";
import { modelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { share } from "../rig/nightly.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { reviewers, tireless, type Model } from "./models.ts";
import { agentSteps, isTemplate, read, recipes, triggersOf, type Recipe } from "./pages.ts";
import { play, type PlayedJob, type World } from "./play.ts";
import { makePullRequest, pullRequestEvent, type PullRequest } from "./pull-request.ts";

const all = recipes().filter((one) => !isTemplate(one));
/** No recipe changes the repository on the server. */
const pullRequest = await makePullRequest({ after });
const onPullRequest = all.filter((recipe) => triggersOf(recipe).includes("pull_request"));

interface Result {
  readonly jobs: Readonly<Record<string, PlayedJob>>;
  readonly requests: readonly RecordedRequest[];
  readonly pullRequest: PullRequest;
}

interface Options {
  readonly model: Model;
  readonly world?: (pullRequest: PullRequest) => Promise<Partial<World>> | Partial<World>;
}

async function played(
  test: TestContext,
  recipe: Recipe,
  { model, world }: Options,
): Promise<Result> {
  let script: Script = () => ({ status: 400 });
  const server = await modelServer(test, (request) => script(request));
  const permissions = { maintainer: "write" };
  const entry = `${pullRequest.base}:.github/agent-jobs/review.yml`;
  const files = { [entry]: read("examples/review/review.yml") };
  const api = await startGithubServer(test, { permissions, files });
  const { url, merge, base } = pullRequest;
  const jobs = await play(test, recipe, {
    event: "workflow_dispatch",
    actor: "maintainer",
    payload: { inputs: {}, repository: { default_branch: "main" } },
    url,
    ref: "refs/heads/main",
    sha: base,
    apiUrl: api.url,
    artifacts: (await makeWorkspace(test)).path,
    onWorkspace(folder) {
      script = model(folder);
    },
    inputs: { "provider-base-url": server.baseUrl, "provider-api-key": "key-0123456789" },
    ...(triggersOf(recipe).includes("pull_request")
      ? { ...(await pullRequestEvent(pullRequest)), ref: "refs/pull/7/merge", sha: merge }
      : {}),
    ...(await world?.(pullRequest)),
  });
  return { jobs, requests: server.requests, pullRequest };
}

function logOf({ jobs }: Result): string {
  return Object.values(jobs)
    .flatMap(({ agents, log }) => [...agents.map(({ raw }) => raw), log])
    .join("\n");
}

describe("a recipe for pull requests", { timeout: 300_000 }, () => {
  it("is there", () => assert.ok(onPullRequest.length >= 2));

  for (const recipe of share(onPullRequest, 1)) {
    it(`${recipe.title}: nothing runs for a draft, nor for Dependabot unless everybody may start it`, async (t) => {
      const draft = await played(t, recipe, {
        model: reviewers,
        world: (pullRequest) => pullRequestEvent(pullRequest, { draft: true }),
      });
      const bot = await played(t, recipe, {
        model: reviewers,
        world: () => ({ actor: "dependabot[bot]" }),
      });
      const everybody = recipe.text.includes('allowed-users: "*"');
      for (const { jobs, requests } of everybody ? [draft] : [draft, bot]) {
        assert.deepEqual(requests, []);
        for (const { result } of Object.values(jobs)) assert.equal(result, "skipped");
      }
    });
  }
});

describe("a recipe for every night", { timeout: 300_000 }, () => {
  const nightly = all.filter((recipe) => triggersOf(recipe).includes("schedule"));
  it("is there", () => assert.ok(nightly.length >= 1));

  for (const recipe of share(nightly, 1)) {
    it(`${recipe.title}: succeeds when there is more to do than for one night, and keeps a patch`, async (t) => {
      const result = await played(t, recipe, {
        model: tireless,
        world: () => ({ event: "schedule", payload: { schedule: "17 2 * * 1-5" } }),
      });
      const [job] = Object.values(result.jobs);
      assert.equal(job?.result, "success", logOf(result));
      const patch = await readFile(join(job.workspace, "agent-nightly.patch"), "utf8");
      assert.equal(patch.match(/^\+Truth/gm)?.length, 5, patch);
    });
  }
});

describe("the other recipes", { timeout: 300_000 }, () => {
  it("one with a model server of its own uses its models only", async (t) => {
    const recipe = all.find(({ file }) => file === "examples/github/review-on-own-models.yml");
    assert.ok(recipe !== undefined);
    const result = await played(t, recipe, {
      model: reviewers,
      world: ({ head }) => ({ sha: head, ref: "refs/heads/rounding" }),
    });
    assert.equal(Object.values(result.jobs)[0]?.result, "success", logOf(result));
    const [{ model = "" } = {}] = agentSteps(recipe);
    const wanted = String(model)
      .match(/=\S+/g)
      ?.map((id) => id.slice(1));
    assert.deepEqual(new Set(result.requests.map((request) => request.model)), new Set(wanted));
    assert.match(JSON.stringify(result.requests), /Prices are rounded/);
  });

  it("approve-release.yml continues at its question as often as it asks", async (t) => {
    const recipe = all.find(({ file }) => file === "examples/github/approve-release.yml");
    assert.ok(recipe !== undefined);
    const { path: artifacts } = await makeWorkspace(t);
    const { baseUrl, requests } = await modelServer(t, ({ index }) => ({
      text: `- Notes ${index}.`,
    }));
    const run = async (inputs: Readonly<Record<string, string>>): Promise<PlayedJob> => {
      const given = { range: "HEAD", run: "", answer: "", ...inputs };
      const { jobs } = await played(t, recipe, {
        model: reviewers,
        world: () => ({
          artifacts,
          payload: { inputs: given },
          inputs: { "provider-base-url": baseUrl },
        }),
      });
      assert.ok(jobs["notes"] !== undefined);
      return jobs["notes"];
    };
    const asked = await run({});
    const again = await run({ run: "99", answer: "Name the limit." });
    for (const { result, agents } of [asked, again]) {
      assert.equal(result, "failure");
      assert.match(agents[0]?.outputs["reason"] ?? "", /ASK_APPROVE has (?:no|only one) answer/);
    }
    const approved = await run({ run: "100", answer: "yes" });
    assert.equal(approved.result, "success", approved.agents[0]?.raw);
    assert.equal(requests.length, 2);
    assert.match(requests[1]?.prompt ?? "", /Name the limit\./);
    assert.equal(approved.agents[0]?.outputs["report"], "- Notes 1.");
  });

  const rehearsing = all.filter((recipe) =>
    agentSteps(recipe).some(({ rehearse }) => rehearse !== undefined),
  );
  for (const recipe of share(rehearsing, 1)) {
    it(`${recipe.title}: rehearses without a model`, async (t) => {
      const result = await played(t, recipe, {
        model: () => () => ({ status: 500 }),
        world: () =>
          triggersOf(recipe).includes("push")
            ? { event: "push", payload: { ref: "refs/heads/main" } }
            : { payload: { inputs: { who: "a newcomer", rehearse: true } } },
      });
      assert.equal(Object.values(result.jobs)[0]?.result, "success", logOf(result));
      assert.deepEqual(result.requests, []);
    });
  }
});
