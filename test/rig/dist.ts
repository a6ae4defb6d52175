/**
 * What tests start where they need a process: bundles, which load in a third of the time of the compiled files.
 * `AGENT_JOBS_TEST_DIST` names them, as in `.ci/run`. Else they are those that `npm test` has made in `build/dist`, or,
 * after `npm run build` alone, the compiled files.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mode } from "../../src/action/actions.ts";

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
