// Bundles the compiled command line and action into dist/, which is committed: `npx agent-jobs` and
// `uses: …/agent-jobs` work straight from a checkout. With --check it builds elsewhere and fails if what is
// committed is not the same. With --out FOLDER it builds there; a name (cli, action) builds that one only.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Folder → its entries: compiled file → folder of its bundle. Each entry is a bundle of its own. */
const bundles = {
  cli: {
    entries: { "src/cli/main.js": "dist/cli" },
    executable: true,
  },
  action: {
    entries: {
      "src/action/main.js": "dist/action",
      "src/action/post.js": "dist/action/post",
    },
    executable: false,
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    out: { type: "string" },
    /** Where the compiled files are. */
    build: { type: "string", default: join(root, "build") },
  },
});
const names = positionals.length === 0 ? Object.keys(bundles) : positionals;
const scratch = fs.mkdtempSync(join(tmpdir(), "agent-jobs-bundle-"));

try {
  for (const name of names) {
    if (!Object.hasOwn(bundles, name)) throw new Error(`There is no bundle ${name}.`);
    build(bundles[name]);
    const made = join(scratch, "dist", name);
    const target = join(values.out ?? root, "dist", name);
    if (values.check) check(name, made, target);
    else publish(made, target);
  }
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}

function build({ entries, executable }) {
  const ncc = join(root, "node_modules", "@vercel", "ncc", "dist", "ncc", "cli.js");
  const flags = ["--minify", "--no-cache", "--no-source-map-register", "--quiet"];
  for (const [entry, folder] of Object.entries(entries)) {
    const out = join(scratch, folder);
    execFileSync(
      process.execPath,
      [ncc, "build", join(values.build, entry), "--out", out, ...flags],
      { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
    );
    const index = join(out, "index.js");
    const text = fs.readFileSync(index, "utf8");
    if (executable && !text.startsWith("#!")) {
      fs.writeFileSync(index, `#!/usr/bin/env node\n${text}`);
    }
    if (executable) fs.chmodSync(index, 0o755);
  }
  const [main] = Object.values(entries);
  fs.writeFileSync(join(scratch, main, "licenses.txt"), licenses());
}

function publish(made, target) {
  fs.rmSync(target, { recursive: true, force: true });
  fs.mkdirSync(target, { recursive: true });
  fs.cpSync(made, target, { recursive: true });
}

function check(name, made, target) {
  const expected = filesOf(made);
  const committed = fs.existsSync(target) ? filesOf(target) : [];
  const stale =
    expected.join() !== committed.join() ||
    expected.some(
      (file) => !fs.readFileSync(join(made, file)).equals(fs.readFileSync(join(target, file))),
    );
  if (stale) {
    console.error(
      `dist/${name} is not what src/ builds to: run \`npm run bundle\` and commit the result.`,
    );
    process.exitCode = 1;
  }
}

function filesOf(folder) {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
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
