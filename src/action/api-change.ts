/**
 * A change as GitHub's API knows it, for a checkout that lacks its commits. `contents: read` or `pull-requests: read`
 * is enough. What the API leaves out is said in the diff, or the change is unknown.
 */
import { defined, isList } from "../document/guards.ts";
import { ChangeUnknown, type Change, type ChangedFile, type FileStatus } from "../change/change.ts";
import type { GithubApi } from "../github/github-api.ts";
import { at, sha, textAt } from "../github/webhook-event.ts";

export type Get = GithubApi["get"];

export interface ApiRange {
  readonly base: string;
  readonly head: string;
  /** Where the change is a pull request's: the API lists more of its files. */
  readonly pullRequest?: number | undefined;
  /** As in `ChangeRange`. The API compares with the merge base only. */
  readonly fromMergeBase?: boolean;
}

const COMPARED_FILES = 300;
const PAGE = 100;
const LISTED_FILES = 3000;

/** What `head` has done since it left `base`. Rejects with a `ChangeUnknown` or the API's own error. */
export async function changeFromApi(get: Get, range: ApiRange): Promise<Change> {
  const { base, head, pullRequest } = range;
  const basehead = `${base}...${head}`;
  const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
  const compared = await get(route, { basehead, per_page: String(PAGE) });
  const mergeBase = sha(at(compared, "merge_base_commit", "sha"));
  const listed = at(compared, "files");
  if (mergeBase === undefined || !isList(listed)) {
    throw new ChangeUnknown("The change is unknown: GitHub's comparison has no merge base");
  }
  if (range.fromMergeBase === false && mergeBase !== sha(at(compared, "base_commit", "sha"))) {
    throw new ChangeUnknown(
      "The change is unknown: its base is no ancestor of its head, as after a force push. Set fetch-depth: 0 on actions/checkout",
    );
  }
  const all =
    listed.length < COMPARED_FILES
      ? listed
      : await filesOfPullRequest(get, pullRequest, head, `${listed.length} files or more`);
  const files = all.map(fileOf);
  const diff = files.map(diffOf).join("");
  return { base: mergeBase, head, files: files.map(({ file }) => file), diff };
}

async function filesOfPullRequest(
  get: Get,
  number: number | undefined,
  head: string,
  size: string,
): Promise<readonly unknown[]> {
  if (number === undefined) throw tooLarge(size);
  const values = { pull_number: String(number) };
  const files: unknown[] = [];
  for (let page = 1; page <= LISTED_FILES / PAGE; page += 1) {
    const route = "GET /repos/{owner}/{repo}/pulls/{pull_number}/files";
    const part = await get(route, { ...values, per_page: String(PAGE), page: String(page) });
    if (!isList(part)) throw tooLarge(size);
    files.push(...part);
    if (part.length < PAGE) break;
  }
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

/** As `git diff` prints it, but for the line of objects and modes, which the API doesn't have. */
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

/** As git quotes names with control characters, quotes and backslashes. */
function quoted(path: string): string {
  return /[\p{Cc}"\\]/u.test(path) ? JSON.stringify(path) : path;
}

function countAt(value: unknown, key: string): number {
  const count = at(value, key);
  return typeof count === "number" ? count : 0;
}
