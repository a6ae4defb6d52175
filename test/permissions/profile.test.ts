/** The profile of a sandbox and the answers to file tools: two readings of the same rules, which must agree. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { isUnder } from "../../src/permissions/paths.ts";
import { decidePermission } from "../../src/permissions/policy.ts";
import { sandboxProfile, type FolderEntry } from "../../src/permissions/profile.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const names = ["a.md", "b.ts", ".env", "x.pem", "id_rsa", "docs", "src", "private", "deep"];

function entries(folder: string): FolderEntry[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  return readdirSync(folder, { withFileTypes: true }).map((one) => ({
    name: one.name,
    isFolder: one.isDirectory(),
  }));
}

test("programs may read and write an existing file exactly where file tools may", async (t) => {
  const files = ["a.md", "b.ts", ".env", "x.pem", ".npmrc", "docs/.env"].flatMap((name) =>
    ["", "docs/", "src/deep/", "private/", "private/deep/"].map((folder) => `${folder}${name}`),
  );
  const { path: root } = await makeWorkspace(t, Object.fromEntries(files.map((one) => [one, "x"])));
  const segment = fc.constantFrom("*", "**", "*.md", ".env", "[a-d]*", ...names);
  const glob = fc
    .array(segment, { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join("/"))
    .chain((text) => fc.constantFrom(text, `!${text}`));
  const globs = fc.array(glob, { maxLength: 3 });
  fc.assert(
    fc.property(
      fc.record({ preset: fc.constantFrom("read-only", "workspace"), read: globs, write: globs }),
      (permissions) => {
        const context = { ...realFiles, workingDirectory: root, home: "/home/nobody" };
        const profile = sandboxProfile(permissions, { ...context, entries });
        const { readable, writable, fixed, hidden } = profile;
        const isIn = (folders: readonly string[], file: string): boolean =>
          folders.some((folder) => isUnder(file, folder));
        for (const name of files) {
          const file = join(root, name);
          const may = (kind: "read" | "write"): boolean => {
            const request = { kind, paths: [file], deep: false } as const;
            return decidePermission(permissions, request, context).kind === "allowed";
          };
          const reads = isIn([...readable, ...writable], file) && !isIn(hidden, file);
          assert.equal(reads, may("read"), `read ${relative(root, file)}`);
          // A file that must not be read is empty inside, whatever may be written.
          const writes = isIn(writable, file) && !isIn([...fixed, ...hidden], file);
          assert.equal(writes, may("write") && may("read"), `write ${relative(root, file)}`);
        }
      },
    ),
    { numRuns: 400, includeErrorInReport: true },
  );
});
