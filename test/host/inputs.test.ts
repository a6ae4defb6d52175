/** The inputs of an entry on the server: what a start is told, given, and refused. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { isRefused, serve } from "./http-rig.ts";
import { drain } from "./live-rig.ts";

const inputs = {
  topic: { description: "What about", required: true, options: ["tea", "milk"] },
  tone: { description: "How", default: "kind" },
};

async function served(t: TestContext) {
  const { path: folder } = await makeWorkspace(t, {});
  const model = await modelServer(t, () => ({ text: "Done." }));
  const host = new JobHost({
    environment: { PATH: process.env["PATH"] },
    provider: { baseUrl: model.baseUrl, type: "openai" },
  });
  t.after(() => host.close());
  await host.installJobsEntry({
    models: { driving: "m" },
    inputs,
    tasks: { a: { model: { category: "driving" }, prompt: "Write on $input-topic, $input-tone." } },
    jobs: { j: { work: { kind: "Ref", taskId: "a" } } },
  });
  const server = await serve(t, { host });
  const start = (given: object) =>
    server.ask("/api/copilot/job/start/j", {
      method: "POST",
      body: JSON.stringify({ workingDirectory: folder, ...given }),
    });
  return { host, server, folder, model, start };
}

describe("the inputs of an entry", () => {
  it("are told before a start, given with it, and kept for the next one", async (t) => {
    const { host, server, model, start } = await served(t);
    assert.deepEqual(Object(await server.api("copilot/job")).inputs, inputs);
    const { json } = await start({ inputs: { topic: "tea" } });
    const { jobId } = Object(json);
    assert.equal(typeof jobId, "string", JSON.stringify(json));
    await drain(host.live, "job", jobId);
    assert.match(model.requests[0]?.prompt ?? "", /^Write on tea, kind\.$/m);
    const [recent] = Object(await server.api("copilot/job/recent")).jobs;
    assert.deepEqual(recent.inputs, { topic: "tea" });
  });

  it("are refused if they are missing, unknown or not among the options", async (t) => {
    const { host, folder, start } = await served(t);
    for (const [given, reason] of [
      [{}, /topic is required/],
      [{ inputs: { topic: "beer" } }, /must be one of tea, milk/],
      [{ inputs: { topic: "tea", topik: "x" } }, /no input \\"topik\\"/],
    ] as const) {
      const answer = await start(given);
      isRefused(answer, 400, "InputsNotPossible");
      assert.match(JSON.stringify(answer.json), reason);
    }
    isRefused(await start({ inputs: { topic: 1 } }), 400, "BadRequest");
    await assert.rejects(host.runJob("j", { workingDirectory: folder }), /topic is required/);
    const { outcome } = await host.runJob("j", {
      workingDirectory: folder,
      inputs: { topic: "milk" },
    });
    assert.equal(outcome.kind, "succeeded");
  });
});
