/** A workflow on the server: what a start needs, and questions that a client answers. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { JobHost } from "../../src/host/job-host.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { isRefused, serve } from "./http-rig.ts";
import { drain } from "./live-rig.ts";

const text = `# Greeting\n\n${workflowText(`PARAMS["NAME, TONE=kind"]
START --> ASK_A["Greet {{NAME}}, {{TONE}}?"] --> CHECK_A{RESULT == yes}
CHECK_A -->|yes| SUCCESS
CHECK_A -->|no| FAILED`)}`;

async function serveWorkflow(t: TestContext) {
  const { path: folder } = await makeWorkspace(t, { "ask.wf.md": text });
  const host = new JobHost({ environment: { PATH: process.env["PATH"] } });
  await host.installEntryFile(join(folder, "ask.wf.md"));
  const server = await serve(t, { host });
  const post = (path: string, body: string) =>
    server.ask(`/api/copilot/job/${path}`, { method: "POST", body });
  const start = async (params: object = { NAME: "Ada" }) => {
    const body = JSON.stringify({ workingDirectory: folder, params });
    const { json } = await post("start/ask.wf.md", body);
    assert.ok(typeof json === "object" && json !== null && "jobId" in json, JSON.stringify(json));
    return String(json.jobId);
  };
  return { server, folder, post, start };
}

type Served = Awaited<ReturnType<typeof serveWorkflow>>;

async function question({ post }: Served, jobId: string): Promise<Record<string, string>> {
  for (;;) {
    const { questions: [first] = [] } = Object((await post(`${jobId}/status`, "")).json);
    if (first !== undefined) return first;
    await sleep(20);
  }
}

const live = ({ server }: Served, jobId: string) => drain(server.host.live, "job", jobId);

describe("a workflow on the server", () => {
  it("is a job with parameters", async (t) => {
    const { server } = await serveWorkflow(t);
    const jobs = await server.api("copilot/job");
    assert.ok(typeof jobs === "object" && jobs !== null && "workflows" in jobs);
    const { "ask.wf.md": facts } = Object(jobs.workflows);
    assert.deepEqual(facts.title, "Greeting");
    assert.deepEqual(facts.parameters, [{ name: "NAME" }, { name: "TONE", default: "kind" }]);
  });

  it("starts with parameters in a JSON body, and names those that are missing", async (t) => {
    const served = await serveWorkflow(t);
    const { folder, post, start } = served;
    const refused = await post("start/ask.wf.md", `${folder}\nsome input`);
    isRefused(refused, 400, "ParametersRequired");
    assert.deepEqual(Object(refused.json).parameters, ["NAME"]);
    for (const body of [
      "{",
      `{"params":{}}`,
      `{"workingDirectory":1}`,
      `{"workingDirectory":"/","params":{"A":1}}`,
      `{"workingDirectory":"/","x":""}`,
    ])
      isRefused(await post("start/ask.wf.md", body), 400, "BadRequest");
    const jobId = await start({ NAME: "Ada", TONE: "cold" });
    assert.equal((await question(served, jobId))["question"], "Greet Ada, cold?");
  });

  it("asks, and takes the first answer", async (t) => {
    const served = await serveWorkflow(t);
    const { server, post, start } = served;
    const jobId = await start();
    const { id } = await question(served, jobId);
    assert.match(JSON.stringify(await server.api("copilot/job/recent")), /"questions":\[/);
    isRefused(await server.ask(`/api/copilot/job/${jobId}/answer`), 405, "MethodNotAllowed");
    isRefused(await post(`${jobId}/answer?question=0.0.99`, "yes"), 409, "QuestionNotFound");
    const answers = await Promise.all([
      post(`${jobId}/answer?question=${id}`, "yes"),
      post(`${jobId}/answer?question=${id}`, "yes"),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 409],
    );
    const names = (await live(served, jobId)).map((one) => Object(one).callback);
    assert.deepEqual(names.slice(0, -1), ["workStarted", "workStopped", "jobSucceeded"]);
    isRefused(await post(`${jobId}/answer`, "yes"), 409, "QuestionNotFound");
    assert.deepEqual((await post("none/answer", "yes")).json, { error: "JobNotFound" });
  });

  it("keeps the lines of an answer", async (t) => {
    const served = await serveWorkflow(t);
    const { post, start } = served;
    const jobId = await start();
    await question(served, jobId);
    assert.equal((await post(`${jobId}/answer`, "no\nnot at all\n")).status, 200);
    await live(served, jobId);
    const { text: journal } = await post(`${jobId}/journal`, "");
    assert.match(journal, /"result":"no\\nnot at all\\n?"/);
  });

  it("has no parameters if it is another job", async (t) => {
    const server = await serve(t);
    const body = JSON.stringify({ workingDirectory: "/tmp", params: { A: "b" } });
    isRefused(
      await server.ask("/api/copilot/job/start/hello", { method: "POST", body }),
      400,
      "ParametersNotPossible",
    );
    assert.deepEqual(Object.keys(Object(await server.api("copilot/job"))), [
      "grid",
      "jobs",
      "chart",
    ]);
  });
});
