/** Legs of a matrix, and the parts of a job: each has a journal, and a comment, of its own. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, it, test, type TestContext } from "node:test";
import { zipSync } from "fflate";
import { inputName, inputTable, type Mode } from "../../src/action/actions.ts";
import type { Option } from "../../src/run/option-table.ts";
import { readMarker } from "../../src/github/markers.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { runStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { base, repositoryWith } from "./repository-rig.ts";
import { ofCommands as entry } from "./rig.ts";

interface Attempt {
  readonly mode?: Mode;
  readonly number?: number;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

async function world(t: TestContext) {
  const workspace = await makeWorkspace(t, {
    "jobs.json": entry,
    "flow.wf.md": "# Workflow\n\n```mermaid\nflowchart TD\n    START --> SUCCESS\n```\n",
    "src/a.ts": "",
  });
  const answers: Record<string, unknown> = {};
  const api = await startGithubServer(t, { permissions: { octocat: "write" }, answers });
  let id = 0;
  return {
    workspace,
    api,
    step: ({ mode = "run", number = 1, inputs = {}, env = {} }: Attempt): Promise<StepResult> =>
      runStep(t, {
        mode,
        workspace: workspace.path,
        apiUrl: api.url,
        inputs: {
          entry: "jobs.json",
          "output-dir": "out",
          "github-token": "ghs_0123456789abcdef",
          ...inputs,
        },
        env: { GITHUB_RUN_ATTEMPT: String(number), GITHUB_JOB: "work", ...env },
      }),
    /** Does what actions/upload-artifact does after a step. */
    upload: async ({ outputs }: StepResult): Promise<void> => {
      const name = outputs["journal-artifact"] ?? "";
      const bytes = await readFile(resolve(workspace.path, outputs["journal"] ?? ""));
      const zip = Buffer.from(zipSync({ "journal.jsonl": bytes }));
      id += 1;
      const found = { id, name, expired: false, size_in_bytes: zip.length };
      answers[`/repos/octo/shop/actions/runs/99/artifacts?name=${name}&per_page=10`] = {
        artifacts: [found],
      };
      answers[`/repos/octo/shop/actions/artifacts/${id}/zip`] = zip;
    },
    done: async (): Promise<string> => {
      const text = await workspace.read("done").catch(() => "");
      await workspace.write("done", "");
      return text.trim().split("\n").toSorted().join(" ");
    },
  };
}

/** A value for each input that tells one leg from another. */
const telling: Readonly<Record<string, string>> = {
  leg: '{"os":"macos"}',
  "working-directory": "src",
  base: "main",
  model: "driving=x",
  permissions: "read-only",
  inputs: "topic=x",
  "user-input": "x",
  "user-input-file": "jobs.json",
  "provider-base-url": "http://127.0.0.1:9/v1",
};
/** These need another entry to be tried, or decide with another input. */
const untried = ["entry", "prompt", "prompt-file", "outputs", "job"];
/** Parts of a job, which have names of their own. */
const ofParts = ["shards", "shard", "journals", "on-missing"];
/** Limits, keys, trust, and what is done with the results. */
const others =
  "on-command delivery-token provider-token-command staged journal journal-digest files env output-dir resume limits sandbox github-token entry-token provider-api-key summary fail-on allowed-users".split(
    " ",
  );

test("it is decided of every input whether it tells the legs of a matrix apart", () => {
  const decided = [...Object.keys(telling), ...untried, ...ofParts, ...others];
  const rows = Object.entries<Option>(inputTable);
  assert.deepEqual(decided.sort(), rows.map(([field, row]) => inputName(field, row)).sort());
});

describe("the name of the journal", () => {
  it("differs with whatever tells legs apart, is the same in each attempt, and may name an artifact", async (t) => {
    const { step } = await world(t);
    const nameOf = async (attempt: Attempt): Promise<string> => {
      const { outputs, raw } = await step(attempt);
      const name = outputs["journal-artifact"] ?? "";
      assert.match(name, /^agent-jobs-[0-9a-f]{8}-work-\d$/, raw);
      return name.replace(/\d$/, "");
    };
    const names = new Map([[await nameOf({}), "nothing"]]);
    const cases: readonly Attempt[] = [
      ...Object.entries(telling).map(([name, value]) => ({ inputs: { [name]: value } })),
      { inputs: { leg: '{"os":"linux"}' } },
      { inputs: { leg: "mine/ours: 1" } },
      { inputs: { leg: "mine/ours: 1", model: "driving=x" } },
      ...["a", "b"].map((one) => ({ inputs: { leg: JSON.stringify({ sha: one.repeat(40) }) } })),
      { env: { RUNNER_OS: "macOS" } },
      { env: { RUNNER_ARCH: "ARM64" } },
    ];
    for (const attempt of cases) {
      const name = await nameOf(attempt);
      const said = JSON.stringify(attempt);
      assert.equal(names.get(name), undefined, said);
      names.set(name, said);
      const env = { ...attempt.env, RUNNER_NAME: "Hosted 7", GITHUB_TRIGGERING_ACTOR: "octocat" };
      assert.equal(await nameOf({ ...attempt, number: 2, env }), name, said);
    }
    const commits = ["a", "b"].map((one) => ({ inputs: { base: one.repeat(40) } }));
    const [one, other] = [await nameOf(commits[0] ?? {}), await nameOf(commits[1] ?? {})];
    assert.notEqual(one, other);
    assert.equal(await nameOf({ inputs: { leg: "null" } }), names.keys().next().value);
  });
});

describe("a further attempt of a leg", () => {
  it("doesn't go on from the journal of another leg, unless both have one name", async (t) => {
    const { step, upload, done, workspace } = await world(t);
    const linux = { model: "driving=x", resume: "auto" };
    const first = await step({ inputs: linux });
    assert.equal(first.outputs["result"], "success", first.raw);
    await upload(first);
    assert.equal(await done(), "a b end list");
    // The other leg was killed before it uploaded anything.
    const other = await step({ number: 2, inputs: { model: "driving=y", resume: "auto" } });
    assert.doesNotMatch(other.log, /continuing from/);
    assert.equal(await done(), "a b end list");
    const again = await step({ number: 2, inputs: linux });
    assert.match(again.log, /continuing from the journal of attempt 1/);
    assert.equal(await done(), "");
    // Named by hand, too.
    await workspace.write("first.jsonl", await workspace.read("out/journal.jsonl"));
    const resume = { resume: "first.jsonl" };
    const refused = await step({ inputs: { ...resume, model: "driving=y" } });
    assert.equal(refused.code, 1);
    assert.match(
      refused.outputs["reason"] ?? "",
      /^`resume`: can't resume first\.jsonl: it belongs to another leg \(\w{12}; this one is \w{12}\): the matrix, the runner or an input differs\. .* give both runs the same `leg`\.$/,
    );
    const renamed = await step({ inputs: { ...linux, leg: "one", "output-dir": "named" } });
    assert.equal(renamed.code, 0, renamed.raw);
    await done();
    const named = { resume: "named", leg: "one", model: "driving=y" };
    const resumed = await step({ inputs: named });
    assert.equal(resumed.code, 0, resumed.raw);
    assert.equal(await done(), "");
    const flow = { entry: "flow.wf.md", "output-dir": "flow" };
    await step({ inputs: flow });
    const inputs = { ...flow, "output-dir": "", resume: "flow", permissions: "read-only" };
    assert.match((await step({ inputs })).outputs["reason"] ?? "", /it belongs to another leg/);
  });
});

describe("a plan", () => {
  it("that is tried again is a plan: nothing after it is run, nothing is delivered, and its shards go on", async (t) => {
    const { step, upload, done, workspace, api } = await world(t);
    const plan = { shards: "2" };
    let [pattern, planPath] = ["", ""];
    for (const number of [1, 2, 3]) {
      const planned = await step({ mode: "plan", number, inputs: plan });
      assert.equal(planned.code, 0, planned.raw);
      assert.equal(planned.log.includes("continuing from the journal"), number > 1, planned.log);
      assert.equal(await done(), number === 1 ? "list" : "");
      assert.equal(planned.outputs["matrix"], '{"include":[{"shard":"1/2"},{"shard":"2/2"}]}');
      assert.doesNotMatch(planned.log, /Delivery:/);
      pattern = planned.outputs["journal-pattern"] ?? "";
      planPath = planned.outputs["journal"] ?? "";
      await upload(planned);
    }
    assert.match(pattern, /^agent-jobs-[0-9a-f]{8}-\*$/);
    await workspace.write("plan/journal.jsonl", await readFile(planPath, "utf8"));
    // In a matrix, on another runner.
    const shard = await step({
      inputs: { shard: "1/2", resume: "plan", leg: '{"shard":"1/2"}' },
      env: { RUNNER_OS: "macOS" },
    });
    assert.equal(shard.code, 0, shard.raw);
    assert.equal(await done(), "a");
    assert.ok(shard.outputs["journal-artifact"]?.startsWith(pattern.replace("*", "")));
    assert.doesNotMatch(shard.log, /Delivery:/);
    await workspace.write("shard.jsonl", await workspace.read("out/journal.jsonl"));
    for (const [resume, of] of [
      ["plan", "a plan"],
      ["shard.jsonl", "shard 1/2"],
    ] as const) {
      const whole = await step({ inputs: { resume } });
      assert.match(whole.outputs["reason"] ?? "", new RegExp(`it is the journal of ${of}, which`));
    }
    const merged = await step({ mode: "merge", inputs: { journals: "plan\nshard.jsonl" } });
    assert.match(merged.outputs["reason"] ?? "", /shard 2\/2 is missing/);
    assert.equal(await done(), "");
    assert.deepEqual(
      api.requests.filter(({ path }) => !path.includes("/actions/")),
      [],
    );
  });
});

describe("the comments of legs", () => {
  it("are apart, and each leg finds its own again after a push", async (t) => {
    const { github, commit, step } = await repositoryWith(t, { "jobs.json": entry });
    const legs: readonly Attempt[] = [
      { inputs: { model: "driving=x" } },
      { inputs: { model: "driving=y" } },
      { inputs: { permissions: "workspace" } },
      { inputs: { leg: '{"os":"macos"}' } },
      { env: { RUNNER_OS: "macOS" } },
      {},
    ];
    for (const run of ["99", "100"])
      for (const { inputs, env } of legs) {
        const result = await step({
          event: "pull-request-target",
          env: { GITHUB_RUN_ID: run, ...env },
          // A later run compares with another commit, and is the same leg.
          inputs: {
            entry: "jobs.json",
            base: run === "99" ? commit : base,
            ...inputs,
          },
        });
        assert.equal(result.code, 0, result.raw);
        assert.match(result.log, /Delivery: report comment on #7.* done/, result.raw);
      }
    const found = github.comments.map(({ body }) => readMarker(body)?.leg);
    assert.equal(found.length, legs.length);
    assert.equal(new Set(found).size, legs.length);
  });
});
