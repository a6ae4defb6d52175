/** The ripgrep of the runtime, with the settings that we give it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { isPrivate } from "../../src/platform/private-files.ts";
import { findRuntime, platformName } from "../../src/runtime/find-runtime.ts";
import { searchConfiguration } from "../../src/sessions/request-handler.ts";
import { nightly } from "../rig/nightly.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const prefixes = ["", "#", ".#", ".", "._", "~", "~$", ".~lock.", "x"];
const names = [
  ".netrc",
  "_netrc",
  ".npmrc",
  ".git-credentials",
  ".ssh",
  ".envrc",
  ".env",
  "gha-creds-1.json",
  "a.env",
];
/** For each name and prefix on every change. Nightly: every ending. */
const decisive = ["", ".local~", ".example", ".examples", ".dist."];
const endings = [
  ["", "~", "#", " copy", ".", ".bak", ".local~", "-local", "_local", ",v", "%", "x", "rc"],
  [".example", ".EXAMPLE", ".exampl", ".examples", ".example.x", ".example-eu", ".e", ".d"],
  [".sample", ".template", ".dist", ".dists", ".defaults", ".default", ".dist."],
].flat();

test("a search finds a file if, and only if, it is not private, whatever the glob", async (t) => {
  const workspace = await makeWorkspace(t);
  const all = names.flatMap((name) =>
    endings.flatMap((ending) => [
      ...prefixes
        .filter((prefix) => nightly || prefix === "" || decisive.includes(ending))
        .map((prefix) => `${prefix}${name}${ending}`),
      ...(nightly || decisive.includes(ending) ? [`${name}${ending}`.toUpperCase()] : []),
    ]),
  );
  const paths = [...new Set(all)].flatMap((name) => [`files/${name}`, `folders/${name}/file`]);
  for (const path of paths) await workspace.write(path, "KEY\n");
  const settings = await workspace.write("settings", searchConfiguration(process.env));
  const root = dirname(dirname(dirname(findRuntime({ environment: {} }))));
  const ripgrep = join(root, "ripgrep", "bin", platformName(), "rg");
  const search = (folder: string, below: string, globs: readonly string[]): readonly string[] => {
    const args = ["--hidden", ...globs, "--files-with-matches", "--", "KEY", below];
    const env = { PATH: process.env["PATH"], RIPGREP_CONFIG_PATH: settings };
    const { stdout } = spawnSync(ripgrep, args, { cwd: folder, encoding: "utf8", env });
    return stdout
      .split("\n")
      .filter((path) => path !== "")
      .map((path) => path.replace(/^.*?(?=files\/|folders\/)/, ""))
      .filter((path) => isPrivate(path) || !ofExample.test(path))
      .sort();
  };
  // A search finds nothing in a folder that is named as an example, though its files may be viewed.
  const ofExample = /^folders\/[^/]*\.(?:example|sample|template|dist|defaults)(?:-[^/]*)?\//i;
  const readable = paths.filter((path) => !isPrivate(path) && !ofExample.test(path)).sort();
  const below = readable.filter((path) => path.startsWith("folders/"));
  const { path } = workspace;
  assert.ok(below.length > 50 && paths.length - readable.length > 500);
  assert.deepEqual(search(path, ".", []), readable);
  assert.deepEqual(search(path, ".", ["--glob", "**/*"]), readable);
  // From elsewhere, by both forms of a path.
  assert.deepEqual(search(join(path, "files"), join(path, "folders"), []), below);
  assert.deepEqual(search(join(path, "files"), "../folders", []), below);
  const named = search(path, ".", ["--glob", "**/.*"]);
  assert.deepEqual(
    named.filter((one) => !readable.includes(one)),
    [],
  );
});
