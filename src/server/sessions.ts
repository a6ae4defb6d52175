/** `copilot/models` and `copilot/session/…`: sessions of clients, and those of running tasks. */
import type { Hono } from "hono";
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

  addFeedRoutes(app, served, "session");
}
