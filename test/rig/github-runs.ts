/** The workflow runs of the fake repository: their jobs, and logs, which are on another server. */
import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listen } from "./listen.ts";

export interface FakeRun {
  readonly id: number;
  readonly name: string;
  /** Default: the id. */
  readonly workflow?: number;
  readonly event?: string;
  readonly conclusion?: string;
  readonly jobs: readonly {
    readonly id: number;
    readonly name: string;
    readonly conclusion?: string;
    readonly step?: string;
    readonly log?: string;
  }[];
}

export interface Answer {
  readonly status: number;
  readonly answer: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class GithubRuns {
  /** The headers that came with each request for a log. */
  readonly asked: (string | undefined)[] = [];
  readonly #runs: readonly FakeRun[];
  readonly #mayRead: boolean;
  #logs = "";

  private constructor(runs: readonly FakeRun[], mayRead: boolean) {
    this.#runs = runs;
    this.#mayRead = mayRead;
  }

  /** `mayRead`: the token has `actions: read`. */
  static async start(
    test: Pick<TestContext, "after">,
    runs: readonly FakeRun[],
    { mayRead = true } = {},
  ): Promise<GithubRuns> {
    const all = new GithubRuns(runs, mayRead);
    const server = createServer((request, response) => {
      all.asked.push(request.headers.authorization);
      const job = all.#job(request.url ?? "");
      response.writeHead(200, { "content-type": "text/plain" });
      response.end(job?.log ?? "");
    });
    all.#logs = await listen(test, server);
    return all;
  }

  #job(path: string): FakeRun["jobs"][number] | undefined {
    const id = Number(/\d+(?=\/|$)/.exec(path)?.[0]);
    return this.#runs.flatMap(({ jobs }) => jobs).find((job) => job.id === id);
  }

  /** Undefined: the request is about something else. */
  answer(path: string): Answer | undefined {
    const [, rest] = /^\/repos\/octo\/shop\/actions(\/(?:runs|jobs)\b.*)$/.exec(path) ?? [];
    if (rest === undefined) return undefined;
    if (!this.#mayRead)
      return { status: 403, answer: { message: "Resource not accessible by integration" } };
    if (rest.startsWith("/runs?"))
      return { status: 200, answer: { workflow_runs: this.#listed() } };
    const run = this.#runs.find(({ id }) => rest.startsWith(`/runs/${id}/jobs?filter=latest`));
    if (run !== undefined) return { status: 200, answer: { jobs: jobsOf(run) } };
    const job = rest.endsWith("/logs") ? this.#job(rest) : undefined;
    if (job?.log === undefined) return { status: 404, answer: { message: "Not Found" } };
    return { status: 302, answer: "", headers: { location: `${this.#logs}/${job.id}` } };
  }

  #listed(): readonly object[] {
    return this.#runs.map(
      ({ id, name, workflow = id, event = "pull_request", conclusion = "failure" }) => ({
        id,
        name,
        workflow_id: workflow,
        event,
        conclusion,
      }),
    );
  }
}

function jobsOf({ jobs }: FakeRun): readonly object[] {
  return jobs.map(({ id, name, conclusion = "failure", step }) => ({
    id,
    name,
    conclusion,
    steps: [
      { name: "Set up job", conclusion: "success" },
      ...(step === undefined ? [] : [{ name: step, conclusion: "failure" }]),
    ],
  }));
}
