/**
 * What tests start where they need a process: bundles, which load in a third of the time of the compiled files.
 * `AGENT_JOBS_TEST_DIST` names them, as in `.ci/run`. Else they are those that `npm test` has made in `build/dist`, or,
 * after `npm run build` alone, the compiled files.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, symlink, mkdtemp, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mode } from "../../src/action/actions.ts";
import { tmpdir } from "node:os";
import { after, before } from "node:test";

const build = fileURLToPath(new URL("../../", import.meta.url));
const made = join(build, "dist");
export const dist: string | undefined =
  process.env["AGENT_JOBS_TEST_DIST"] ?? (existsSync(made) ? made : undefined);

const file = (compiled: string, bundle: string): string =>
  dist === undefined ? join(build, "src", compiled) : join(dist, bundle);

export const commandLine: string = file("cli/main.js", "cli/index.js");
export const actionMain = (mode: Mode): string =>
  file(`action/mains/${mode}.js`, `action/${mode}.js`);
export const actionPost: string = file("action/mains/post.js", "action/post.js");

/** Installs the package into a folder: its manifest, its types and its bundles. Returns the folder of the package. */
export async function installPackage(folder: string): Promise<string> {
  if (dist === undefined) throw new Error("Run node scripts/bundle.mjs cli --out build first.");
  const installed = join(folder, "node_modules", "agent-jobs");
  await mkdir(installed, { recursive: true });
  await cp(join(build, "..", "package.json"), join(installed, "package.json"));
  await symlink(build, join(installed, "build"));
  await symlink(dist, join(installed, "dist"));
  return installed;
}

/** The bundle of the action for the tests of a file, in an empty folder far from any `node_modules`. */
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
