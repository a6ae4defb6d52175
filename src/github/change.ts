/** The change of a step. Git is asked first; where the checkout lacks commits, GitHub's API. */
import {
  ChangeUnknown,
  narrowed,
  type Change,
  type ChangedFile,
  type FileStatus,
} from "../git/change.ts";
import { changeFromGit, forcePushed, type ChangeRange } from "../git/git-change.ts";
import { defined, isList, isRecord } from "../text/guards.ts";
import { errorMessage } from "../platform/system-error.ts";
import { plural } from "../text/numbers.ts";
import { namesOf } from "../git/working-tree.ts";
import { checkoutOf, pullRequestOf } from "./origin.ts";
import { NotFoundError, allOf, type GithubApi } from "./github-api.ts";
import type { Environment } from "../platform/environment.ts";
import { at, listAt, numberAt, payloadOf, sha, textAt } from "./webhook-event.ts";

interface Asked {
  readonly environment: Environment;
  readonly base: string | undefined;
  readonly github: Pick<GithubApi, "get" | "readFile">;
  readonly say: (line: string) => void;
}

/** `since`: a commit that was reviewed. The change is what is new, if the head continues it. */
export async function changeOfStep(folder: string, asked: Asked, since?: string): Promise<Change> {
  const range = await rangeOf(folder, asked);
  const whole = await changeIn(folder, range, asked);
  // This head is reviewed again.
  if (since === undefined || since === whole.head) return whole;
  const { say } = asked;
  const fallback = (why: string): Change => {
    say(`Change: the whole pull request, because ${why}.`);
    return whole;
  };
  const { head } = whole;
  const commits = { base: since, head, fromMergeBase: false };
  try {
    const of = { git: commits, api: () => Promise.resolve(commits) };
    const part = await changeIn(folder, of, asked);
    // After a force push, the change begins where both commits part.
    if (part.base !== since)
      return fallback(`${since.slice(0, 12)}, which was reviewed last, is no ancestor of its head`);
    const found = narrowed(whole, part, since);
    say(
      `Change: since ${since.slice(0, 12)}, which was reviewed last. ${plural(found.files.length, "file")} of ${whole.files.length}.`,
    );
    return found;
  } catch (error) {
    if (!(error instanceof ChangeUnknown)) throw error;
    return fallback(`what is new since ${since.slice(0, 12)} is unknown: ${error.message}`);
  }
}

async function changeIn(
  folder: string,
  { git, api }: Awaited<ReturnType<typeof rangeOf>>,
  { environment, github, say }: Asked,
): Promise<Change> {
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
    return { ...change, readHead: (path) => readIfThere(github, path, change.head) };
  } catch (error) {
    const why = errorMessage(error).replace(/^The change is unknown: /, "");
    throw new ChangeUnknown(
      `${missing}. GitHub's API was asked, too: ${why}. It needs \`contents: read\`, and \`pull-requests: read\` for pull requests`,
    );
  }
}

/** Undefined: the commit has no such file. */
export function readIfThere(
  github: Pick<GithubApi, "readFile">,
  path: string,
  commit: string,
): Promise<Uint8Array | undefined> {
  return github.readFile(path, commit).catch((error: unknown) => {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  });
}

/**
 * The commit that instructions of the repository come from: for a pull request its base, which its author can't change,
 * and whatever `base` names. Otherwise `trusted`, the commit whose files are believed; undefined: what is checked out.
 */
export async function trustedCommitOf(
  { environment, github: { get } }: Pick<Asked, "environment" | "github">,
  trusted: string | undefined,
): Promise<string | undefined> {
  const event = await eventChange(environment);
  if (event?.kind !== "pull-request") return trusted;
  return event.base ?? (await ofPullRequest(get, event)).base;
}

async function rangeOf(
  folder: string,
  { environment, base, github: { get } }: Asked,
): Promise<{ readonly git: ChangeRange; readonly api: () => Promise<ApiRange> }> {
  const known = async (): Promise<string> => {
    const commit = (await checkoutOf(folder, environment))?.commit;
    if (commit === undefined) throw new ChangeUnknown("it is not known what is checked out");
    return commit;
  };
  if (base !== undefined)
    return { git: { base }, api: async () => ({ base, head: await known() }) };
  const event = await eventChange(environment);
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
  const parent = sha(at(listAt(commit, "parents")[0], "sha"));
  if (parent === undefined) throw new ChangeUnknown(`GitHub knows no parent of ${head}`);
  return { base: parent, head, fromMergeBase: false };
}

export type EventChange =
  /** A comment names only the number. */
  | {
      readonly kind: "pull-request";
      readonly number?: number;
      readonly base?: string;
      readonly head?: string;
    }
  | { readonly kind: "commits"; readonly base: string; readonly head: string }
  | { readonly kind: "new-branch"; readonly defaultBranch: string; readonly head: string };

export async function eventChange(environment: Environment): Promise<EventChange | undefined> {
  const payload = await payloadOf(environment["GITHUB_EVENT_PATH"]);
  return changeOfEvent(environment["GITHUB_EVENT_NAME"] ?? "", payload);
}

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
  const own = listAt(run, "pull_requests").find((pull) => at(pull, "head", "sha") === head);
  const base = sha(at(own, "base", "sha"));
  return { kind: "pull-request", head, ...defined({ number: numberAt(own), base }) };
}

type Get = GithubApi["get"];

interface ApiRange {
  readonly base: string;
  readonly head: string;
  readonly pullRequest?: number | undefined;
  /** See `ChangeRange`. The API compares with the merge base only. */
  readonly fromMergeBase?: boolean;
}

const COMPARED_FILES = 300;

async function changeFromApi(get: Get, range: ApiRange): Promise<Change> {
  const { base, head, pullRequest } = range;
  const basehead = `${base}...${head}`;
  const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
  const compared = await get(route, { basehead, per_page: "100" });
  const mergeBase = sha(at(compared, "merge_base_commit", "sha"));
  const listed = at(compared, "files");
  if (mergeBase === undefined || !isList(listed)) {
    throw new ChangeUnknown("The change is unknown: GitHub's comparison has no merge base");
  }
  const isForced =
    range.fromMergeBase === false && mergeBase !== sha(at(compared, "base_commit", "sha"));
  const all =
    listed.length < COMPARED_FILES
      ? listed
      : await filesOfPullRequest(get, pullRequest, head, `${listed.length} files or more`);
  const files = all.map(fileOf);
  const diff = files.map(diffOf).join("");
  const hidden = files.filter(({ file, patch }) => {
    const lines = file.additions === null ? 1 : file.additions + (file.deletions ?? 0);
    return patch === undefined && lines > 0;
  });
  const notes = [
    ...(isForced ? [forcePushed(base, mergeBase)] : []),
    ...(hidden.length === 0
      ? []
      : [
          `Not shown, because GitHub gives no diff: ${namesOf(hidden.map(({ file }) => file.path))}.`,
        ]),
  ];
  return { base: mergeBase, head, files: files.map(({ file }) => file), notes, diff };
}

async function filesOfPullRequest(
  get: Get,
  number: number | undefined,
  head: string,
  size: string,
): Promise<readonly unknown[]> {
  if (number === undefined) throw tooLarge(size);
  const values = { pull_number: String(number) };
  const files = await allOf(get, "GET /repos/{owner}/{repo}/pulls/{pull_number}/files", values);
  // The list is that of the head as it is now, and it must be complete.
  const pull = await get("GET /repos/{owner}/{repo}/pulls/{pull_number}", values);
  if (at(pull, "head", "sha") !== head) {
    throw new ChangeUnknown(
      `The change is unknown: pull request #${number} has a newer head than ${head}. The run for it reviews it`,
    );
  }
  const count = at(pull, "changed_files");
  if (count !== files.length) throw tooLarge(`${String(count)} files`);
  return files;
}

function tooLarge(size: string): ChangeUnknown {
  return new ChangeUnknown(
    `The change is unknown: it has ${size}, more than GitHub's API lists. Set fetch-depth: 0 on actions/checkout`,
  );
}

const statuses: Readonly<Record<string, FileStatus>> = {
  added: "added",
  removed: "deleted",
  renamed: "renamed",
  copied: "copied",
  changed: "type-changed",
};

interface Listed {
  readonly file: ChangedFile;
  readonly patch: string | undefined;
}

function fileOf(value: unknown): Listed {
  const path = textAt(value, "filename");
  if (path === undefined)
    throw new ChangeUnknown("The change is unknown: GitHub lists a file without a name");
  const patch = textAt(value, "patch");
  const [additions, deletions] = [countAt(value, "additions"), countAt(value, "deletions")];
  const previousPath = textAt(value, "previous_filename");
  const status = statuses[textAt(value, "status") ?? ""] ?? "modified";
  // GitHub counts no lines of a binary file, and gives no patch.
  const isBinary = patch === undefined && additions + deletions === 0 && status === "modified";
  const isSubmodule = /^[-+]Subproject commit [0-9a-f]{40,64}$/m.test(patch ?? "")
    ? true
    : undefined;
  const counts = isBinary ? { additions: null, deletions: null } : { additions, deletions };
  return { file: { path, status, ...counts, ...defined({ previousPath, isSubmodule }) }, patch };
}

/** Prints a file like `git diff`. The API doesn't have the line of objects and modes. */
function diffOf({ file, patch }: Listed): string {
  const { path, status, previousPath = path } = file;
  const [from, to] = [quoted(`a/${previousPath}`), quoted(`b/${path}`)];
  const lines = [`diff --git ${from} ${to}`];
  if (status === "renamed" || status === "copied") {
    const verb = status === "renamed" ? "rename" : "copy";
    lines.push(`${verb} from ${quoted(previousPath)}`, `${verb} to ${quoted(path)}`);
  }
  if (patch !== undefined) {
    lines.push(`--- ${status === "added" ? "/dev/null" : from}`);
    lines.push(`+++ ${status === "deleted" ? "/dev/null" : to}`, patch);
  } else if (file.additions === null) {
    lines.push(`Binary files ${from} and ${to} differ`);
  } else if (file.additions + (file.deletions ?? 0) > 0) {
    lines.push(
      "(GitHub gives no diff of this file, it is too large: set fetch-depth: 0 to have it)",
    );
  }
  return `${lines.join("\n")}\n`;
}

/** Quotes names with control characters, quotes and backslashes, as git does. */
function quoted(path: string): string {
  return /[\p{Cc}"\\]/u.test(path) ? JSON.stringify(path) : path;
}

function countAt(value: unknown, key: string): number {
  const count = at(value, key);
  return typeof count === "number" ? count : 0;
}
