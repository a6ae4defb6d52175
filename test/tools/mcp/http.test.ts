/** Servers at an address that are not there, refuse, lead elsewhere or say too much. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../../src/platform/clock.ts";
import type { ToolProgress } from "../../../src/tools/tool.ts";
import { startCli } from "../../rig/cli.ts";
import { listen } from "../../rig/listen.ts";
import { makeWorkspace } from "../../rig/workspace.ts";
import {
  call,
  failure,
  makeMcpRig,
  never,
  ready,
  reasonOf,
  startEverything,
  toolNamed,
  value,
} from "./rig.ts";

interface Received {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly message: {
    readonly id?: unknown;
    readonly method?: string;
    readonly params?: {
      readonly arguments?: Readonly<Record<string, unknown>>;
      readonly _meta?: Readonly<Record<string, unknown>>;
    };
  };
}

/** A server on loopback that answers each message of the protocol as told. */
async function serve(
  t: TestContext,
  answer: (received: Received, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly received: Received[]; readonly away: Away }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const { method = "", headers } = request;
      const one = { method, headers, message: text === "" ? {} : JSON.parse(text) };
      received.push(one);
      // A kept connection may close at the moment of the next request.
      response.shouldKeepAlive = false;
      answer(one, response);
    });
  });
  const address = await listen(t, server);
  const away: Away = {
    begin: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
    end: async () => {
      server.listen(Number(new URL(address).port), "127.0.0.1");
      await once(server, "listening");
    },
  };
  return { url: `${address}/mcp`, received, away };
}

interface Away {
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Pauses take no time, but count for the limits. */
function quickClock(onPause: (pauses: number) => unknown = () => {}): Clock & { pauses: number } {
  let now = 0;
  const clock = {
    pauses: 0,
    now: () => now,
    sleep: async (milliseconds: number) => {
      now += milliseconds;
      await onPause((clock.pauses += 1));
    },
  };
  return clock;
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...body }));
}

/** A proper server with one tool, as far as `call` answers it. */
function proper(
  onCall: (received: Received, response: ServerResponse) => void,
  onStream?: (response: ServerResponse) => void,
): (received: Received, response: ServerResponse) => void {
  return (received, response) => {
    const { id, method } = received.message;
    if (received.method === "GET" && onStream !== undefined) return onStream(response);
    if (id === undefined) return void response.writeHead(202).end();
    switch (method) {
      case "initialize":
        return json(response, {
          id,
          result: {
            protocolVersion: "2025-06-18",
            capabilities: { tools: { listChanged: onStream !== undefined } },
            serverInfo: { name: "fixture", version: "1" },
          },
        });
      case "tools/list":
        return json(response, {
          id,
          result: { tools: [{ name: "call", inputSchema: { type: "object" } }] },
        });
      case "tools/call":
        return onCall(received, response);
      default:
        return json(response, { id, error: { code: -32_601, message: "Method not found" } });
    }
  };
}

test("headers are sent with every request, with the values of variables", async (t) => {
  const rig = await makeMcpRig(t, { secrets: ["hunter2hunter2"] });
  const answered = proper(({ message: { id }, headers }, response) =>
    json(response, {
      id,
      result: { content: [{ type: "text", text: `You are ${headers["authorization"]}.` }] },
    }),
  );
  const { url, received } = await serve(t, answered);
  const headers = { authorization: "Bearer env:KEY", "x-team": "docs" };
  const run = rig.run({ KEY: "hunter2hunter2" });
  const found = await run.toolsOf("docs", { url, headers }, never);
  assert.match(String(value(await call(toolNamed(found, "docs/call")))), /^You are Bearer \*+\.$/);
  assert.ok(received.length >= 4);
  for (const { headers: sent, method } of received) {
    assert.equal(sent["authorization"], "Bearer hunter2hunter2");
    assert.equal(sent["x-team"], "docs");
    // It doesn't say that it has news.
    assert.notEqual(method, "GET");
  }
});

test("a redirect to another host is not followed, so no header reaches it", async (t) => {
  const rig = await makeMcpRig(t);
  const elsewhere = await serve(t, (_, response) => void response.writeHead(500).end());
  const { url } = await serve(t, (_, response) => {
    response.writeHead(307, { location: elsewhere.url.replace("127.0.0.1", "localhost") }).end();
  });
  reasonOf(await rig.run().toolsOf("docs", { url, headers: { authorization: "secret" } }, never));
  assert.deepEqual(elsewhere.received, []);
});

test("a server that is not there, that refuses, or that isn't one is a failed start", async (t) => {
  const rig = await makeMcpRig(t);
  const run = rig.run();
  const gone = await startEverything(t);
  await gone.end();
  assert.match(reasonOf(await run.toolsOf("gone", { url: gone.url }, never)), /ECONNREFUSED/);
  const closed = await serve(t, (_, response) => void response.writeHead(401).end("no"));
  assert.match(reasonOf(await run.toolsOf("closed", closed, never)), /401|[Uu]nauthorized/);
  const page = await serve(t, (_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<p>hello</p>");
  });
  reasonOf(await run.toolsOf("page", page, never));
  const silent = await serve(t, () => {});
  const late = await run.toolsOf("silent", { ...silent, startSeconds: 2 }, never);
  assert.match(reasonOf(late), /within 2 s|timed out/);
  for (const url of ["file:///etc/passwd", "nonsense", "http://"]) {
    assert.match(reasonOf(await run.toolsOf(url, { url }, never)), /http or https address/);
  }
});

test("an answer without end is a failure of its call", async (t) => {
  const rig = await makeMcpRig(t);
  const { url } = await serve(
    t,
    proper((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const piece = `data: ${"x".repeat(1024 * 1024)}`;
      const write = (): void => {
        if (!response.destroyed) response.write(piece, write);
      };
      write();
    }),
  );
  const found = await rig.run().toolsOf("docs", { url }, never);
  assert.match(failure(await call(toolNamed(found, "docs/call"))), /broke off/);
});

test("an answer that breaks off is a failure of its call", async (t) => {
  const rig = await makeMcpRig(t);
  const ends: ((response: ServerResponse) => void)[] = [
    (response) => void response.end(),
    (response) => void response.destroy(),
  ];
  const { url } = await serve(
    t,
    proper((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": soon\n\n", () => ends.shift()?.(response));
    }),
  );
  const tool = toolNamed(await rig.run().toolsOf("docs", { url }, never), "docs/call");
  for (const way of ["ended", "cut"]) assert.match(failure(await call(tool)), /broke off/, way);
});

test("whatever comes for a call answers it, also in a stream that stays open", async (t) => {
  const { url } = await serve(
    t,
    proper(({ message: { id, params } }, response) => {
      const { how, ...answer } = params?.arguments ?? {};
      if (how === "json") return json(response, { id, ...answer });
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      const text = JSON.stringify({ jsonrpc: "2.0", id, ...answer }, null, 1);
      const [first = "", ...lines] = text.split("\n").map((line) => `data: ${line}\r\n`);
      response.write(`: hello\r\n\r\nid: 1\r\n${first}`, () => {
        response.write(`${lines.join("")}\r`, () => response.write("\n"));
      });
    }),
  );
  const found = await (await makeMcpRig(t)).run().toolsOf("docs", { url }, never);
  const answers: readonly (readonly [object, RegExp])[] = [
    [{ result: null }, /neither a result nor an error/],
    [{ id: null, error: { code: -32_000, message: "closed" } }, /closed/],
    [{ result: { content: [] }, error: { code: -32_000, message: "closed" } }, /closed/],
  ];
  for (const how of ["json", "stream"]) {
    for (const [answer, expected] of answers) {
      const outcome = await call(toolNamed(found, "docs/call"), { how, ...answer });
      assert.match(failure(outcome), expected, how);
    }
    const result = { content: [{ type: "text", text: "é", annotations: null }], isError: null };
    assert.equal(value(await call(toolNamed(found, "docs/call"), { how, result })), "é");
  }
});

test("a change of tools is heard while a call is answered", async (t) => {
  const rig = await makeMcpRig(t);
  const { url } = await serve(
    t,
    proper(({ message: { id } }, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
      const done = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } };
      response.end([changed, done].map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
    }),
  );
  const run = rig.run();
  const tool = toolNamed(await run.toolsOf("docs", { url }, never), "docs/call");
  const { version } = run;
  value(await call(tool));
  assert.notEqual(run.version, version);
});

test("a change of tools is heard between calls, by a stream that a server may end", async (t) => {
  const changed = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`;
  const streams: ServerResponse[] = [];
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const { url, received } = await serve(
    t,
    proper(
      () => {},
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        streams.push(response);
        open();
      },
    ),
  );
  const run = (await makeMcpRig(t)).run();
  ready(await run.toolsOf("docs", { url, headers: { "x-team": "docs" } }, never));
  await opened;
  const { version } = run;
  streams[0]?.end(changed);
  while (run.version === version) await setImmediate();
  const stream = received.find(({ method }) => method === "GET");
  assert.equal(stream?.headers["x-team"], "docs");
  // A process that has nothing else to do doesn't wait for news.
  const { path: cwd } = await makeWorkspace(t);
  const main = join(cwd, "waits.mjs");
  const room = new URL("../../../src/tools/mcp/servers.js", import.meta.url).href;
  const before = streams.length;
  await writeFile(
    main,
    `const { McpServers } = await import(${JSON.stringify(room)});
    const given = { environment: {}, redactor: { text: (text) => text }, version: "1" };
    const run = new McpServers(given).forRun({ variables: {} });
    await run.toolsOf("docs", { url: process.argv[2] }, new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 200));
    console.log("over");`,
  );
  const { code, stdout, stderr } = await startCli([url], { cwd, main }).ended;
  assert.deepEqual([code, stdout], [0, "over\n"], stderr);
  assert.ok(streams.length > before);
});

const answered = proper(({ message: { id } }, response) =>
  json(response, { id, result: { content: [{ type: "text", text: "here" }] } }),
);

test("a call tells the server which trace it belongs to", async (t) => {
  const { url, received } = await serve(t, answered);
  const tool = toolNamed(
    await (await makeMcpRig(t)).run().toolsOf("docs", { url }, never),
    "docs/call",
  );
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const context = { signal: never, onProgress: () => {}, traceparent };
  value(await tool.run({ id: "a", tool: tool.name, params: {} }, context));
  const metas = received.map(({ message }) => message.params?._meta?.["traceparent"]);
  assert.deepEqual(
    metas.filter((one) => one !== undefined),
    [traceparent],
  );
});

test("a server at an address that is away for a while is waited for, however often", async (t) => {
  const { url, away } = await serve(t, answered);
  const clock = quickClock((pauses) => (pauses % 10 === 0 ? away.end() : undefined));
  const run = (await makeMcpRig(t, { clock })).run();
  const tool = toolNamed(await run.toolsOf("docs", { url }, never), "docs/call");
  for (const pauses of [10, 20, 30, 40]) {
    await away.begin();
    const heard: ToolProgress[] = [];
    const outcome = await call(tool, {}, never, (one) => heard.push(one));
    assert.equal(value(outcome), "here");
    assert.equal(clock.pauses, pauses);
    assert.match(heard[0]?.message ?? "", /^Waiting for the MCP server docs: http:.*ECONNREFUSED/);
  }
  // The list that was read with the last connection is new enough for one session.
  ready(await run.toolsOf("docs", { url }, never));
  await away.begin();
  ready(await run.toolsOf("docs", { url }, never));
  assert.equal(clock.pauses, 50);
});

test("the first contact with a server that says it is busy is tried again within startSeconds", async (t) => {
  let isBusy = true;
  const { url, received } = await serve(t, (one, response) => {
    if (isBusy) response.writeHead(502).end("The proxy has no server.");
    else answered(one, response);
  });
  const clock = quickClock((pauses) => (isBusy = pauses < 5));
  ready(await (await makeMcpRig(t, { clock })).run().toolsOf("docs", { url }, never));
  assert.equal(clock.pauses, 5);
  isBusy = true;
  const late = (await makeMcpRig(t, { clock: quickClock() })).run();
  const reason = reasonOf(await late.toolsOf("docs", { url, startSeconds: 20 }, never));
  assert.match(
    reason,
    /^http:\/\/127\.0\.0\.1:\d+\/mcp: HTTP 502: [^]*\nTried \d times within 1\d s\.$/,
  );
  assert.ok(received.length > 10);
});

test("an address that has never answered is given up after five seconds, unless startSeconds is set", async (t) => {
  const { url, away } = await serve(t, answered);
  await away.begin();
  const waited = async (startSeconds?: number): Promise<number> => {
    const clock = quickClock();
    const run = (await makeMcpRig(t, { clock })).run();
    const server = { url, ...(startSeconds === undefined ? {} : { startSeconds }) };
    assert.match(reasonOf(await run.toolsOf("docs", server, never)), /ECONNREFUSED/);
    return clock.now();
  };
  assert.ok((await waited()) <= 5_000);
  assert.ok((await waited(40)) > 30_000);
});

test("a refusal for good is no absence, and an old transport is named", async (t) => {
  for (const status of [401, 403, 404, 405, 500]) {
    const { url } = await serve(t, (_, response) => void response.writeHead(status).end());
    const clock = quickClock();
    const run = (await makeMcpRig(t, { clock })).run();
    const reason = reasonOf(await run.toolsOf("docs", { url: `${url}?key=k3y` }, never));
    assert.ok(reason.startsWith(`${url}: HTTP ${status}: `), reason);
    assert.equal(/older transport/.test(reason), status === 405);
    assert.equal(clock.pauses, 0);
  }
});

test("a call that may have been carried out isn't sent again, unless its tool only reads", async (t) => {
  let calls = 0;
  const { url } = await serve(t, (one, response) => {
    const { id, method } = one.message;
    const schema = { inputSchema: { type: "object" } };
    const look = { name: "look", annotations: { readOnlyHint: true }, ...schema };
    if (method === "tools/list")
      return json(response, { id, result: { tools: [{ name: "call", ...schema }, look] } });
    if (method === "tools/call" && (calls += 1) % 2 === 1)
      return void response.writeHead(504).end();
    answered(one, response);
  });
  const run = (await makeMcpRig(t, { clock: quickClock() })).run();
  const found = await run.toolsOf("docs", { url }, never);
  assert.match(
    failure(await call(toolNamed(found, "docs/call"))),
    /HTTP 504: [^]*It is unknown whether the call was carried out\.$/,
  );
  assert.equal(value(await call(toolNamed(found, "docs/call"))), "here");
  assert.equal(value(await call(toolNamed(found, "docs/look"))), "here");
  assert.equal(calls, 4);
});

test("a session that the server has forgotten is begun again, once", async (t) => {
  let sessions = 0;
  let isForgetful = false;
  const { url } = await serve(t, (one, response) => {
    const { method } = one.message;
    if (method === "initialize") response.setHeader("mcp-session-id", `s${(sessions += 1)}`);
    const known = isForgetful ? undefined : `s${sessions}`;
    if (method === "tools/call" && one.headers["mcp-session-id"] !== known)
      return void response.writeHead(404).end();
    answered(one, response);
  });
  const run = (await makeMcpRig(t)).run();
  const tool = toolNamed(await run.toolsOf("docs", { url }, never), "docs/call");
  sessions += 1;
  assert.equal(value(await call(tool)), "here");
  isForgetful = true;
  assert.match(failure(await call(tool)), /HTTP 404/);
});
