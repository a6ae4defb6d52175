/** Servers at an address that are not there, refuse, lead elsewhere or say too much. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { test, type TestContext } from "node:test";
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
  readonly message: { readonly id?: unknown; readonly method?: string };
}

/** A server on loopback that answers each message of the protocol as told. */
async function serve(
  t: TestContext,
  answer: (received: Received, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const { method = "", headers } = request;
      const one = { method, headers, message: text === "" ? {} : JSON.parse(text) };
      received.push(one);
      answer(one, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { url: `http://127.0.0.1:${address.port}/mcp`, received };
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...body }));
}

/** A proper server with one tool, as far as `call` answers it. */
function proper(
  onCall: (received: Received, response: ServerResponse) => void,
): (received: Received, response: ServerResponse) => void {
  return (received, response) => {
    const { id, method } = received.message;
    if (id === undefined) return void response.writeHead(202).end();
    switch (method) {
      case "initialize":
        return json(response, {
          id,
          result: {
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
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
    // A stream for news would keep the process running.
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

test("a server that goes away fails the call, and is reached again when it is back", async (t) => {
  const rig = await makeMcpRig(t);
  let isGone = false;
  const { url } = await serve(
    t,
    proper(({ message: { id } }, response) => {
      if (isGone) return void response.destroy();
      json(response, { id, result: { content: [{ type: "text", text: "here" }] } });
    }),
  );
  const run = rig.run();
  const tool = toolNamed(await run.toolsOf("docs", { url }, never), "docs/call");
  assert.equal(value(await call(tool)), "here");
  isGone = true;
  failure(await call(tool));
  isGone = false;
  assert.equal(value(await call(tool)), "here");
  ready(await run.toolsOf("docs", { url }, never));
});
