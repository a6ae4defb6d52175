// Bundles the compiled command line into dist/cli, which is committed: `npx agent-jobs` works straight
// after `npm ci`. With --check it builds elsewhere and fails if the committed bundle is not the same.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  existsSync,
  writeFileSync,
  chmodSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "dist", "cli");
const scratch = mkdtempSync(join(tmpdir(), "agent-jobs-bundle-"));

try {
  const ncc = join(root, "node_modules", "@vercel", "ncc", "dist", "ncc", "cli.js");
  const entry = join(root, "build", "src", "cli", "main.js");
  execFileSync(
    process.execPath,
    [
      ncc,
      "build",
      entry,
      "--out",
      scratch,
      "--minify",
      "--no-source-map-register",
      "--license",
      "licenses.txt",
    ],
    {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (process.argv.includes("--check")) check();
  else publish();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function publish() {
  rmSync(target, { recursive: true, force: true });
  cpSync(scratch, target, { recursive: true });
  const index = join(target, "index.js");
  const text = readFileSync(index, "utf8");
  if (!text.startsWith("#!")) writeFileSync(index, `#!/usr/bin/env node\n${text}`);
  chmodSync(index, 0o755);
}

function check() {
  const expected = readdirSync(scratch, { recursive: true }).map(String).sort();
  const committed = existsSync(target)
    ? readdirSync(target, { recursive: true }).map(String).sort()
    : [];
  const strip = (text) => text.replace(/^#!.*\n/, "");
  const stale =
    expected.join() !== committed.join() ||
    expected.some((file) => strip(read(scratch, file)) !== strip(read(target, file)));
  if (stale) {
    console.error(
      "dist/cli is not what src/ builds to: run `npm run bundle` and commit the result.",
    );
    process.exitCode = 1;
  }
}

function read(folder, file) {
  return readFileSync(join(folder, file), { encoding: "utf8", flag: "r" });
}
