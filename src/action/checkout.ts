import { lstat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "../platform/system-error.ts";
import { runGit } from "../platform/git.ts";
import { sha } from "../github/webhook-event.ts";
import type { Environment } from "./inputs.ts";

export interface Checkout {
  readonly root: string;
  readonly commit: string | undefined;
}

export async function checkoutOf(
  folder: string,
  environment: Environment,
): Promise<Checkout | undefined> {
  for (let root = resolve(folder); ; root = dirname(root)) {
    if (await mayExist(join(root, ".git"))) {
      return { root, commit: await headOf(root, environment).catch(() => undefined) };
    }
    if (root === dirname(root)) return undefined;
  }
}

/** What can't be looked at may be a checkout: an outer one is not asked in its place. */
async function mayExist(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    return code !== "ENOENT" && code !== "ENOTDIR";
  }
}

/** With its folder named, git looks for no other one, whoever owns it. */
async function headOf(root: string, environment: Environment): Promise<string | undefined> {
  const args = ["--git-dir", join(root, ".git"), "rev-parse", "HEAD"];
  return sha((await runGit(args, { cwd: root, environment })).trim());
}
