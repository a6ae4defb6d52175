/** `copilot/task…`: the tasks of the entry, those that run in a session of a client, and those of running jobs. */
import type { Hono } from "hono";
import { answerDone, answerStarted, json, refuse } from "./answers.ts";
import { route, type Env, type Served } from "./app.ts";
import { installEntry } from "./install-entry.ts";
import { addFeedRoutes } from "./live.ts";
import { firstLine } from "./request.ts";

export function addTaskRoutes(app: Hono<Env>, served: Served): void {
  const { host, entriesFolder } = served;
  const { live } = host;

  route(app, "copilot/test/installJobsEntry", async (c) => {
    if (entriesFolder === undefined)
      return refuse("NotFound", "Entries can be installed only if the server runs with --test.");
    return json(await installEntry(host, firstLine(c.var.body).first, entriesFolder));
  });

  route(app, "copilot/task", () => {
    const tasks = Object.entries(live.entry?.tasks ?? {});
    return json({
      tasks: tasks.map(([name, { requireUserInput }]) => ({ name, requireUserInput })),
    });
  });

  route(app, "copilot/task/start/:name/session/:id", (c) => {
    const { name, id } = c.req.param();
    return answerStarted(live.startTask(name, c.var.body, id), ({ taskId }) => ({ taskId }));
  });

  route(app, "copilot/task/:id/stop", (c) =>
    answerDone(live.stopTask(c.req.param("id")), { result: "Closed" }),
  );

  addFeedRoutes(app, served, "task");
}
