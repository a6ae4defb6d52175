/** The client of GitHub's API. `@actions/github` takes a while to load: with the first request. A failed one is sent again after a wait. */
import { isList, isRecord, retryAfterMs } from "../text/guards.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { at, listAt, sameRepository, textAt } from "./webhook-event.ts";

type Values = Readonly<Record<string, unknown>>;

/** Every method rejects with an Error whose message can be shown to users. */
export interface GithubApi {
  /** `owner/name` */
  readonly repository: string;
  /** From now on, requests wait longer for a rate limit and are sent more often: up to 15 minutes in total. */
  readonly beginDelivery: () => void;
  /** A request without side effects; `owner` and `repo` are filled in. */
  readonly get: (route: string, values: Values) => Promise<unknown>;
  /** `once`: it is not sent again if GitHub may have carried it out. Rejects with a `GithubFailure`. */
  readonly write: (route: string, values: Values, times?: "once") => Promise<unknown>;
  /** A query or a mutation, `once` as above. Rejects with a `GithubFailure`. */
  readonly graphql: (query: string, values: Values, times?: "once") => Promise<unknown>;
  /** A list of the repository, or of an issue or pull request, the newest first. `whole`: rejects if there is more than is looked through. */
  readonly nodes: (
    list: string,
    fields: string,
    of?: { readonly kind: "issueOrPullRequest" | "pullRequest"; readonly number: number },
    most?: "whole",
  ) => Promise<readonly unknown[]>;
  readonly permissionOf: (login: string) => Promise<string>;
  readonly isForkPullRequest: (number: number) => Promise<boolean>;
  /** The bytes of a file at a commit, also of another repository; rejects with a `NotFoundError` if there is none. Links are followed inside of the repository only. */
  readonly readFile: (path: string, ref: string, repository?: string) => Promise<Uint8Array>;
}

/** GitHub has refused a request, or has not answered it. */
export class GithubFailure extends Error {
  readonly status: number | undefined;
  /** How often such a request is sent, at most. */
  readonly attempts: number;
  /** Milliseconds that GitHub asks to wait. */
  readonly retryAfter: number;

  constructor(message: string, status?: number, attempts = 1, retryAfter = 0) {
    super(message);
    this.status = status;
    this.attempts = attempts;
    this.retryAfter = retryAfter;
  }

  /** Whether the request may have been carried out. */
  get isUncertain(): boolean {
    return this.status === undefined || this.status >= 500 || this.status === 408;
  }
}

/** GitHub has no such thing, or does not show it to this token. */
export class NotFoundError extends GithubFailure {}

export interface GithubApiOptions {
  readonly token: string | undefined;
  readonly repository: string | undefined;
  /** `GITHUB_API_URL`; default: that of github.com. */
  readonly apiUrl?: string | undefined;
  readonly signal?: AbortSignal;
  /** Called when a request is sent again. */
  readonly log?: (line: string) => void;
  readonly clock?: Clock;
}

const GRAPHQL = "POST /graphql";
const LIMIT_MS = 10_000;
/** Attempts after faults that may pass. The first wait takes a second, each further one three times as long. */
const ATTEMPTS = 3;
/** The longest wait. If GitHub asks for a longer one, the run reports it and gives up. */
const LONGEST_WAIT_MS = 60_000;
/** How long a delivery waits, from its beginning. */
const DELIVERY_MS = 15 * 60_000;
/** Attempts of a delivery. `limits`: if GitHub asks to wait. */
const DELIVERY_ATTEMPTS = { faults: 5, limits: 10 } as const;
/** GitHub asks for at least this wait, unless it names one. */
const SECONDARY_LIMIT_MS = 60_000;
const MAX_BYTES = 1_000_000;
/** GraphQL gives pages of 100, of which so many are looked through. */
const MAX_PAGES = 10;

export function createGithubApi(options: GithubApiOptions): GithubApi {
  const { clock = systemClock, log = () => {}, repository = "" } = options;
  let client: Promise<Request> | undefined;
  let deliveryEnds: number | undefined;

  const send = async (route: string, values: Values): Promise<unknown> => {
    const request = await (client ??= createClient(options));
    const limit = startTimeLimit(clock, LIMIT_MS, options.signal);
    try {
      const response = await request(route, { ...values, request: { signal: limit.signal } });
      checkAnswer(route, response, clock.now());
      return response.data;
    } catch (error) {
      if (limit.isOver)
        throw new GithubFailure(`GitHub did not answer within ${seconds(LIMIT_MS)}`, undefined, 2);
      throw error instanceof GithubFailure ? error : failureOf(error, clock.now());
    } finally {
      limit.end();
    }
  };

  const ask = async (route: string, values: Values, times?: "once"): Promise<unknown> => {
    const tries = { faults: 0, limits: 0 };
    for (;;) {
      try {
        return await send(route, values);
      } catch (error) {
        if (!(error instanceof GithubFailure)) throw error;
        const { message, status, retryAfter, isUncertain } = error;
        const kind = deliveryEnds !== undefined && retryAfter > 0 ? "limits" : "faults";
        const attempt = (tries[kind] += 1);
        const isPatient = deliveryEnds !== undefined && error.attempts === ATTEMPTS;
        const most = isPatient ? DELIVERY_ATTEMPTS[kind] : error.attempts;
        const attempts = times === "once" && isUncertain ? 1 : most;
        const wait = Math.max(retryAfter, 1_000 * 3 ** (attempt - 1));
        const longest =
          deliveryEnds === undefined ? LONGEST_WAIT_MS : Math.max(0, deliveryEnds - clock.now());
        const asked = retryAfter > longest ? `, and asked to wait ${seconds(retryAfter)}` : "";
        if (attempt >= attempts || asked !== "" || options.signal?.aborted === true) {
          const text = `${message}${asked}${attempt > 1 ? `, ${attempt} times` : ""}`;
          throw status === 404 ? new NotFoundError(text, status) : new GithubFailure(text, status);
        }
        log(`${message}. Retrying in ${seconds(wait)}.`);
        await clock.sleep(wait, options.signal);
      }
    }
  };

  const graphql: GithubApi["graphql"] = async (query, variables, times) =>
    at(await ask(GRAPHQL, { query, variables }, times), "data");

  return {
    repository,
    beginDelivery: () => void (deliveryEnds ??= clock.now() + DELIVERY_MS),
    get: (route, values) => ask(route, values),
    write: ask,
    graphql,
    async nodes(list, fields, of, most) {
      const [owner, name] = repository.split("/");
      const order = of === undefined ? ", orderBy: { field: CREATED_AT, direction: ASC }" : "";
      const nodes = `${list}(last: 100, before: $before${order}) { pageInfo { hasPreviousPage startCursor } nodes { ${fields} } }`;
      const holders = {
        repository: nodes,
        pullRequest: `pullRequest(number: $number) { ${nodes} }`,
        issueOrPullRequest: `issueOrPullRequest(number: $number) { ... on Issue { ${nodes} } ... on PullRequest { ${nodes} } }`,
      };
      const variables = `$owner: String!, $name: String!, $before: String${of === undefined ? "" : ", $number: Int!"}`;
      const query = `query(${variables}) { repository(owner: $owner, name: $name) { ${holders[of?.kind ?? "repository"]} } }`;
      const values = { owner, name, ...(of !== undefined && { number: of.number }) };
      const whose = of === undefined ? repository : `#${of.number}`;
      const path = of === undefined ? ["repository"] : ["repository", of.kind];
      const found: unknown[] = [];
      let before: unknown = null;
      for (let page = 1; page <= MAX_PAGES; page += 1) {
        const connected = at(await graphql(query, { ...values, before }), ...path, list);
        const some = at(connected, "nodes");
        if (!isList(some)) throw new GithubFailure(`GitHub shows no ${list} of ${whose}`, 404);
        found.push(...some.toReversed());
        if (at(connected, "pageInfo", "hasPreviousPage") !== true) return found;
        before = at(connected, "pageInfo", "startCursor");
      }
      if (most !== "whole") return found;
      throw new GithubFailure(`${whose} has more than ${found.length} ${list}`, 422);
    },
    async permissionOf(username) {
      const route = "GET /repos/{owner}/{repo}/collaborators/{username}/permission";
      const permission = textAt(await ask(route, { username }), "permission");
      if (permission === undefined) throw new Error("GitHub's response has no permission");
      return permission;
    },
    async isForkPullRequest(pull_number) {
      const data = await ask("GET /repos/{owner}/{repo}/pulls/{pull_number}", { pull_number });
      return !sameRepository(at(data, "head", "repo"), at(data, "base", "repo"));
    },
    async readFile(path, ref, other) {
      const names = path.split("/");
      // They would lead to another part of the API.
      if (names.includes("..") || names.includes("."))
        throw new Error("it is outside of the repository");
      const encoded = names.map(encodeURIComponent).join("/");
      const [owner, repo] = other?.split("/") ?? [];
      const values = other === undefined ? { ref } : { ref, owner, repo };
      const data = await ask(`GET /repos/{owner}/{repo}/contents/${encoded}`, values);
      if (at(data, "type") !== "file") throw new Error("it is not a regular file");
      const content = textAt(data, "content");
      if (at(data, "encoding") !== "base64" || content === undefined)
        throw new Error(`it is larger than ${MAX_BYTES} bytes`);
      return Buffer.from(content, "base64");
    },
  };
}

const PER_PAGE = 100;
const MAX_LISTED = 3_000;

/** All that a route of the REST API lists, up to a number. */
export async function allOf(
  get: GithubApi["get"],
  route: string,
  values: Values,
): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (let page = 1; page <= MAX_LISTED / PER_PAGE; page += 1) {
    const asked = { ...values, per_page: String(PER_PAGE), page: String(page) };
    const some = listAt(await get(route, asked));
    all.push(...some);
    if (some.length < PER_PAGE) break;
  }
  return all;
}

interface ApiResponse {
  readonly data: unknown;
  readonly headers?: Values;
}

type Request = (route: string, values: Values) => Promise<ApiResponse>;

async function createClient({ token, repository, apiUrl }: GithubApiOptions): Promise<Request> {
  const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(repository ?? "") ?? [];
  if (owner === undefined) {
    throw new GithubFailure("GITHUB_REPOSITORY does not name a repository", 400);
  }
  if (token === undefined) throw new GithubFailure("there is no GitHub token", 401);
  const { getOctokit } = await import("@actions/github");
  const octokit = getOctokit(token, apiUrl ? { baseUrl: apiUrl } : {});
  // On a server of one's own, GraphQL isn't below the path of the REST API.
  const graphql = apiUrl?.endsWith("/api/v3") === true ? { baseUrl: apiUrl.slice(0, -3) } : {};
  return (route, values) =>
    octokit.request(route, { owner, repo, ...(route === GRAPHQL && graphql), ...values });
}

const graphqlStatus: ReadonlyMap<unknown, number> = new Map([
  ["FORBIDDEN", 403],
  ["NOT_FOUND", 404],
  ["RATE_LIMITED", 429],
  ["STALE_DATA", 409],
]);

function checkAnswer(route: string, { data, headers = {} }: ApiResponse, now: number): void {
  // If a connection ends within an answer, Octokit passes on the text that it has.
  if (typeof data === "string" && /\bjson\b/.test(String(headers["content-type"])))
    throw new GithubFailure("GitHub's answer broke off", undefined, ATTEMPTS);
  // GraphQL answers 200, also to what it refuses, and to its own faults.
  const [error] = route === GRAPHQL ? listAt(data, "errors") : [];
  if (error === undefined) return;
  const message = String(at(error, "message"));
  const isFault = /something went wrong|timed? ?out/i.test(message);
  const status = graphqlStatus.get(at(error, "type")) ?? (isFault ? 502 : 422);
  throw new GithubFailure(
    `GitHub answered ${status} (${message})`,
    status,
    attemptsFor(status),
    status === 429 ? (waitOf(headers, now) ?? SECONDARY_LIMIT_MS) : 0,
  );
}

function failureOf(error: unknown, now: number): GithubFailure {
  const text = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  // Octokit also reports 500 for a request without a response. Only a response has headers.
  const answered = at(error, "response", "status");
  if (typeof answered !== "number")
    return new GithubFailure(`GitHub is unreachable (${text})`, undefined, ATTEMPTS);
  const headers = at(error, "response", "headers");
  const named = waitOf(isRecord(headers) ? headers : {}, now);
  const isLimit = named !== undefined || /rate limit|abuse|submitted too quickly/i.test(text);
  const isUnnamed = answered === 429 || /secondary|abuse|submitted too quickly/i.test(text);
  // A limit may come as 403 or 422, which otherwise are a missing permission and a wrong value.
  const status = isLimit && (answered === 403 || answered === 422) ? 429 : answered;
  return new GithubFailure(
    `GitHub answered ${answered} (${text})`,
    status,
    isLimit ? ATTEMPTS : attemptsFor(status),
    named ?? (isUnnamed ? SECONDARY_LIMIT_MS : 0),
  );
}

/** A new token is sometimes not known yet, so a refused request is sent once more. */
function attemptsFor(status: number): number {
  if (status === 408 || status === 429 || status >= 500) return ATTEMPTS;
  return status === 401 || status === 403 ? 2 : 1;
}

/** `retry-after` in seconds or as a date; else the end of a rate limit that is used up. */
function waitOf(headers: Values, now: number): number | undefined {
  const after = headers["retry-after"];
  if (after !== undefined) return retryAfterMs(after, now);
  const reset = Number(headers["x-ratelimit-reset"] ?? Number.NaN);
  return String(headers["x-ratelimit-remaining"]) === "0" && Number.isFinite(reset)
    ? Math.max(0, reset * 1000 - now)
    : undefined;
}

function seconds(milliseconds: number): string {
  return `${Math.ceil(milliseconds / 1000)} s`;
}
