/** All routes of the server (docs/server.md). */
import type { Hono } from "hono";
import { json } from "./answers.ts";
import { createBareApp, route, type Env, type Served } from "./app.ts";
import { addJobRoutes } from "./jobs.ts";
import { addPage } from "./page.ts";
import { addSessionRoutes } from "./sessions.ts";
import { addTaskRoutes } from "./tasks.ts";

export function createApp(served: Served): Hono<Env> {
  const app = createBareApp(served);
  const { repoRoot, stop } = served;
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
  return app;
}
