/** The repository and the run of a step, and the issue or pull request of its event. */
import { isRecord } from "../text/guards.ts";
import type { Origin } from "../events/output-shapes.ts";
import type { Environment } from "../platform/environment.ts";
import type { GithubApi } from "./github-api.ts";
import { at, listAt, numberAt, payloadOf, sameRepository, sha, textAt } from "./webhook-event.ts";
import { lstat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "../platform/system-error.ts";
import { realPathOf } from "../platform/files.ts";
import { GitRepository } from "../git/repository.ts";

/** Returns undefined outside of GitHub Actions. `api` is asked for a head that the event doesn't name. */
export async function originOf(
  environment: Environment,
  api: Pick<GithubApi, "get"> | undefined,
): Promise<Origin | undefined> {
  const {
    GITHUB_REPOSITORY: repository = "",
    GITHUB_SERVER_URL: server = "",
    GITHUB_RUN_ID: workflowRun = "",
    GITHUB_RUN_ATTEMPT: attempt = "",
    GITHUB_EVENT_NAME: event = "",
    GITHUB_SHA: commit = "",
  } = environment;
  if (repository === "" || !/^\d+$/.test(workflowRun)) return undefined;
  const payload = await payloadOf(environment["GITHUB_EVENT_PATH"]);
  return {
    repository,
    server: server === "" ? "https://github.com" : server,
    workflowRun,
    attempt: /^[1-9]\d*$/.test(attempt) ? Number(attempt) : 1,
    event,
    head: commit,
    ...(await subjectOf(payload, api).catch(() => ({}))),
  };
}

type Subject = Partial<Pick<Origin, "number" | "isPullRequest" | "head">>;

async function subjectOf(
  payload: unknown,
  api: Pick<GithubApi, "get"> | undefined,
): Promise<Subject> {
  const pull = at(payload, "pull_request");
  if (isRecord(pull)) return ofPullRequest(pull);
  const issue = at(payload, "issue");
  const number = numberAt(issue);
  if (number !== undefined && !isRecord(at(issue, "pull_request"))) return { number };
  const run = at(payload, "workflow_run");
  const isOfPull = textAt(run, "event")?.startsWith("pull_request") === true;
  const head = isOfPull ? sha(at(run, "head_sha")) : undefined;
  const from = at(run, "head_repository");
  return ofPullRequest(api && (await pullRequestOf(api.get, { number, head, from })));
}

function ofPullRequest(pull: unknown): Subject {
  const number = numberAt(pull);
  const head = sha(at(pull, "head", "sha"));
  return number === undefined || head === undefined ? {} : { number, isPullRequest: true, head };
}

interface Named {
  readonly number?: number | undefined;
  readonly head?: string | undefined;
  /** The repository of the head: a stranger can open a pull request with the head of somebody else's. */
  readonly from?: unknown;
}

/** The pull request of which an event tells only the number or the head. Undefined: there is none. */
export async function pullRequestOf(
  get: GithubApi["get"],
  { number, head, from }: Named,
): Promise<unknown> {
  if (number !== undefined)
    return get("GET /repos/{owner}/{repo}/pulls/{pull_number}", { pull_number: number });
  if (head === undefined) return undefined;
  const pulls = await get("GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls", {
    commit_sha: head,
  });
  return listAt(pulls).find(
    (pull) =>
      at(pull, "head", "sha") === head &&
      (from === undefined || sameRepository(at(pull, "head", "repo"), from)),
  );
}

export interface Checkout {
  readonly root: string;
  readonly commit: string | undefined;
  /** `owner/repo` of each remote, in lower case. */
  readonly remotes: readonly string[];
}

export async function checkoutOf(
  folder: string,
  environment: Environment,
): Promise<Checkout | undefined> {
  for (let root = resolve(folder); ; root = dirname(root)) {
    if (await mayExist(join(root, ".git"))) {
      const repository = GitRepository.at(root, { environment });
      const isHere = repository?.root === realPathOf(root);
      const head = isHere ? await repository.git(["rev-parse", "HEAD"]).catch(() => "") : "";
      const settings = isHere ? await repository.settings().catch(() => undefined) : undefined;
      const remotes = (settings?.remotes ?? []).flatMap(repositoryIn);
      return { root, commit: sha(head.trim()), remotes };
    }
    if (root === dirname(root)) return undefined;
  }
}

/** A folder of this machine is no repository of GitHub: an address has a host. */
function repositoryIn(address: string): readonly string[] {
  const [, name] =
    /^(?:[a-z+]+:\/\/[^/]+\/|[^/:]+:(?!\/\/))(?:.*\/)?([^/:]+\/[^/:]+?)(?:\.git)?\/*$/i.exec(
      address,
    ) ?? [];
  return name === undefined ? [] : [name.toLowerCase()];
}

/** A folder that can't be read may be a checkout: the outer one doesn't stand for it. */
async function mayExist(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    return code !== "ENOENT" && code !== "ENOTDIR";
  }
}
