// Bundles the compiled command line and action into dist/, which is committed: `npx agent-jobs` and
// `uses: …/agent-jobs` work straight from a checkout. With --check it builds elsewhere and fails if what is
// committed is not the same. With --out FOLDER it builds there; a name (cli, action, web) builds that one only.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build as esbuild } from "esbuild";
import { minify } from "terser";

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
  // Made by scripts/build-page.mjs; only copied.
  web: undefined,
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

// What ncc bundles. In here, so that it finds the packages above; of its own, so that nobody else sees it.
const stage = fs.mkdtempSync(join(values.build, "bundle-"));

try {
  fs.cpSync(join(values.build, "src"), join(stage, "src"), { recursive: true });
  leaveOutHttpClient();
  for (const name of names) {
    if (!Object.hasOwn(bundles, name)) throw new Error(`There is no bundle ${name}.`);
    if (name === "web") copyPage();
    else await build(bundles[name]);
    const made = join(scratch, "dist", name);
    const target = join(values.out ?? root, "dist", name);
    if (values.check) check(name, made, target);
    else publish(made, target);
  }
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
  fs.rmSync(stage, { recursive: true, force: true });
}

/**
 * `@actions/core` imports an HTTP client (`undici`) to ask for OpenID tokens, which nobody here does: 480 KB
 * that every start would load. Its modules do nothing but define; a copy whose `package.json` says so lets
 * ncc drop the imports that are not used.
 */
function leaveOutHttpClient() {
  const copy = join(stage, "node_modules", "@actions", "core");
  fs.cpSync(join(root, "node_modules", "@actions", "core"), copy, { recursive: true });
  const file = join(copy, "package.json");
  const content = JSON.parse(fs.readFileSync(file, "utf8"));
  fs.writeFileSync(file, JSON.stringify({ ...content, sideEffects: false }));
}

function copyPage() {
  const made = join(scratch, "dist", "web");
  fs.mkdirSync(made, { recursive: true });
  for (const name of ["page.js", "page.css", "licenses.txt"])
    fs.copyFileSync(join(values.build, "web", name), join(made, name));
}

async function build({ entries, executable }) {
  const ncc = join(root, "node_modules", "@vercel", "ncc", "dist", "ncc", "cli.js");
  const flags = ["--no-cache", "--no-source-map-register", "--quiet"];
  for (const [entry, folder] of Object.entries(entries)) {
    const out = join(scratch, folder);
    execFileSync(
      process.execPath,
      [ncc, "build", join(stage, entry), "--out", out, ...flags],
      // The ids of the modules come from their paths, seen from here.
      { cwd: stage, stdio: ["ignore", "ignore", "inherit"] },
    );
    await minifyAll(out);
    if (!executable) continue;
    const index = join(out, "index.js");
    fs.renameSync(index, join(out, "main.js"));
    const launcher = fs.readFileSync(join(root, "scripts", "launcher.js"), "utf8");
    const { code } = await minify(launcher, { module: false, ecma: 5 });
    fs.writeFileSync(index, `#!/usr/bin/env node\n${code}\n`);
    fs.chmodSync(index, 0o755);
  }
  const [main] = Object.values(entries);
  fs.writeFileSync(join(scratch, main, "licenses.txt"), await licenses());
}

/** Not ncc's own minifier: that leaves what is loaded later as it is, and to parse it is a part of every start. */
async function minifyAll(folder) {
  for (const name of filesOf(folder).filter((file) => file.endsWith(".js"))) {
    const file = join(folder, name);
    const { code } = await minify(fs.readFileSync(file, "utf8"), { module: true });
    fs.writeFileSync(file, `${code}\n`);
  }
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

/** What scripts/generate.mjs makes a text of. */
async function packagesInTexts() {
  const { metafile } = await esbuild({
    entryPoints: [join(root, "src", "calls", "module-hooks.ts")],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    mainFields: ["module", "main"],
  });
  return new Set(
    Object.keys(metafile.inputs).flatMap(
      (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [],
    ),
  );
}

/** The licenses of everything that the bundle may hold: every package that is not for development only, or in a text. */
async function licenses() {
  const { packages } = JSON.parse(fs.readFileSync(join(root, "package-lock.json"), "utf8"));
  const inTexts = await packagesInTexts();
  return Object.entries(packages)
    .filter(
      ([path, { dev, optional }]) =>
        (path !== "" && dev !== true && optional !== true) || inTexts.has(path),
    )
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
