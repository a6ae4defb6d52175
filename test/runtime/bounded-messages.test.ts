import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { boundedMessages } from "../../src/runtime/bounded-messages.ts";

const long = "x".repeat(9 * 1024 * 1024);

function message(body: string): string {
  return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function event(type: string, data: object): string {
  const params = { sessionId: "5e55-10", event: { type, data, id: "1" } };
  return message(JSON.stringify({ jsonrpc: "2.0", method: "session.event", params }));
}

async function passed(text: string, size: number): Promise<string> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return (await buffer(boundedMessages(Readable.from(pieces)))).toString();
}

/** Assertions on texts of megabytes say only whether they hold: the texts would fill the log. */
const same = (one: string, other: string): void => assert.ok(one === other);

const small = [
  event("assistant.message_delta", { deltaContent: "hello, wörld" }),
  message("{}"),
  message(""),
  message('{"jsonrpc":"2.0","id":1,"result":null}'),
].join("");

test("messages pass as they are, in whatever pieces they come", async () => {
  for (const size of [1, 2, 7, 64 * 1024]) same(await passed(small + small, size), small + small);
});

test("in place of too large an event of an answer comes one that is larger than any answer may be", async () => {
  for (const [type, size] of [
    ["assistant.message_delta", 1000],
    ["assistant.message", 64 * 1024],
    ["assistant.reasoning", 2 ** 30],
  ] as const) {
    const large = event(type, { content: long });
    const got = await passed(small + large + small, size);
    assert.ok(got.length < 2 * small.length + 1000);
    assert.ok(got.startsWith(small) && got.endsWith(small));
    const [header = "", body = ""] = got.slice(small.length, -small.length).split("\r\n\r\n");
    assert.equal(header, `Content-Length: ${body.length}`);
    const { method, params } = JSON.parse(body);
    assert.equal(method, "session.event");
    assert.equal(params.sessionId, "5e55-10");
    assert.equal(params.event.type, "assistant.streaming_delta");
    assert.equal(params.event.data.totalResponseSizeBytes, Number.MAX_SAFE_INTEGER);
  }
});

test("large messages of other kinds pass", async () => {
  const others = [
    event("tool.execution_complete", { result: long }),
    message(JSON.stringify({ jsonrpc: "2.0", id: 3, result: long })),
    message(JSON.stringify({ jsonrpc: "2.0", id: 3, method: "tool.call", params: long })),
  ].join("");
  same(await passed(others + small, 1000), others + small);
});

test("what is no message passes, for the SDK to complain", async () => {
  for (const text of ["Error: no runtime\n".repeat(500), "Content-Type: a\r\n\r\n{}"]) {
    same(await passed(small + text, 100), small + text);
  }
});

test("it ends with its source, whether that ends or breaks", async () => {
  for (const end of [
    (source: PassThrough) => source.end(),
    (source: PassThrough) => source.destroy(),
    (source: PassThrough) => source.destroy(new Error("broken pipe")),
  ]) {
    const source = new PassThrough();
    const bounded = boundedMessages(source);
    bounded.resume();
    source.write(small);
    end(source);
    // `once` would reject at the error.
    await new Promise((resolve) => bounded.once("close", resolve));
  }
  const source = new PassThrough();
  const bounded = boundedMessages(source);
  source.write(small.slice(0, 10));
  const error = once(bounded, "error");
  source.destroy(new Error("broken pipe"));
  assert.match(String((await error)[0]), /broken pipe/);
});
