/** The profile of a sandbox and the answers to file tools: two readings of the same rules, which must agree. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Permissions } from "../../src/entry/model.ts";
import { isUnder } from "../../src/permissions/paths.ts";
import { decidePermission } from "../../src/permissions/policy.ts";
import { sandboxProfile, type FolderEntry } from "../../src/permissions/profile.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { rounds } from "../rig/nightly.ts";

const names = ["a.md", "b.ts", ".env", "x.pem", "id_rsa", "docs", "src", "private", "deep"];

function entries(folder: string): FolderEntry[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((one) => !one.isSymbolicLink())
    .map((one) => ({ name: one.name, isFolder: one.isDirectory() }));
}

const pause = async (): Promise<void> => {};

test("programs may read and write an existing file exactly where file tools may", async (t) => {
  const files = ["a.md", "b.ts", ".env", "x.pem", ".npmrc", "docs/.env"].flatMap((name) =>
    ["", "docs/", "src/deep/", "private/", "private/deep/"].map((folder) => `${folder}${name}`),
  );
  const texts = Object.fromEntries(files.map((one) => [one, "x"]));
  const { path: root } = await makeWorkspace(t, texts);
  const { path: outside } = await makeWorkspace(t, texts);
  const all = [root, outside].flatMap((folder) => files.map((name) => join(folder, name)));
  const segment = fc.constantFrom("*", "**", "*.md", ".env", "[a-d]*", ...names);
  const glob = fc
    .array(segment, { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join("/"))
    .chain((text) => fc.constantFrom(text, text, `${root}/${text}`, `${outside}/${text}`))
    .chain((text) => fc.constantFrom(text, `!${text}`));
  const globs = fc.array(glob, { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.record({ preset: fc.constantFrom("read-only", "workspace"), read: globs, write: globs }),
      async (permissions) => {
        const context = { ...realFiles, workingDirectory: root, home: "/home/nobody" };
        const profile = await sandboxProfile(permissions, { ...context, entries, pause });
        const { readable, writable, fixed, hidden } = profile;
        const isIn = (folders: readonly string[], file: string): boolean =>
          folders.some((folder) => isUnder(file, folder));
        for (const file of all) {
          const may = (kind: "read" | "write"): boolean => {
            const request = { kind, paths: [file], deep: false } as const;
            return decidePermission(permissions, request, context).kind === "allowed";
          };
          const reads = isIn([...readable, ...writable], file) && !isIn(hidden, file);
          assert.equal(reads, may("read"), `read ${relative(join(root, ".."), file)}`);
          // A file that must not be read is empty inside, whatever may be written.
          const writes = isIn(writable, file) && !isIn([...fixed, ...hidden], file);
          assert.equal(
            writes,
            may("write") && may("read"),
            `write ${relative(join(root, ".."), file)}`,
          );
        }
      },
    ),
    { ...rounds(200), includeErrorInReport: true },
  );
});

test("a denial by a pattern in a granted folder hides what it matches, and nothing beside it", async (t) => {
  const { path: root } = await makeWorkspace(t, { "node_modules/x/y.env": "" });
  const { path: outside } = await makeWorkspace(t, {
    ".git/config": "",
    ".git/HEAD": "",
    "a.md": "",
    "code/x.pem": "",
    "code/b.ts": "",
    "node_modules/x.pem": "",
    "node_modules/b.ts": "",
    "real/code/x.pem": "",
  });
  symlinkSync("real", join(outside, "link"));
  symlinkSync("node_modules", join(outside, "packages"));
  const hidden = async (...read: string[]): Promise<string[]> => {
    const permissions: Permissions = { preset: "read-only", read };
    const context = { ...realFiles, workingDirectory: root, home: "/home/nobody", entries, pause };
    const profile = await sandboxProfile(permissions, context);
    return profile.hidden.map((path) => relative(isUnder(path, root) ? root : outside, path));
  };
  const denied = `!${outside}/[a-d]*/x.pem`;
  assert.deepEqual(await hidden(`${outside}/**`, denied), ["code/x.pem"]);
  assert.deepEqual(await hidden(`${outside}/**`, `!${outside}/link/[a-d]*/x.pem`), [
    "real/code/x.pem",
  ]);
  assert.deepEqual(await hidden(`${outside}/**`, `!${outside}/.git/c*`), [".git/config"]);
  assert.deepEqual(await hidden(`${outside}/**`, `!${outside}/*/config`), [".git", "node_modules"]);
  const linked = await hidden(`${outside}/**`, `!${outside}/packages/x.*`);
  assert.deepEqual(linked, ["node_modules/x.pem"]);
  // Folders of packages are only looked through if they are named.
  const packages = await hidden(`${outside}/**`, `!${outside}/node_modules/[a-z].*`);
  assert.deepEqual(packages, ["node_modules/b.ts", "node_modules/x.pem"]);
  assert.deepEqual(await hidden("!**/*.env"), []);
  assert.deepEqual(await hidden("!**/*.env", "!node_modules/z"), ["node_modules/x/y.env"]);
  const write = ["!node_modules/**", "!node_modules/x/**"];
  const context = { ...realFiles, workingDirectory: root, home: "/home/nobody", entries, pause };
  const { fixed } = await sandboxProfile({ preset: "workspace", write }, context);
  assert.deepEqual(fixed, [join(root, "node_modules")]);
  // Nothing of the folder is granted: it may be within what the system needs.
  assert.deepEqual(await hidden(denied), ["a.md", "code"]);
});

test("the root of the file system is granted to nobody", async (t) => {
  const { path } = await makeWorkspace(t);
  const profile = (permissions: Permissions, workingDirectory = path): Promise<unknown> =>
    sandboxProfile(permissions, {
      ...realFiles,
      workingDirectory,
      home: "/home/x",
      entries,
      pause,
    });
  await assert.rejects(profile({ read: ["/**"] }), /"\/\*\*" begins at the root/);
  await assert.rejects(profile({ write: ["/**/*.md"] }), /begins at the root: name a folder/);
  await assert.rejects(profile("workspace", "/"), /the working directory is \/:/);
  await profile({ preset: "all", write: ["/**"] }, "/");
});

test("folders outside with too many files are refused, with advice", async (t) => {
  const { path } = await makeWorkspace(t);
  const { path: outside } = await makeWorkspace(t);
  const some = Array.from({ length: 100_001 }, (_, index) => ({
    name: `file-${index}`,
    isFolder: false,
  }));
  const profile = (read: string): Promise<unknown> =>
    sandboxProfile(
      { preset: "read-only", read: [read] },
      {
        ...realFiles,
        workingDirectory: path,
        home: "/home/x",
        entries: (folder) => (folder === outside ? some : []),
        pause,
      },
    );
  await assert.rejects(profile(`${outside}/**`), /grant more than 100000 files .* smaller folders/);
  await profile(`${outside}/smaller/**`);
});
