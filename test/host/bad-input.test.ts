/** Every bad request gets the documented error, or a 4xx with a reason. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { makeWorkspace } from "../rig/workspace.ts";
import { JournalFolder } from "../../src/reports/journals.ts";
import { isRefused, serve, smallEntry } from "./http-rig.ts";

const megabyte = 1024 * 1024;

/** A route of each kind. */
const routes = [
  "test",
  "config",
  "copilot/models",
  "copilot/session/start/m",
  "copilot/session/s/stop",
  "copilot/session/s/query",
  "copilot/session/s/live",
  "copilot/session/s/events",
  "copilot/task",
  "copilot/task/start/t/session/s",
  "copilot/task/t/stop",
  "copilot/task/t/live",
  "copilot/task/t/events",
  "copilot/job",
  "copilot/job/start/j",
  "copilot/job/j/stop",
  "copilot/job/j/live",
  "copilot/job/j/events",
  "copilot/job/j/journal",
  "copilot/job/j/status",
  "copilot/job/running",
  "copilot/journal",
];

describe("a request", () => {
  it("is a GET or a POST on every route of the API", async (t) => {
    const { ask } = await serve(t);
    for (const route of routes) {
      for (const method of ["GET", "POST"])
        assert.equal((await ask(`/api/${route}`, { method })).status, 200, `${method} ${route}`);
      for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
        const answer = await ask(`/api/${route}`, { method });
        isRefused(answer, 405, "MethodNotAllowed");
        assert.equal(answer.headers.allow, "GET, POST");
      }
      assert.equal((await ask(`/api/${route}`, { method: "HEAD" })).status, 405);
    }
  });

  it("is a GET or a HEAD on the page", async (t) => {
    const { ask } = await serve(t);
    for (const path of ["/", "/page.js", "/page.css", "/index.html", "/jobTracking.html"]) {
      const page = await ask(path);
      const head = await ask(path, { method: "HEAD" });
      assert.equal(head.status, page.status);
      assert.equal(head.text, "");
      for (const method of ["POST", "DELETE", "OPTIONS"])
        isRefused(await ask(path, { method }), 405, "MethodNotAllowed");
    }
  });

  it("finds nothing at other paths, and never leaves the server's own", async (t) => {
    const { ask } = await serve(t);
    for (const path of [
      "/api",
      "/api/",
      "/api/test/",
      "//api/test",
      "/api//test",
      "/API/test",
      "/api/copilot",
      "/api/copilot/session/s",
      "/api/copilot/session/s/live/more",
      "/api/../page.ts",
      "/../../etc/passwd",
      "/%2e%2e/%2e%2e/etc/passwd",
      "/..%2f..%2fetc/passwd",
      "/page.js/",
      "/page.js%00",
      "/__proto__",
      "/api/__proto__",
      "/api/constructor",
      "/api/copilot/journal/nothing",
      "/api/copilot/journal/..%2f..%2fetc%2fpasswd",
    ])
      isRefused(await ask(path), 404, "NotFound");
  });

  it("is refused if its target is no path, or is encoded wrongly", async (t) => {
    const { ask, port } = await serve(t);
    for (const path of [
      "/api/%",
      "/api/%ZZ",
      "/api/copilot/session/%C3%28/live",
      "/%E0%A4%A",
      `http://127.0.0.1:${port}/api/test`,
      "http://evil.example/api/test",
      "*",
    ])
      isRefused(await ask(path), 400, "BadRequest");
  });

  it("with bytes that are no HTTP gets a reason, and the connection is closed", async (t) => {
    const { raw, ask } = await serve(t);
    const longHeader = `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(40_000)}\r\n\r\n`;
    for (const [bytes, status] of [
      ["hello\r\n\r\n", 400],
      ["FOO /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n", 400],
      ["GET /api/test HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
      ["GET /api/test HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 400],
      ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: nonsense\r\n\r\n", 400],
      ["CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n", 405],
      [longHeader, 431],
    ] as const) {
      const answer = await raw(bytes);
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), bytes.slice(0, 40));
      assert.match(answer, /\{"error":"\w+","reason":"[^"]+\."\}/, bytes.slice(0, 40));
      assert.doesNotMatch(answer, /\n\s+at /);
    }
    assert.equal((await ask("/api/test")).status, 200);
  });

  it("may expect something unknown, which is ignored", async (t) => {
    const { ask } = await serve(t);
    const answer = await ask("/api/test", { headers: { Expect: "the-unexpected" } });
    assert.equal(answer.status, 200);
  });
});

it("the journals of a folder that was removed are refused with a reason", async (t) => {
  const { ask } = await serve(t, { journals: new JournalFolder("/does/not/exist") });
  isRefused(await ask("/api/copilot/journal"), 404, "NotFound");
  isRefused(await ask("/api/copilot/journal/a.jsonl"), 404, "NotFound");
});

describe("a body", () => {
  it("may have one megabyte", async (t) => {
    const { ask } = await serve(t);
    const query = (length: number): ReturnType<typeof ask> =>
      ask("/api/copilot/session/s/query", { method: "POST", body: "x".repeat(length) });
    assert.deepEqual((await query(megabyte)).json, { error: "SessionNotFound" });
    isRefused(await query(megabyte + 1), 413, "BodyTooLarge");
  });

  it("without an end is refused after 32 MB", async (t) => {
    const { ask } = await serve(t);
    const body = "x".repeat(40 * megabyte);
    const headers = { "Transfer-Encoding": "chunked" };
    const answer = await ask("/api/test", { method: "POST", headers, body });
    isRefused(answer, 413, "BodyTooLarge");
  });

  it("that is announced with an absurd length is refused before it is sent", async (t) => {
    const { raw, port } = await serve(t);
    const answer = await raw(
      `POST /api/test HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 99999999999\r\n\r\nx`,
    );
    assert.match(answer, /^HTTP\/1.1 413 [\s\S]*"BodyTooLarge"/);
  });
});

it("an id that nobody has given out is not found, under each name for it", async (t) => {
  const { api } = await serve(t);
  for (const id of ["nothing", "__proto__", "constructor", "%00", "a%2Fb", "%F0%9F%98%80", "-1"])
    for (const [error, ...routes] of [
      [
        "SessionNotFound",
        ...["stop", "query", "live", "events"].map((one) => `session/${id}/${one}`),
      ],
      ["SessionNotFound", `task/start/greet/session/${id}`],
      ["TaskNotFound", ...["stop", "live", "events"].map((one) => `task/${id}/${one}`)],
      ["JobNotFound", ...["stop", "live", "events"].map((one) => `job/${id}/${one}`)],
      ["JobNotFound", `job/${id}/journal`, `job/${id}/status`, `job/start/${id}`],
      ["ModelIdNotFound", `session/start/${id}`],
    ])
      for (const route of routes)
        assert.deepEqual(await api(`copilot/${route}`, "/"), { error }, route);
});

it("a working directory comes before the user input that a job lacks", async (t) => {
  const { ask } = await serve(t);
  const start = (body: string): ReturnType<typeof ask> =>
    ask("/api/copilot/job/start/reply", { method: "POST", body });
  assert.deepEqual((await start("relative")).json, { error: "WorkingDirectoryNotAbsolutePath" });
  for (const body of ["/tmp", "/tmp\n", "/tmp\r\n"])
    isRefused(await start(body), 400, "UserInputRequired");
});

describe("installing an entry", () => {
  it("takes files of the folder only, whatever their path says", async (t) => {
    const outside = await makeWorkspace(t, { "entry.json": JSON.stringify(smallEntry) });
    const workspace = await makeWorkspace(t, {
      "entries/entry.json": JSON.stringify(smallEntry),
      "entries/deep/er/entry.json": JSON.stringify(smallEntry),
      "entries-2/entry.json": JSON.stringify(smallEntry),
    });
    const at = (path: string): string => join(workspace.path, path);
    await symlink(join(outside.path, "entry.json"), at("entries/link.json"));
    await symlink(outside.path, at("entries/folder"));
    await symlink(at("entries/entry.json"), at("entries/inside.json"));
    const { api } = await serve(t, { entriesFolder: at("entries") });
    const install = (path: string): Promise<unknown> => api("copilot/test/installJobsEntry", path);

    for (const path of [
      join(outside.path, "entry.json"),
      at("entries/link.json"),
      at("entries/folder/entry.json"),
      at("entries-2/entry.json"),
      `${workspace.path}/entries/../entries-2/entry.json`,
      `${workspace.path}/entries/../entries/entry.json`,
      at("entries/missing.json"),
      at("entries"),
      "entries/entry.json",
      "",
      "/etc/passwd",
      `${at("entries/entry.json")}\0`,
    ]) {
      const answer = await install(path);
      assert.ok(typeof answer === "object" && answer !== null && "result" in answer, path);
      assert.equal(answer.result, "InvalidatePath", path);
    }
    for (const path of ["entries/entry.json", "entries/deep/er/entry.json", "entries/inside.json"])
      assert.deepEqual(await install(at(path)), { result: "OK" });
    assert.deepEqual(await install(`${at("entries/entry.json")}\n`), { result: "OK" });
  });
});

describe("a journal", () => {
  it("is read from the folder of --journals only", async (t) => {
    const event = JSON.stringify({ type: "run.started", runId: "r", time: 0 });
    const outside = await makeWorkspace(t, { "other.jsonl": event });
    const workspace = await makeWorkspace(t, { "journals/own.jsonl": event, "top.jsonl": event });
    const folder = join(workspace.path, "journals");
    await symlink(join(outside.path, "other.jsonl"), join(folder, "link.jsonl"));
    const { ask, api } = await serve(t, { journals: new JournalFolder(folder) });
    for (const name of ["link.jsonl", "..%2Ftop.jsonl", "%2Fetc%2Fpasswd", "own.jsonl%00", "."])
      isRefused(await ask(`/api/copilot/journal/${name}`), 404, "NotFound");
    assert.equal((await ask("/api/copilot/journal/own.jsonl")).status, 200);
    const { journals } = Object(await api("copilot/journal"));
    assert.equal(Array.from(journals, (one) => Object(one).name).join(), "own.jsonl");
  });
});
