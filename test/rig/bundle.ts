/** The bundle of the action for the tests of a file, in an empty folder far from any `node_modules`. */
import { existsSync } from "node:fs";
import { cp, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { dist } from "./dist.ts";

/** The bundle that `npm test` has made; in `.ci/run` that of `dist`. */
export function useActionBundle(): {
  /** A folder of its own, that has `dist/action` in it. */
  readonly folder: string;
  readonly dist: string;
} {
  let folder = "";
  before(async () => {
    if (dist === undefined)
      throw new Error("Run node scripts/bundle.mjs action --out build first.");
    folder = await realpath(await mkdtemp(join(tmpdir(), "test-agent-jobs-bundle-test-")));
    await cp(join(dist, "action"), join(folder, "dist", "action"), { recursive: true });
    const pages = [join(dist, "web"), join(dist, "..", "web")].find((at) => existsSync(at)) ?? "";
    for (const name of ["page.js", "page.css"])
      await cp(join(pages, name), join(folder, "dist", "web", name));
  });
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return {
    get folder() {
      return folder;
    },
    get dist() {
      return join(folder, "dist", "action");
    },
  };
}
