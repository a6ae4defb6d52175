/** What goes between us and an MCP server at an address: requests that are answered, and bodies of a bounded size. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Transport } from "@modelcontextprotocol/client";
import { inCalmPieces } from "../../platform/breath.ts";
import { invalidResponse, longestMessage } from "./server-program.ts";

/**
 * `fetch` for a transport. It opens no stream that only waits for news: that would keep this process running, and the
 * list of tools is read again for each session.
 */
export async function boundedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const isStream = init.method === "GET" && !new Headers(init.headers).has("last-event-id");
  if (isStream) return new Response(null, { status: 405 });
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isEvents = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  const { status, statusText, headers } = response;
  const body = response.body.pipeThrough(limited(longestMessage, isEvents));
  return new Response(body, { status, statusText, headers });
}

/**
 * The client waits for ever for the answer that was to come in a stream which broke, and for one that isn't valid. This
 * answers in its place; an answer that nobody waits for is ignored.
 */
export function failBrokenStreams(transport: Transport): void {
  const send = transport.send.bind(transport);
  // The client reports what it can't read, but not in which stream it came.
  const stream = new AsyncLocalStorage<(reason: string) => void>();
  Object.assign(transport, {
    onerror: (error: Error) => isOfResponse(error) && stream.getStore()?.(invalidResponse),
  });
  transport.send = (message, options) => {
    const fail = (reason: string): void => {
      if (!("method" in message) || !("id" in message)) return;
      const error = { code: streamBroken, message: reason };
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    };
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      fail(brokenOff);
    };
    return stream.run(fail, () => send(message, { ...options, onRequestStreamEnd }));
  };
}

/** What is wrong is not the id: it is no request, and then it may be the result or the error. */
function isOfResponse({ name, message }: Error): boolean {
  if (name !== "ZodError") return false;
  return /"path":\s*\[\s*"method"/.test(message) && !/"path":\s*\[\s*"id"/.test(message);
}

/** Of the codes that are free for implementations. */
const streamBroken = -32_000;
const brokenOff = "The response of the server broke off or was too large.";

/** `byEvent`: the limit is for what comes between two empty lines. */
function limited(most: number, byEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    async transform(piece, controller) {
      const end = byEvent ? endOfLastEvent(piece) : -1;
      length = end === -1 ? length + piece.length : piece.length - end;
      if (length <= most) {
        for await (const part of inCalmPieces(piece)) controller.enqueue(part);
      } else
        controller.error(new Error(`The server sent more than ${most / 1024 / 1024} MB at once.`));
    },
  });
}

function endOfLastEvent(piece: Uint8Array): number {
  const text = Buffer.from(piece).toString("latin1");
  return Math.max(text.lastIndexOf("\n\n"), text.lastIndexOf("\n\r\n"));
}
