/** A small project with the scripts of this one, and a runtime for three platforms. */
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { makeRepository, type Workspace } from "../rig/workspace.ts";

export const sdk = "@github/copilot-sdk";
export const platforms = ["darwin-arm64", "linux-x64", "win32-x64"];
export const version = "9.9.9";

export const packages = [
  {
    name: sdk,
    version,
    optionalDependencies: Object.fromEntries(
      platforms.map((platform) => [`${sdk}-${platform}`, version]),
    ),
  },
  ...platforms.map((platform) => {
    const [os = "", cpu = ""] = platform.split("-");
    return { name: `${sdk}-${platform}`, version, os: [os], cpu: [cpu] };
  }),
];

const script = (name: string): string =>
  readFileSync(new URL(`../../../scripts/${name}`, import.meta.url), "utf8");

export const repository = "octo/shop";

/** `hashes`: platform → what the lock file knows. The bundle is a copy of the lock file. */
export async function makeProject(
  test: Pick<TestContext, "after">,
  hashes: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Promise<Workspace> {
  const manifest = {
    name: "shop",
    version: "1.2.3",
    repository: { url: `git+https://github.com/${repository}.git` },
    dependencies: { [sdk]: version },
    scripts: {
      lockfile: "npm install --package-lock-only && node scripts/complete-lockfile.mjs",
      bundle: "node --eval \"fs.cpSync('package-lock.json', 'dist/index.js')\"",
    },
  };
  const locked = packages.map(({ name, ...fields }) => {
    const integrity = hashes[name.slice(sdk.length + 1)];
    const optional = name === sdk ? {} : { optional: true };
    return [`node_modules/${name}`, { ...fields, ...optional, ...(integrity && { integrity }) }];
  });
  const { name, dependencies } = manifest;
  const lock = {
    name,
    version: manifest.version,
    lockfileVersion: 3,
    requires: true,
    packages: {
      "": { name, version: manifest.version, dependencies },
      ...Object.fromEntries(locked),
    },
  };
  const scripts = ["complete-lockfile.mjs", "check-release.mjs"];
  return makeRepository(test, {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "package-lock.json": `${JSON.stringify(lock, null, 2)}\n`,
    "CHANGELOG.md": "# Changelog\n\n## [1.2.3] - 2026-01-01\n\nThe first.\n",
    "README.md": "# Shop\n",
    "docs/action.md": "# The action\n",
    "dist/index.js": "",
    ".npmrc": "omit-lockfile-registry-resolved=true\nfund=false\naudit=false\n",
    ".gitignore": "node_modules\n",
    ...Object.fromEntries(scripts.map((file) => [`scripts/${file}`, script(file)])),
    ...more,
  });
}
