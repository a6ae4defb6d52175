/**
 * A scripted model server on loopback: what a test needs to stand in for a model.
 *
 * It records every request, asks the script what to do with it, and answers in the form that the request asked
 * for: chat completions (SSE for `stream: true`, else JSON), responses or Anthropic's messages (SSE), by the path.
 * Port 0, so any number run side by side.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Owner } from "./workspace.ts";
import {
  callsOf,
  contentText,
  eventsOf,
  list,
  messagesOf,
  object,
  resultsOf,
  string,
  wireOf,
  words,
} from "./wires.ts";
import type { ModelMessage, ScriptedCall } from "./wires.ts";

export type { ModelMessage, ScriptedCall };

export interface RecordedRequest {
  /** Counts from 0, over the whole server. */
  readonly index: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ModelMessage[];
  /** Names of the tools that the model was offered. */
  readonly tools: readonly string[];
  /** The last user message, without the date that the runtime puts before it. */
  readonly prompt: string;
  /** Results of the tool calls after the last user message, those of an answer in its order. */
  readonly toolResults: readonly string[];
  readonly body: unknown;
}

export interface Reply {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  /** Milliseconds to wait before the headers. */
  readonly delay?: number;
  /** An HTTP error instead of an answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is instead of an answer, with `status` or 200. */
  readonly raw?: string;
  /** `before` the headers, or in `mid`-stream: never go on. `keep-alive`: only SSE comments, for ever. */
  readonly hang?: "before" | "mid" | "keep-alive";
  /** Break the connection in the middle of the answer. */
  readonly cut?: boolean;
  /** Break the connection instead of an answer. */
  readonly reset?: boolean;
  /** An answer without an end. */
  readonly flood?: Flood;
  readonly finishReason?: string;
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number };
  /** What Copilot bills for the answer. */
  readonly nanoAiu?: number;
}

export interface Flood {
  /** Default: `text`. */
  readonly of?: "text" | "reasoning" | "arguments";
  /** How many characters come at once. */
  readonly chunk: number;
  /** Default: as fast as they are taken. */
  readonly bytesPerSecond?: number;
}

export type Script = (request: RecordedRequest) => Reply | Promise<Reply>;

export interface ModelServer {
  /** For the provider's `baseUrl`. */
  readonly baseUrl: string;
  readonly requests: readonly RecordedRequest[];
  /** Breaks every connection and takes no new one, until `accept()`. */
  refuse(): void;
  accept(): void;
  close(): Promise<void>;
}

export interface ModelServerOptions {
  /** False: for so many requests that they can't all be remembered. */
  readonly keep?: boolean;
  /** The models that it lists: an id, or all that is listed of it. */
  readonly models?: readonly (string | object)[];
  readonly others?: Readonly<Record<string, () => object>>;
}

export async function startModelServer(
  script: Script,
  { keep = true, models = [], others = {} }: ModelServerOptions = {},
): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  let count = 0;
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((incoming, response) => {
    void handle(incoming, response).catch((error: unknown) => {
      response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    // Which models there are, or whether anybody is there: no request of an agent.
    const data = models.map((model) => (typeof model === "string" ? { id: model } : model));
    const listed = incoming.method === "GET" && incoming.url?.endsWith("/models") === true;
    const other = listed ? { data } : others[incoming.url ?? ""];
    if (other !== undefined) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(typeof other === "function" ? other() : other));
      return;
    }
    const request = record(count, incoming, await text(incoming));
    count += 1;
    if (keep) requests.push(request);
    const reply = await script(request);
    if (reply.delay !== undefined) {
      await new Promise((resolve) => {
        timers.add(setTimeout(resolve, reply.delay));
      });
    }
    if (reply.hang === "before") return;
    if (reply.reset === true) {
      incoming.socket.resetAndDestroy();
      return;
    }
    if (reply.status !== undefined || reply.raw !== undefined) {
      response.writeHead(reply.status ?? 200, {
        "content-type": "application/json",
        ...reply.headers,
      });
      response.end(reply.raw ?? JSON.stringify({ error: { message: `scripted ${reply.status}` } }));
      return;
    }
    if (!request.stream) {
      response.writeHead(200, { "content-type": "application/json", ...reply.headers });
      response.end(JSON.stringify(completion(request, reply)));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
    if (reply.hang === "keep-alive") {
      const timer = setInterval(() => response.write(": keep-alive\n\n"), 20);
      timers.add(timer);
      return;
    }
    if (reply.flood !== undefined) {
      await flood(request, reply.flood, response);
      return;
    }
    const chunks = streamed(request, reply);
    const stopAt =
      reply.hang === "mid" || reply.cut === true ? Math.ceil(chunks.length / 3) : chunks.length;
    for (const chunk of chunks.slice(0, stopAt)) response.write(chunk);
    if (reply.cut === true) setTimeout(() => incoming.socket.destroy(), 20);
    else if (reply.hang !== "mid") response.end();
  }

  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("No port.");
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    requests,
    refuse() {
      server.close();
      server.closeAllConnections();
    },
    accept() {
      if (!server.listening) server.listen(address.port, "127.0.0.1");
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** A call of the shell. */
export const bash = (command: string, more: object = {}): ScriptedCall => ({
  name: "bash",
  arguments: { command, description: "d", ...more },
});

/** One that ends with the test. */
export async function modelServer(
  test: Owner,
  script: Script,
  options?: ModelServerOptions,
): Promise<ModelServer> {
  const server = await startModelServer(script, options);
  test.after(() => server.close());
  return server;
}

/** Until the other side has had enough. Takes its time about it, so that whoever shares this process can work. */
async function flood(
  request: Asked,
  { of = "text", chunk, bytesPerSecond = Infinity }: Flood,
  response: ServerResponse,
): Promise<void> {
  const text = "lorem ipsum ".repeat(Math.ceil(chunk / 12)).slice(0, chunk);
  const open = { index: 0, id: "c", type: "function", function: { name: "job_prepare_document" } };
  const pieces = {
    text: { content: text },
    reasoning: { reasoning_content: text },
    arguments: { tool_calls: [{ index: 0, function: { arguments: text } }] },
  };
  const line = (delta: object): string => `data: ${streamChunk(request, delta)}\n\n`;
  response.write(line(of === "arguments" ? { tool_calls: [open] } : { role: "assistant" }));
  const piece = line(pieces[of]);
  const began = performance.now();
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  for (let sent = 0; !gone.signal.aborted; sent += chunk) {
    const due = (sent / bytesPerSecond) * 1000 - (performance.now() - began);
    if (due > 0) await new Promise((resolve) => setTimeout(resolve, due));
    else if (sent % (chunk * 16) === 0) await new Promise((resolve) => setImmediate(resolve));
    if (!response.write(piece)) {
      await once(response, "drain", gone).catch(() => undefined);
    }
  }
}

/** The body of a streaming answer, for a scripted transport. */
export function streamedBody(model: string, reply: Reply): string {
  return streamed({ model, index: 0, path: "" }, reply).join("");
}

type Asked = Pick<RecordedRequest, "model" | "index" | "path">;

function calls(reply: Reply): object[] {
  return callsOf(reply).map(({ id, name, text: given }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: given },
  }));
}

function finish(reply: Reply): string {
  return reply.finishReason ?? ((reply.toolCalls ?? []).length > 0 ? "tool_calls" : "stop");
}

function usageOf({ usage = { input: 10, output: 5 }, nanoAiu }: Reply): object {
  const { input, output, cached } = usage;
  const counts = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const prompt_tokens_details = { cached_tokens: cached };
  return {
    usage: cached === undefined ? counts : { ...counts, prompt_tokens_details },
    ...(nanoAiu !== undefined && { copilot_usage: { total_nano_aiu: nanoAiu } }),
  };
}

const streamBase = ({ index, model }: Asked): object => ({
  id: `completion-${index}`,
  object: "chat.completion.chunk",
  created: 1,
  model,
});

function streamChunk(request: Asked, delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return JSON.stringify({ ...streamBase(request), choices });
}

/** The events of the stream. */
function streamed(request: Asked, reply: Reply): string[] {
  const wire = wireOf(request.path);
  if (wire !== "completions") return eventsOf(wire, request.model, reply);
  const base = streamBase(request);
  const chunk = (delta: object, finishReason?: string): string =>
    streamChunk(request, delta, finishReason);
  const toolCalls = calls(reply);
  return [
    chunk({ role: "assistant" }),
    ...words(reply.reasoning ?? "").map((word) => chunk({ reasoning_content: word })),
    ...words(reply.text ?? "").map((word) => chunk({ content: word })),
    ...toolCalls.map((call) => chunk({ tool_calls: [call] })),
    chunk({}, finish(reply)),
    JSON.stringify({ ...base, choices: [], ...usageOf(reply) }),
    "[DONE]",
  ].map((data) => `data: ${data}\n\n`);
}

function completion(request: Asked, reply: Reply): object {
  const toolCalls = calls(reply);
  return {
    id: `completion-${request.index}`,
    object: "chat.completion",
    created: 1,
    model: request.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: reply.text ?? null,
          ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
        },
        finish_reason: finish(reply),
      },
    ],
    ...usageOf(reply),
  };
}

async function text(incoming: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of incoming) body += String(part);
  return body;
}

function record(index: number, incoming: IncomingMessage, body: string): RecordedRequest {
  return parseRequest(index, incoming.url ?? "", headersOf(incoming), body);
}

/** Reads a request of any of the wire APIs; also for a scripted transport. */
export function parseRequest(
  index: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): RecordedRequest {
  const parsed: unknown = body === "" ? {} : JSON.parse(body);
  const fields = object(parsed);
  const wire = wireOf(path);
  const messages =
    wire === "completions"
      ? list(fields["messages"]).map((message) => modelMessage(object(message)))
      : messagesOf(wire, parsed);
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  return {
    index,
    path,
    headers,
    model: string(fields["model"]),
    stream: fields["stream"] === true,
    messages,
    tools: list(fields["tools"]).map((tool) => {
      const { function: called, custom } = object(tool);
      return string(object(called ?? custom ?? tool)["name"]);
    }),
    prompt: (messages[lastUser]?.content ?? "").replace(
      /^<current_datetime>[^<]*<\/current_datetime>\n\n/,
      "",
    ),
    toolResults: resultsOf(messages.slice(lastUser + 1)),
    body: parsed,
  };
}

function modelMessage(fields: Record<string, unknown>): ModelMessage {
  const toolCallId = fields["tool_call_id"];
  return {
    role: string(fields["role"]),
    content: contentText(fields["content"]),
    toolCalls: list(fields["tool_calls"]).map((call) => {
      const called = object(object(call)["function"]);
      const [id, name] = [string(object(call)["id"]), string(called["name"])];
      return { id, name, arguments: string(called["arguments"]) };
    }),
    ...(typeof toolCallId === "string" ? { toolCallId } : {}),
  };
}

function headersOf(incoming: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
  );
}
