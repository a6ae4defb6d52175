/** `copilot/job…`: the jobs of the entry, and those that run or have ended within the hour. */
import type { Hono } from "hono";
import type { JobState } from "../app/run-feeds.ts";
import { generateChartNodes } from "../entry/chart.ts";
import { answerDone, answerStarted, json } from "./answers.ts";
import { route, type Env, type Served } from "./app.ts";
import { addFeedRoutes } from "./live.ts";
import { firstLine } from "./request.ts";

export function addJobRoutes(app: Hono<Env>, served: Served): void {
  const { live } = served.host;

  route(app, "copilot/job", () => {
    const { grid = [], jobs = {} } = live.entry ?? {};
    // A job may have the name of a field that every object has.
    const chart = Object.fromEntries(
      Object.entries(jobs).map(([name, { work }]) => [name, generateChartNodes(work)]),
    );
    return json({ grid, jobs, chart });
  });

  route(app, "copilot/job/running", () => json({ jobs: live.jobs.map(summaryOf) }));

  // For the page: what the documented answers leave out.
  route(app, "copilot/job/recent", () =>
    json({
      jobs: live.jobs.map((job) => {
        const { endTime, workingDirectory, userInput, tasks } = job;
        const end = endTime === undefined ? {} : { endTime: new Date(endTime).toISOString() };
        return { ...summaryOf(job), ...end, workingDirectory, userInput, tasks };
      }),
    }),
  );

  route(app, "copilot/job/start/:name", async (c) => {
    const { first: folder, rest: userInput } = firstLine(c.var.body);
    const started = await live.startJob(c.req.param("name"), userInput, folder);
    return answerStarted(started, ({ jobId }) => ({ jobId }));
  });

  route(app, "copilot/job/:id/status", (c) => {
    const job = live.job(c.req.param("id"));
    if (job === undefined) return json({ error: "JobNotFound" });
    return json({ ...summaryOf(job), tasks: job.tasks });
  });

  route(app, "copilot/job/:id/stop", (c) =>
    answerDone(live.stopJob(c.req.param("id")), { result: "Closed" }),
  );

  addFeedRoutes(app, served, "job");
}

function summaryOf({ jobId, jobName, startTime, status }: JobState): object {
  return { jobId, jobName, startTime: new Date(startTime).toISOString(), status };
}
