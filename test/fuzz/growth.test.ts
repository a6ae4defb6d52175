/** The policy in time that grows no faster than what a model sends, and a bound for each input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { partsMatch, readGlob } from "../../src/entry/glob.ts";
import type { Permissions } from "../../src/entry/model.ts";
import { type PermissionRequest, decidePermission } from "../../src/permissions/policy.ts";
import { isPrivate } from "../../src/platform/private-files.ts";
import { fromRuntime } from "../../src/sessions/permission-handler.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInCalls, linearInTime, pumped } from "../rig/growth.ts";

/** Only what has at most `depth` parts exists; every call is counted. */
function countingFiles(depth: number): {
  readonly context: Parameters<typeof decidePermission>[2];
  readonly calls: () => number;
} {
  let calls = 0;
  const exists = (path: string): boolean => {
    calls += 1;
    return path.split("/").length <= depth;
  };
  const missing = (): never => {
    throw Object.assign(new Error("missing"), { code: "ENOENT" });
  };
  return {
    calls: () => calls,
    context: {
      workingDirectory: "/repo",
      home: "/home/me",
      platform: "linux",
      realpath: (path) => (exists(path) ? path : missing()),
      isThere: exists,
      linkTarget: (path) => {
        exists(path);
        return undefined;
      },
    },
  };
}

const rules: readonly Permissions[] = [
  "read-only",
  "workspace",
  { read: ["!secrets/**", "!**/*a*a*a*a*b"], write: ["src/**", "*a*a*a*a*b", "!~/x"] },
  { preset: "all", read: ["!**/a/**/a/**/a/**/b"], url: ["!*.a.*.a.*.b"], shell: ["!x"] },
];

function asPath(kind: "read" | "write", path: string): PermissionRequest {
  return kind === "read" ? { kind, paths: [path], deep: true } : { kind, paths: [path] };
}

test("the file system is asked in proportion to a path, whatever of it exists", () => {
  for (const permissions of rules) {
    for (const depth of [2, 50, 10_000]) {
      for (const unit of ["a/", "a/../", "../", "./", "//", "\\\\"]) {
        linearInCalls({
          name: `${JSON.stringify(permissions)} ${unit} ${depth}`,
          sizes: [32, 4_000],
          make: (size) => `/repo/${unit.repeat(size / unit.length)}`,
          count: (path) => {
            const { context, calls } = countingFiles(depth);
            decidePermission(permissions, asPath("read", path), context);
            decidePermission(permissions, asPath("write", path), context);
            return calls();
          },
        });
      }
    }
  }
});

test("a path over 4,096 bytes is refused without a look at the file system", () => {
  const { context, calls } = countingFiles(3);
  for (const path of [`/repo/${"a/".repeat(2_046)}`, `/repo/${"é".repeat(2_046)}`]) {
    const decision = decidePermission("workspace", asPath("write", path), context);
    assert.ok(decision.kind === "denied" && decision.reason.includes("longer than 4096 bytes"));
    assert.ok(decision.target.length <= 1_001);
  }
  assert.equal(calls(), 0);
});

const pathPieces = [..."a A b / ../ ./ .env . * ~ - \\\\ gha-creds- .json".split(" "), " "];

test("paths are judged in linear time", async (t) => {
  const property = fc.property(
    pumped(pathPieces),
    fc.constantFrom(...rules),
    (path, permissions) => {
      linearInTime({
        name: "a path",
        sizes: [500, 4_000],
        make: (size) => `/repo/${path(size)}`,
        run: (text) =>
          decidePermission(permissions, asPath("write", text), countingFiles(5).context),
      });
      linearInTime({ name: "a private name", sizes: [500, 32_000], make: path, run: isPrivate });
    },
  );
  await holds(t, property, 60);
});

test("globs match in linear time", async (t) => {
  const pieces = ["a", "b", "*", "**", "/", "?", "[ab]", "[!a]", "{a,b}", "\\\\a"];
  const globs = fc
    .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 24 })
    .map((parts) => parts.join(""));
  const property = fc.property(globs, pumped(["a", "b", "/", "ab"]), (glob, path) => {
    const read = readGlob(glob);
    if (typeof read === "string") return;
    linearInTime({
      name: glob,
      sizes: [240, 8_000],
      make: (size) => path(size).split("/"),
      run: (names) => read.map(({ parts }) => partsMatch(parts, names, true)),
    });
  });
  await holds(t, property, 60);
});

test("addresses are judged in linear time, and refused when they are too long", async (t) => {
  const pieces = ["a", ".", "/", "%61", "%", "@", ":", "?", "*", "é", "//"];
  const patterns: Permissions[] = [
    { url: ["https://*.a.*.a.*.b/*a*a*a*b", "!*a*a*b/*a*a*b"] },
    { preset: "all", url: ["!*a*a*a*b/*a*a*b"] },
  ];
  const { context } = countingFiles(3);
  const property = fc.property(pumped(pieces), fc.constantFrom(...patterns), (url, permissions) => {
    linearInTime({
      name: "an address",
      sizes: [500, 8_000],
      make: (size) => `https://a.example/${url(size)}`,
      run: (text) => decidePermission(permissions, { kind: "url", url: text }, context),
    });
  });
  await holds(t, property, 40);
  const long = { kind: "url", url: `https://a.example/${"a".repeat(9_000)}` } as const;
  const decision = decidePermission({ url: ["a.example"] }, long, context);
  assert.ok(decision.kind === "denied" && decision.reason.includes("longer than"));
});

test("requests of the runtime are read in linear time", async (t) => {
  const pieces = ["--- a", "+++ b", "\n", "@@", "/x", "move", " ", "copy"];
  const property = fc.property(pumped(pieces), (text) => {
    linearInTime({
      name: "a diff",
      sizes: [2_000, 128_000],
      make: text,
      run: (diff) =>
        fromRuntime({
          kind: "write",
          fileName: "x",
          diff,
          intention: diff,
          canOfferSessionApproval: false,
        }),
    });
  });
  await holds(t, property, 40);
});
