/** The failed jobs of a `workflow_run`, or of the workflow runs for the head of a pull request, with their logs. */
import { mostFailedChecks, type FailedCheck } from "../events/failed-checks.ts";
import type { Environment } from "../platform/environment.ts";
import { changeOfEvent } from "./change.ts";
import { GithubFailure, type GithubApi } from "./github-api.ts";
import { pullRequestOf } from "./origin.ts";
import { at, listAt, payloadOf, sha, textAt } from "./webhook-event.ts";

type Get = GithubApi["get"];

/** Undefined: the event is not about a workflow run or a pull request. Rejects with an Error whose message can be shown to users. */
export async function failedChecksOfStep(
  environment: Environment,
  get: Get,
): Promise<readonly FailedCheck[] | undefined> {
  try {
    const runs = await runsOfEvent(environment, get);
    if (runs === undefined) return undefined;
    const jobs: Named[] = [];
    for (const run of runs) {
      if (jobs.length >= mostFailedChecks.names) break;
      jobs.push(...(await failedJobs(run, get)));
    }
    return await Promise.all(
      jobs.map(async ({ id, name }, index) => ({
        name,
        ...(index < mostFailedChecks.logs && { log: await logOf(id, get) }),
      })),
    );
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    const isForbidden = error.status === 403 || error.status === 404;
    const needs = isForbidden ? ". The token needs `actions: read`" : "";
    throw new Error(`the failed checks can't be read: ${error.message}${needs}`, { cause: error });
  }
}

/** A workflow run, or a job of one. */
interface Named {
  readonly id: string;
  readonly name: string;
}

const mostRuns = 10;

async function runsOfEvent(
  environment: Environment,
  get: Get,
): Promise<readonly Named[] | undefined> {
  const payload = await payloadOf(environment["GITHUB_EVENT_PATH"]);
  const event = environment["GITHUB_EVENT_NAME"] ?? "";
  if (event === "workflow_run") return [runOf(at(payload, "workflow_run"))];
  const change = changeOfEvent(event, payload);
  if (change?.kind !== "pull-request") return undefined;
  const head = change.head ?? sha(at(await pullRequestOf(get, change), "head", "sha")) ?? "unknown";
  const listed = await get("GET /repos/{owner}/{repo}/actions/runs", {
    head_sha: head,
    per_page: "100",
  });
  // The newest first. A later run of a workflow replaces those before it.
  const newest = new Map<string, unknown>();
  for (const run of listAt(listed, "workflow_runs")) {
    if (String(at(run, "id")) === environment["GITHUB_RUN_ID"]) continue;
    const key = `${String(at(run, "workflow_id"))} ${textAt(run, "event")}`;
    if (!newest.has(key)) newest.set(key, run);
  }
  return [...newest.values()].filter(hasFailed).slice(0, mostRuns).map(runOf);
}

function runOf(run: unknown): Named {
  return { id: String(at(run, "id")), name: textAt(run, "name") ?? "workflow" };
}

function hasFailed(one: unknown): boolean {
  return ["failure", "timed_out"].includes(textAt(one, "conclusion") ?? "");
}

async function failedJobs({ id: run_id, name: workflow }: Named, get: Get): Promise<Named[]> {
  const listed = await get("GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs", {
    run_id,
    filter: "latest",
    per_page: "100",
  });
  return listAt(listed, "jobs")
    .filter(hasFailed)
    .map((job) => {
      const step = listAt(job, "steps").find(hasFailed);
      const names = [workflow, textAt(job, "name"), textAt(step, "name")];
      return {
        id: String(at(job, "id")),
        name: names.filter((part) => part !== undefined).join(" / "),
      };
    });
}

/** More than a prompt has room for: most of a log is at its beginning. */
const longestEnd = 200_000;

/** GitHub redirects to a file elsewhere, to which `fetch` sends no token. A log that is gone is no reason not to run. */
async function logOf(job_id: string, get: Get): Promise<string> {
  try {
    const data = await get("GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs", { job_id });
    const text = data instanceof ArrayBuffer ? new TextDecoder().decode(data) : data;
    return typeof text === "string" ? text.slice(-longestEnd) : "(There is no log.)";
  } catch (error) {
    if (!(error instanceof GithubFailure) || error.status === 403) throw error;
    return `(The log can't be read: ${error.message}.)`;
  }
}
