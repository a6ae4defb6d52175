/** `@actions/github` takes a while to load: with the first question. A failed request is sent again after a wait. */
import { isRecord, retryAfterMs } from "../text/guards.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { at, listAt, sameRepository, textAt } from "./webhook-event.ts";

type Values = Readonly<Record<string, unknown>>;

export interface GithubApi {
  /** From now on, requests wait longer for a rate limit and are sent more often: up to 15 minutes in total. */
  readonly beginDelivery: () => void;
  /** A request without side effects; `owner` and `repo` are filled in. */
  readonly get: (route: string, values: Values) => Promise<unknown>;
  /** `once`: it is not sent again if GitHub may have carried it out. Rejects with a `GithubFailure`. */
  readonly write: (route: string, values: Values, times?: "once") => Promise<unknown>;
  /** A query or a mutation, `once` as above. Rejects with a `GithubFailure`. */
  readonly graphql: (query: string, values: Values, times?: "once") => Promise<unknown>;
  permissionOf(login: string): Promise<string>;
  isForkPullRequest(number: number): Promise<boolean>;
  /** The bytes of a file at a commit, also of another repository; rejects with a `NotFoundError` if there is none. Links are followed inside of the repository only. */
  readFile(path: string, ref: string, repository?: string): Promise<Uint8Array>;
}

/** GitHub has refused a request, or has not answered it. */
export class GithubFailure extends Error {
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
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

/** Every method rejects with an Error whose message can be shown to users. */
export function createGithubApi(options: GithubApiOptions): GithubApi {
  const { clock = systemClock, log = () => {} } = options;
  let client: Promise<Client> | undefined;
  let deliveryEnds: number | undefined;
  const send = async (
    route: string,
    values: Values,
  ): Promise<{ readonly data: unknown } | { readonly failure: Failure }> => {
    client ??= createClient(options);
    const { request, owner, repo } = await client;
    const limit = startTimeLimit(clock, LIMIT_MS, options.signal);
    const { signal } = limit;
    try {
      const response = await request(route, { owner, repo, ...values, request: { signal } });
      const failure =
        brokenOff(response) ??
        (route === GRAPHQL ? graphqlFailure(response, clock.now()) : undefined);
      return failure === undefined ? { data: response.data } : { failure };
    } catch (error) {
      return { failure: failureOf(error, limit.isOver, clock.now()) };
    } finally {
      limit.end();
    }
  };
  const ask = async (route: string, values: Values, times?: "once"): Promise<unknown> => {
    const tries = { faults: 0, limits: 0 };
    for (;;) {
      const answer = await send(route, values);
      if ("data" in answer) return answer.data;
      const { message, retryAfter = 0, status } = answer.failure;
      const isUncertain = new GithubFailure(message, status).isUncertain;
      const kind = deliveryEnds !== undefined && retryAfter > 0 ? "limits" : "faults";
      const attempt = (tries[kind] += 1);
      const isPatient = deliveryEnds !== undefined && answer.failure.attempts === ATTEMPTS;
      const most = isPatient ? DELIVERY_ATTEMPTS[kind] : answer.failure.attempts;
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
  };
  return {
    beginDelivery: () => void (deliveryEnds ??= clock.now() + DELIVERY_MS),
    get: (route, values) => ask(route, values),
    write: ask,
    graphql: async (query, variables, times) =>
      at(await ask(GRAPHQL, { query, variables }, times), "data"),
    async permissionOf(username) {
      const data = await ask("GET /repos/{owner}/{repo}/collaborators/{username}/permission", {
        username,
      });
      const permission = textAt(data, "permission");
      if (permission === undefined) throw new Error("GitHub's response has no permission");
      return permission;
    },
    async isForkPullRequest(number) {
      const data = await ask("GET /repos/{owner}/{repo}/pulls/{pull_number}", {
        pull_number: String(number),
      });
      return !sameRepository(at(data, "head", "repo"), at(data, "base", "repo"));
    },
    async readFile(path, ref, repository) {
      const names = path.split("/");
      // They would lead to another part of the API.
      if (names.includes("..") || names.includes("."))
        throw new Error("it is outside of the repository");
      const encoded = names.map(encodeURIComponent).join("/");
      const [owner, repo] = repository?.split("/") ?? [];
      const values = repository === undefined ? { ref } : { ref, owner, repo };
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

export async function* pagesOf(
  get: GithubApi["get"],
  route: string,
  values: Values,
): AsyncGenerator<readonly unknown[]> {
  for (let page = 1; page <= MAX_LISTED / PER_PAGE; page += 1) {
    const asked = { ...values, per_page: String(PER_PAGE), page: String(page) };
    const some = listAt(await get(route, asked));
    yield some;
    if (some.length < PER_PAGE) return;
  }
}

const graphqlStatus: ReadonlyMap<unknown, number> = new Map([
  ["FORBIDDEN", 403],
  ["NOT_FOUND", 404],
  ["RATE_LIMITED", 429],
  ["STALE_DATA", 409],
]);

/** If a connection ends within an answer, Octokit passes on the text that it has. */
function brokenOff({ data, headers }: ApiResponse): Failure | undefined {
  const isJson = /\bjson\b/.test(String(headers?.["content-type"]));
  if (!isJson || typeof data !== "string") return undefined;
  return { message: "GitHub's answer broke off", attempts: ATTEMPTS };
}

/** GraphQL answers 200, also to what it refuses, and to its own faults. */
function graphqlFailure({ data, headers }: ApiResponse, now: number): Failure | undefined {
  const [error] = listAt(data, "errors");
  if (error === undefined) return undefined;
  const message = at(error, "message");
  const isFault = /something went wrong|timed? ?out/i.test(String(message));
  const status = graphqlStatus.get(at(error, "type")) ?? (isFault ? 502 : 422);
  const retryAfter =
    status === 429 ? (waitOf(headers ?? {}, now) ?? SECONDARY_LIMIT_MS) : undefined;
  return {
    message: `GitHub answered ${status} (${String(message)})`,
    attempts: attemptsFor(status, false),
    status,
    retryAfter,
  };
}

interface ApiResponse {
  readonly data: unknown;
  readonly headers?: Values;
}

interface Client {
  readonly owner: string;
  readonly repo: string;
  readonly request: (route: string, values: Values) => Promise<ApiResponse>;
}

async function createClient({ token, repository, apiUrl }: GithubApiOptions): Promise<Client> {
  const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(repository ?? "") ?? [];
  if (owner === undefined || repo === undefined) {
    throw new GithubFailure("GITHUB_REPOSITORY does not name a repository", 400);
  }
  if (token === undefined) throw new GithubFailure("there is no GitHub token", 401);
  const { getOctokit } = await import("@actions/github");
  const octokit = getOctokit(token, apiUrl ? { baseUrl: apiUrl } : {});
  // On a server of one's own, GraphQL isn't below the path of the REST API.
  const graphql = apiUrl?.endsWith("/api/v3") === true ? { baseUrl: apiUrl.slice(0, -3) } : {};
  return {
    owner,
    repo,
    request: (route, values) =>
      octokit.request(route, { ...(route === GRAPHQL && graphql), ...values }),
  };
}

interface Failure {
  readonly message: string;
  /** How often such a request is sent, at most. */
  readonly attempts: number;
  readonly status?: number;
  readonly retryAfter?: number;
}

function failureOf(error: unknown, timedOut: boolean, now: number): Failure {
  if (timedOut) {
    return { message: `GitHub did not answer within ${seconds(LIMIT_MS)}`, attempts: 2 };
  }
  const text = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  // Octokit also reports 500 for a request without a response. Only a response has headers.
  const status = at(error, "response", "status");
  if (typeof status !== "number") {
    return { message: `GitHub is unreachable (${text})`, attempts: ATTEMPTS };
  }
  const headers = at(error, "response", "headers");
  const named = waitOf(isRecord(headers) ? headers : {}, now);
  const limited = named !== undefined || /rate limit|abuse|submitted too quickly/i.test(text);
  const isUnnamed = status === 429 || /secondary|abuse|submitted too quickly/i.test(text);
  const retryAfter = named ?? (isUnnamed ? SECONDARY_LIMIT_MS : undefined);
  return {
    message: `GitHub answered ${status} (${text})`,
    attempts: attemptsFor(status, limited),
    // A limit may come as 403 or 422, which otherwise are a missing permission and a wrong value.
    status: limited && (status === 403 || status === 422) ? 429 : status,
    retryAfter,
  };
}

/** A new token is sometimes not known yet, so a refused request is sent once more. */
function attemptsFor(status: number, limited: boolean): number {
  if (limited || status === 408 || status === 429 || status >= 500) return ATTEMPTS;
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
