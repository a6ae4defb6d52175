/** The comments of a pull request, as GitHub's REST API gives and takes them: at most so many a page. */
import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listen } from "../rig/listen.ts";

export interface Comment {
  readonly id: number;
  readonly user: { readonly login: string; readonly type: "Bot" | "User" };
  readonly body: string;
}

export interface CommentServer {
  readonly url: string;
  readonly comments: readonly Comment[];
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly link?: string;
}

const issue = "/repos/octo/shop/issues/7/comments";

export async function startCommentServer(
  test: Pick<TestContext, "after">,
  present: readonly Comment[] = [],
): Promise<CommentServer> {
  const comments = [...present];
  const url = await listen(
    test,
    createServer((incoming, response) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      incoming.on("end", () => {
        const { status, body, link } = answer(incoming.method ?? "", incoming.url ?? "", text);
        response.writeHead(status, {
          "content-type": "application/json",
          ...(link === undefined ? {} : { link }),
        });
        response.end(JSON.stringify(body));
      });
    }),
  );
  const user = { login: "github-actions[bot]", type: "Bot" } as const;

  function answer(method: string, target: string, text: string): Answer {
    const { pathname, searchParams } = new URL(target, "http://localhost");
    const id = Number(/^\/repos\/octo\/shop\/issues\/comments\/(\d+)$/.exec(pathname)?.[1]);
    const at = comments.findIndex((comment) => comment.id === id);
    if (method === "GET" && pathname === issue) {
      const size = Number(searchParams.get("per_page") ?? 30);
      const page = Number(searchParams.get("page") ?? 1);
      const more = comments.length > page * size;
      const next = `<${url}${issue}?per_page=${size}&page=${page + 1}>; rel="next"`;
      const body = comments.slice((page - 1) * size, page * size);
      return { status: 200, body, ...(more ? { link: next } : {}) };
    }
    const body = method === "GET" ? "" : bodyOf(text);
    if (body === undefined) return { status: 422, body: { message: "Validation Failed" } };
    if (method === "POST" && pathname === issue) {
      const comment = { id: comments.length + 1, user, body };
      comments.push(comment);
      return { status: 201, body: comment };
    }
    if (method === "PATCH" && at >= 0) {
      const comment = { id, user, body };
      comments.splice(at, 1, comment);
      return { status: 200, body: comment };
    }
    return { status: 404, body: { message: `Not Found: ${method} ${target}` } };
  }
  return { url, comments };
}

/** GitHub refuses a longer one. */
const MAX_BODY = 65_536;

function bodyOf(text: string): string | undefined {
  const sent: unknown = JSON.parse(text);
  const body = typeof sent === "object" && sent !== null && "body" in sent ? sent.body : undefined;
  return typeof body === "string" && body.length <= MAX_BODY ? body : undefined;
}
