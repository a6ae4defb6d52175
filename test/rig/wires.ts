/**
 * The other two wire APIs of a scripted model server: OpenAI's responses and Anthropic's messages, streaming. Their
 * requests are read into the form of chat completions, so that one script and one assertion serve all three.
 */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface ModelMessage {
  readonly role: string;
  readonly content: string;
  readonly toolCalls: readonly ModelCall[];
  readonly toolCallId?: string;
}

export interface ScriptedCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | string;
  readonly id?: string;
}

interface Reply {
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  readonly finishReason?: string;
}

export type Wire = "completions" | "responses" | "messages";

export function wireOf(path: string): Wire {
  const [address = ""] = path.split("?");
  if (address.endsWith("/responses")) return "responses";
  return address.endsWith("/messages") ? "messages" : "completions";
}

export function messagesOf(wire: "responses" | "messages", body: unknown): ModelMessage[] {
  const fields = object(body);
  if (wire === "responses") {
    return [
      ...texts("system", fields["instructions"]),
      ...list(fields["input"]).flatMap((item) => inputItem(object(item))),
    ];
  }
  return [
    ...texts("system", fields["system"]),
    ...list(fields["messages"]).flatMap((message) => {
      const { role, content } = object(message);
      return typeof content === "string"
        ? texts(string(role), content)
        : list(content).flatMap((block) => contentBlock(string(role), object(block)));
    }),
  ];
}

function inputItem(item: Record<string, unknown>): ModelMessage[] {
  switch (item["type"]) {
    case "function_call": {
      const [id, name] = [string(item["call_id"]), string(item["name"])];
      const call = { id, name, arguments: string(item["arguments"]) };
      return [{ role: "assistant", content: "", toolCalls: [call] }];
    }
    case "function_call_output":
      return [toolResult(string(item["call_id"]), item["output"])];
    case "message":
    case undefined:
      return texts(string(item["role"]), item["content"]);
    default:
      return [];
  }
}

function contentBlock(role: string, block: Record<string, unknown>): ModelMessage[] {
  switch (block["type"]) {
    case "tool_use": {
      const [id, name] = [string(block["id"]), string(block["name"])];
      const call = { id, name, arguments: JSON.stringify(block["input"]) };
      return [{ role, content: "", toolCalls: [call] }];
    }
    case "tool_result":
      return [toolResult(string(block["tool_use_id"]), block["content"])];
    default:
      return texts(role, [block]);
  }
}

function toolResult(toolCallId: string, output: unknown): ModelMessage {
  return { role: "tool", content: contentText(output), toolCalls: [], toolCallId };
}

function texts(role: string, content: unknown): ModelMessage[] {
  const parts = typeof content === "string" ? [{ text: content }] : list(content);
  return parts.map((part) => ({ role, content: string(object(part)["text"]), toolCalls: [] }));
}

export function contentText(content: unknown): string {
  return texts("", content)
    .map((part) => part.content)
    .join("");
}

/** The results of the tool calls. The runtime sends those of one answer in the order in which they
 * ended; here they stand in that of the calls, so that a test can name them by their place. */
export function resultsOf(messages: readonly ModelMessage[]): string[] {
  const answers: { calls: string[]; results: ModelMessage[] }[] = [];
  for (const message of messages) {
    let answer = answers.at(-1);
    if (answer === undefined || (message.role !== "tool" && answer.results.length > 0)) {
      answer = { calls: [], results: [] };
      answers.push(answer);
    }
    if (message.role === "tool") answer.results.push(message);
    else answer.calls.push(...message.toolCalls.map(({ id }) => id));
  }
  return answers.flatMap(({ calls, results }) => {
    const place = ({ toolCallId = "" }: ModelMessage): number => calls.indexOf(toolCallId);
    return results.toSorted((a, b) => place(a) - place(b)).map(({ content }) => content);
  });
}

/** The events of a streaming answer. */
export function eventsOf(wire: "responses" | "messages", model: string, reply: Reply): string[] {
  const events = wire === "responses" ? responseEvents(model, reply) : messageEvents(model, reply);
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

function responseEvents(model: string, reply: Reply): StreamEvent[] {
  const text = reply.text ?? "";
  const part = { type: "output_text", text, annotations: [] };
  const message = { type: "message", id: "m", role: "assistant", status: "completed" };
  const calls = callsOf(reply).map(({ id, name, text: given }) => ({
    type: "function_call",
    id: `item-${id}`,
    call_id: id,
    name,
    arguments: given,
    status: "completed",
  }));
  const items = [...(text === "" ? [] : [{ ...message, content: [part] }]), ...calls];
  const response = {
    id: `response-${Math.random()}`,
    object: "response",
    created_at: 1,
    model,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
  };
  const events = items.flatMap((item, index): StreamEvent[] => {
    const at = { output_index: index, item_id: item.id };
    const done = { type: "response.output_item.done", output_index: index, item };
    if ("arguments" in item) {
      return [
        {
          type: "response.output_item.added",
          output_index: index,
          item: { ...item, arguments: "", status: "in_progress" },
        },
        { type: "response.function_call_arguments.delta", ...at, delta: item.arguments },
        { type: "response.function_call_arguments.done", ...at, arguments: item.arguments },
        done,
      ];
    }
    const inText = { ...at, content_index: 0 };
    return [
      {
        type: "response.output_item.added",
        output_index: index,
        item: { ...item, content: [], status: "in_progress" },
      },
      { type: "response.content_part.added", ...inText, part: { ...part, text: "" } },
      ...words(text).map((delta) => ({ type: "response.output_text.delta", ...inText, delta })),
      { type: "response.output_text.done", ...inText, text },
      { type: "response.content_part.done", ...inText, part },
      done,
    ];
  });
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  const { finishReason: reason } = reply;
  const status = reason === undefined ? "completed" : "incomplete";
  const incomplete = reason === undefined ? {} : { incomplete_details: { reason } };
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...events,
    {
      type: `response.${status}`,
      response: { ...response, status, ...incomplete, output: items, output_text: text, usage },
    },
  ].map((event, index) => ({ ...event, sequence_number: index }));
}

function messageEvents(model: string, reply: Reply): StreamEvent[] {
  const calls = callsOf(reply);
  const text = reply.text ?? "";
  const blocks = [
    ...(text === ""
      ? []
      : [
          {
            begin: { type: "text", text: "" },
            deltas: words(text).map((word) => ({ type: "text_delta", text: word })),
          },
        ]),
    ...calls.map(({ id, name, text: given }) => ({
      begin: { type: "tool_use", id, name, input: {} },
      deltas: [{ type: "input_json_delta", partial_json: given }],
    })),
  ];
  return [
    {
      type: "message_start",
      message: {
        id: "message",
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 0 },
      },
    },
    ...blocks.flatMap(({ begin, deltas }, index) => [
      { type: "content_block_start", index, content_block: begin },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: {
        stop_reason: reply.finishReason ?? (calls.length > 0 ? "tool_use" : "end_turn"),
        stop_sequence: null,
      },
      usage: { output_tokens: 5 },
    },
    { type: "message_stop" },
  ];
}

export function callsOf(reply: Reply): { id: string; name: string; text: string }[] {
  return (reply.toolCalls ?? []).map(({ name, id, arguments: given }: ScriptedCall) => ({
    id: id ?? `call-${Math.random().toString(36).slice(2, 10)}`,
    name,
    text: typeof given === "string" ? given : JSON.stringify(given ?? {}),
  }));
}

export function words(content: string): string[] {
  return content.match(/\S*\s*/g)?.filter((word) => word !== "") ?? [];
}

export function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
