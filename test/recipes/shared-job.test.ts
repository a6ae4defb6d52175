/** The reusable workflow that shares a job among machines, from its plan to its merge, with the bundle of the action. */
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startGithubServer, type GithubRequest } from "../rig/github-server.ts";
import { startModelServer } from "../rig/model-server.ts";
import { readFixture } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowOf } from "./pages.ts";
import { play, type PlayedJob, type World } from "./play.ts";
import { makePullRequest } from "./pull-request.ts";

const entry = `
models: { driving: gpt-5-mini }
outputs: { report: { comment: sticky } }
tasks:
  list: { model: { category: driving }, prompt: "List. Call job_result.", criteria: { failureAction: { retryTimes: 1 }, result: { type: object, properties: { files: { type: array, items: { type: string } } }, required: [files] } } }
  look: { model: { category: driving }, prompt: "Look at $item. Call job_report." }
  sum: { model: { category: driving }, prompt: "Sum up with job_report: $report-of-look" }
jobs:
  survey:
    work:
      kind: Seq
      works:
        - { kind: Ref, taskId: list }
        - { kind: Each, items: { result: list, path: /files }, parallel: true, work: { kind: Ref, taskId: look } }
        - { kind: Ref, taskId: sum }
`;

interface Shared {
  readonly play: (more?: Partial<World>) => Promise<Readonly<Record<string, PlayedJob>>>;
  readonly artifacts: string;
  readonly prompts: string[];
  readonly requests: readonly GithubRequest[];
}

async function shared(t: TestContext): Promise<Shared> {
  const { url, base: sha } = await makePullRequest(t, { "jobs.yml": entry });
  const prompts: string[] = [];
  const model = await startModelServer(({ prompt, toolResults }) => {
    if (toolResults.length > 0) return { text: "Done." };
    prompts.push(prompt);
    if (prompt.startsWith("List."))
      return { toolCalls: [{ name: "job_result", arguments: { files: ["a", "b", "c"] } }] };
    const [, item] = /^Look at (\w)\./.exec(prompt) ?? [];
    const markdown = item === undefined ? "All of them." : `Seen: ${item}.`;
    return { toolCalls: [{ name: "job_report", arguments: { markdown } }] };
  });
  t.after(() => model.close());
  const api = await startGithubServer(t, { permissions: { octocat: "write" } });
  const { path: artifacts } = await makeWorkspace(t);
  const { payload, event, actor } = await readFixture("workflow-dispatch");
  return {
    artifacts,
    prompts,
    requests: api.requests,
    play: (more = {}) =>
      play(t, workflowOf("shared-job.yml"), {
        event,
        actor,
        payload,
        url,
        sha,
        ref: "refs/heads/main",
        attempt: 1,
        artifacts,
        apiUrl: api.url,
        called: { entry: "jobs.yml", shards: 3, "max-parallel": 3, "on-missing": "fail" },
        inputs: { "provider-base-url": model.baseUrl, "github-token": "ghs_0123456789abcdef" },
        ...more,
      }),
  };
}

describe("the workflow that shares a job among machines", () => {
  it("plans once, runs each member on one of them, and sums up what all have done", async (t) => {
    const { play: played, prompts, artifacts, requests } = await shared(t);
    const { plan, shard, merge } = await played();
    assert.equal(plan?.result, "success", plan?.agents[0]?.raw);
    const include = [{ shard: "1/3" }, { shard: "2/3" }, { shard: "3/3" }];
    assert.deepEqual(JSON.parse(plan.outputs["matrix"] ?? ""), { include });
    assert.equal(shard?.result, "success", shard?.agents.map(({ raw }) => raw).join("\n"));
    assert.equal(merge?.result, "success", merge?.agents[0]?.raw);
    assert.equal(merge.outputs["report"], "All of them.");
    assert.equal(prompts.length, 5, prompts.join("\n---\n"));
    assert.match(
      prompts.at(-1) ?? "",
      /^Sum up with job_report:[^]*Seen: a\.[^]*Seen: b\.[^]*Seen: c\./,
    );
    // Once, and only shown: no machine of these may write.
    const said = [plan, shard, merge].flatMap(({ agents }) => agents.map(({ log }) => log));
    assert.deepEqual(
      said.map((log) => log.includes("Delivery: ")),
      [false, false, false, false, true],
    );
    // docs/scale.md says so.
    assert.equal(requests.length, 0, requests.map(({ path }) => path).join("\n"));
    const [summary = ""] = merge.agents.map((agent) => agent.summary);
    assert.match(summary, /All of them\./);
    const names = await readdir(artifacts);
    assert.equal(names.length, 5, names.join());
    assert.ok(names.includes(merge.outputs["journal-artifact"] ?? ""));
  });

  it("goes on without a shard that left no journal if it may", async (t) => {
    const { play: played, prompts, artifacts } = await shared(t);
    const lose = async (id: string): Promise<void> => {
      if (id !== "merge") return;
      for (const name of await readdir(artifacts))
        if (name.includes("-shard-2-of-3-")) await rm(join(artifacts, name), { recursive: true });
    };
    const called = { entry: "jobs.yml", shards: 3, "max-parallel": 3, "on-missing": "continue" };
    const { merge } = await played({ before: lose, called });
    assert.equal(merge?.result, "success", merge?.agents[0]?.raw);
    assert.match(prompts.at(-1) ?? "", /^Sum up with job_report:/);
    assert.equal((prompts.at(-1)?.match(/Seen: \w/g) ?? []).length, 2);
  });
});
