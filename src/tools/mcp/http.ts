/** What goes between us and an MCP server at an address: requests that are answered, and bodies of a bounded size. */
import type { Transport } from "@modelcontextprotocol/client";
import { inCalmPieces } from "../../platform/breath.ts";
import { longestMessage } from "./server-program.ts";

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

/** The client waits for ever for the answer that was to come in a stream which broke. This answers in its place. */
export function failBrokenStreams(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (!("method" in message) || !("id" in message)) return;
      // An answer that nobody waits for any more is ignored.
      const error = { code: streamBroken, message: brokenOff };
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
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
