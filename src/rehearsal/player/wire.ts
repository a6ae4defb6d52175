/** OpenAI chat completions: what a rehearsal must read of a request, and how it answers. */
import { onAbort } from "../../platform/waiting.ts";
import { isRecord, parsedJson, urlOf } from "../../text/guards.ts";
import type { ModelRequest } from "../../sessions/request-handler.ts";

export interface ChatRequest {
  readonly model: string;
  /** The prompts of the session so far, as they were sent; the last one is being answered. */
  readonly prompts: readonly [string, ...string[]];
  /** The first user message, unchanged. It distinguishes the conversations of sub-agents. */
  readonly opening: string;
  /** How many answers the newest prompt has had already. */
  readonly answered: number;
  /** Results of the tools of the last answer, in the order in which they ended. */
  readonly toolResults: readonly { readonly callId: string; readonly text: string }[];
  readonly offeredTools: ReadonlyMap<string, OfferedTool>;
}

export interface OfferedTool {
  readonly type: "function" | "custom";
  readonly known: string;
}

/** The part of an answer that arrives. It may never end. */
export interface Partial {
  readonly text: string;
  readonly reasoning: string;
}

export interface Answer extends Partial {
  readonly tools: readonly { readonly name: string; readonly input: string }[];
  readonly finish?: "length" | "content_filter" | "error" | undefined;
  readonly usage?: { readonly input?: number; readonly output?: number } | undefined;
}

export type DecodedRequest =
  | { readonly kind: "chat"; readonly chat: ChatRequest }
  | { readonly kind: "other"; readonly reason: string };

/** The messages of a history are passed over. */
export function decodeRequest({
  url,
  method,
  body,
  history = 0,
  toolNames,
}: Pick<ModelRequest, "url" | "method" | "body" | "history" | "toolNames">): DecodedRequest {
  const request = method === "GET" || method === "HEAD" ? undefined : parsedJson(body);
  const messages = isRecord(request) ? request["messages"] : undefined;
  if (!isRecord(request) || !Array.isArray(messages)) {
    return {
      kind: "other",
      reason: `${method} ${pathOf(url)} is not a chat completion; a rehearsal only supports the wire API "completions"`,
    };
  }
  const turns = withoutHistory(messages.filter(isRecord), history);
  const users = turns.flatMap((message, index) =>
    message["role"] === "user" ? [{ index, text: textOf(message["content"]) }] : [],
  );
  // The runtime also speaks as the user (images, notices); only real prompts carry the time.
  const timed = users.filter(({ text }) => PROMPT_TIME.test(text));
  const prompts = timed.length > 0 ? timed : users;
  const [first] = prompts;
  const last = prompts.at(-1);
  if (first === undefined || last === undefined) {
    return { kind: "other", reason: `${method} ${pathOf(url)} has no user message` };
  }
  const since = turns.slice(last.index + 1);
  const lastAnswer = since.findLastIndex((message) => message["role"] === "assistant");
  return {
    kind: "chat",
    chat: {
      model: stringOf(request["model"]),
      prompts: [promptOf(first.text), ...prompts.slice(1).map(({ text }) => promptOf(text))],
      opening: users[0]?.text ?? first.text,
      answered: since.filter((message) => message["role"] === "assistant").length,
      toolResults: since
        .slice(lastAnswer + 1)
        .filter((message) => message["role"] === "tool")
        .map((message) => ({
          callId: stringOf(message["tool_call_id"]),
          text: textOf(message["content"]),
        })),
      offeredTools: offeredTools(request["tools"], toolNames),
    },
  };
}

function withoutHistory<T extends Readonly<Record<string, unknown>>>(
  messages: readonly T[],
  count: number,
): readonly T[] {
  if (count === 0) return messages;
  const isOfSystem = ({ role }: Readonly<Record<string, unknown>>): boolean =>
    role === "system" || role === "developer";
  const begin = messages.findIndex((message) => !isOfSystem(message));
  return [...messages.slice(0, begin), ...messages.slice(begin + count)];
}

/** The prefix that the runtime adds to every prompt. */
const PROMPT_TIME = /^<current_datetime>[^<]*<\/current_datetime>\n*/;

function promptOf(message: string): string {
  return message.replace(PROMPT_TIME, "");
}

function offeredTools(tools: unknown, names: ModelRequest["toolNames"]): Map<string, OfferedTool> {
  const offered = new Map<string, OfferedTool>();
  const add = (type: OfferedTool["type"], name: unknown): void => {
    const known = stringOf(name);
    offered.set(names?.get(known) ?? known, { type, known });
  };
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (!isRecord(tool)) continue;
    const { function: plain, custom } = tool;
    if (isRecord(plain)) add("function", plain["name"]);
    if (isRecord(custom)) add("custom", custom["name"]);
  }
  return offered;
}

/** By its own name, or by the one that the model knows. */
export function offeredTool(
  { offeredTools: offered }: ChatRequest,
  name: string,
): OfferedTool | undefined {
  return offered.get(name) ?? [...offered.values()].find(({ known }) => known === name);
}

/** The runtime always asks for a stream. The id of an answer also names its tool calls, so it is unique in its session. */
export function encodeAnswer(chat: ChatRequest, id: string, answer: Answer): Response {
  const calls = answer.tools.map(({ name: own, input }, index) => {
    const callId = callIdOf(id, index);
    const offered = offeredTool(chat, own);
    const name = offered?.known ?? own;
    return offered?.type === "custom"
      ? { id: callId, type: "custom", custom: { name, input } }
      : { id: callId, type: "function", function: { name, arguments: input } };
  });
  const finish = answer.finish ?? (calls.length > 0 ? "tool_calls" : "stop");
  const { input = 0, output = 0 } = answer.usage ?? {};
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return streamed([
    ...deltas(chat, id, answer),
    ...calls.map((call, index) => chunk(chat, id, { tool_calls: [{ index, ...call }] })),
    chunk(chat, id, {}, finish),
    event(JSON.stringify({ ...envelope(chat, id), choices: [], usage })),
    event("[DONE]"),
  ]);
}

/** The runtime reports the events of a call with this id. */
export function callIdOf(answerId: string, index: number): string {
  return `${answerId}_${index}`;
}

export function encodeCut(chat: ChatRequest, id: string, partial: Partial): Response {
  return streamed(deltas(chat, id, partial), () =>
    Promise.reject(new Error("The rehearsal closed the connection.")),
  );
}

export function encodeHang(
  chat: ChatRequest,
  id: string,
  partial: Partial,
  signal: AbortSignal,
): Response {
  return streamed(deltas(chat, id, partial), () => never(signal));
}

/** Rejects when `signal` aborts, and does nothing until then. */
export function never(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    onAbort(signal, () => reject(new Error("The request was aborted.")));
  });
}

export function encodeError(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ error: { message, type: "rehearsal", code: null } }, { status, headers });
}

/** A few deltas, as a model would send them, and never half a character. */
function deltas(chat: ChatRequest, id: string, { text, reasoning }: Partial): string[] {
  return [
    chunk(chat, id, { role: "assistant" }),
    ...pieces(reasoning).map((piece) => chunk(chat, id, { reasoning_content: piece })),
    ...pieces(text).map((piece) => chunk(chat, id, { content: piece })),
  ];
}

const PIECES = 3;

function pieces(text: string): string[] {
  const signs = Array.from(text);
  const size = Math.ceil(signs.length / PIECES);
  const all = Array.from({ length: PIECES }, (_, index) =>
    signs.slice(index * size, (index + 1) * size).join(""),
  );
  return all.filter((piece) => piece !== "");
}

function envelope(chat: ChatRequest, id: string) {
  return { id, object: "chat.completion.chunk", created: 0, model: chat.model };
}

function chunk(chat: ChatRequest, id: string, delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return event(JSON.stringify({ ...envelope(chat, id), choices }));
}

function event(data: string): string {
  return `data: ${data}\n\n`;
}

/** One event at a time, as it is read; then `afterwards`, and only then the end. */
function streamed(events: readonly string[], afterwards?: () => Promise<never>): Response {
  const encoder = new TextEncoder();
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const event = events[next];
      next += 1;
      if (event !== undefined) controller.enqueue(encoder.encode(event));
      else if (afterwards === undefined) controller.close();
      else await afterwards();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isRecord(part) ? stringOf(part["text"]) : "")).join("");
}

function pathOf(url: string): string {
  return urlOf(url)?.pathname ?? url;
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
