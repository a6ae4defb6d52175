/** A fake of the part of GitHub's REST API that the action asks, on loopback; port 0, so any number run side by side. */
import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listen } from "./listen.ts";
import { unconfinedFile } from "./sandbox.ts";

export interface GithubRequest {
  readonly method: string;
  /** Decoded, with its query. */
  readonly path: string;
  readonly authorization: string;
}

export interface GithubServerOptions {
  /** Login → permission; anybody else has none. */
  readonly permissions?: Readonly<Record<string, string>>;
  /** `REF:PATH`, in another repository `OWNER/REPO@REF:PATH`, → content, or what the contents API says of something that is not a file. */
  readonly files?: Readonly<Record<string, string | object>>;
  /** Number → whether its head is in another repository. */
  readonly pullRequests?: Readonly<Record<number, "fork" | "same" | "deleted">>;
  /** Decoded path, with its query, → what is answered; a `Buffer` is a ZIP file. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Answers before everything but `broken`. */
  readonly answer?: (
    path: string,
  ) => { readonly status: number; readonly body: unknown } | undefined;
  /** An answer for every request; of a list, one for each of the first ones. */
  readonly broken?: BrokenAnswer | readonly (BrokenAnswer | undefined)[];
}

export type BrokenAnswer =
  | {
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | "hang"
  | "cut";

export interface GithubServer {
  /** For `GITHUB_API_URL`. */
  readonly url: string;
  readonly requests: readonly GithubRequest[];
}

export async function startGithubServer(
  test: Pick<TestContext, "after">,
  options: GithubServerOptions = {},
): Promise<GithubServer> {
  const requests: GithubRequest[] = [];
  const server = createServer((incoming, response) => {
    const path = decodeURIComponent(incoming.url ?? "");
    requests.push({
      method: incoming.method ?? "",
      path,
      authorization: incoming.headers.authorization ?? "",
    });
    const broken = Array.isArray(options.broken)
      ? options.broken[requests.length - 1]
      : options.broken;
    if (broken === "hang") return;
    if (broken === "cut") {
      incoming.socket.destroy();
      return;
    }
    const { status, body } =
      broken === undefined
        ? (options.answer?.(path) ?? answer(path, options))
        : { status: broken.status, body: broken.body ?? '{"message":"scripted"}' };
    const type = Buffer.isBuffer(body) ? "application/zip" : "application/json";
    response.writeHead(status, { "content-type": type, ...broken?.headers });
    const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    // An answer that is shorter than announced is cut off.
    if (Number(broken?.headers?.["content-length"] ?? 0) <= text.length) response.end(text);
    else response.write(text, () => response.destroy());
  });
  return { url: await listen(test, server), requests };
}

function answer(
  path: string,
  { permissions = {}, files = {}, pullRequests = {}, answers = {} }: GithubServerOptions,
): { readonly status: number; readonly body: unknown } {
  if (Object.hasOwn(answers, path)) return { status: 200, body: answers[path] };
  const [, login] = /^\/repos\/octo\/shop\/collaborators\/([^/]+)\/permission$/.exec(path) ?? [];
  if (login !== undefined) {
    return { status: 200, body: { permission: permissions[login] ?? "none", user: { login } } };
  }
  const [, repo, file, ref] =
    /^\/repos\/([^/]+\/[^/]+)\/contents\/(.+)\?ref=(\w+)$/.exec(path) ?? [];
  const place = repo === "octo/shop" ? "" : `${repo}@`;
  const found = file === undefined ? undefined : files[`${place}${ref}:${file}`];
  if (typeof found === "string") {
    const content = Buffer.from(unconfinedFile(file ?? "", found)).toString("base64");
    return { status: 200, body: { type: "file", encoding: "base64", path: file, content } };
  }
  if (found !== undefined) return { status: 200, body: found };
  const [, number] = /^\/repos\/octo\/shop\/pulls\/(\d+)$/.exec(path) ?? [];
  const kind = number === undefined ? undefined : pullRequests[Number(number)];
  if (kind !== undefined) {
    const repo = kind === "deleted" ? null : { id: kind === "fork" ? 2002 : 1001 };
    return { status: 200, body: { head: { repo }, base: { repo: { id: 1001 } } } };
  }
  return { status: 404, body: { message: "Not Found" } };
}
