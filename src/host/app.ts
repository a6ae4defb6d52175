/** Helpers of all routes, and the checks that every request passes first. */
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Handler } from "hono";
import type { JobHost } from "./job-host.ts";
import type { PortalRehearsal } from "../reports/html/boot.ts";
import type { JournalFolder } from "../reports/journals.ts";
import type { Clock } from "../platform/clock.ts";
import { refuse } from "./answers.ts";
import { checkTarget, readBody } from "./request.ts";
import { asksForPage, page, securityHeaders, type Access } from "./security.ts";

/** The whole state of a server. */
export interface Served {
  readonly host: JobHost;
  readonly access: Access;
  readonly clock: Clock;
  readonly repoRoot: string;
  /** Entries may be installed from files of this folder. Undefined: the server was started without `--test`. */
  readonly entriesFolder?: string | undefined;
  readonly journals?: JournalFolder | undefined;
  /** A script plays the models, which the page says. */
  readonly rehearsal?: PortalRehearsal | undefined;
  /** Ends the sessions and the server, once the answer to this request is on its way. */
  readonly stop: () => void;
  readonly isStopping: () => boolean;
}

export interface Env {
  readonly Bindings: HttpBindings;
  readonly Variables: { readonly body: string };
}

/** Registers a route of the documents, which name no methods: their clients use both. */
export function route<Path extends string>(
  app: Hono<Env>,
  path: Path,
  handler: Handler<Env, `/api/${Path}`>,
): void {
  app.on(["GET", "POST"], `/api/${path}`, handler);
}

/** An app whose requests are all allowed, with a body that is text. */
export function createBareApp({ access, isStopping }: Served): Hono<Env> {
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
  app.notFound((c) => {
    const { method, path } = c.req;
    if (asksForPage({ method, path, headers: c.env.incoming.headers }))
      return page(404, "Page not found", '<a href="/">Go to the portal</a>');
    return refuse("NotFound", `There is no ${path} on this server.`);
  });
  app.onError((error) => {
    // The client has hung up in the middle of its body, or there is a bug. Neither is for the other side to see.
    if (!("code" in error && error.code === "ECONNRESET")) process.emitWarning(error);
    return refuse("InternalError", "The server could not answer this request.");
  });
  return app;
}
