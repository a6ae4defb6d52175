import { unicodeEscape } from "../../text/harmless-text.ts";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PortalBoot } from "./boot.ts";

export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

/** `build/src/reports/html`, `dist/cli`, `dist/action` and an installed package are at most this deep. */
const MAX_DEPTH = 5;

/** In a build, a bundle or an installed package. Undefined: an application bundles the library without them. */
export function findPageFiles(
  from: string = dirname(fileURLToPath(import.meta.url)),
): PageFiles | undefined {
  let folder = from;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    for (const place of [join(folder, "web"), join(folder, "dist", "web")]) {
      const [script, style] = [join(place, "page.js"), join(place, "page.css")];
      if (existsSync(script) && existsSync(style))
        return { script: readFileSync(script, "utf8"), style: readFileSync(style, "utf8") };
    }
    folder = dirname(folder);
  }
  return undefined;
}

/** For every answer of the server; `frame-ancestors` has no effect in a `<meta>`. */
export const portalPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Mermaid styles its drawings inline.
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src data:",
  "font-src 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export function portalHtml(facts: Omit<PortalBoot, "kind">): string {
  return pageHtml({
    title: "agent-jobs",
    head: `<link rel="stylesheet" href="page.css">\n<script type="module" src="page.js"></script>`,
    boot: { kind: "portal", ...facts },
  });
}

const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4a3fd0"/><path d="M4.5 8.5l2.5 2.5 4.8-5.5" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)}`;

export interface PageParts {
  readonly title: string;
  readonly head: string;
  readonly boot: object;
  readonly plain?: string;
  readonly data?: Iterable<string>;
}

export function pageHtml(page: PageParts): string {
  return [...pageParts(page)].join("");
}

/** Writes the page in parts, for data that would not fit into one text. */
export function* pageParts({
  boot,
  plain = "This page needs JavaScript.",
  data = [],
  ...page
}: PageParts): Iterable<string> {
  const start = `<div id="app"></div>
<noscript>${plain}</noscript>
<script type="application/json" id="boot">${jsonInHtml(boot)}</script>
`;
  yield* htmlDocument({ ...page, body: [start] }, data);
}

/** Writes a document around its body. */
export function* htmlDocument(
  page: { readonly title: string; readonly head: string; readonly body: Iterable<string> },
  data: Iterable<string> = [],
): Iterable<string> {
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="${icon}">
<title>${escapeHtml(page.title)}</title>
${page.head}
</head>
<body>
`;
  yield* page.body;
  yield* data;
  yield `</body>
</html>
`;
}

/** Writes the head of a file that stands alone: only these scripts run, and nothing else is loaded. */
export function policyAndStyle(scripts: string, style: string): string {
  if (/<\/style/i.test(style)) throw new Error("The style of the page contains a tag.");
  const policy = `default-src 'none'; ${scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<style>\n${style}\n</style>`;
}

/** JSON that can't end the element it is in, or start a comment; nor does it hold a workflow command. */
export function jsonInHtml(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&#\u2028\u2029]/g, unicodeEscape);
}

/** A report may be printed to a log: no line begins with foreign text, and none holds a workflow command. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'#\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
