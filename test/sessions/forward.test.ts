/** Model requests that this process sends in place of the runtime. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { test } from "node:test";
import { forward } from "../../src/sessions/forward.ts";
import { listen } from "../rig/listen.ts";
import { sharedRig, neverAborted, turn } from "./rig.ts";

const headers = new Headers({ authorization: "Bearer k", "accept-encoding": "gzip" });
const post = { method: "POST", headers, body: "{}" };
const history = [{ role: "assistant", text: "Before" }] as const;

test("an answer streams", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "one two three four five six", hang: "mid" }));
  const session = await rig.open({ history });
  const stop = new AbortController();
  const { outcome } = await turn(session, "Hello", {
    signal: stop.signal,
    onActivity: ({ kind }) => void (kind === "message.delta" && stop.abort()),
  });
  assert.equal(outcome.kind, "canceled");
});

test("a redirect is followed, and another server gets no credentials", async (t) => {
  const got: IncomingHttpHeaders[] = [];
  const other = createServer((request, response) => {
    got.push(request.headers);
    response.writeHead(201, { "x-here": "yes" }).end("there");
  });
  const elsewhere = `${await listen(t, other)}/x`;
  const first = createServer((request, response) => {
    got.push(request.headers);
    const location = request.url === "/" ? "/second" : elsewhere;
    response.writeHead(308, { location }).end();
  });
  const url = await listen(t, first);
  const answer = await forward({ ...post, url }, {}, neverAborted);
  assert.deepEqual(
    [answer.status, answer.headers.get("x-here"), await answer.text()],
    [201, "yes", "there"],
  );
  assert.deepEqual(
    got.map(({ authorization }) => authorization),
    ["Bearer k", "Bearer k", undefined],
  );
  assert.ok(got.every((one) => one["accept-encoding"] === undefined));
});

test("a request goes through the proxy of the environment, unless NO_PROXY excludes it", async (t) => {
  const got: unknown[] = [];
  const proxy = createServer((request, response) => {
    got.push([request.url, request.headers.host, request.headers["proxy-authorization"]]);
    response.end("proxied");
  });
  const address = (await listen(t, proxy)).replace("//", "//me:p%40ss@");
  const url = "http://models.invalid/v1/chat/completions?a=b";
  const answer = await forward({ ...post, url }, { HTTP_PROXY: address }, neverAborted);
  assert.equal(await answer.text(), "proxied");
  const credentials = Buffer.from("me:p@ss").toString("base64");
  assert.deepEqual(got, [[url, "models.invalid", `Basic ${credentials}`]]);
  const excluded = { HTTP_PROXY: address, NO_PROXY: "models.invalid" };
  await assert.rejects(
    forward({ ...post, url }, excluded, neverAborted),
    /\[(ENOTFOUND|EAI_AGAIN)\]/,
  );
});

test("an HTTPS request goes through a tunnel of the proxy", async (t) => {
  const got: unknown[] = [];
  const proxy = createServer();
  proxy.on("connect", ({ url }, socket) => {
    got.push(url);
    if (got.length === 1) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    return socket.once("data", (hello: Buffer) => {
      got.push([hello[0], hello.includes("models.invalid")]);
      socket.destroy();
    });
  });
  const environment = { HTTPS_PROXY: await listen(t, proxy) };
  const url = "https://models.invalid/v1/messages";
  await assert.rejects(
    forward({ ...post, url }, environment, neverAborted),
    /answered 403 for models\.invalid:443/,
  );
  await assert.rejects(forward({ ...post, url }, environment, neverAborted));
  // 22: a TLS handshake, with the name of the server.
  assert.deepEqual(got, ["models.invalid:443", "models.invalid:443", [22, true]]);
});
