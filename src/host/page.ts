import type { Hono } from "hono";
import { Readable } from "node:stream";
import { findPageFiles, portalHtml } from "../reports/html/page.ts";
import { version } from "../generated/version.ts";
import { errorMessage } from "../platform/system-error.ts";
import { json, refuse } from "./answers.ts";
import { route, type Env, type Served } from "./app.ts";
import { formerPages } from "./security.ts";

export function addPage(app: Hono<Env>, { journals, rehearsal }: Served): void {
  const files = findPageFiles();
  const html = portalHtml({
    version,
    journals: journals !== undefined,
    rehearsal,
  });
  const pages = [
    ["/", "text/html", files && html],
    ["/page.js", "text/javascript", files?.script],
    ["/page.css", "text/css", files?.style],
  ] as const;
  const add = (path: string, answer: (asked: URL) => Response): void => {
    app.get(path, (c) => answer(new URL(c.req.url)));
    app.all(path, (c) =>
      refuse("MethodNotAllowed", `Use GET, not ${c.req.method}.`, { Allow: "GET, HEAD" }),
    );
  };
  for (const [path, type, text] of pages)
    add(path, () =>
      text === undefined
        ? refuse("NotFound", "The page is not part of this installation. The API is at /api/.")
        : new Response(text, { headers: { "Content-Type": `${type}; charset=utf-8` } }),
    );
  // Relative, so that a proxy may put the server anywhere.
  for (const path of formerPages)
    add(path, ({ search, searchParams }) => {
      const jobId = searchParams.get("jobId");
      const place = jobId ? `#/run/${encodeURIComponent(jobId)}` : search;
      return new Response(null, { status: 302, headers: { Location: `./${place}` } });
    });

  route(app, "copilot/journal", async () => {
    try {
      return json({ journals: (await journals?.list()) ?? [] });
    } catch (error) {
      return refuse("NotFound", `Can't read the folder of --journals: ${errorMessage(error)}.`);
    }
  });

  route(app, "copilot/journal/:name", async (c) => {
    const name = c.req.param("name");
    const events = await journals?.read(name);
    if (events === undefined)
      return refuse("NotFound", `There is no journal ${JSON.stringify(name)}.`);
    return new Response(Readable.toWeb(Readable.from(events)), {
      headers: { "Content-Type": "application/x-ndjson; charset=utf-8" },
    });
  });
}
