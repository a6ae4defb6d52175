/** The real server on a free port of loopback, and a client that can send what a browser or a stranger might. */
import assert from "node:assert/strict";
import { request as send, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import type { Entry } from "../../src/entry/model.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { startServer, type HttpServer, type ServerOptions } from "../../src/host/server.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export interface TestServer extends HttpServer {
  readonly host: JobHost;
  readonly port: number;
  /** `path` as it stands on the request line. */
  readonly ask: (path: string, asked?: Asked) => Promise<Answer>;
  /** The JSON of `/api/PATH`, sent as a POST with this body. */
  readonly api: (path: string, body?: string) => Promise<unknown>;
  /** Sends bytes, which need not be HTTP, and resolves with the response when the server closes. */
  readonly raw: (bytes: string) => Promise<string>;
}

export const smallEntry: Entry = {
  models: { driving: "gpt-5-mini" },
  tasks: {
    greet: { model: { category: "driving" }, prompt: "Greet." },
    answer: {
      model: { category: "driving" },
      prompt: "Answer $user-input.",
      requireUserInput: true,
    },
  },
  jobs: {
    hello: { work: { kind: "Ref", taskId: "greet" } },
    reply: { work: { kind: "Ref", taskId: "answer" } },
  },
};

export async function serve(
  t: Pick<TestContext, "after">,
  options: Partial<ServerOptions> & { readonly entry?: Entry } = {},
): Promise<TestServer> {
  const { entry = smallEntry, host = new JobHost({ environment: {} }), ...others } = options;
  if (options.host === undefined) await host.installJobsEntry(entry);
  const server = await startServer({
    host,
    clock: systemClock,
    hostname: "127.0.0.1",
    port: 0,
    repoRoot: "/repository",
    ...others,
  });
  t.after(() => server.stop());
  const port = Number(new URL(server.url).port);
  return {
    ...server,
    host,
    port,
    ask: (path, asked) => ask(port, path, asked),
    api: async (path, body = "") =>
      (await ask(port, `/api/${path}`, { method: "POST", body })).json,
    raw: (bytes) => raw(port, bytes),
  };
}

export function ask(port: number, path: string, asked: Asked = {}): Promise<Answer> {
  const { method = "GET", headers = {}, body, signal } = asked;
  return new Promise((resolve, reject) => {
    const request = send(
      { host: "127.0.0.1", port, path, method, headers, agent: false, signal },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            get json(): unknown {
              return JSON.parse(text);
            },
          });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => (text += chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
    socket.write(bytes);
  });
}

/** An answer with this status and error, and a reason that is a sentence. */
export function isRefused(answer: Answer, status: number, error: string): void {
  assert.equal(answer.status, status, answer.text);
  const { json } = answer;
  assert.ok(typeof json === "object" && json !== null && "error" in json && "reason" in json);
  assert.equal(json.error, error);
  assert.match(String(json.reason), /\.$/);
}

export async function waitingCall(
  call: () => Promise<Answer>,
): Promise<{ readonly answer: Promise<Answer> }> {
  const [a, b] = [call(), call()];
  for (const one of [a, b]) one.catch(() => undefined);
  const [refused, answer] = await Promise.race([
    a.then((got) => [got, b] as const),
    b.then((got) => [got, a] as const),
  ]);
  assert.deepEqual(refused.json, { error: "ParallelCallNotSupported" });
  return { answer };
}
