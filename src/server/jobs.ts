/** `copilot/job…`: the jobs of the entry, and those that run or have ended within the hour. */
import type { Hono } from "hono";
import type { JobState } from "../live/run-feeds.ts";
import { generateChartNodes } from "../entry/chart.ts";
import { answerDone, answerStarted, json, refuse } from "./answers.ts";
import { route, type Env, type Served } from "./app.ts";
import { addFeedRoutes } from "./live.ts";
import { readStart } from "./request.ts";

export function addJobRoutes(app: Hono<Env>, served: Served): void {
  const { live } = served.host;

  route(app, "copilot/job", () => {
    const { grid = [], jobs = {}, inputs } = live.entry ?? {};
    // A job may have the name of a field that every object has.
    const chart = Object.fromEntries(
      Object.entries(jobs).map(([name, { work }]) => [name, generateChartNodes(work)]),
    );
    const { workflows } = live;
    return json({
      grid,
      jobs,
      chart,
      ...(Object.keys(workflows).length > 0 && { workflows }),
      ...(inputs !== undefined && { inputs }),
    });
  });

  route(app, "copilot/job/running", () => json({ jobs: live.jobs.map(summaryOf) }));

  // For the page: what the documented answers leave out.
  route(app, "copilot/job/recent", () =>
    json({
      jobs: live.jobs.map((job) => {
        const { endTime, workingDirectory, userInput, tasks } = job;
        const end = endTime === undefined ? {} : { endTime: new Date(endTime).toISOString() };
        const named = Object.entries({ params: job.params, inputs: job.inputs });
        const some = named.filter(([, values]) => Object.keys(values).length > 0);
        const given = { workingDirectory, userInput, ...Object.fromEntries(some) };
        return { ...summaryOf(job), ...end, ...given, tasks, ...waiting(job) };
      }),
    }),
  );

  route(app, "copilot/job/start/:name", async (c) => {
    const start = readStart(c.var.body);
    if (start instanceof Response) return start;
    const { userInput, workingDirectory, params, inputs } = start;
    const name = c.req.param("name");
    const started = await live.startJob(name, userInput, workingDirectory, params, inputs);
    return answerStarted(started, ({ jobId }) => ({ jobId }));
  });

  route(app, "copilot/job/:id/status", (c) => {
    const job = live.job(c.req.param("id"));
    if (job === undefined) return json({ error: "JobNotFound" });
    return json({ ...summaryOf(job), tasks: job.tasks, ...waiting(job) });
  });

  route(app, "copilot/job/:id/stop", (c) =>
    answerDone(live.stopJob(c.req.param("id")), { result: "Closed" }),
  );

  // The question is in the query: the whole body is the answer, whatever its lines are.
  app.get("/api/copilot/job/:id/answer", () =>
    refuse("MethodNotAllowed", "Use POST, with the answer as the body.", { Allow: "POST" }),
  );
  app.post("/api/copilot/job/:id/answer", (c) =>
    answerDone(live.answer(c.req.param("id"), c.var.body, c.req.query("question")), {}),
  );

  addFeedRoutes(app, served, "job");
}

/** Only of a job that waits: others answer what the documents say. */
function waiting({ questions }: JobState): object {
  if (questions.length === 0) return {};
  const shown = questions.map((one) => ({ ...one, since: new Date(one.since).toISOString() }));
  return { questions: shown };
}

function summaryOf({ jobId, jobName, startTime, status }: JobState): object {
  return { jobId, jobName, startTime: new Date(startTime).toISOString(), status };
}
