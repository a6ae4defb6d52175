/** Whatever is sent to the server, it answers with a status below 500, at once, and goes on. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { anyCharacter } from "../rig/any-character.ts";
import { holds } from "../rig/fuzz.ts";
import { ask, serve } from "../host/http-rig.ts";

const names =
  "api test config copilot session task job journal start stop live events query status running models";
const others = "hello greet gpt-5-mini __proto__ %00 %ZZ .. %2e%2e %2F * page.js";
const words = fc.constantFrom("", ...names.split(" "), ...others.split(" "));
const segment = fc.oneof(
  { weight: 4, arbitrary: words },
  fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => encodeURIComponent(text)),
);
const path = fc
  .tuple(fc.constantFrom("/api/", "/api/copilot/", "/", "//"), fc.array(segment, { maxLength: 6 }))
  .map(([root, rest]) => `${root}${rest.join("/")}`)
  // It would end the server.
  .filter((text) => !/^\/api\/(?:[^/]+\/)*stop$/.test(decoded(text)) || text.length > 60);
const method = fc.constantFrom("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE");
const headerText = fc.stringMatching(/^[\x21-\x7e]{0,40}$/);
const headerNames =
  "Origin Cookie Authorization Last-Event-ID Sec-Fetch-Site Range Accept Content-Type If-None-Match X-Forwarded-For Referer";
const headers = fc.dictionary(
  fc.constantFrom(...headerNames.split(" ")),
  fc.oneof(headerText, fc.constantFrom("same-origin", "none", "null", "bytes=0-1", "0", "1e9")),
  { maxKeys: 4 },
);
const body = fc.oneof(
  fc.constant(undefined),
  fc.string({ unit: anyCharacter, maxLength: 200 }),
  fc.uint8Array({ maxLength: 200 }),
  fc.constantFrom("/", "/tmp\ninput", "/tmp\0", "relative", "\r\n/tmp"),
);

function decoded(text: string): string {
  try {
    return new URL(text, "http://x").pathname;
  } catch {
    return text;
  }
}

describe("the server", () => {
  it("answers every request with a status below 500, errors with a reason", async (t) => {
    const { port } = await serve(t);
    await holds(
      t,
      fc.asyncProperty(path, method, headers, body, async (target, verb, head, sent) => {
        const framed: Record<string, string> =
          sent === undefined ? {} : { "Content-Length": String(Buffer.byteLength(sent)) };
        const answer = await ask(port, target, {
          method: verb,
          headers: { ...head, ...framed },
          ...(sent === undefined ? {} : { body: sent }),
          signal: AbortSignal.timeout(30_000),
        });
        assert.ok(answer.status >= 200 && answer.status < 500, String(answer.status));
        if (answer.status < 400 || verb === "HEAD") return;
        const { json } = answer;
        assert.ok(typeof json === "object" && json !== null);
        assert.deepEqual(Object.keys(json), ["error", "reason"]);
      }),
      300,
    );
  });

  it("survives bytes that are no request", async (t) => {
    const { port } = await serve(t);
    const line = fc
      .tuple(method, path, fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/9.9", ""))
      .map((parts) => parts.join(" "));
    const bytes = fc
      .array(
        fc.oneof(
          fc.string({ unit: anyCharacter, maxLength: 60 }),
          line,
          fc.constantFrom("Host: 127.0.0.1", "Content-Length: 5", "Transfer-Encoding: chunked"),
          fc.constantFrom("Expect: 100-continue", "Upgrade: h2c", "Connection: upgrade", "", "0"),
        ),
        { maxLength: 8 },
      )
      .map((lines) => lines.join("\r\n"));
    await holds(
      t,
      fc.asyncProperty(bytes, async (text) => {
        await sendAndHangUp(port, text);
        const { status } = await ask(port, "/api/test");
        assert.equal(status, 200);
      }),
      150,
    );
  });
});

/** Resolves when the server has closed the connection as well. */
function sendAndHangUp(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    socket.resume();
    socket.end(text);
  });
}
