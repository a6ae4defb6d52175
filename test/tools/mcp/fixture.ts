/** An MCP server over stdio that misbehaves as its arguments say. Speaks the protocol by hand. */
import { spawn } from "node:child_process";
import { appendFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly cursor?: string;
    readonly arguments?: object;
    readonly _meta?: { readonly progressToken?: unknown };
  };
}

const [, , behavior = "", file = ""] = process.argv;
const log = (line: string): void => {
  if (file !== "") appendFileSync(file, `${line}\n`);
};
log(`start ${process.pid}`);

const object = { type: "object", properties: {} };
const changed = { count: 0 };

function readMessage(line: string): Message {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by our own client
  return JSON.parse(line) as Message;
}

function listed(cursor: string | undefined): object {
  switch (behavior) {
    case "thousand": {
      // Ten pages.
      const from = Number(cursor ?? "0");
      const tools = Array.from({ length: 100 }, (_, index) => ({
        name: `tool_${from + index}`,
        description: "One of many.",
        inputSchema: object,
      }));
      return from + 100 < 1_000 ? { tools, nextCursor: String(from + 100) } : { tools };
    }
    case "endless":
      return { tools: [], nextCursor: `${cursor}+` };
    case "repeats":
      return {
        tools: [{ name: cursor === undefined ? "call" : "late", inputSchema: object }],
        nextCursor: "again",
      };
    case "ignores-cursors":
      return { tools: [{ name: "call", inputSchema: object }], nextCursor: "again" };
    case "malformed":
      return {
        tools: [
          { name: "fine", inputSchema: { ...object, properties: { a: { default: null } } } },
          { name: "choice", inputSchema: { anyOf: [object, object] } },
          { name: "empty", inputSchema: {} },
          {},
          "text",
          { name: "required", inputSchema: { type: "object", required: null } },
          { name: "title", title: null, annotations: { title: null }, inputSchema: object },
          { name: "output", outputSchema: null, execution: null, inputSchema: object },
        ],
        nextCursor: null,
      };
    case "odd":
      return {
        tools: [
          { name: "fine", description: "d".repeat(10_000), inputSchema: object },
          { name: "fine", description: "the same name", inputSchema: object },
          { name: "a/b", inputSchema: object },
          { name: "x".repeat(300), inputSchema: object },
          { name: "", inputSchema: object },
          { name: "::error::\n", inputSchema: object },
          {
            name: "uncompilable",
            inputSchema: { type: "object", properties: { a: { pattern: "(" } } },
          },
          {
            name: "elsewhere",
            inputSchema: { type: "object", properties: { a: { $ref: "http://x.invalid/a" } } },
          },
          { name: "huge", inputSchema: { ...object, description: "s".repeat(100_000) } },
        ],
      };
    case "replaces":
      // The only tool of before becomes another one.
      return {
        tools: [
          { name: "open", inputSchema: { ...object, required: changed.count > 0 ? ["door"] : [] } },
          { name: changed.count > 0 ? "late" : "early", inputSchema: object },
        ],
      };
    default:
      return {
        tools: [
          { name: "call", description: "Calls.", inputSchema: object },
          { name: "look", inputSchema: object, annotations: { readOnlyHint: true } },
          ...(changed.count > 0 ? [{ name: "late", inputSchema: object }] : []),
        ],
      };
  }
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

const text = (value: string, more: object = {}): object => ({
  content: [{ type: "text", text: value }],
  ...more,
});

/** Writes as fast as it is read. */
function progressForEver(progressToken: unknown): void {
  const params = { progressToken, progress: 1, total: 3, message: "at it" };
  const one = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params });
  const many = `${one}\n`.repeat(500);
  while (process.stdout.write(many));
  process.stdout.once("drain", () => progressForEver(progressToken));
}

function called(id: number | string, message: Message): void {
  log(`call ${JSON.stringify(message.params?.arguments ?? {})}`);
  const answer = (result: object): void => send({ id, result });
  switch (behavior) {
    case "dies":
      process.stderr.write(`The disk is on fire: ${process.env["GIVEN"] ?? ""}\n`);
      process.exit(3);
    // falls through
    case "killed":
      process.kill(process.pid, "SIGKILL");
      return;
    case "silent":
      return;
    case "answers":
      process.stderr.write("The log of other calls.\n");
      return send({ id, ...message.params?.arguments });
    case "progress":
      return progressForEver(message.params?._meta?.progressToken);
    case "big":
      return answer(text("x".repeat(20 * 1024 * 1024)));
    case "secret":
      return answer(
        text(`the key is ${process.env["GIVEN"] ?? "none"}`, {
          structuredContent: { [`${process.env["GIVEN"]}`]: [process.env["GIVEN"]] },
        }),
      );
    case "environment":
      return answer(text(JSON.stringify(process.env)));
    case "where":
      return answer(text(`entries: ${readdirSync(".").join()}`));
    case "nested": {
      const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
      process.stdout.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"a":${deep}}}}\n`,
      );
      return;
    }
    case "replaces":
    case "hangs-later":
    case "changes":
      if (behavior === "replaces" && message.params?.name !== "open")
        return answer(text(`${message.params?.name} was called`));
      changed.count += 1;
      send({ method: "notifications/tools/list_changed" });
      return answer(text("changed"));
    default:
      return answer(text("done"));
  }
}

/** Knows only the versions of the protocol without a handshake. */
function receivedNow({ id, method }: Message): void {
  log(String(method));
  const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
  switch (method) {
    case "server/discover":
      return send({
        id,
        result: {
          ...complete,
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {} },
          serverInfo: { name: "fixture", version: "1" },
        },
      });
    case "tools/list":
      return send({ id, result: { ...complete, ...listed(undefined) } });
    case "tools/call":
      return send({ id, result: { ...complete, ...text("done") } });
    default:
      if (id !== undefined) send({ id, error: { code: -32_601, message: "Method not found" } });
  }
}

function received(message: Message): void {
  if (behavior === "modern") return receivedNow(message);
  const { id, method } = message;
  if (method === "notifications/cancelled") log("cancelled");
  if (id === undefined) return;
  switch (method) {
    case "initialize":
      if (behavior === "hangs" || behavior === "stubborn-start") return;
      send({
        id,
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "fixture", version: "1" },
        },
      });
      return;
    case "tools/list":
      if (behavior === "hangs-in-list" || (behavior === "hangs-later" && changed.count > 0)) return;
      if (behavior === "slow-pages")
        return void setTimeout(() => {
          send({ id, result: { tools: [], nextCursor: `${message.params?.cursor}+` } });
        }, 50);
      return send({ id, result: listed(message.params?.cursor) });
    case "tools/call":
      return called(id, message);
    default:
      if (behavior === "strict") process.exit(2);
      send({ id, error: { code: -32_601, message: "Method not found" } });
  }
}

if (behavior === "exits") {
  process.stderr.write(`Can't open ${process.env["GIVEN"] ?? "the database"}.\n`);
  process.exit(7);
}
if (behavior === "garbage") {
  process.stdout.write(
    `Starting up…\n{"not": "rpc"}\n[1,2\n\u0000\u0001\n${"g".repeat(100_000)}\n`,
  );
}
if (behavior.startsWith("stubborn")) {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
    process.on(signal, () => log(signal));
  // Keeps running when its stdin is closed. So does its child.
  setInterval(() => {}, 1_000);
  const script = "process.on('SIGTERM',()=>{});setInterval(()=>{},1000)";
  const child = spawn(process.execPath, ["-e", script], { stdio: "ignore", detached: true });
  log(`child ${child.pid}`);
}
createInterface({ input: process.stdin }).on("line", (line) => received(readMessage(line)));
