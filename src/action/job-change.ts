/**
 * The change of a step: that of its input `base` or of its event. Git is asked first; where the checkout lacks commits,
 * GitHub's API.
 */
import { ChangeUnknown, type Change } from "../change/change.ts";
import { changeFromGit, type ChangeRange } from "../change/git-change.ts";
import { isList, isRecord } from "../document/guards.ts";
import { errorMessage } from "../platform/system-error.ts";
import { changeFromApi, pullRequestFromApi, type ApiRange, type Get } from "./api-change.ts";
import { checkoutOf } from "./checkout.ts";
import { changeOfEvent, type EventChange } from "./event-change.ts";
import { NotFoundError, type GithubApi } from "../github/github-api.ts";
import type { Environment } from "./inputs.ts";
import { payloadOf, sha } from "../github/webhook-event.ts";

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

/** Rejects with a `ChangeUnknown`. */
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
    const commit = (await checkoutOf(folder))?.commit;
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
  const found = await pullRequestFromApi(get, { number, head }).catch((error: unknown) => {
    throw new ChangeUnknown(
      `The change is unknown: ${errorMessage(error)}. The token needs \`pull-requests: read\``,
    );
  });
  if (found !== undefined) return found;
  throw new ChangeUnknown(
    `The change is unknown: GitHub knows no pull request ${number === undefined ? `whose head is ${head}` : `#${number}`}. Set \`base\``,
  );
}

/** A single commit, since its first parent. */
async function ofCommit(get: Get, head: string): Promise<ApiRange> {
  const commit = await get("GET /repos/{owner}/{repo}/commits/{ref}", { ref: head });
  const parents = isRecord(commit) ? commit["parents"] : undefined;
  const parent = isList(parents) && isRecord(parents[0]) ? sha(parents[0]["sha"]) : undefined;
  if (parent === undefined) throw new ChangeUnknown(`GitHub knows no parent of ${head}`);
  return { base: parent, head, fromMergeBase: false };
}
