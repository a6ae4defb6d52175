/**
 * The runtime waits for ever for a handler that does not return, hides a thrown text from the model, and takes a result
 * of any size (docs/internals/runtime-notes.md#tool-handlers): so handlers are guarded.
 */
import type {
  CopilotSession,
  Tool,
  ToolHandler,
  ToolInvocation,
  ToolResultObject,
  PermissionRequest as RuntimeRequest,
  SessionEvent,
  Tool as SdkTool,
} from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import type { SessionRequest, SessionTool } from "../engine/ports.ts";
import { isRecord } from "../text/guards.ts";
import { truncateUnredacted, wholeCharacters } from "../text/truncate.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { within } from "../platform/waiting.ts";
import { errorMessage } from "../platform/system-error.ts";
import { createHash } from "node:crypto";
import { availableTools } from "../entry/model.ts";
import { runtimeTools } from "../entry/permissions.ts";

const handlerSeconds = 60;
/** More than a model can make use of; the runtime keeps a result in the conversation. */
const resultCharacters = 200_000;

export interface OwnTool extends Omit<Tool, "handler"> {
  readonly handler?: (args: unknown, invocation: ToolInvocation, signal: AbortSignal) => unknown;
  /** Default: 60. `Infinity`: the handler itself sees to it. */
  readonly timeoutSeconds?: number;
}

export function guarded(
  { handler, timeoutSeconds = handlerSeconds, ...tool }: OwnTool,
  clock: Clock,
  calls?: OwnCalls,
): Tool {
  if (handler === undefined) return tool;
  const { name } = tool;
  const guard: ToolHandler = async (args, invocation) => {
    const call = new AbortController();
    const { signal } = call;
    calls?.running.add(call);
    try {
      const running = Promise.resolve(handler(args, invocation, signal));
      const answered = await within(running, timeoutSeconds * 1000, clock, signal);
      if (answered !== undefined) return bounded(answered.value);
      return failure(
        signal.aborted
          ? `${name} was stopped with the turn.`
          : `${name} did not answer within ${timeoutSeconds} s.`,
      );
    } catch (error) {
      return failure(`${name} failed: ${errorMessage(error)}`);
    } finally {
      calls?.running.delete(call);
      call.abort("ended");
    }
  };
  return { ...tool, handler: guard };
}

function failure(text: string): ToolResultObject {
  return { resultType: "failure", textResultForLlm: cut(text) };
}

function bounded(result: unknown): unknown {
  if (typeof result === "string") return cut(result);
  if (!hasText(result)) return result;
  return { ...result, textResultForLlm: cut(result.textResultForLlm) };
}

function hasText(result: unknown): result is { readonly textResultForLlm: string } {
  return isRecord(result) && typeof result["textResultForLlm"] === "string";
}

function cut(answer: string): string {
  const text = wholeCharacters(answer);
  if (text.length <= resultCharacters) return text;
  return `${truncateUnredacted(text, resultCharacters)}\n… cut, ${text.length} characters in total.`;
}

type Listener = (
  news: Extract<SessionActivity, { kind: "tool.delta" | "permission.denied" }>,
) => void;

/** Tool calls that this process runs for one session, which end with its turn, and denials. */
export class OwnCalls {
  readonly running = new Set<AbortController>();
  readonly #listeners = new Set<Listener>();

  abort(): void {
    for (const call of this.running) call.abort("stopped");
  }

  readonly tell: Listener = (news) => {
    for (const listener of this.#listeners) listener(news);
  };

  /** Each listener must be a function of its own. Returns the way to unsubscribe. */
  follow(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export function sdkTools(
  tools: readonly SessionTool[],
  calls: OwnCalls,
  refresh: () => Promise<void> = () => Promise.resolve(),
): OwnTool[] {
  return tools.map(({ name, description, parameters, allowed, timeoutSeconds, run }) => ({
    name,
    description: wholeCharacters(description),
    parameters: wholeValue(parameters),
    skipPermission: allowed === "always",
    defer: "never",
    timeoutSeconds,
    handler: async (args, { toolCallId, sessionId }, signal): Promise<ToolResultObject> => {
      const { succeeded, text } = await run(args, {
        toolCallId,
        sessionId,
        signal,
        onProgress: (shown) => {
          if (signal.aborted) return;
          calls.tell({ kind: "tool.delta", toolCallId, text: shown, toolName: name });
        },
      });
      // The next answer already chooses from what the call has changed.
      await refresh();
      return { resultType: succeeded ? "success" : "failure", textResultForLlm: text };
    },
  }));
}

/**
 * Tools that may change while the session lives are declared to the SDK without a handler, and called by the event
 * (docs/internals/runtime-notes.md#changed-tools).
 */
export class LiveTools {
  readonly #changed: SessionRequest["changedTools"];
  readonly #configured: (tools: readonly SessionTool[]) => readonly Tool[];
  readonly #handlers = new Map<string, ToolHandler>();
  #session: CopilotSession | undefined;
  #refreshing = Promise.resolve();

  constructor(
    changed: SessionRequest["changedTools"],
    configured: (tools: readonly SessionTool[]) => readonly Tool[],
  ) {
    this.#changed = changed;
    this.#configured = configured;
  }

  declared(tools: readonly SessionTool[]): Tool[] {
    const fixed = new Set(this.#configured([]).map(({ name }) => name));
    return this.#configured(tools).map((tool) => {
      const { handler, ...declaration } = tool;
      if (handler === undefined || fixed.has(tool.name)) return tool;
      this.#handlers.set(tool.name, handler);
      return declaration;
    });
  }

  attach(session: CopilotSession): void {
    this.#session = session;
    const { rpc, sessionId } = session;
    const answer = async (requestId: string, answering: unknown): Promise<void> => {
      const result = await answering;
      if (hasText(result)) await rpc.tools.handlePendingToolCall({ requestId, result });
    };
    session.on("external_tool.requested", ({ data }) => {
      const { requestId, toolCallId, toolName, arguments: args } = data;
      const call = { sessionId, toolCallId, toolName, arguments: args };
      // It always answers (see `guarded`), unless the session has ended.
      const answering = this.#handlers.get(toolName)?.(args, call);
      void answer(requestId, answering).catch(() => undefined);
    });
  }

  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.then(() => this.#refresh()).catch(() => undefined);
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const tools = await this.#changed?.();
    if (tools === undefined) return;
    const declared = this.declared(tools).map((tool) => {
      const { name, description = "", parameters, skipPermission = false, defer = "auto" } = tool;
      return { name, description, parameters: { ...parameters }, skipPermission, defer };
    });
    await this.#session?.rpc.tools.set({ tools: declared });
  }
}

/** Removes halves of characters, because the runtime ignores a message that has one. */
function wholeValue(parameters: SessionTool["parameters"]): SessionTool["parameters"] {
  const json = JSON.stringify(parameters);
  if (!/\\ud[89a-f]/i.test(json)) return parameters;
  const whole: unknown = JSON.parse(json, (_, value: unknown) =>
    typeof value === "string" ? wholeCharacters(value) : value,
  );
  return isRecord(whole) ? whole : parameters;
}

/*
 * A function has no slash, so the model knows the tool `search` of the server `docs` as `docs-search`. In events and
 * requests, tools have their own names.
 */

const longestName = 64;
const hashCharacters = 8;

export class ToolNames {
  readonly #functions = new Map<string, string>();
  readonly #taken: Set<string>;
  /** Known names → the tools' own, where they differ. Grows with `add`. */
  readonly #renamed = new Map<string, string>();

  constructor(tools: readonly string[], others: readonly string[] = []) {
    this.#taken = new Set([...runtimeTools, ...availableTools, ...others]);
    this.add(tools);
  }

  add(tools: readonly string[]): void {
    const names = tools.filter((name) => !this.#functions.has(name)).toSorted();
    // The tool that is called so itself keeps its name.
    const isPlain = (name: string): boolean => functionName(name) === name;
    for (const name of [...names.filter(isPlain), ...names.filter((one) => !isPlain(one))]) {
      let known = functionName(name);
      // A name that a server has made up to look like one with a hash must not get its calls.
      for (let salt = 0; known.length > longestName || this.#taken.has(known); salt += 1) {
        known = hashed(name, salt);
      }
      this.#taken.add(known);
      this.#functions.set(name, known);
      if (known !== name) this.#renamed.set(known, name);
    }
  }

  functionOf(name: string): string {
    return this.#functions.get(name) ?? name;
  }

  get renamed(): ReadonlyMap<string, string> {
    return this.#renamed;
  }

  toolOf(known: string): string {
    return this.#renamed.get(known) ?? known;
  }

  event(event: SessionEvent): SessionEvent {
    switch (event.type) {
      case "tool.execution_start":
      case "assistant.tool_call_delta": {
        const toolName = this.#renamed.get(event.data.toolName ?? "");
        return toolName === undefined ? event : withData(event, { toolName });
      }
      case "assistant.message": {
        const { toolRequests } = event.data;
        if (!toolRequests?.some(({ name }) => this.#renamed.has(name))) return event;
        const named = toolRequests.map((one) => ({ ...one, name: this.toolOf(one.name) }));
        return withData(event, { toolRequests: named });
      }
      default:
        return event;
    }
  }

  request(request: RuntimeRequest): RuntimeRequest {
    return request.kind === "custom-tool"
      ? { ...request, toolName: this.toolOf(request.toolName) }
      : request;
  }

  shown<T extends Pick<SdkTool, "name" | "description">>(tool: T): T {
    const name = this.functionOf(tool.name);
    if (name === tool.name) return tool;
    const description = `${tool.description ?? ""}\n\nElsewhere it is called ${tool.name}.`.trim();
    return { ...tool, name, description };
  }
}

function withData<E extends { readonly data: object }>(event: E, data: Partial<E["data"]>): E {
  return { ...event, data: { ...event.data, ...data } };
}

function functionName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "-");
}

function hashed(name: string, salt: number): string {
  const hash = createHash("sha256")
    .update(`${name}${"+".repeat(salt)}`)
    .digest("hex");
  const start = functionName(name).slice(0, longestName - hashCharacters - 1);
  return `${start}-${hash.slice(0, hashCharacters)}`;
}
