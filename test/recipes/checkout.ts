/**
 * What actions/checkout does with the inputs that the recipes give it, with the git commands that it uses. An
 * input that it does not know is an error: the recipe would be played wrongly.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Fields } from "./pages.ts";

export interface CheckoutSetting {
  readonly workspace: string;
  readonly url: string;
  /** `GITHUB_REF` and `GITHUB_SHA`: what is checked out where the step names no `ref`. */
  readonly ref: string;
  readonly sha: string;
}

export async function checkOut(
  inputs: Fields,
  { workspace, url, ref, sha }: CheckoutSetting,
): Promise<void> {
  const { ref: wanted = "", "fetch-depth": depth = "1", ...others } = inputs;
  assert.deepEqual(Object.keys(others), ["persist-credentials"]);
  assert.equal(others["persist-credentials"], "false", "the token would stay in .git/config");
  const git = async (...args: string[]): Promise<void> => {
    await promisify(execFile)("git", ["-c", "protocol.file.allow=always", ...args], {
      cwd: workspace,
    });
  };
  await git("init", "--quiet", "--initial-branch=main");
  await git("remote", "add", "origin", url);
  const commit = wanted === "" ? sha : String(wanted);
  assert.match(commit, /^[0-9a-f]{40}$/, "the recipes check out a commit of the event");
  if (depth === "0") {
    const heads = "+refs/heads/*:refs/remotes/origin/*";
    const pull = ref.startsWith("refs/pull/") && wanted === "" ? [`+${sha}:${remote(ref)}`] : [];
    await git("fetch", "--quiet", "--prune", "--tags", "origin", heads, ...pull);
  } else {
    const target = wanted === "" ? [`+${sha}:${remote(ref)}`] : [commit];
    await git("fetch", "--quiet", "--no-tags", `--depth=${String(depth)}`, "origin", ...target);
  }
  await git("checkout", "--quiet", "--force", "--detach", commit);
}

/** `refs/heads/main` → `refs/remotes/origin/main`, `refs/pull/7/merge` → `refs/remotes/pull/7/merge` */
function remote(ref: string): string {
  return ref
    .replace(/^refs\/heads\//, "refs/remotes/origin/")
    .replace(/^refs\/pull\//, "refs/remotes/pull/");
}
