/** `copilot/task…`: the tasks of the entry, those that run in a session of a client, and those of running jobs. */
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import type { Hono } from "hono";
import { DiagnosticsError } from "../document/diagnostic.ts";
import type { JobHost } from "../live/job-host.ts";
import { errorMessage } from "../platform/system-error.ts";
import { answerDone, answerStarted, json, refuse } from "./answers.ts";
import { route, type Env, type Served } from "./app.ts";
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

type Installed =
  | { readonly result: "OK" }
  | {
      readonly result: "InvalidatePath" | "InvalidateEntry" | "Rejected";
      readonly error: string;
    };

/** A client gives the server another entry, from a file of the folder. `path`: as it sent it. */
async function installEntry(host: JobHost, path: string, folder: string): Promise<Installed> {
  const file = await fileIn(folder, path);
  if (file === undefined) {
    const error = "The path must be the absolute path of a file in the folder of --entries-dir.";
    return { result: "InvalidatePath", error };
  }
  try {
    await host.installEntryFile(file, { checkModels: true });
    return { result: "OK" };
  } catch (error) {
    const result = error instanceof DiagnosticsError ? "InvalidateEntry" : "Rejected";
    return { result, error: errorMessage(error) };
  }
}

/** The file without links, if it is in the folder. */
async function fileIn(folder: string, path: string): Promise<string | undefined> {
  if (!isAbsolute(path) || path.split(/[/\\]/).includes("..")) return undefined;
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(path)]);
    const inside = relative(root, file);
    const isInside = inside !== "" && inside !== ".." && !inside.startsWith(`..${sep}`);
    return isInside && !isAbsolute(inside) ? file : undefined;
  } catch {
    return undefined;
  }
}
