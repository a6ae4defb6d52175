/** Each recipe is played, with the committed bundle, on a repository with a pull request of three commits. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { startGithubServer } from "../rig/github-server.ts";
import { startModelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { onlyNightly, share } from "../rig/nightly.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { startCommentServer, type Comment } from "./comments.ts";
import { reviewer, tireless, type Model } from "./models.ts";
import {
  agentSteps,
  fields,
  isTemplate,
  jobsOf,
  optional,
  read,
  recipes,
  triggersOf,
  type Recipe,
} from "./pages.ts";
import { play, type PlayedJob, type World } from "./play.ts";
import {
  changedFiles,
  changedLines,
  makePullRequest,
  otherLines,
  pullRequestEvent,
  type PullRequest,
} from "./pull-request.ts";

const all = recipes().filter((one) => !isTemplate(one));
/** No recipe changes the repository on the server. */
const pullRequest = await makePullRequest({ after });
const onPullRequest = all.filter((recipe) => triggersOf(recipe).includes("pull_request"));

interface Result {
  readonly jobs: Readonly<Record<string, PlayedJob>>;
  readonly requests: readonly RecordedRequest[];
  readonly pullRequest: PullRequest;
  readonly comments: readonly Comment[];
}

interface Options {
  readonly model: Model;
  readonly world?: (pullRequest: PullRequest) => Promise<Partial<World>> | Partial<World>;
  readonly comments?: readonly Comment[];
}

async function played(
  test: TestContext,
  recipe: Recipe,
  { model, world, comments = [] }: Options,
): Promise<Result> {
  let script: Script = () => ({ status: 400 });
  const server = await startModelServer((request) => script(request));
  test.after(() => server.close());
  const permissions = { maintainer: "write" };
  const commented = await startCommentServer(test, comments);
  const entry = `${pullRequest.base}:.github/agent-jobs/review.yml`;
  const files = { [entry]: read("examples/review.yml") };
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
    scriptApiUrl: commented.url,
    onWorkspace(folder) {
      script = model(folder);
    },
    inputs: { "provider-base-url": server.baseUrl, "provider-api-key": "key-0123456789" },
    ...(triggersOf(recipe).includes("pull_request")
      ? { ...(await pullRequestEvent(pullRequest)), ref: "refs/pull/7/merge", sha: merge }
      : {}),
    ...(await world?.(pullRequest)),
  });
  return { jobs, requests: server.requests, pullRequest, comments: commented.comments };
}

function logOf({ jobs }: Result): string {
  return Object.values(jobs)
    .flatMap(({ agents, log }) => [...agents.map(({ raw }) => raw), log])
    .join("\n");
}

describe("a recipe for pull requests", { timeout: 300_000 }, () => {
  it("is there", () => assert.ok(onPullRequest.length >= 3));

  const assertSeen = (result: Result, base: string): void => {
    const { jobs, requests, pullRequest } = result;
    for (const [id, { result: ended }] of Object.entries(jobs))
      assert.equal(ended, "success", `${id}\n${logOf(result)}`);
    for (const name of ["for mistakes", "tests of a change"]) {
      const asked = requests.filter(({ prompt }) => prompt.includes(name));
      assert.ok(asked.every(({ prompt }) => prompt.includes(`${base}...${pullRequest.head}`)));
      const seen = asked.at(-1)?.toolResults.join("\n") ?? "";
      for (const text of [...changedFiles, ...changedLines])
        assert.ok(seen.includes(text), `${name} has not seen ${text}:\n${seen}`);
      for (const text of [...otherLines, "stock.mjs"])
        assert.ok(!seen.includes(text), `${name} has seen ${text}:\n${seen}`);
      assert.match(seen, / 3 files changed, /);
    }
    assert.doesNotMatch(logOf(result), /Denied|Read from the base/);
  };

  const seesRange = (recipe: Recipe): void => {
    it(`${recipe.title}: the models see the three commits, and nothing else of the history`, async (t) => {
      const result = await played(t, recipe, { model: reviewer });
      assertSeen(result, result.pullRequest.base);
    });

    it(`${recipe.title}: stops before the agents if the history to compare with is missing`, async (t) => {
      const text = JSON.stringify(recipe.workflow);
      const workflow = fields(JSON.parse(text.replace('"fetch-depth":0', '"fetch-depth":1')));
      const { jobs, requests } = await played(t, { ...recipe, workflow }, { model: reviewer });
      const [job] = Object.values(jobs);
      assert.equal(job?.result, "failure");
      assert.match(job.log, /fatal: .*\.\.\./);
      assert.deepEqual(job.agents, []);
      assert.deepEqual(requests, []);
    });
  };

  for (const recipe of share(onPullRequest, 1)) {
    // Of others, the change is that of the event: `templates.test.ts` plays them.
    const hasRange = JSON.stringify(recipe.workflow).includes('"user-input"');
    if (hasRange) seesRange(recipe);

    it(`${recipe.title}: nothing runs for a draft, nor for Dependabot`, async (t) => {
      const draft = await played(t, recipe, {
        model: reviewer,
        world: (pullRequest) => pullRequestEvent(pullRequest, { draft: true }),
      });
      const bot = await played(t, recipe, {
        model: reviewer,
        world: () => ({ actor: "dependabot[bot]" }),
      });
      for (const { jobs, requests } of [draft, bot]) {
        assert.deepEqual(requests, []);
        for (const { result } of Object.values(jobs)) assert.equal(result, "skipped");
      }
    });
  }
});

describe("the recipe for forks", { timeout: 300_000 }, () => {
  // That of docs/outputs.md is played with its template.
  const recipe = all.find(({ file }) => file === "examples/github/review-of-fork.yml");
  const labeled = async (
    pullRequest: PullRequest,
    label: string,
    actor = "maintainer",
  ): Promise<Partial<World>> => {
    const { payload } = await pullRequestEvent(pullRequest, { action: "labeled" });
    const from = fields(fields(payload)["pull_request"]);
    const head = { ...fields(from["head"]), repo: { id: 2002 } };
    const sender = { login: actor, type: "User" };
    return {
      event: "pull_request_target",
      actor,
      payload: { ...payload, label: { name: label }, sender, pull_request: { ...from, head } },
    };
  };

  it("reviews the head as data, by the entry of the base", async (t) => {
    assert.ok(recipe !== undefined);
    const result = await played(t, recipe, {
      model: reviewer,
      world: (pullRequest) => labeled(pullRequest, "agent-review"),
    });
    const [job] = Object.values(result.jobs);
    assert.equal(job?.result, "success", logOf(result));
    const [step] = job.agents;
    assert.equal(step?.outputs["result"], "success");
    assert.match(step.summary, /^## ✓ Job /);
    assert.match(step.log, /Read from the base, .*review\.yml/);
    const seen = result.requests.flatMap(({ toolResults }) => toolResults).join("\n");
    for (const text of changedLines) assert.ok(seen.includes(text), `${text}\n${seen}`);
    const price = await readFile(join(job.workspace, "src/price.mjs"), "utf8");
    assert.doesNotMatch(price, /Math\.round/, "a file of the head");
  });

  it("starts no agent for another label, and says so for one that a stranger has set", async (t) => {
    assert.ok(recipe !== undefined);
    const other = await played(t, recipe, {
      model: reviewer,
      world: (pullRequest) => labeled(pullRequest, "bug"),
    });
    assert.equal(Object.values(other.jobs)[0]?.result, "skipped");
    const stranger = await played(t, recipe, {
      model: reviewer,
      world: (pullRequest) => labeled(pullRequest, "agent-review", "stranger"),
    });
    const [job] = Object.values(stranger.jobs);
    assert.equal(job?.result, "success", logOf(stranger));
    assert.equal(job.agents[0]?.outputs["result"], "skipped");
    assert.match(job.agents[0].summary, /^## agent-jobs: skipped/);
    assert.deepEqual([...other.requests, ...stranger.requests], []);
  });

  it("is refused if the head is checked out", async (t) => {
    assert.ok(recipe !== undefined);
    const text = JSON.stringify(recipe.workflow);
    const wrong = text.replace(
      '"fetch-depth":0',
      '$&,"ref":"${{ github.event.pull_request.head.sha }}"',
    );
    const result = await played(
      t,
      { ...recipe, workflow: fields(JSON.parse(wrong)) },
      { model: reviewer, world: (pullRequest) => labeled(pullRequest, "agent-review") },
    );
    const [job] = Object.values(result.jobs);
    assert.equal(job?.result, "failure");
    assert.match(job.agents[0]?.outputs["reason"] ?? "", /may contain the fork's files/);
    assert.deepEqual(result.requests, []);
  });
});

describe("a recipe that comments", { timeout: 300_000 }, () => {
  const bot = { login: "github-actions[bot]", type: "Bot" } as const;
  const others: readonly Comment[] = [
    ...Array.from({ length: 120 }, (_, index): Comment => ({
      id: index + 1,
      user: { login: "somebody", type: "User" },
      body: `Comment ${index}`,
    })),
    { id: 121, user: bot, body: "What another workflow has to say." },
  ];
  const commenting = onPullRequest.filter(({ text }) => text.includes("actions/github-script@"));
  const [recipe, ...copies] = commenting;

  it("is an example, and this repository uses the same one", () => {
    assert.equal(recipe?.file, "examples/github/review-with-comment.yml");
    assert.ok(copies.length > 0);
    const parts = (one: Recipe): unknown =>
      jobsOf(one).map(({ job, steps }) => [job["if"], steps.map(({ run, env }) => [run, env])]);
    const script = (one: Recipe): unknown => optional(jobsOf(one)[1]?.steps[0]?.["with"])["script"];
    for (const copy of copies) {
      assert.deepEqual(parts(copy), parts(recipe));
      assert.equal(script(copy), script(recipe));
    }
  });

  if (recipe !== undefined) {
    it(`${recipe.title}: posts the whole review, and replaces its own comment and no other`, async (t) => {
      const first = await played(t, recipe, { model: reviewer, comments: others });
      const made = first.comments.at(-1);
      assert.equal(first.comments.length, 122, logOf(first));
      assert.deepEqual(first.comments.slice(0, 121), others);
      assert.match(made?.body ?? "", /^<!-- .+ -->\n/);
      // The whole of it, as literal text: in a fence that nothing in it closes.
      const [, fence = ""] = /^(~~~+)\w*$/m.exec(made?.body ?? "") ?? [];
      assert.ok(fence.length > "~~~~~".length);
      assert.match(made?.body ?? "", /Round half to even\. @octocat, fixes #1\n~~~~~\n/);
      assert.equal(made?.body.match(/Another line\./g)?.length, 20);
      // A stranger who copies the marker is not the bot.
      const copy: Comment = { id: 123, user: { login: "x", type: "User" }, body: made?.body ?? "" };
      const old: Comment = { id: 122, user: bot, body: `${made?.body.split("\n")[0]}\nold` };
      const later: Comment = { id: 124, user: bot, body: "A comment of a later workflow" };
      const present = [...others, old, copy, later];
      const second = await played(t, recipe, { model: reviewer, comments: present });
      assert.deepEqual(
        second.comments,
        present.map((comment) => (comment === old ? made : comment)),
      );
    });

    it(`${recipe.title}: posts nothing if the review failed or was skipped`, async (t) => {
      const failed = await played(t, recipe, { model: () => () => ({ status: 400 }) });
      assert.equal(failed.jobs["review"]?.result, "failure", logOf(failed));
      const fork = await played(t, recipe, {
        model: reviewer,
        world: async (pullRequest) => {
          const event = await pullRequestEvent(pullRequest);
          const from = fields(fields(event.payload)["pull_request"]);
          const head = { ...fields(from["head"]), repo: { id: 2002 } };
          return { ...event, payload: { ...event.payload, pull_request: { ...from, head } } };
        },
      });
      assert.equal(fork.jobs["review"]?.result, "success", logOf(fork));
      assert.deepEqual(fork.requests, []);
      for (const { jobs, comments } of [failed, fork]) {
        assert.equal(jobs["comment"]?.result, "skipped");
        assert.deepEqual(comments, []);
      }
    });

    it(`${recipe.title}: posts nothing that holds a secret of the run`, onlyNightly, async (t) => {
      const telling: Model = (folder) => (request) => {
        const reply = JSON.stringify(reviewer(folder)(request));
        return JSON.parse(reply.replaceAll("Another line.", "The key is key-0123456789."));
      };
      const { jobs, comments } = await played(t, recipe, { model: telling });
      assert.equal(jobs["review"]?.result, "success");
      assert.equal(jobs["comment"]?.result, "skipped");
      assert.deepEqual(comments, []);
    });

    it(
      `${recipe.title}: cuts a review that is longer than a comment can be, and says so`,
      onlyNightly,
      async (t) => {
        const long: Model = (folder) => (request) => {
          const reply = JSON.stringify(reviewer(folder)(request));
          return JSON.parse(reply.replaceAll("Another line.", "é".repeat(5_000)));
        };
        const { comments } = await played(t, recipe, { model: long });
        assert.equal(comments.length, 1);
        assert.match(comments[0]?.body ?? "", /cut/);
      },
    );
  }
});

describe("a recipe for every night", { timeout: 300_000 }, () => {
  const nightly = all.filter((recipe) => triggersOf(recipe).includes("schedule"));
  it("is there", () => assert.ok(nightly.length >= 2));

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
    const recipe = all.find(({ text }) => text.includes("provider-base-url"));
    assert.ok(recipe !== undefined);
    const result = await played(t, recipe, {
      model: reviewer,
      world: ({ head }) => ({ sha: head, ref: "refs/heads/rounding" }),
    });
    assert.equal(Object.values(result.jobs)[0]?.result, "success", logOf(result));
    const [{ models = "" } = {}] = agentSteps(recipe);
    const wanted = String(models)
      .match(/=\S+/g)
      ?.map((id) => id.slice(1));
    assert.deepEqual(new Set(result.requests.map(({ model }) => model)), new Set(wanted));
    assert.match(JSON.stringify(result.requests), /Prices are rounded/);
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
