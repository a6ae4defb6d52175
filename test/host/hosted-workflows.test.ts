/** Workflows in the entry of a host: when they are read, what they are given, and what keeps them from starting. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import type { JobHostOptions } from "../../src/host/host-options.ts";
import type { LiveRuns } from "../../src/host/live-runs.ts";
import type { Entry } from "../../src/entry/model.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { drain, makeLive, started } from "./live-rig.ts";

const ask = workflowText(`PARAMS["NAME, TONE=kind"]
START --> ASK_OK["Greet {{NAME}}, {{TONE}}?"] --> CHECK_OK{RESULT == yes}
CHECK_OK -->|yes| SUCCESS
CHECK_OK -->|no| FAILED`);
const write = `---\npermissions: workspace\n---\n${workflowText('START --> EXECUTE_A["touch made.txt && ls made.txt"]')}`;
const talk = workflowText("START --> PROMPT_A[User Hi]", "## User Hi\n\nHi\n");
const two = workflowText('START --> ASK_A["One?"] --> ASK_B["Two?"]');
const files = {
  "flows/two.wf.md": two,
  "flows/look.wf.md": `---\npermissions: read-only\n---\n${workflowText("START --> SUCCESS")}`,
  "flows/ask.wf.md": ask,
  "flows/write.wf.md": write,
  "flows/talk.wf.md": talk,
};

const flow = (file: string, params?: Record<string, string>): Entry => ({
  models: { driving: "m" },
  tasks: {},
  jobs: { job: { work: { kind: "Flow", file, ...(params && { params }) } } },
});

async function makeHost(t: TestContext, options: JobHostOptions = {}) {
  const { path: folder } = await makeWorkspace(t, files);
  const host = new JobHost({ environment: { PATH: process.env["PATH"] }, ...options });
  t.after(() => host.close());
  return { host, folder, of: (name: string) => join(folder, "flows", name) };
}

/** The question that waits; `activity`: once it is of this one. */
async function waiting(live: LiveRuns, jobId: string, activity?: string) {
  for (;;) {
    const [question] = live.job(jobId)?.questions ?? [];
    if (question && (activity ?? question.activity) === question.activity) return question;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("a host with workflows", () => {
  it("reads them when the entry is installed, relative to its folder", async (t) => {
    const { host, folder } = await makeHost(t, { answers: { ASK_OK: ["yes"] } });
    const entry = flow("ask.wf.md", { NAME: "Ada" });
    const wrong = { name: "DiagnosticsError", message: /ask\.wf\.md/ };
    await assert.rejects(host.installJobsEntry(entry, { folder }), wrong);
    await host.installJobsEntry(entry, { folder: join(folder, "flows") });
    const { outcome, works } = await host.runJob("job", { workingDirectory: folder });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(works[0]?.taskId, "ask.wf.md");
  });

  it("installs a workflow as an entry with one job, which takes parameters", async (t) => {
    const asked: string[] = [];
    const { host, of } = await makeHost(t, {
      ask: ({ question }) => {
        asked.push(question);
        return Promise.resolve({ kind: "answered", text: "yes" });
      },
    });
    await host.installEntryFile(of("ask.wf.md"));
    assert.deepEqual(Object.keys(host.ensureInstalledEntry().jobs), ["ask.wf.md"]);
    const { outcome } = await host.runJob("ask.wf.md", { params: { NAME: "Ada" } });
    assert.deepEqual([outcome, asked], [{ kind: "succeeded" }, ["Greet Ada, kind?"]]);
    await assert.rejects(host.runJob("ask.wf.md"), { name: "DiagnosticsError" });
    await host.installJobsEntry({ ...flow(of("ask.wf.md"), { NAME: "a" }) });
    await assert.rejects(host.runJob("job", { params: { NAME: "b" } }), /Only a workflow/);
  });

  it("reports incomplete records of a job, and rejects unknown options", async (t) => {
    const { host, of, folder } = await makeHost(t, {
      answers: { ASK_OK: ["yes"] },
      journals: "/dev/null/journals",
    });
    await host.installEntryFile(of("ask.wf.md"));
    const params = { NAME: "Ada" };
    const { outcome, incomplete } = await host.runJob("ask.wf.md", { params });
    assert.deepEqual([outcome.kind, incomplete.length], ["succeeded", 1]);
    assert.match(incomplete[0] ?? "", /^The journal is incomplete: ./);
    // A program without types.
    const misspelt: object = { params, permissions: "read-only", workingDirectory: folder };
    await assert.rejects(host.runJob("ask.wf.md", misspelt), {
      name: "TypeError",
      message: /permissions is not an option/,
    });
  });

  it("refuses a start without the model that the workflow needs", async (t) => {
    const { host, of, folder } = await makeHost(t);
    await host.installEntryFile(of("talk.wf.md"));
    await assert.rejects(host.runJob("talk.wf.md"), /talk\.wf\.md names no model/);
    const refused = await host.live.startJob("talk.wf.md", "", folder);
    assert.ok(refused.kind === "refused" && refused.reason === "NotStarted");
    const { host: other } = await makeHost(t, { models: { driving: "m" } });
    await other.installEntryFile(of("talk.wf.md"));
    const again = await other.live.startJob("talk.wf.md", "", folder);
    assert.ok(again.kind === "refused");
    assert.doesNotMatch(again.message, /names no model/);
    // Neither a model nor a way to one.
    await host.installEntryFile(of("ask.wf.md"));
    started(await host.live.startJob("ask.wf.md", "", folder, { NAME: "a" }));
  });

  it("rehearses a workflow that may write in a copy of the folder, and others in the folder itself", async (t) => {
    const { path } = await makeWorkspace(t, files);
    for (const name of ["write", "look"]) {
      const entry = flow(join(path, `flows/${name}.wf.md`));
      const { live, folder } = await makeLive(t, entry, [{ turns: ["unused"], optional: true }]);
      const { jobId } = started(await live.startJob("job", "", folder));
      const events = await drain(live, "journal", jobId);
      assert.equal(events[0]?.["workingDirectory"] === folder, name === "look");
      const end = events.find(({ type }) => type === "work.ended");
      if (name === "write") assert.match(String(end?.["report"]), /made\.txt\n[^]*made\.txt/);
      assert.equal(existsSync(join(folder, "made.txt")), false);
    }
  });
});

describe("a question of a run", () => {
  it("is not answered by a late answer to the one before", async (t) => {
    const { host, of, folder } = await makeHost(t);
    await host.installEntryFile(of("two.wf.md"));
    const { live } = host;
    const { jobId } = started(await live.startJob("two.wf.md", "", folder));
    const first = await waiting(live, jobId);
    assert.equal(live.answer(jobId, "one", first.id), undefined);
    await waiting(live, jobId, "ASK_B");
    assert.equal(live.answer(jobId, "one", first.id)?.reason, "QuestionNotFound");
    assert.equal(live.answer(jobId, "two"), undefined);
    assert.deepEqual((await drain(live, "job", jobId)).at(-2), { callback: "jobSucceeded" });
  });

  it("ends with its run", async (t) => {
    const { host, of, folder } = await makeHost(t);
    await host.installEntryFile(of("ask.wf.md"));
    const { live } = host;
    const { jobId } = started(await live.startJob("ask.wf.md", "", folder, { NAME: "Ada" }));
    await waiting(live, jobId);
    live.stopJob(jobId);
    assert.deepEqual((await drain(live, "job", jobId)).at(-2), { callback: "jobCanceled" });
    assert.deepEqual(live.job(jobId)?.questions, []);
  });
});
