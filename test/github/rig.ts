/** Deliveries of a run, through the API client that the action uses, to a repository that remembers what was written. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { RunEventBody, RunOutcome } from "../../src/events/event.ts";
import type { Finding, Origin, Proposal, Verdict } from "../../src/events/output-shapes.ts";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import {
  createGithubApi,
  type GithubApi,
  type GithubApiOptions,
} from "../../src/github/github-api.ts";
import { createGithubPort } from "../../src/github/github-port.ts";
import { deliver } from "../../src/github/deliver.ts";
import type { Delivery } from "../../src/github/delivery.ts";
import { lineDigest } from "../../src/outputs/check-finding.ts";
import { GithubRepository, type RepositoryOptions } from "../rig/github-repository.ts";

export const head = "a".repeat(40);
export const origin: Origin = {
  repository: "octo/shop",
  server: "https://github.com",
  workflowRun: "77",
  attempt: 1,
  event: "pull_request",
  head,
  number: 7,
  isPullRequest: true,
};
export const outputs: Outputs = {
  report: { comment: "sticky" },
  findings: { review: "comment" },
  proposals: {
    comment: {},
    label: { allowed: ["bug", "docs"], max: 2 },
    reviewers: { allowed: ["mona"] },
    issue: { titlePrefix: "[nightly] " },
    pull_request: { paths: ["src/**"] },
    close: {},
  },
};
export const finding = (name: string, line: number): Finding => ({
  path: "src/a.ts",
  line,
  headLine: line,
  severity: "warning",
  rule: "review",
  message: `${name} is wrong.`,
  task: "review",
  fingerprint: name,
  lineDigest: lineDigest(name),
});
export const one = finding("one", 2);
const diff = { "src/a.ts": "@@ -1,2 +1,4 @@\n one\n+two\n+three\n four" };

export interface Run {
  readonly findings?: readonly Finding[];
  /** Key → reason. */
  readonly resolved?: Readonly<Record<string, string>>;
  /** Key → message. */
  readonly replies?: Readonly<Record<string, string>>;
  readonly proposals?: readonly Proposal[];
  readonly outcome?: RunOutcome;
  readonly origin?: Partial<Origin>;
  readonly outputs?: Outputs;
  /** Why findings of this run were refused. */
  readonly refused?: readonly string[];
  readonly report?: string;
  readonly verdict?: Verdict;
  readonly faults?: readonly string[];
  readonly checkId?: number;
  readonly staged?: boolean;
  readonly token?: string | undefined;
  readonly now?: () => number;
  /** Aborted: the process is gone, and sends nothing more. */
  readonly signal?: AbortSignal;
  /** The item of an `Each` for each proposal. Default: there is none. */
  readonly items?: readonly string[];
}

/** Waits for nothing; the limit of a request, which has a signal, is never reached. */
export const clock = {
  now: () => 0,
  sleep: (_milliseconds: number, signal?: AbortSignal) =>
    signal === undefined ? Promise.resolve() : new Promise<void>(() => {}),
};

export function apiOf(
  { url: apiUrl }: { readonly url: string },
  more: Partial<GithubApiOptions> = {},
): GithubApi {
  return createGithubApi({ token: "ghs_1", repository: "octo/shop", apiUrl, clock, ...more });
}

/** Through the API client that the action uses, on a clock that doesn't wait. */
export async function delivered(
  repository: GithubRepository,
  run: Run = {},
): Promise<readonly Delivery[]> {
  const { findings = [], proposals = [], outcome = { kind: "succeeded" }, staged = false } = run;
  const work = { workId: 0, taskId: "review", iteration: 1 };
  const view = createRunView();
  const events: readonly RunEventBody[] = [
    ...findings.map((finding) => ({ type: "finding.reported", work, finding }) as const),
    ...Object.entries(run.resolved ?? {}).map(
      ([key, reason]) => ({ type: "finding.resolved", work, finding: key, reason }) as const,
    ),
    ...Object.entries(run.replies ?? {}).map(
      ([key, message]) => ({ type: "reply.given", work, finding: key, message }) as const,
    ),
    ...(run.verdict ? [{ type: "verdict.given", work, verdict: run.verdict } as const] : []),
    ...(run.refused ?? []).map((reason) => {
      const refused = { kind: "finding", reason } as const;
      return { type: "output.refused", work, refused } as const;
    }),
    ...proposals.map((proposal, index) => {
      const item = run.items?.[index];
      const placed =
        item === undefined ? work : { ...work, iteration: index + 2, item, itemIndex: index };
      return { type: "proposal.made", work: placed, proposal } as const;
    }),
    { type: "run.ended", outcome },
  ];
  for (const event of events) applyEvent(view, { at: 0, runId: "r", ...event });
  const api = apiOf(repository, {
    ...("token" in run && { token: run.token }),
    ...(run.signal && { signal: run.signal }),
  });
  return deliver(
    {
      view,
      outputs: run.outputs ?? outputs,
      origin: { ...origin, ...run.origin },
      entry: ".github/review.yml",
      job: "review",
      report: run.report ?? "# Done",
    },
    createGithubPort(api, (text) => text.replaceAll(/hunter2|5ec0{37}/g, "***")),
    {
      staged,
      checkId: run.checkId,
      faults: run.faults,
      clock: { sleep: clock.sleep, now: run.now ?? clock.now },
    },
  );
}

export const start = (
  t: TestContext,
  options: Partial<RepositoryOptions> = {},
): Promise<GithubRepository> => GithubRepository.start(t, { head, diff, ...options });

/** Kills a delivery at each request, before and after its effect, and repeats it: the state must be that of one whom nobody killed. */
export async function surviveKills(
  setUp: (options: Partial<RepositoryOptions>) => Promise<GithubRepository>,
  stateOf: (repository: GithubRepository) => object,
  run: Run,
  again: Run,
  /** Skips requests, so that it takes less time. */
  every = 1,
): Promise<object> {
  const whole = await setUp({});
  const before = whole.asked.length;
  await delivered(whole, run);
  for (let last = before + 1; last <= whole.asked.length; last += every)
    for (const isDone of [false, true]) {
      const gone = new AbortController();
      let left = last;
      const repository = await setUp({
        breaks() {
          if ((left -= 1) !== 0) return undefined;
          gone.abort();
          return { status: 502, ...(isDone && { isDone }) };
        },
      });
      await delivered(repository, { ...run, signal: gone.signal });
      assert.equal(repository.asked.length, last);
      const repeated = shown(await delivered(repository, again)).join();
      const name = `killed at request ${last}, ${isDone ? "after" : "before"} its effect`;
      assert.doesNotMatch(repeated, /\|refused\|/, name);
      assert.deepEqual(stateOf(repository), stateOf(whole), name);
    }
  return stateOf(whole);
}

export const statuses = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ status }) => status);
export const shown = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ what, status, reason }) => [what, status, reason ?? ""].join("|"));
export const written = ({ calls }: GithubRepository): string[] =>
  calls.map(({ method, path, body }) =>
    path === "/graphql"
      ? (/\w+(?=\(input)/.exec(String(body["query"]))?.[0] ?? "")
      : `${method} ${path}`,
  );

export const file = {
  path: "src/a.ts",
  mode: "100644",
  content: "new\n",
  encoding: "utf-8",
} as const;
export const pull = {
  kind: "pull_request",
  title: "Update @all, fixes #1",
  body: "It closes #2 for @everyone.",
  branch: "update",
  base: "d".repeat(40),
  files: [
    file,
    { path: "src/b.png", mode: "100755", content: "/wAB", encoding: "base64" },
    { path: "src/old.ts", mode: "100644", content: null, encoding: "utf-8" },
  ],
} satisfies Proposal;
