/** The actions in a row, each as the runner starts it: from its main file in the bundle. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { it } from "node:test";
import type { Mode } from "../../src/action/actions.ts";
import { runBundledStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { repositoryWith } from "./repository-rig.ts";
import { ofCommands as entry } from "./rig.ts";

const rehearsal = "entry: jobs.json\njob: main\nsessions: []\n";

it("a job is rehearsed, planned, run in shards, merged and delivered, from one folder for journals", async (t) => {
  const { path: temporary } = await makeWorkspace(t);
  const files = { "jobs.json": entry, "jobs.rehearsal.yml": rehearsal };
  const { workspace, github, setting } = await repositoryWith(t, files);
  const step = (
    mode: Mode,
    id: string,
    inputs: Readonly<Record<string, string>>,
  ): Promise<StepResult> =>
    runBundledStep(
      t,
      setting({ mode, inputs, env: { GITHUB_ACTION: id, RUNNER_TEMP: temporary } }),
    );
  const passed = async (...given: Parameters<typeof step>): Promise<StepResult["outputs"]> => {
    const result = await step(...given);
    assert.equal(result.code, 0, result.raw);
    assert.equal(result.outputs["result"], "success", result.raw);
    return result.outputs;
  };
  const own = { entry: "jobs.json" };
  const rehearsed = await passed("rehearse", "rehearse", { files: "jobs.rehearsal.yml" });
  assert.equal(rehearsed["output-dir"], `${temporary}/agent-jobs/rehearse`);
  assert.equal("deliveries" in rehearsed, false);
  const plan = await passed("plan", "plan", { ...own, shards: "2" });
  const { include } = JSON.parse(plan["matrix"] ?? "");
  assert.deepEqual(include, [{ shard: "1/2" }, { shard: "2/2" }]);
  const shards = [];
  for (const { shard } of include) {
    const resume = plan["journal"] ?? "";
    shards.push(await passed("run", `shard-${shard.charAt(0)}`, { ...own, shard, resume }));
  }
  // It doesn't matter where the journals are, as long as a step of the job has put them there.
  const journals = `${temporary}/agent-jobs/plan\n${shards.map((one) => one["journal"]).join("\n")}`;
  const merged = await passed("merge", "merge", { ...own, journals });
  const done = (await readFile(`${workspace.path}/done`, "utf8")).trim().split("\n");
  assert.deepEqual(done, ["list", "a", "b", "end"]);
  assert.deepEqual(github.calls, []);
  const delivered = await passed("deliver", "deliver", {
    ...own,
    journal: merged["output-dir"] ?? "",
    "journal-digest": merged["journal-digest"] ?? "",
  });
  assert.deepEqual(Object.keys(delivered), ["result", "reason", "deliveries"]);
  assert.equal(github.comments.length, 1);
});
