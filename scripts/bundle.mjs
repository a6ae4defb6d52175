// Bundles the compiled command line into dist/cli, which is committed: `npx agent-jobs` works straight
// after `npm ci`. With --check it builds elsewhere and fails if the committed bundle is not the same.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "dist", "cli");
const scratch = fs.mkdtempSync(join(tmpdir(), "agent-jobs-bundle-"));

try {
  const ncc = join(root, "node_modules", "@vercel", "ncc", "dist", "ncc", "cli.js");
  const main = join(root, "build", "src", "cli", "main.js");
  const flags = ["--minify", "--no-cache", "--no-source-map-register", "--quiet"];
  execFileSync(process.execPath, [ncc, "build", main, "--out", scratch, ...flags], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const index = join(scratch, "index.js");
  const text = fs.readFileSync(index, "utf8");
  if (!text.startsWith("#!")) fs.writeFileSync(index, `#!/usr/bin/env node\n${text}`);
  fs.writeFileSync(join(scratch, "licenses.txt"), licenses());
  if (process.argv.includes("--check")) check();
  else publish();
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}

function publish() {
  fs.rmSync(target, { recursive: true, force: true });
  fs.mkdirSync(target, { recursive: true });
  for (const file of fs.readdirSync(scratch))
    fs.copyFileSync(join(scratch, file), join(target, file));
  fs.chmodSync(join(target, "index.js"), 0o755);
}

function check() {
  const expected = fs.readdirSync(scratch).sort();
  const committed = fs.existsSync(target) ? fs.readdirSync(target).sort() : [];
  const stale =
    expected.join() !== committed.join() ||
    expected.some(
      (file) => !fs.readFileSync(join(scratch, file)).equals(fs.readFileSync(join(target, file))),
    );
  if (stale) {
    console.error(
      "dist/cli is not what src/ builds to: run `npm run bundle` and commit the result.",
    );
    process.exitCode = 1;
  }
}

/** The licences of everything that the bundle may hold: every package that is not for development only. */
function licenses() {
  const { packages } = JSON.parse(fs.readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries(packages)
    .filter(([path, { dev, optional }]) => path !== "" && dev !== true && optional !== true)
    .map(([path, { version, license }]) => {
      const folder = join(root, path);
      const file = fs.readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
      const text =
        file === undefined
          ? ""
          : `\n${fs.readFileSync(join(folder, file), "utf8").replaceAll("\r", "").trim()}\n`;
      return `${path.replace(/^.*node_modules\//, "")} ${version} (${license ?? "see its package"})\n${text}`;
    })
    .join("\n----\n\n");
}
