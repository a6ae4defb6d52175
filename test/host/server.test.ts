/** The plain routes, and a server without an entry. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import { isRefused, serve } from "./http-rig.ts";

describe("the plain routes", () => {
  it("say hello, and name the root of the repository", async (t) => {
    const { api } = await serve(t);
    assert.deepEqual(await api("test", "anything"), { message: "Hello, world!" });
    assert.deepEqual(await api("config"), { repoRoot: "/repository" });
  });

  it("install no entry without --test", async (t) => {
    const { ask } = await serve(t);
    const body = "/repository/entries/entry.json";
    const answer = await ask("/api/copilot/test/installJobsEntry", { method: "POST", body });
    isRefused(answer, 404, "NotFound");
  });

  it("answer without an entry in a way that a client understands", async (t) => {
    const { api } = await serve(t, { host: new JobHost({ environment: {} }) });
    assert.deepEqual(await api("copilot/task"), { tasks: [] });
    assert.deepEqual(await api("copilot/job"), { grid: [], jobs: {}, chart: {} });
    assert.deepEqual(await api("copilot/job/start/ok", "/tmp"), { error: "JobNotFound" });
  });
});

it("a body that isn't UTF-8 is refused", async (t) => {
  const { ask } = await serve(t);
  const body = new Uint8Array([0x2f, 0x74, 0xff, 0xfe]);
  for (const route of ["copilot/job/start/hello", "copilot/session/start/gpt-5-mini"])
    isRefused(await ask(`/api/${route}`, { method: "POST", body }), 400, "BadRequest");
});
