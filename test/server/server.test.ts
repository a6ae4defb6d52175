/** `agent-jobs serve` itself: its plain routes, methods and bodies, what it answers to bad input, and its end. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, describe, it } from "node:test";
import { startServer, type AgentServer } from "../rig/server.ts";
import { recordOf, type Answer } from "../rig/answer.ts";
import { entryOf, model, ref, sessions } from "../rig/server-fixtures.ts";

const server = await startServer({
  entry: {
    ...entryOf({ ok: ref("ok"), hangs: ref("hangs") }),
    models: { driving: model, other: "another-model" },
  },
  sessions: [...sessions, { turns: ["Hello!"] }],
});
after(() => server.stop());

/** A status that no document names, with a reason in JSON. */
async function refused(route: string, init: RequestInit, status: number): Promise<void> {
  const response = await server.request(route, init);
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
  const answer = recordOf(text);
  assert.deepEqual(Object.keys(answer).sort(), ["error", "reason"]);
  assert.equal(typeof answer["reason"], "string");
  assert.doesNotMatch(text, /\bat .*\.[jt]s:\d/, "a stack trace");
}

describe("the plain routes", { concurrency: true }, () => {
  it("say hello", async () => {
    assert.deepEqual(await server.get("test"), { message: "Hello, world!" });
    assert.deepEqual(await server.post("test", "anything"), { message: "Hello, world!" });
  });

  it("name the root of the repository", async () => {
    assert.deepEqual(await server.get("config"), { repoRoot: server.folder });
  });

  it("list the models that the entry names", async () => {
    const { models, ...others } = await server.get("copilot/models");
    assert.deepEqual(others, {});
    assert.ok(Array.isArray(models));
    const [first] = models;
    assert.deepEqual(Object.keys(first).sort(), ["id", "multiplier", "name"]);
    assert.deepEqual(
      new Map(models.map((one) => [one.id, one.multiplier])),
      new Map([
        [model, 0],
        ["another-model", 0],
      ]),
    );
  });

  it("list the tasks of the entry", async () => {
    const { tasks } = await server.get("copilot/task");
    assert.ok(Array.isArray(tasks));
    assert.deepEqual(tasks[0], { name: "ok", requireUserInput: false });
  });
});

describe("bad input", { concurrency: true }, () => {
  for (const method of ["PUT", "DELETE", "PATCH"]) {
    it(`refuses the method ${method}`, async () => {
      for (const route of ["test", "copilot/job", "copilot/session/nobody/live"])
        await refused(route, { method }, 405);
    });
  }

  for (const route of [
    "",
    "nothing",
    "copilot",
    "copilot/job/start",
    "test/more",
    "copilot/task/x",
  ]) {
    it(`knows no route ${JSON.stringify(route)}`, () => refused(route, {}, 404));
  }

  it("refuses a body of 10 MB", async () => {
    const body = "x".repeat(10_000_000);
    for (const route of ["copilot/job/start/ok", "copilot/session/nobody/query", "test"])
      await refused(route, { method: "POST", body }, 413);
  });

  it("refuses a body that isn't UTF-8", async () => {
    const body = new Uint8Array([0x2f, 0x74, 0xff, 0xfe]);
    for (const route of ["copilot/job/start/ok", "copilot/session/start/gpt-5-mini"])
      await refused(route, { method: "POST", body }, 400);
  });

  it("refuses a path that isn't UTF-8", () => refused("copilot/job/start/%ff", {}, 400));

  it("lives on after a client that sends no HTTP, and one that sends half a request", async () => {
    const { hostname, port } = new URL(server.url);
    for (const text of [
      "no HTTP\r\n\r\n",
      "POST /api/test HTTP/1.1\r\nContent-Length: 9\r\n\r\nx",
    ]) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      await new Promise<void>((resolve) => socket.write(text, () => resolve()));
      socket.destroy();
    }
    assert.deepEqual(await server.get("test"), { message: "Hello, world!" });
  });

  it("answers beside 500 connections that say nothing", async () => {
    const { hostname, port } = new URL(server.url);
    const sockets = Array.from({ length: 500 }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on("error", () => {});
    assert.deepEqual(await server.get("test"), { message: "Hello, world!" });
    for (const socket of sockets) socket.destroy();
  });
});

describe("without --test", () => {
  it("starts with an entry, and installs no other", async () => {
    const other = await startServer({ test: false, args: [] });
    try {
      const response = await other.request("copilot/test/installJobsEntry", {
        method: "POST",
        body: `${other.folder}/entries/entry.json`,
      });
      assert.equal(response.status, 404);
      const { tasks } = await other.get("copilot/task");
      assert.ok(Array.isArray(tasks) && tasks.length > 0, "the example entry");
    } finally {
      await other.stop();
    }
  });
});

describe("stop", () => {
  it("ends what runs, says so to those who wait, and exits", async () => {
    const other = await startServer({
      entry: entryOf({ hangs: ref("hangs") }),
      sessions: [...sessions, { turns: ["Hello!"] }],
    });
    const jobId = await other.startJob("hangs");
    await other.takeUntil(`copilot/job/${jobId}`, (one) => "workId" in one);
    const sessionId = await other.startSession();
    const waiting = other.get(`copilot/session/${sessionId}/live`);
    const events = lastOf(other, `copilot/job/${jobId}/events`);
    const [answer, last] = await Promise.all([waiting, events, other.stop()]);
    assert.deepEqual(answer, { error: "SessionClosed" });
    assert.deepEqual(last, [{ callback: "jobCanceled" }, { error: "JobsClosed" }]);
  });

  it("refuses calls without an entry in a way that a client understands", async () => {
    const other = await startServer({ sessions });
    try {
      assert.deepEqual(await other.get("copilot/task"), { tasks: [] });
      assert.deepEqual(await other.get("copilot/job"), { grid: [], jobs: {}, chart: {} });
      assert.deepEqual(await other.post("copilot/job/start/ok", other.workingDirectory), {
        error: "JobNotFound",
      });
    } finally {
      await other.stop();
    }
  });
});

/** The last two events of a stream. */
async function lastOf(other: AgentServer, route: string): Promise<Answer[]> {
  const read: Answer[] = [];
  for await (const { data } of other.events(route)) read.push(data);
  return read.slice(-2);
}
