/** The part of GitHub's API that tells the runs of a workflow, with its filters. */
import assert from "node:assert/strict";
import type { GithubServerOptions } from "./github-server.ts";

export interface WorkflowRun {
  readonly created: string;
  /** Default: `maintainer`. */
  readonly actor?: string;
  readonly isSkipped?: true;
}

interface Runs {
  /** The run of the step. */
  readonly own: WorkflowRun & { readonly startedAgain?: string };
  readonly others: readonly WorkflowRun[];
  /** Replaces every answer. */
  readonly answered?: { readonly status: number; readonly body: object } | undefined;
}

const workflow = 5;

export function workflowRuns({
  own,
  others,
  answered,
}: Runs): NonNullable<GithubServerOptions["answer"]> {
  return (path) => {
    const { pathname, searchParams: asked } = new URL(path, "http://api");
    if (!pathname.startsWith("/repos/octo/shop/actions/")) return undefined;
    if (answered !== undefined) return answered;
    if (pathname === "/repos/octo/shop/actions/runs/99") {
      const { created, actor: login = "maintainer", startedAgain = created } = own;
      const times = { created_at: created, run_started_at: startedAgain };
      return { status: 200, body: { id: 99, workflow_id: workflow, actor: { login }, ...times } };
    }
    assert.equal(pathname, `/repos/octo/shop/actions/workflows/${workflow}/runs`);
    const [from = "", to = ""] = (asked.get("created") ?? "").split("..").map(Date.parse);
    const actor = asked.get("actor");
    const status = asked.get("status");
    const found = [own, ...others].filter(
      (run) =>
        Date.parse(run.created) >= Number(from) &&
        Date.parse(run.created) <= Number(to) &&
        (actor === null || (run.actor ?? "maintainer") === actor) &&
        (status === null || (status === "skipped" && run.isSkipped === true)),
    );
    return { status: 200, body: { total_count: found.length, workflow_runs: found.slice(0, 1) } };
  };
}
