/** What a person reads who opens an address in a browser that is refused: a small page, without scripts. */
import type { IncomingHttpHeaders } from "node:http";
import { refuse, statusOf, type RefusalName } from "./answers.ts";

interface Opened {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** For people: the same as the reason. `html` is text of our own: nothing of the request may be in it. */
interface Page {
  readonly title: string;
  readonly html: string;
}

/** A refusal: a page for a browser that opens an address, JSON for everyone else and for the API. */
export function refuseAsAsked(
  opened: Opened,
  refusal: { readonly error: RefusalName; readonly reason: string; readonly page: Page },
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { error, reason, page } = refusal;
  if (!isBrowser(opened)) return refuse(error, reason, headers);
  return new Response(htmlOf(page), {
    status: statusOf(error),
    headers: { "Content-Type": "text/html; charset=utf-8", ...headers },
  });
}

function isBrowser({ method, path, headers: { accept = "" } }: Opened): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  return path !== "/api" && !path.startsWith("/api/") && /\btext\/html\b/i.test(accept);
}

function htmlOf({ title, html }: Page): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · agent-jobs</title>
<style>body { max-width: 34rem; margin: 15vh auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif } h1 { font-size: 1.4rem }</style>
<main>
<h1>${title}</h1>
${html}
</main>
</html>
`;
}
