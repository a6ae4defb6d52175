/** A stand-in for the runtime: it asks the scripted model as the runtime was seen to ask. */
import assert from "node:assert/strict";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { loadScript } from "../../src/rehearsal/format/script.ts";
import { ScriptedModel } from "../../src/rehearsal/player/scripted-model.ts";
import type { Script } from "../../src/rehearsal/format/script.ts";
import type { ModelRequest, ModelTransport } from "../../src/sessions/request-handler.ts";

export const FILE = "tests/a.rehearsal.yml";

/** The sessions of a rehearsal, in YAML; the rest is filled in. */
export function script(sessions: string, rest = ""): Script {
  const loaded = loadScript(`entry: a.yml\nsessions:\n${sessions}\n${rest}`, FILE);
  if (loaded.kind === "rejected") {
    assert.fail(loaded.diagnostics.map(diagnosticLine).join("\n"));
  }
  return loaded.script;
}

/** The diagnostics of a whole rehearsal file, one line each. */
export function refused(text: string): string[] {
  const loaded = loadScript(text, FILE);
  return loaded.kind === "rejected" ? loaded.diagnostics.map(diagnosticLine) : [];
}

export interface Rehearsed {
  readonly model: ScriptedModel;
  readonly slept: number[];
}

export function play(sessions: string): Rehearsed {
  const slept: number[] = [];
  const clock = {
    sleep: (milliseconds: number): Promise<void> => {
      slept.push(milliseconds);
      return Promise.resolve();
    },
  };
  return {
    model: new ScriptedModel(script(sessions), { clock, workingDirectory: "/repo" }),
    slept,
  };
}

export interface Label {
  readonly taskId: string;
  readonly workId: number;
  readonly iteration: number;
  readonly role: "task" | "driving" | "both";
  readonly modelId: string;
  readonly retry: number;
  readonly attempt: number;
  readonly activity?: { readonly id: string; readonly file: string; readonly hit: number };
}

export const label: Label = {
  taskId: "review",
  workId: 0,
  iteration: 1,
  role: "task",
  modelId: "gpt-test",
  retry: 0,
  attempt: 1,
};

export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: string;
}

export const system: Message = { role: "system", content: "You are GitHub Copilot." };
export const prompt = (text: string): Message => ({
  role: "user",
  content: `<current_datetime>2026-11-21T01:03:22.945+00:00</current_datetime>\n\n${text}`,
});
export const assistant = (content: string | null): Message => ({ role: "assistant", content });
export const tool = (content: string): Message => ({ role: "tool", content, tool_call_id: "t" });

export const offered = [
  ...[
    "bash",
    "view",
    "rg",
    "glob",
    "job_boolean_true",
    "job_boolean_false",
    "job_prepare_document",
  ].map((name) => ({
    type: "function",
    function: { name, description: "", parameters: { type: "object" } },
  })),
  { type: "custom", custom: { name: "apply_patch", description: "", format: {} } },
];

export interface Ask {
  readonly sessionId?: string;
  readonly label?: Label | undefined;
  readonly subAgent?: boolean;
  readonly tools?: unknown;
  readonly signal?: AbortSignal;
  readonly killRuntime?: () => void;
  readonly url?: string;
  readonly method?: string;
  readonly body?: string;
  /** Messages before the session's own. */
  readonly history?: readonly Message[];
}

export function request(own: readonly Message[], ask: Ask = {}): ModelRequest {
  const { tools = offered, history = [] } = ask;
  const begin = own.filter(({ role }) => role === "system").length;
  const messages = [...own.slice(0, begin), ...history, ...own.slice(begin)];
  return {
    sessionId: ask.sessionId ?? "s1",
    label: "label" in ask ? ask.label : label,
    subAgent: ask.subAgent ?? false,
    url: ask.url ?? "http://rehearsal.invalid/v1/chat/completions",
    method: ask.method ?? "POST",
    headers: { "content-type": "application/json" },
    body:
      ask.body ??
      JSON.stringify({
        model: "gpt-test",
        temperature: 1,
        stream: true,
        stream_options: { include_usage: true },
        messages,
        tools,
      }),
    history: history.length,
    signal: ask.signal ?? new AbortController().signal,
    killRuntime: ask.killRuntime ?? (() => assert.fail("the runtime was killed")),
  };
}

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly reasoning: string;
  readonly tools: readonly { id: string; name: string; input: string }[];
  readonly finish: string | undefined;
  readonly usage: unknown;
  /** `cut`: the stream broke. */
  readonly end: "done" | "cut" | "status";
  readonly deltas: number;
}

interface WireMessage {
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: {
    id: string;
    function?: { name: string; arguments: string };
    custom?: { name: string; input: string };
  }[];
}

interface WireChunk {
  choices: { delta: WireMessage; finish_reason: string | null }[];
  usage?: unknown;
}

export async function ask(
  model: ModelTransport,
  messages: readonly Message[],
  options: Ask = {},
): Promise<Received> {
  return receive(await model.send(request(messages, options)));
}

export async function receive(response: Response): Promise<Received> {
  const none = { reasoning: "", tools: [], finish: undefined, usage: undefined, deltas: 0 };
  const { status, headers } = response;
  if (status !== 200) {
    const { error }: { error: { message: string } } = JSON.parse(await response.text());
    return { ...none, status, headers, text: error.message, end: "status" };
  }
  return { status, headers, ...(await readStream(response)) };
}

async function readStream(response: Response): Promise<Omit<Received, "status" | "headers">> {
  const messages: WireMessage[] = [];
  let finish: string | undefined;
  let usage: unknown;
  let end: Received["end"] = "cut";
  try {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of response.body ?? []) {
      const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        const data = event.replace(/^data: /, "");
        if (data === "[DONE]") {
          end = "done";
          continue;
        }
        const chunk: WireChunk = JSON.parse(data);
        usage = chunk.usage ?? usage;
        for (const choice of chunk.choices) {
          messages.push(choice.delta);
          finish = choice.finish_reason ?? finish;
        }
      }
    }
  } catch {
    end = "cut";
  }
  return { ...merge(messages), finish, usage, end };
}

function merge(
  messages: readonly WireMessage[],
): Pick<Received, "text" | "reasoning" | "tools" | "deltas"> {
  return {
    text: messages.map((message) => message.content ?? "").join(""),
    reasoning: messages.map((message) => message.reasoning_content ?? "").join(""),
    tools: messages
      .flatMap((message) => message.tool_calls ?? [])
      .map(({ id, function: plain, custom }) => ({
        id,
        name: plain?.name ?? custom?.name ?? "",
        input: plain?.arguments ?? custom?.input ?? "",
      })),
    deltas: messages.filter((message) => (message.content ?? "") !== "").length,
  };
}
