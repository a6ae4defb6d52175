/** The check runs of the fake repository, with GitHub's limits. */
import type { Call } from "./github-repository.ts";

export interface CheckRun {
  readonly id: number;
  readonly name: string;
  readonly head: string;
  readonly externalId: string;
  /** The App that made it. */
  readonly app: string;
  status: string;
  conclusion: string | undefined;
  title: string;
  summary: string;
  /** How many each request has added. */
  readonly batches: number[];
  readonly annotations: Readonly<Record<string, unknown>>[];
}

export interface Refusal {
  readonly refused: number;
  readonly message: string;
}

type Body = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export class GithubChecks {
  readonly all: CheckRun[] = [];
  readonly #app: string;
  readonly #nextId: () => number;

  constructor(app: string, nextId: () => number) {
    this.#app = app;
    this.#nextId = nextId;
  }

  /** By another App, if `app` is given. */
  add(body: Body, app = this.#app): CheckRun {
    const check: CheckRun = {
      id: this.#nextId(),
      name: textOf(body["name"]),
      head: textOf(body["head_sha"]),
      externalId: textOf(body["external_id"]),
      app,
      status: "queued",
      conclusion: undefined,
      title: "",
      summary: "",
      batches: [],
      annotations: [],
    };
    this.all.push(check);
    this.#change(check, body);
    return check;
  }

  /** Undefined: the request is about something else. */
  answer({ method, path, body }: Call): object | undefined {
    const url = new URL(path, "http://localhost");
    const [, sha] = /\/commits\/(\w+)\/check-runs$/.exec(url.pathname) ?? [];
    if (sha !== undefined) {
      const name = url.searchParams.get("check_name");
      const found = this.all.filter((one) => one.head === sha && one.name === name);
      return { total_count: found.length, check_runs: found.map(shown) };
    }
    const [, id] = /\/check-runs(?:\/(\d+))?$/.exec(url.pathname) ?? [undefined, undefined];
    if (!/\/check-runs(?:\/\d+)?$/.test(url.pathname)) return undefined;
    const fault = method === "GET" ? undefined : faultOf(body);
    if (fault !== undefined) return { refused: 422, message: fault } satisfies Refusal;
    if (method === "POST") return shown(this.add(body));
    const check = this.all.find((one) => one.id === Number(id));
    if (check === undefined) return { refused: 404, message: "Not Found" } satisfies Refusal;
    if (method === "GET") return shown(check);
    if (check.app !== this.#app)
      return { refused: 403, message: `Invalid app_id for check run ${id}` } satisfies Refusal;
    this.#change(check, body);
    return shown(check);
  }

  #change(check: CheckRun, { status, conclusion, output }: Body): void {
    if (status !== undefined) check.status = textOf(status);
    if (conclusion !== undefined) {
      check.status = "completed";
      check.conclusion = textOf(conclusion);
    }
    if (output === undefined) return;
    const { title, summary, annotations = [] } = Object(output);
    check.title = textOf(title);
    check.summary = textOf(summary);
    if (annotations.length > 0) check.batches.push(annotations.length);
    check.annotations.push(...annotations);
  }
}

function shown({ head, externalId, app, title, summary, annotations, ...check }: CheckRun): object {
  return {
    ...check,
    head_sha: head,
    external_id: externalId,
    app: { slug: app },
    html_url: `https://github.com/octo/shop/runs/${check.id}`,
    output: { title, summary, annotations_count: annotations.length },
  };
}

function faultOf({ output }: Body): string | undefined {
  if (output === undefined) return undefined;
  const { title, summary, annotations = [] } = Object(output);
  if (typeof title !== "string" || typeof summary !== "string" || title === "" || summary === "")
    return "title and summary are required";
  if (summary.length > 65_535) return "summary is too long (maximum is 65535 characters)";
  if (annotations.length > 50) return "no more than 50 annotations";
  for (const { path, start_line: from, end_line: to, annotation_level: level } of annotations)
    if (!path || !(to >= from) || !["notice", "warning", "failure"].includes(level))
      return "an annotation is not valid";
  return undefined;
}
