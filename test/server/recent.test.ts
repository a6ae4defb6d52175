/** `copilot/job/recent`: what the page shows of the jobs beyond the documented answers. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { startServer, type AgentServer } from "../rig/server.ts";

let server: AgentServer;
before(async () => {
  server = await startServer({
    entry: {
      models: { driving: "gpt-5-mini" },
      tasks: {
        greet: {
          model: { category: "driving" },
          prompt: "Greet $user-input.",
          requireUserInput: true,
        },
      },
      jobs: { hello: { work: { kind: "Ref", taskId: "greet" } } },
    },
  });
});
after(() => server.stop());

it(
  "says when a run started and ended, and with which folder and input",
  { timeout: 120_000 },
  async () => {
    const work = join(server.folder, "work");
    const { jobId } = await server.post("copilot/job/start/hello", `${work}\na newcomer\nand all`);
    assert.ok(typeof jobId === "string");
    await server.follow(jobId);
    const { jobs } = await server.get("copilot/job/recent");
    assert.ok(Array.isArray(jobs) && jobs.length === 1);
    const { startTime, endTime, tasks, ...run } = jobs[0];
    assert.deepEqual(run, {
      jobId,
      jobName: "hello",
      status: "Succeeded",
      workingDirectory: work,
      userInput: "a newcomer\nand all",
    });
    assert.ok(new Date(startTime).toISOString() === startTime && startTime <= endTime);
    assert.deepEqual(
      tasks.map((task: { status: string }) => task.status),
      ["Succeeded"],
    );
  },
);
