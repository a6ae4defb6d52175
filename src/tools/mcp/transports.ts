/**
 * Transports to MCP servers, with a bound for messages. The one that comes with the client neither ends the children of a
 * program nor limits its environment. After `close` no process of the group is left, and none with the mark. Messages are
 * read leniently: null means absent, and whatever has the id of a request answers it.
 */
import http from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import type { FetchLike, JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isList, isRecord, isText, parsedJson } from "../../text/guards.ts";
import { truncateStartUnredacted } from "../../text/truncate.ts";
import { within } from "../../platform/waiting.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { endGroup, endMarkedProcesses, killMarkedProcesses } from "../../platform/processes.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { type ProgramEnd, type StartedProgram, startProgram } from "../../platform/programs.ts";

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly sandbox?: Sandbox | undefined;
  /** How long it may take to end after its stdin is closed, and again after SIGTERM, in milliseconds. */
  readonly graceMs: number;
}

const SERVER_MARK = "AGENT_JOBS_SERVER";
/** Bytes of a message: a result of the size that is allowed, with some room. To parse it takes up to 50 ms. */
const longestMessage = 12 * 1024 * 1024;
const keptErrors = 16_384;
/** How long the exit of a server is waited for that doesn't read any more. */
const brokenMs = 1_000;

export class ServerProgram implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** The client takes a transport with `pid` and `stderr` for a program, where silence is no outage. */
  pid: number | null = null;
  readonly stderr = null;
  readonly #options: ProgramOptions;
  readonly #mark = crypto.randomUUID();
  readonly #decoder = new StringDecoder("utf8");
  #rest: Buffer = Buffer.alloc(0);
  #program: StartedProgram | undefined;
  #errors = "";
  #ended: string | undefined;
  #exited: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  get ended(): string | undefined {
    return this.#ended;
  }

  get errors(): string {
    return this.#errors;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, sandbox } = this.#options;
    const program = startProgram(command, args, {
      cwd,
      sandbox,
      env: { ...env, [SERVER_MARK]: this.#mark },
      conversation: true,
      // A server that nobody calls doesn't keep this process running. It sees the end of its stdin.
      keepsRunning: false,
      onOutput: (piece, stream) => {
        if (stream === "stdout") this.#read(piece);
        else
          this.#errors = truncateStartUnredacted(
            this.#errors + this.#decoder.write(piece),
            keptErrors,
          );
      },
    });
    this.#program = program;
    this.pid = program.pid ?? null;
    this.#exited = program.ended.then((end) => this.#end(textOf(end)));
    if (program.pid !== undefined) return;
    await this.#exited;
    throw new Error(this.#ended);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#program?.stdin;
    const error = await new Promise((resolve) => {
      if (stdin?.writable === true) stdin.write(`${JSON.stringify(message)}\n`, resolve);
      else resolve(new Error("The server has ended."));
    });
    if (!(error instanceof Error)) return;
    // The pipe breaks a moment before it is known how the server ended.
    await within(this.#exited, brokenMs, systemClock);
    throw error;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  kill(): void {
    if (this.pid === null) return;
    this.#program?.signal("SIGKILL");
    killMarkedProcesses(SERVER_MARK, this.#mark);
  }

  async #close(): Promise<void> {
    const { pid } = this;
    const { graceMs } = this.#options;
    if (pid !== null) {
      this.#program?.stdin?.end();
      await within(this.#exited, graceMs / 2, systemClock);
      if (process.platform === "win32") this.#program?.signal("SIGKILL");
      else await endGroup(pid, graceMs);
      // Some processes may have left the group.
      await endMarkedProcesses(SERVER_MARK, this.#mark);
      await within(this.#exited, graceMs, systemClock);
    }
    this.#end("it was ended");
  }

  #read(piece: Buffer): void {
    if (this.#ended !== undefined) return;
    this.#rest = Buffer.concat([this.#rest, piece]);
    for (let end = this.#rest.indexOf(10); end !== -1; end = this.#rest.indexOf(10)) {
      const message = repaired(parsedJson(this.#rest.toString("utf8", 0, end)));
      this.#rest = this.#rest.subarray(end + 1);
      // Many programs print something else, too.
      if (isMessage(message)) this.onmessage?.(message);
    }
    if (this.#rest.length <= longestMessage) return;
    this.#end(`it sent a message of more than 12 MB`);
    void this.close();
  }

  #end(how: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = how;
    this.onclose?.();
  }
}

function textOf(end: ProgramEnd): string {
  switch (end.kind) {
    case "exited":
      return `exit code ${end.code}`;
    case "killed":
      return end.signal ?? "a signal";
    case "not-started":
      return end.reason;
  }
}

/** `sendsNotifications`: whether the server reports changes of its tools. Other servers get no stream. */
export function boundedFetch(sendsNotifications: () => boolean): FetchLike {
  let streams = 0;
  return async (url, init = {}) => {
    const sent = typeof init.body === "string" ? parsedJson(init.body) : undefined;
    const request = isRecord(sent) ? sent : {};
    const isNews = init.method === "GET" && !new Headers(init.headers).has("last-event-id");
    if (isNews && !sendsNotifications()) return new Response(null, { status: 405 });
    if (isNews && (streams += 1) > 1) await pauseBeforeStream(streams, init.signal);
    const waits = init.method === "GET" || request["method"] === "subscriptions/listen";
    const response = await (waits ? unreferencedFetch(url, init) : fetch(url, init));
    if (response.body === null) return response;
    const isEvents = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    const { status, statusText, headers } = response;
    const repairing = repairedBody(isEvents, request["id"]);
    return new Response(response.body.pipeThrough(repairing), { status, statusText, headers });
  };
}

async function pauseBeforeStream(streams: number, signal?: AbortSignal | null): Promise<void> {
  const pause = Math.min(60_000, 500 * 2 ** Math.min(streams, 10));
  await sleep(pause, undefined, { ref: false, signal: signal ?? undefined });
}

/** For a stream that waits for notifications, which would keep this process running with `fetch`. */
function unreferencedFetch(url: string | URL, init: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const to = new URL(url);
    const { request } = to.protocol === "https:" ? https : http;
    const { method = "GET", body, signal } = init;
    const headers = Object.fromEntries(new Headers(init.headers));
    request(to, { agent: false, method, headers, signal: signal ?? undefined })
      .on("socket", (socket) => socket.unref())
      .on("error", reject)
      .on("response", (response) => {
        const { statusCode: status = 0, statusMessage = "" } = response;
        const type = response.headers["content-type"] ?? "";
        resolve(
          new Response(Readable.toWeb(response), {
            status,
            statusText: statusMessage,
            headers: { "content-type": type },
          }),
        );
      })
      .end(typeof body === "string" ? body : undefined);
  });
}

/** Answers with an error if a stream breaks, because the client would wait forever. */
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

/** A code from the range that is free for implementations. */
const streamBroken = -32_000;
const brokenOff = "The response of the server broke off or was too large.";

const internalError = -32_603;
/** Their values are data, where null means something. */
const data = new Set(
  "structuredContent default const enum examples arguments data _meta".split(" "),
);
const deepest = 100;

/** `requestId`: of the request that the message answers if its own id is null. */
function repaired(message: unknown, requestId?: unknown): unknown {
  if (isList(message)) return message.map((one) => repaired(one, requestId));
  if (!isRecord(message)) return message;
  if (isText(message["method"])) return withoutNulls({ ...message, jsonrpc: "2.0" });
  const id = message["id"] ?? requestId;
  if (id === undefined || !("result" in message || "error" in message)) return message;
  return { jsonrpc: "2.0", id, ...answerOf(message) };
}

function answerOf({ result, error }: Readonly<Record<string, unknown>>): object {
  if (error !== undefined && error !== null) return { error: errorOf(error) };
  if (isRecord(result)) return { result: withoutNulls(result) };
  const message =
    result === undefined || result === null
      ? "The server answered with neither a result nor an error."
      : "The server answered with a result that is not an object.";
  return { error: { code: internalError, message } };
}

function errorOf(error: unknown): object {
  const { code, message, ...rest } = isRecord(error) ? error : { message: error };
  return {
    ...rest,
    code: Number.isSafeInteger(code) ? code : internalError,
    message: isText(message) ? message : JSON.stringify(error),
  };
}

function withoutNulls(value: unknown, depth = 0): unknown {
  if (isList(value))
    return depth > deepest ? value : value.map((one) => withoutNulls(one, depth + 1));
  if (!isRecord(value) || depth > deepest) return value;
  const kept = Object.entries(value).filter(
    ([key, one]) => one !== null || key === "default" || key === "const",
  );
  return Object.fromEntries(
    kept.map(([key, one]) => [key, data.has(key) ? one : withoutNulls(one, depth + 1)]),
  );
}

/** Repairs the messages of a body: each event of a stream when it has arrived, any other body at its end. */
function repairedBody(
  isStream: boolean,
  requestId: unknown,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  return new TransformStream({
    transform(piece, controller) {
      const news = decoder.decode(piece, { stream: true });
      const mayEnd = isStream && endOfEvent.test(rest.slice(-3) + news);
      rest += news;
      const events = mayEnd ? rest.split(endOfEvent) : [rest];
      rest = events.pop() ?? "";
      if (rest.length > longestMessage)
        controller.error(new Error("The server sent more than 12 MB at once."));
      else
        for (const one of events) controller.enqueue(encoder.encode(repairedEvent(one, requestId)));
    },
    flush(controller) {
      // A stream that breaks off in the middle of an event has not sent it.
      controller.enqueue(encoder.encode(isStream ? rest : (repairedJson(rest, requestId) ?? rest)));
    },
  });
}

const endOfEvent = /\r?\n\r?\n/;
const dataLine = /^data: ?/;

function repairedEvent(event: string, requestId: unknown): string {
  const lines = event.split(/\r?\n/);
  const others = lines.filter((line) => !dataLine.test(line));
  const text = lines
    .filter((line) => dataLine.test(line))
    .map((line) => line.replace(dataLine, ""));
  const message = repairedJson(text.join("\n"), requestId);
  const written = message === undefined ? lines : [...others, `data: ${message}`];
  return `${written.join("\n")}\n\n`;
}

/** Undefined if the text is not JSON. */
function repairedJson(text: string, requestId: unknown): string | undefined {
  const message = parsedJson(text);
  return message === undefined ? undefined : JSON.stringify(repaired(message, requestId));
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return isRecord(value) && value["jsonrpc"] === "2.0";
}
