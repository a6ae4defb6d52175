import { lstat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "../platform/system-error.ts";
import { realPathOf } from "../platform/files.ts";
import { GitRepository } from "../git/repository.ts";
import { sha } from "./webhook-event.ts";
import type { Environment } from "../platform/environment.ts";

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
