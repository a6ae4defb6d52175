/** Whole steps whose entry bounds the runs of a day. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeWorkspace } from "../rig/workspace.ts";
import {
  assertNothingRan,
  entry,
  files,
  inputs as rehearsed,
  tryEvent,
  type Test,
  type Tried,
} from "./rig.ts";
import type { GithubServerOptions } from "../rig/github-server.ts";

/* The part of GitHub's API that tells the runs of a workflow, with its filters. */

interface WorkflowRun {
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

function workflowRuns({ own, others, answered }: Runs): NonNullable<GithubServerOptions["answer"]> {
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

const now = "2026-11-28T12:00:00Z";
const run = (created: string, more: Omit<WorkflowRun, "created"> = {}): WorkflowRun => ({
  created,
  ...more,
});
const yesterday = run("2026-11-27T11:59:59Z");
const today = [run("2026-11-27T12:00:01Z"), run("2026-11-28T11:00:00Z")];

interface Given {
  readonly limits?: string;
  readonly others?: readonly WorkflowRun[];
  readonly own?: { readonly created: string; readonly startedAgain?: string };
  readonly answered?: { readonly status: number; readonly body: object };
  readonly inputs?: Readonly<Record<string, string>>;
}

async function start(t: Test, { limits = "runsPerDay: 2", ...given }: Given): Promise<Tried> {
  const { others = today, own = { created: now }, answered, inputs = {} } = given;
  const text = `limits: { ${limits} }\n${entry}`;
  const workspace = await makeWorkspace(t, { ...files, "entries/hello.yml": text });
  const answer = workflowRuns({ own, others, answered });
  return tryEvent(t, "workflow-dispatch", { workspace, github: { answer }, given: inputs });
}

const reasonOf = ({ result }: Tried): string => result.outputs["reason"] ?? "";

describe("the runs of a day", () => {
  it("are bounded: one more is skipped before any model call, by the limit's name", async (t) => {
    const tried = await start(t, {});
    assertNothingRan(tried, "skipped");
    assert.equal(
      reasonOf(tried),
      "Exceeded limits.runsPerDay (2 runs), set by limits.runsPerDay of the entry. 2 were started in the 24 hours before this run.",
    );
  });

  for (const [what, given] of [
    ["are below the limit", { limits: "runsPerDay: 3" }],
    ["began earlier", { others: [yesterday, run("2026-11-28T11:00:00Z")] }],
    ["began later", { others: [run("2026-11-28T12:00:01Z"), run("2026-11-28T11:00:00Z")] }],
    [
      "were skipped by GitHub",
      { others: [run("2026-11-28T11:00:00Z", { isSkipped: true }), ...today.slice(1)] },
    ],
    [
      "were started by others",
      {
        limits: "runsPerActorPerDay: 2",
        others: [...today.slice(1), run("2026-11-28T10:00:00Z", { actor: "other" })],
      },
    ],
  ] as const)
    it(`allow a run if they ${what}`, async (t) => {
      const { modelRequests, result } = await start(t, given);
      assert.notEqual(modelRequests, 0, result.raw);
    });

  it("are also counted for the user who started this one", async (t) => {
    const tried = await start(t, { limits: "runsPerActorPerDay: 2, runsPerDay: 9" });
    assertNothingRan(tried, "skipped");
    assert.match(reasonOf(tried), /^Exceeded limits\.runsPerActorPerDay \(2 runs\)/);
    assert.ok(tried.asked.some((path) => path.includes("actor=maintainer")));
  });

  it("of a run that is started again are those before its new start, without itself", async (t) => {
    const again = { created: "2026-11-20T00:00:00Z", startedAgain: now };
    assertNothingRan(await start(t, { own: again }), "skipped");
    const { modelRequests } = await start(t, { own: again, others: today.slice(1) });
    assert.notEqual(modelRequests, 0);
  });

  for (const [what, answered, cause] of [
    ["without `actions: read`", { status: 403, body: { message: "No" } }, "GitHub answered 403"],
    ["of a run that GitHub doesn't know", { status: 404, body: {} }, "GitHub answered 404"],
    ["in an answer without it", { status: 200, body: {} }, "GitHub doesn't name the workflow"],
  ] as const)
    it(`can't be counted ${what}, and then nothing runs`, async (t) => {
      const tried = await start(t, { answered });
      assertNothingRan(tried, "failure");
      const reason = reasonOf(tried);
      assert.ok(reason.startsWith(`limits.runsPerDay can't be checked: ${cause}`), reason);
      assert.ok(reason.endsWith(". The token needs `actions: read`."), reason);
    });

  it("don't matter to a rehearsal", async (t) => {
    const { asked, result } = await start(t, { inputs: rehearsed });
    assert.equal(result.code, 0, result.raw);
    assert.deepEqual(asked, []);
  });

  it("are not asked for without such a limit", async (t) => {
    const { asked } = await start(t, { limits: "tokens: 1000000" });
    assert.deepEqual(asked, []);
  });
});
