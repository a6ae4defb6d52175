/**
 * `limits.runsPerDay` and `limits.runsPerActorPerDay`, counted from the runs of the workflow in the 24 hours before this
 * run. Runs count from their start, whatever came of them, except those that GitHub itself skipped (`if`). A run that
 * is refused is skipped: a flood of events must not paint a repository red.
 */
import { exceeded } from "../engine/limits.ts";
import { limitText } from "../events/exceeded-limit.ts";
import type { GithubApi } from "../github/github-api.ts";
import { at, textAt } from "../github/webhook-event.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { PreparedRun } from "../run/prepare.ts";
import type { Environment, Inputs } from "./inputs.ts";
import { Stop } from "./stop.ts";

interface Step {
  readonly environment: Environment;
  readonly inputs: Pick<Inputs, "mode">;
}

const DAY_MS = 24 * 60 * 60_000;

/** Throws a `Stop` if there were too many, or if the number is unknown. A part of a job belongs to a run that was counted. */
export async function checkRunLimits(
  { limits, fanOut, past }: Pick<PreparedRun, "limits" | "fanOut" | "past">,
  { environment, inputs: { mode } }: Step,
  api: Pick<GithubApi, "get">,
): Promise<void> {
  const isPart = fanOut !== undefined && past !== undefined;
  if (isPart || mode === "rehearse") return;
  for (const limit of ["runsPerDay", "runsPerActorPerDay"] as const) {
    if (!Number.isFinite(limits[limit])) continue;
    const used = await countRuns(api, environment, limit === "runsPerActorPerDay").catch(
      (error: unknown) => {
        throw new Stop("failure", [
          `limits.${limit} can't be checked: ${errorMessage(error)}. The token needs \`actions: read\`.`,
        ]);
      },
    );
    if (used < limits[limit]) continue;
    throw new Stop("skipped", [
      `Exceeded ${limitText(exceeded(limits, limit))}. ${used} were started in the 24 hours before this run.`,
    ]);
  }
}

/** Earlier runs of the workflow: those of all users, or of this run's user. */
async function countRuns(
  { get }: Pick<GithubApi, "get">,
  { GITHUB_RUN_ID: run_id }: Environment,
  ofActor: boolean,
): Promise<number> {
  const own = await get("GET /repos/{owner}/{repo}/actions/runs/{run_id}", { run_id });
  const workflow_id = at(own, "workflow_id");
  const created = textAt(own, "created_at") ?? "";
  // A further attempt has the same creation.
  const end = Date.parse(textAt(own, "run_started_at") ?? created);
  const actor = textAt(at(own, "actor"), "login");
  if (typeof workflow_id !== "number" || Number.isNaN(end) || (ofActor && actor === undefined))
    throw new Error("GitHub doesn't name the workflow and the user of this run");
  const [from, to] = [end - DAY_MS, end].map((time) => new Date(time).toISOString());
  const route = "GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs";
  const count = async (more: object): Promise<number> => {
    const asked = { workflow_id, created: `${from}..${to}`, per_page: 1, ...more };
    const total = at(await get(route, { ...asked, ...(ofActor && { actor }) }), "total_count");
    if (typeof total !== "number") throw new Error("GitHub's answer has no number of runs");
    return total;
  };
  const itself = Date.parse(created) >= end - DAY_MS ? 1 : 0;
  const [all, skipped] = [await count({}), await count({ status: "skipped" })];
  return Math.max(0, all - skipped - itself);
}
