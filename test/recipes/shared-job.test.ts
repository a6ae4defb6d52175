/** The reusable workflow that shares a job among machines, from its plan to its merge, with the bundle of the action. */
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startGithubServer } from "../rig/github-server.ts";
import { modelServer } from "../rig/model-server.ts";
import { readFixture } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowOf } from "./pages.ts";
import { play } from "./play.ts";
import { makePullRequest } from "./pull-request.ts";

const entry = `
models: { driving: gpt-5-mini }
outputs: { report: { comment: sticky } }
tasks:
  list: { model: { category: driving }, prompt: "List. Call job_result.", criteria: { failureAction: { retryTimes: 1 }, result: { type: object, properties: { files: { type: array, items: { type: string } } }, required: [files] } } }
  look: { model: { category: driving }, prompt: "Look at $item. Call job_report and job_annotate." }
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

/** Commands only: what a part finds in its job. */
const commands = `
models: { driving: gpt-5-mini }
tasks: { unused: { model: { category: driving }, prompt: "Never asked." } }
jobs:
  check:
    work:
      kind: Seq
      works:
        - { kind: Run, run: &check 'test "$GREETING $SECRET $(cat ../prepared)" = "hello hush hello"', env: [GREETING, SECRET] }
        - { kind: Each, items: { values: [a, b] }, work: { kind: Run, run: *check, env: [GREETING, SECRET] } }
        - { kind: Run, run: *check, env: [GREETING, SECRET] }
`;
const action = `
name: Set up
description: Shows what it finds.
runs:
  using: composite
  steps:
    - { shell: bash, run: 'echo "$GREETING" > ../prepared; echo "shallow: $(git rev-parse --is-shallow-repository)"' }
`;

async function playCommands(
  t: TestContext,
  called: object,
): Promise<Awaited<ReturnType<typeof play>>> {
  const files = { "jobs.yml": commands, ".github/actions/setup/action.yml": action };
  const { url, base: sha } = await makePullRequest(t, files);
  const api = await startGithubServer(t, { permissions: { octocat: "write" } });
  return play(t, workflowOf("shared-job.yml"), {
    ...(await readFixture("workflow-dispatch")),
    url,
    sha,
    ref: "refs/heads/main",
    attempt: 1,
    artifacts: (await makeWorkspace(t)).path,
    apiUrl: api.url,
    called: { entry: "jobs.yml", shards: 2, ...called },
    secrets: { env: "SECRET=hush\nOTEL_EXPORTER_OTLP_HEADERS<<END\nkey=a%b\nEND" },
    inputs: { "provider-base-url": "http://127.0.0.1:9", "github-token": "ghs_0123456789abcdef" },
  });
}

describe("the workflow that shares a job among machines", () => {
  it("plans once, runs each member on one of them, and sums up what they have done, without a lost journal if it may", async (t) => {
    const { url, base: sha } = await makePullRequest(t, { "jobs.yml": entry });
    const prompts: string[] = [];
    const model = await modelServer(t, ({ prompt, toolResults }) => {
      if (toolResults.length > 0) return { text: "Done." };
      prompts.push(prompt);
      if (prompt.startsWith("List."))
        return { toolCalls: [{ name: "job_result", arguments: { files: ["a", "b", "c"] } }] };
      const [, item] = /^Look at (\w)\./.exec(prompt) ?? [];
      const markdown = item === undefined ? "All of them." : `Seen: ${item}.`;
      const finding = { path: "jobs.yml", line: 1, severity: "warning", message: `About ${item}.` };
      const found = item === undefined ? [] : [{ name: "job_annotate", arguments: finding }];
      return { toolCalls: [{ name: "job_report", arguments: { markdown } }, ...found] };
    });
    const api = await startGithubServer(t, { permissions: { octocat: "write" } });
    const { path: artifacts } = await makeWorkspace(t);
    const { payload, event, actor } = await readFixture("workflow-dispatch");
    const { plan, shard, merge } = await play(t, workflowOf("shared-job.yml"), {
      event,
      actor,
      payload,
      url,
      sha,
      ref: "refs/heads/main",
      attempt: 1,
      artifacts,
      apiUrl: api.url,
      called: { entry: "jobs.yml", shards: 3, "max-parallel": 3, "on-missing": "continue" },
      inputs: { "provider-base-url": model.baseUrl, "github-token": "ghs_0123456789abcdef" },
      before: async (id) => {
        if (id !== "merge") return;
        for (const name of await readdir(artifacts))
          if (name.includes("-shard-2-of-3-")) await rm(join(artifacts, name), { recursive: true });
      },
    });
    assert.equal(plan?.result, "success", plan?.agents[0]?.raw);
    const include = [{ shard: "1/3" }, { shard: "2/3" }, { shard: "3/3" }];
    assert.deepEqual(JSON.parse(plan.outputs["matrix"] ?? ""), { include });
    assert.equal(shard?.result, "success", shard?.agents.map(({ raw }) => raw).join("\n"));
    assert.equal(merge?.result, "success", merge?.agents[0]?.raw);
    assert.equal(merge.outputs["report"], "All of them.");
    assert.equal(prompts.length, 5, prompts.join("\n---\n"));
    assert.match(prompts.at(-1) ?? "", /^Sum up with job_report:/);
    assert.equal((prompts.at(-1)?.match(/Seen: \w\./g) ?? []).length, 2);
    assert.match(prompts.at(-1) ?? "", /Missing: item b \(shard 2\/3 is missing\)\.$/);
    // Another job delivers.
    for (const { log } of [plan, shard, merge].flatMap(({ agents }) => agents))
      assert.doesNotMatch(log, /Delivery: /);
    // A finding is annotated once, by the merge, whatever became of its shard.
    const about = [plan, shard, merge].flatMap(({ agents }) =>
      agents.flatMap(({ commands }) =>
        commands.filter(({ message }) => message.startsWith("About")),
      ),
    );
    assert.deepEqual(about.map(({ message }) => message).toSorted(), ["About a.", "About c."]);
    assert.ok(merge.agents[0]?.commands.includes(about[0]!));
    // docs/scale.md says so.
    assert.equal(api.requests.length, 0, api.requests.map(({ path }) => path).join("\n"));
    const [summary = ""] = merge.agents.map((agent) => agent.summary);
    assert.match(summary, /All of them\./);
    assert.match(summary, /Skipped item "b": shard 2\/3 is missing/);
    assert.match(merge.agents[0]?.log ?? "", /Skipped item "b"/);
    const names = await readdir(artifacts);
    assert.equal(names.length, 4, names.join());
    assert.ok(names.includes(merge.outputs["journal-artifact"] ?? ""));
  });

  for (const [title, base, shallow] of [
    ["shallow, because its event has no change", "", "true"],
    ["whole, because `base` names a change", "v1.0.0", "false"],
  ] as const)
    it(`sets each part up as its caller does, in a checkout that is ${title}`, async (t) => {
      const setup = "./.github/actions/setup";
      const played = await playCommands(t, { setup, base, env: "GREETING=hello\n" });
      for (const [part, { result, agents, log }] of Object.entries(played)) {
        assert.equal(result, "success", `${part}: ${log} ${agents[0]?.raw}`);
        assert.match(log, new RegExp(`^shallow: ${shallow}$`, "m"));
        // The collector's headers are a secret too.
        assert.match(log, /^::add-mask::hush$/m);
        assert.match(log, /^::add-mask::key=a%25b$/m);
      }
      assert.deepEqual(Object.keys(played), ["plan", "shard", "merge"]);
    });

  for (const [called, reason] of [
    [{ setup: "../elsewhere" }, /^::error::`setup` must be the path of an action/m],
    [{ env: "GREETING" }, /^::error::A line of `env` is not NAME=value\.$/m],
  ] as const)
    it(`runs nothing with ${JSON.stringify(called)}`, async (t) => {
      const { plan, shard, merge } = await playCommands(t, called);
      assert.equal(plan?.result, "failure");
      assert.match(plan.log, reason);
      assert.deepEqual(plan.agents, []);
      assert.deepEqual([shard?.result, merge?.result], ["skipped", "skipped"]);
    });
});
