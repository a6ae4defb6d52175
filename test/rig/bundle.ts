/** The bundle of the action for the tests of a file, in an empty folder far from any `node_modules`. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const script = fileURLToPath(new URL("../../../scripts/bundle.mjs", import.meta.url));
const compiled = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Made from the compiled files. `AGENT_JOBS_TEST_DIST` names a `dist` that is known to be fresh, as `.ci/run` has
 * checked: then it is only copied.
 */
export function useActionBundle(): {
  /** A folder of its own, that has `dist/action` in it. */
  readonly folder: string;
  readonly dist: string;
} {
  let folder = "";
  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "agent-jobs-bundle-test-")));
    const fresh = process.env["AGENT_JOBS_TEST_DIST"];
    if (fresh !== undefined)
      await cp(join(fresh, "action"), join(folder, "dist", "action"), { recursive: true });
    else {
      const args = [script, "action", "--build", compiled, "--out", folder];
      await promisify(execFile)(process.execPath, args);
    }
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
