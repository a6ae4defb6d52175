/** `copilot/models` and `copilot/session/…`: sessions of clients, and those of running tasks. */
import type { Hono } from "hono";
import type { SessionState } from "../live/own-session.ts";
import { answerDone, answerStarted, json } from "./answers.ts";
import { route, type Env, type Served } from "./app.ts";
import { addFeedRoutes } from "./live.ts";
import { firstLine } from "./request.ts";

export function addSessionRoutes(app: Hono<Env>, served: Served): void {
  const { live } = served.host;

  route(app, "copilot/models", async () => json({ models: await live.listModels() }));

  // The id of a model may contain a slash.
  route(app, "copilot/session/start/:modelId{.+}", async (c) => {
    const { first: folder } = firstLine(c.var.body);
    return answerStarted(
      await live.startSession(c.req.param("modelId"), folder),
      ({ sessionId }) => ({
        sessionId,
      }),
    );
  });

  route(app, "copilot/session/:id/stop", async (c) =>
    answerDone(await live.stopSession(c.req.param("id")), { result: "Closed" }),
  );

  route(app, "copilot/session/:id/query", (c) =>
    answerDone(live.query(c.req.param("id"), c.var.body), {}),
  );

  // For the page: what the documented answers and the feeds leave out.
  route(app, "copilot/session/recent", () => json({ sessions: live.sessions.map(recentOf) }));

  addFeedRoutes(app, served, "session");
}

function recentOf({ startTime, endTime, asked, ...session }: SessionState): object {
  return {
    ...session,
    startTime: new Date(startTime).toISOString(),
    ...(endTime === undefined ? {} : { endTime: new Date(endTime).toISOString() }),
    prompts: asked.flatMap((item) =>
      item.kind === "prompt" ? { after: item.after, text: item.text } : [],
    ),
    tasks: asked.flatMap((item) => {
      if (item.kind !== "task") return [];
      const { after, taskId, taskName } = item;
      return { after, taskId, taskName };
    }),
  };
}
