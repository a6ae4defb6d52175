/** Listens, bounds what a client can hold on to, and ends: then those who wait for a feed get their answer. */
import { createServer, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { Hono } from "hono";
import { getRequestListener } from "@hono/node-server";
import { within } from "../platform/waiting.ts";
import {
  checkTarget,
  json,
  rawRefusal,
  readBody,
  refuse,
  route,
  type Env,
  type RefusalName,
  type Served,
} from "./http.ts";
import { addJobRoutes, addPage, addSessionRoutes, addTaskRoutes } from "./routes.ts";
import { Access, asHost, asksForPage, page, prefixOf, securityHeaders } from "./security.ts";

export interface ServerOptions extends Omit<Served, "stop" | "isStopping"> {
  readonly hostname: string;
  readonly port: number;
  readonly token?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
}

export interface HttpServer {
  /** Such as `http://127.0.0.1:8888/`. */
  readonly url: string;
  /** Ends all that runs, and the server. Idempotent, never rejects. */
  readonly stop: () => Promise<void>;
  /** Fulfilled when the server has ended, whoever asked for it. */
  readonly ended: Promise<void>;
}

/** For the answers that are under way when everything that they wait for has ended. */
const LAST_ANSWERS_MS = 2_000;

export async function startServer(options: ServerOptions): Promise<HttpServer> {
  const { host, clock, hostname, token, allowedHosts } = options;
  const server = createServer({
    // Someone who connects and sends nothing, or a byte now and then, is gone after these.
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: 16 * 1024,
    // It is checked with the other headers, and refused with a reason.
    requireHostHeader: false,
  });
  server.on("clientError", refuseConnection);
  server.on("connect", (_request, socket) => {
    socket.end(rawRefusal("MethodNotAllowed", "This server is not a proxy."));
  });
  await listen(server, options.port, hostname);
  const port = portOf(server);

  let tellEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (tellEnded = resolve));
  let stopping: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await host.close();
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    server.closeIdleConnections();
    await within(closed, LAST_ANSWERS_MS, clock);
    server.closeAllConnections();
    tellEnded();
  };
  const stop = (): Promise<void> => (stopping ??= end());

  const access = new Access({ hostname, port, token, allowedHosts });
  const isStopping = (): boolean => stopping !== undefined;
  const app = createApp({ ...options, stop: () => void stop(), isStopping }, access);
  const answer = getRequestListener(app.fetch, {
    // This process is also that of the jobs: its `Request` and `Response` stay those of Node.
    overrideGlobalObjects: false,
    errorHandler: () =>
      refuse("BadRequest", "The request target or the host is invalid.", securityHeaders),
  });
  server.on("request", (incoming, outgoing) => void answer(incoming, outgoing));
  // Node would answer an unknown `Expect` header with 417 and no reason. It is ignored instead.
  server.on("checkExpectation", (incoming, outgoing) => void answer(incoming, outgoing));
  return { url: `http://${asHost(hostname)}:${port}/`, stop, ended };
}

function createApp(served: Served, access: Access): Hono<Env> {
  const { repoRoot, stop, isStopping } = served;
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(securityHeaders))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
  });
  app.use(async (c, next) => {
    const { incoming } = c.env;
    const target = checkTarget(incoming.url ?? "");
    if (target !== undefined) return target;
    const { path } = c.req;
    const { headers, method = "" } = incoming;
    const answer = access.check({ method, path, headers, token: c.req.query("token") });
    return answer ?? next();
  });
  app.use("/api/*", async (c, next) => {
    const { method } = c.req;
    if (method !== "GET" && method !== "POST")
      return refuse("MethodNotAllowed", `Use GET or POST, not ${method}.`, { Allow: "GET, POST" });
    const body = await readBody(c.env.incoming);
    if (typeof body !== "string") return body;
    if (isStopping())
      return refuse("ShuttingDown", "The server is shutting down.", { Connection: "close" });
    c.set("body", body);
    return next();
  });
  route(app, "test", () => json({ message: "Hello, world!" }));
  route(app, "config", () => json({ repoRoot }));
  route(app, "stop", () => {
    stop();
    return json({}, 200, { Connection: "close" });
  });
  addSessionRoutes(app, served);
  addTaskRoutes(app, served);
  addJobRoutes(app, served);
  addPage(app, served);
  app.notFound((c) => {
    const { method, path } = c.req;
    const { headers } = c.env.incoming;
    if (asksForPage({ method, path, headers }))
      return page(404, "Page not found", `<a href="${prefixOf(headers)}/">Go to the portal</a>`);
    return refuse("NotFound", `There is no ${path} on this server.`);
  });
  app.onError((error) => {
    // The client has hung up in the middle of its body, or there is a bug. Neither is for the other side to see.
    if (!("code" in error && error.code === "ECONNRESET")) process.emitWarning(error);
    return refuse("InternalError", "The server could not answer this request.");
  });
  return app;
}

function listen(server: Server, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

const refusals: Readonly<Record<string, readonly [RefusalName, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["RequestTimeout", "The request did not arrive in time."],
  HPE_HEADER_OVERFLOW: ["HeadersTooLarge", "The header of the request is too large."],
};

/** Refuses input that Node can't read as a request, or not in time. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Also after an answer has begun: it can't be taken back.
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [name, reason] = refusals[error.code ?? ""] ?? [
    "BadRequest",
    "This is not a valid HTTP request.",
  ];
  socket.end(rawRefusal(name, reason), () => socket.destroy());
}
