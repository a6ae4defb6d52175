/**
 * The change of a step: that of its input `base` or of its event. Git is asked first; where the checkout lacks commits,
 * GitHub's API.
 */
import { ChangeUnknown, type Change } from "../change/change.ts";
import { changeFromGit, type ChangeRange } from "../change/git-change.ts";
import { defined, isList, isRecord } from "../document/guards.ts";
import { errorMessage } from "../platform/system-error.ts";
import { changeFromApi, type ApiRange, type Get } from "./api-change.ts";
import { checkoutOf } from "./checkout.ts";
import { NotFoundError, type GithubApi } from "../github/github-api.ts";
import type { Environment } from "./inputs.ts";
import { pullRequestOf } from "../github/origin.ts";
import { at, numberAt, payloadOf, sha, textAt } from "../github/webhook-event.ts";

interface Asked {
  readonly environment: Environment;
  readonly base: string | undefined;
  readonly github: Pick<GithubApi, "get" | "readFile">;
  readonly say: (line: string) => void;
}

/** What git compares; and for the API, which knows no name but those of GitHub. */
interface Range {
  readonly git: ChangeRange;
  readonly api: () => Promise<ApiRange>;
}

export async function changeOfStep(folder: string, asked: Asked): Promise<Change> {
  const { environment, github, say } = asked;
  const { git, api } = await rangeOf(folder, asked);
  let missing: string;
  try {
    return await changeFromGit({ folder, environment }, git);
  } catch (error) {
    if (!(error instanceof ChangeUnknown)) throw error;
    missing = error.message;
  }
  try {
    const change = await changeFromApi(github.get, await api());
    say(`Change: from GitHub's API, because the checkout lacks commits.`);
    const readHead = (path: string): Promise<Uint8Array | undefined> =>
      github.readFile(path, change.head).catch((error: unknown) => {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      });
    return { ...change, readHead };
  } catch (error) {
    const why = errorMessage(error).replace(/^The change is unknown: /, "");
    throw new ChangeUnknown(
      `${missing}. GitHub's API was asked, too: ${why}. It needs \`contents: read\`, and \`pull-requests: read\` for pull requests`,
    );
  }
}

async function rangeOf(
  folder: string,
  { environment, base, github: { get } }: Asked,
): Promise<Range> {
  const known = async (): Promise<string> => {
    const commit = (await checkoutOf(folder, environment))?.commit;
    if (commit === undefined) throw new ChangeUnknown("it is not known what is checked out");
    return commit;
  };
  if (base !== undefined)
    return { git: { base }, api: async () => ({ base, head: await known() }) };
  const event = changeOfEvent(
    environment["GITHUB_EVENT_NAME"] ?? "",
    await payloadOf(environment["GITHUB_EVENT_PATH"]),
  );
  switch (event?.kind) {
    case undefined:
      return { git: {}, api: async () => ofCommit(get, await known()) };
    case "commits": {
      const { base: from, head } = event;
      const git = { base: from, head, fromMergeBase: false };
      return { git, api: async () => ({ base: from, head, fromMergeBase: false }) };
    }
    case "new-branch": {
      const { defaultBranch, head } = event;
      return {
        git: { base: `refs/remotes/origin/${defaultBranch}`, head },
        api: async () => ({ base: defaultBranch, head }),
      };
    }
    case "pull-request": {
      const range = await ofPullRequest(get, event);
      return { git: { base: range.base, head: range.head }, api: async () => range };
    }
  }
}

async function ofPullRequest(
  get: Get,
  { number, base, head }: Extract<EventChange, { kind: "pull-request" }>,
): Promise<ApiRange> {
  if (base !== undefined && head !== undefined) return { base, head, pullRequest: number };
  const pull = await pullRequestOf(get, { number, head }).catch((error: unknown) => {
    throw new ChangeUnknown(
      `The change is unknown: ${errorMessage(error)}. The token needs \`pull-requests: read\``,
    );
  });
  const [from, to] = [sha(at(pull, "base", "sha")), head ?? sha(at(pull, "head", "sha"))];
  if (from !== undefined && to !== undefined)
    return { base: from, head: to, pullRequest: numberAt(pull) };
  throw new ChangeUnknown(
    `The change is unknown: GitHub knows no pull request ${number === undefined ? `whose head is ${head}` : `#${number}`}. Set \`base\``,
  );
}

async function ofCommit(get: Get, head: string): Promise<ApiRange> {
  const commit = await get("GET /repos/{owner}/{repo}/commits/{ref}", { ref: head });
  const parents = at(commit, "parents");
  const parent = isList(parents) ? sha(at(parents[0], "sha")) : undefined;
  if (parent === undefined) throw new ChangeUnknown(`GitHub knows no parent of ${head}`);
  return { base: parent, head, fromMergeBase: false };
}

export type EventChange =
  /** What the head has done since it left the base. Of a comment, only the number is known. */
  | {
      readonly kind: "pull-request";
      readonly number?: number;
      readonly base?: string;
      readonly head?: string;
    }
  | { readonly kind: "commits"; readonly base: string; readonly head: string }
  /** A new branch: what it has done since it left the default branch. */
  | { readonly kind: "new-branch"; readonly defaultBranch: string; readonly head: string };

/** Undefined: the event is about no change, as a schedule or an issue. */
export function changeOfEvent(name: string, payload: unknown): EventChange | undefined {
  switch (name) {
    case "push":
      return ofPush(payload);
    case "merge_group": {
      const group = at(payload, "merge_group");
      const [base, head] = [sha(at(group, "base_sha")), sha(at(group, "head_sha"))];
      return base && head ? { kind: "commits", base, head } : undefined;
    }
    case "workflow_run":
      return ofWorkflowRun(at(payload, "workflow_run"));
    case "issue_comment": {
      const issue = at(payload, "issue");
      const number = numberAt(issue);
      return isRecord(at(issue, "pull_request")) && number !== undefined
        ? { kind: "pull-request", number }
        : undefined;
    }
    default: {
      const pull = at(payload, "pull_request");
      if (!isRecord(pull)) return undefined;
      const [base, head] = [sha(at(pull, "base", "sha")), sha(at(pull, "head", "sha"))];
      return { kind: "pull-request", ...defined({ number: numberAt(pull), base, head }) };
    }
  }
}

function ofPush(payload: unknown): EventChange | undefined {
  // Zeros stand for a branch that isn't there: not yet, or no more.
  const [base, head] = ["before", "after"].map((name) => {
    const commit = sha(at(payload, name));
    return /^0+$/.test(commit ?? "") ? undefined : commit;
  });
  if (head === undefined) return undefined;
  if (base !== undefined) return { kind: "commits", base, head };
  const defaultBranch = textAt(at(payload, "repository"), "default_branch");
  return defaultBranch === undefined ? undefined : { kind: "new-branch", defaultBranch, head };
}

/** A run for a pull request of a fork names none: its number is asked for by its head. */
function ofWorkflowRun(run: unknown): EventChange | undefined {
  const head = sha(at(run, "head_sha"));
  if (!String(at(run, "event")).startsWith("pull_request") || head === undefined) return undefined;
  const pulls = at(run, "pull_requests");
  const own = isList(pulls) ? pulls.find((pull) => at(pull, "head", "sha") === head) : undefined;
  const base = sha(at(own, "base", "sha"));
  return { kind: "pull-request", head, ...defined({ number: numberAt(own), base }) };
}
