/** One MCP server: up until `ended` is set, and never again; every call settles then; nothing is left after `close`. */
import { defined, isList, isRecord, urlOf } from "../../text/guards.ts";
import type * as Package from "@modelcontextprotocol/client";
import type {
  CallToolResult,
  Client,
  ProgressNotification,
  StandardSchemaV1,
  Tool as ServerTool,
} from "@modelcontextprotocol/client";
import type { Redactor } from "../../redaction/redactor.ts";
import { startTimeLimit, unlessAborted, within } from "../../platform/waiting.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { boundedFetch, failBrokenStreams, ServerProgram } from "./transports.ts";
import {
  addressError,
  hintOf,
  messageOf,
  ServerUnavailable,
  unavailableKind,
} from "./server-unavailable.ts";
import { checkedTools, type ServerList } from "./listing.ts";
import { outcomeOf } from "./result.ts";
import type { ServerAddress } from "./variables.ts";
import { redactedBeginning } from "../tool-output.ts";
import { failed, type CallContext, type ToolOutcome, type ToolProgress } from "../tool.ts";
import { truncateStart } from "../../text/truncate.ts";

interface ConnectOptions {
  readonly version: string;
  readonly isLocal: boolean;
  readonly cwd: string;
  readonly sandbox?: Sandbox | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly graceMs: number;
  /** For the start together with the first list of tools, and again for each later list. */
  readonly startMs: number;
  readonly redactor: Pick<Redactor, "text" | "stream">;
  readonly signal: AbortSignal;
  readonly onOpen: (connection: Connection) => void;
}

type ClientPackage = typeof Package;

const anything: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "agent-jobs", validate: (value) => ({ value }) },
};

let changes = 0;

/** Offered for a server with resources, unless it has tools of these names itself. */
const listResources: ServerTool = {
  name: "list_resources",
  description: "Lists the resources of the server, and the templates of their addresses.",
  inputSchema: { type: "object", properties: { cursor: { type: "string" } } },
  annotations: { readOnlyHint: true },
};
const readResource: ServerTool = {
  name: "read_resource",
  description: "Reads a resource of the server.",
  inputSchema: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
  annotations: { readOnlyHint: true },
};

/** `tools/call.ts` limits the time of a call. This is the longest that a timer can have. */
const noTimeout = 2 ** 31 - 1;
/** For servers that don't answer the question for their versions. */
const probeMs = 4_000;
const mostPages = 100;
const shownErrors = 2_000;
const longestText = 1_000;

export async function loadClient(): Promise<ClientPackage> {
  const loaded = await import("@modelcontextprotocol/client");
  loaded.preloadSchemas();
  return loaded;
}

export class Connection {
  /** Changes with the list of tools. No two changes of any servers have the same number. */
  version = 0;
  readonly #options: ConnectOptions;
  readonly #address: ServerAddress;
  readonly #package: ClientPackage;
  #client: Client;
  #program: ServerProgram | undefined;
  #leave: () => Promise<unknown> = () => Promise.resolve();
  #hasSession: () => boolean = () => false;
  #ended: string | undefined;
  #closing: Promise<void> | undefined;
  #tools: Promise<ServerList> | undefined;

  private constructor(address: ServerAddress, options: ConnectOptions, loaded: ClientPackage) {
    this.#address = address;
    this.#options = options;
    this.#package = loaded;
    this.#client = this.#newClient("auto");
  }

  /** Rejects with an Error for people, after ending what was started. */
  static async open(address: ServerAddress, options: ConnectOptions): Promise<Connection> {
    const loaded = await loadClient();
    if (options.signal.aborted) throw new Error(String(options.signal.reason));
    const connection = new Connection(address, options, loaded);
    options.onOpen(connection);
    const limit = startTimeLimit(systemClock, options.startMs, options.signal);
    try {
      const starting = connection.#start().then(() => (connection.#tools = connection.#allTools()));
      if ((await unlessAborted(starting, limit.signal)) === undefined)
        throw new Error(String(limit.signal.reason));
      return connection;
    } catch (error) {
      const late = new Error(`It did not start within ${options.startMs / 1000} s (startSeconds).`);
      const failure = connection.#failureOf(limit.isOver ? late : error, "", true);
      connection.#ended ??= failure.message;
      await connection.close();
      throw failure;
    } finally {
      limit.end();
    }
  }

  get ended(): string | undefined {
    return this.#ended;
  }

  async tools(): Promise<ServerList> {
    const tools = (this.#tools ??= this.#allTools());
    // Many servers at an address never say that the list has changed.
    if (this.#address.kind === "url") this.#tools = undefined;
    const { startMs } = this.#options;
    try {
      const listed = await within(tools, startMs, systemClock);
      if (listed !== undefined) return listed.value;
      this.#ended ??= `It did not list its tools within ${startMs / 1000} s (startSeconds).`;
      await this.close();
      throw new Error(this.#ended);
    } catch (error) {
      if (this.#tools === tools) this.#tools = undefined;
      throw this.#failureOf(error, "Its tools can't be listed: ");
    }
  }

  /** Rejects with an `ServerUnavailable` if the server has not carried out the call. */
  async call(
    tool: ServerTool,
    params: Readonly<Record<string, unknown>>,
    { signal, onProgress, traceparent }: CallContext,
  ): Promise<ToolOutcome> {
    const { text: redact, stream } = this.#options.redactor;
    try {
      if (tool === listResources || tool === readResource) {
        return await outcomeOf(await this.#resources(tool, params, signal), stream);
      }
      const result = await this.#client.callTool(
        {
          name: tool.name,
          arguments: params,
          ...(traceparent !== undefined && { _meta: { traceparent } }),
        },
        {
          signal,
          timeout: noTimeout,
          toolDefinition: tool,
          onprogress: (progress) => onProgress(progressOf(progress, redact)),
        },
      );
      return await outcomeOf(result, stream);
    } catch (error) {
      if (signal.aborted) return { kind: "timed_out" };
      const failure = this.#failureOf(error);
      if (!(failure instanceof ServerUnavailable)) return failed(failure.message);
      const { readOnlyHint, idempotentHint } = tool.annotations ?? {};
      if (failure.kind !== "broken" || readOnlyHint === true || idempotentHint === true)
        throw failure;
      return failed(`${failure.message}\nIt is unknown whether the call was carried out.`);
    }
  }

  /** Ends the server, within a few seconds. Idempotent, never rejects. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  kill(): void {
    this.#program?.kill();
  }

  async #close(): Promise<void> {
    this.#ended ??= "The server was ended.";
    await this.#leave().catch(() => undefined);
    await this.#program?.close();
    await this.#client.close().catch(() => undefined);
  }

  async #start(): Promise<void> {
    if (this.#address.kind === "url") return this.#connectTo(this.#address);
    try {
      await this.#startProgram(this.#address);
    } catch (error) {
      // Some servers exit when the first message is not the one that they expect.
      const exited = this.#program?.ended?.startsWith("exit code") === true;
      if (!exited || this.#closing !== undefined) throw error;
      await this.#program?.close();
      this.#client = this.#newClient("legacy");
      await this.#startProgram(this.#address);
    }
  }

  async #startProgram(address: Extract<ServerAddress, { kind: "program" }>): Promise<void> {
    const program = new ServerProgram({
      ...this.#options,
      ...address,
      env: { ...this.#options.environment, ...address.env },
    });
    this.#program = program;
    await this.#client.connect(program, { timeout: noTimeout });
  }

  async #connectTo({ url, headers }: Extract<ServerAddress, { kind: "url" }>): Promise<void> {
    if (!/^https?:\/\//i.test(url) || urlOf(url) === undefined) {
      throw new Error("its url must be an http or https address");
    }
    const transport = new this.#package.StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: boundedFetch(() => this.#client.getServerCapabilities()?.tools?.listChanged === true),
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 2_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
    });
    failBrokenStreams(transport);
    this.#hasSession = () => transport.sessionId !== undefined;
    this.#leave = async () => {
      await within(transport.terminateSession(), this.#options.graceMs, systemClock);
    };
    await this.#client.connect(transport, { timeout: noTimeout });
  }

  #newClient(mode: "auto" | "legacy"): Client {
    const { Client: ClientOfPackage } = this.#package;
    const onChanged = (): void => {
      this.#tools = undefined;
      this.version = changes += 1;
    };
    const client = new ClientOfPackage(
      { name: "agent-jobs", version: this.#options.version },
      {
        versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
      },
    );
    // It also comes with the answer of a call, from servers that don't announce it.
    client.setNotificationHandler("notifications/tools/list_changed", onChanged);
    return Object.assign(client, {
      onclose: () => {
        if (client === this.#client) this.#ended ??= this.#endOfServer();
      },
    });
  }

  async #allTools(): Promise<ServerList> {
    const capabilities = this.#client.getServerCapabilities();
    const listed = capabilities?.tools === undefined ? [] : await this.#listedTools();
    const own = capabilities?.resources === undefined ? [] : [listResources, readResource];
    return checkedTools(listed, own, this.#package.specTypeSchemas.Tool);
  }

  async #resources(
    tool: ServerTool,
    { uri, cursor }: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const options = { signal, timeout: noTimeout };
    if (tool === readResource) {
      const params = { uri: String(uri) };
      const { contents } = await this.#client.request(
        { method: "resources/read", params },
        options,
      );
      return { content: contents.map((resource) => ({ type: "resource", resource })) };
    }
    const params = typeof cursor === "string" ? { cursor } : {};
    const { resources, nextCursor } = await this.#client.request(
      { method: "resources/list", params },
      options,
    );
    const { resourceTemplates } = await this.#client
      .request({ method: "resources/templates/list", params: {} }, options)
      .catch(() => ({ resourceTemplates: [] }));
    return { content: [], structuredContent: { resources, resourceTemplates, nextCursor } };
  }

  /** Returns unchecked tools, so that one invalid tool doesn't drop the others. */
  async #listedTools(): Promise<readonly unknown[]> {
    // Some servers answer a cursor that they don't know with the first page.
    const tools = new Map<string, unknown>();
    const cursors = new Set<unknown>();
    let cursor: unknown;
    while (cursors.size <= mostPages) {
      const list = await this.#client.request(
        { method: "tools/list", params: { cursor } },
        anything,
        { timeout: noTimeout },
      );
      const page = isRecord(list) ? list["tools"] : undefined;
      if (!isList(page)) throw new Error("its answer to tools/list has no list of tools");
      for (const tool of page) tools.set(JSON.stringify(tool), tool);
      cursor = isRecord(list) ? list["nextCursor"] : undefined;
      if (cursor === undefined || cursors.has(cursor)) return [...tools.values()];
      cursors.add(cursor);
    }
    throw new Error(`its list of tools has more than ${mostPages} pages`);
  }

  /** Ends the connection if it is lost: an `ServerUnavailable` if another one may help. */
  #failureOf(error: unknown, what = "", withLog?: boolean): Error {
    const reason = what + this.#described(error, withLog);
    const isLost = this.#isConnectionError(error);
    if (isLost) this.#ended ??= reason;
    const kind =
      isLost && this.#address.kind === "url"
        ? unavailableKind(error, this.#hasSession())
        : undefined;
    if (kind !== undefined) return new ServerUnavailable(kind, reason, { cause: error });
    return new Error(reason, { cause: error });
  }

  #isConnectionError(error: unknown): boolean {
    // Any answer, even an error, shows that the server is there. Other errors are about the way to it.
    const { ProtocolError, SdkError, SdkErrorCode } = this.#package;
    if (error instanceof ProtocolError) return false;
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) return false;
    return this.#address.kind === "url" || this.#ended !== undefined;
  }

  #endOfServer(): string {
    const how = this.#program?.ended;
    return how === undefined
      ? "The connection was closed."
      : this.#withLog(`The server ended: ${how}.`);
  }

  /** The log of a server that is well is about other calls. */
  #described(error: unknown, withLog = this.#program?.ended !== undefined): string {
    if (this.#program?.ended !== undefined && this.#closing === undefined)
      return this.#endOfServer();
    const { text: redact } = this.#options.redactor;
    const address = this.#address;
    const isOfAddress = address.kind === "url" && this.#isConnectionError(error);
    const text = isOfAddress ? addressError(address.url, error) : messageOf(error);
    const reason = redactedBeginning(text, longestText, redact);
    return withLog ? this.#withLog(reason) : reason;
  }

  #withLog(reason: string): string {
    const address = this.#address;
    const errors = this.#options.redactor.text(this.#program?.errors ?? "").trim();
    if (address.kind === "url" || errors === "") return reason;
    const hint = hintOf(address, this.#options, errors);
    return `${reason}\n${truncateStart(errors, shownErrors)}${hint}`;
  }
}

function progressOf(
  { progress, total = 0, message }: Omit<ProgressNotification["params"], "progressToken">,
  redact: (text: string) => string,
): ToolProgress {
  return defined({
    percent: total > 0 ? Math.min(100, Math.max(0, (progress / total) * 100)) : undefined,
    message: message && redactedBeginning(message, longestText, redact),
  });
}
