/** A further attempt of a workflow run: it pays only for what the earlier one lacks. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { zipSync } from "fflate";
import { startGithubServer } from "../rig/github-server.ts";
import { modelServer } from "../rig/model-server.ts";
import { runStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = `
models: { driving: gpt-5-mini }
tasks:
  first: { model: { category: driving }, prompt: "First. Call job_report." }
  second: { model: { category: driving }, prompt: "Second, after: $report-of-first" }
jobs:
  both: { work: { kind: Seq, works: [{ kind: Ref, taskId: first }, { kind: Ref, taskId: second }] } }
`;

/** Of commands alone: they show as well what is run, and need no runtime. */
const commands = `
models: { driving: gpt-5-mini }
tasks: {}
jobs:
  both: { work: { kind: Seq, works: [{ kind: Run, run: echo first >> done }, { kind: Run, run: echo second >> done }] } }
`;

async function world(t: TestContext) {
  const workspace = await makeWorkspace(t, { "jobs.yml": entry });
  const prompts: string[] = [];
  let current = 1;
  const model = await modelServer(t, ({ prompt, toolResults }) => {
    if (toolResults.length > 0) return { text: "Done." };
    prompts.push(prompt);
    if (prompt.includes("First."))
      return { toolCalls: [{ name: "job_report", arguments: { markdown: "It is fine." } }] };
    return current === 1 ? { status: 400 } : { text: "Done." };
  });
  const answers: Record<string, unknown> = {};
  const api = await startGithubServer(t, { permissions: { octocat: "write" }, answers });
  let name = "";
  return {
    /** A step of this attempt. `uploaded`: the artifact of the earlier one. */
    step: async (attempt: number, uploaded?: Buffer): Promise<StepResult> => {
      current = attempt;
      const found = { id: 5, name, expired: false, size_in_bytes: uploaded?.length };
      answers[`/repos/octo/shop/actions/runs/99/artifacts?name=${name}&per_page=10`] = {
        artifacts: uploaded === undefined ? [] : [found],
      };
      answers["/repos/octo/shop/actions/artifacts/5/zip"] = uploaded;
      const result = await runStep(t, {
        workspace: workspace.path,
        apiUrl: api.url,
        inputs: {
          entry: "jobs.yml",
          "output-dir": "out",
          resume: "auto",
          "github-token": "ghs_0123456789abcdef",
          "provider-base-url": model.baseUrl,
          "provider-api-key": "key-0123456789",
        },
        env: { GITHUB_RUN_ATTEMPT: String(attempt), GITHUB_JOB: "review" },
      });
      if (attempt === 1) name = result.outputs["journal-artifact"] ?? "";
      return result;
    },
    workspace,
    journal: () => readFile(join(workspace.path, "out/journal.jsonl")),
    /** What the model was asked first, in each turn since the last call. */
    prompts: () => prompts.splice(0),
  };
}

const zipped = (files: Readonly<Record<string, Uint8Array>>): Buffer => Buffer.from(zipSync(files));

describe("a further attempt with `resume: auto`", () => {
  it("continues from the journal that the earlier one has uploaded", async (t) => {
    const { step, journal, prompts, workspace } = await world(t);
    const first = await step(1);
    assert.equal(first.outputs["result"], "failure", first.raw);
    assert.match(first.outputs["journal-artifact"] ?? "", /^agent-jobs-[0-9a-f]{8}-review-1$/);
    assert.equal(prompts().length, 2);
    const left = await journal();

    const second = await step(2, zipped({ "out.jsonl": left }));
    assert.equal(second.outputs["result"], "success", second.raw);
    assert.match(
      second.log,
      /Resume: continuing from the journal of attempt 1 \(agent-jobs-[0-9a-f]{8}-review-/,
    );
    assert.match(second.outputs["journal-artifact"] ?? "", /-2$/);
    const [prompt = "", ...others] = prompts();
    assert.deepEqual(others, []);
    assert.match(prompt, /^Second, after:[^]*It is fine\./);
    assert.match(second.summary, /It is fine/);

    const third = await step(2, zipped({ "out.jsonl": await journal() }));
    assert.equal(third.outputs["result"], "success", third.raw);
    assert.match(third.log, /the run [0-9a-f-]+ has already succeeded: nothing to do/);
    assert.deepEqual(prompts(), []);

    const unusable: readonly (readonly [Buffer | undefined, RegExp])[] = [
      [undefined, /no earlier attempt uploaded a journal/],
      [zipped({ "a.jsonl": Buffer.alloc(0) }), /is empty: the job starts from its beginning/],
      [Buffer.from("PK no"), /Can't read the journal of the earlier attempt: /],
      [
        zipped({ "a.jsonl": Buffer.from(String(left).replace('"seq":3', '"seq":9')) }),
        /from the beginning\. `resume`: can't resume .*line 4/,
      ],
    ];
    await workspace.write("jobs.yml", commands);
    for (const [uploaded, said] of unusable) {
      await workspace.write("done", "");
      const anew = await step(2, uploaded);
      assert.equal(anew.outputs["result"], "success", anew.raw);
      assert.match(anew.raw, said);
      assert.equal(await workspace.read("done"), "first\nsecond\n");
    }
  });
});
