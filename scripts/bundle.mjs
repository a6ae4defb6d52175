// Bundles the compiled command line and action into dist/, which is committed: `npx agent-jobs` and
// `uses: …/agent-jobs` work straight from a checkout. With --check it fails if what is committed is not the same. With
// --out FOLDER it writes there; a name (cli, action, web) bundles that one only. `library` is a part of the build: what
// `import "agent-jobs"` loads, which takes a third of the time that the many files take.
import fs from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { licensesOf, packagesIn } from "./licenses.mjs";
import { onFirstUse, seldomFiles } from "./on-first-use.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    out: { type: "string", default: root },
    /** Where the compiled files are. */
    build: { type: "string", default: join(root, "build") },
  },
});

/**
 * `@actions/core` imports an HTTP client (`undici`) to ask for OpenID tokens, which nobody here does: 480 KB that every
 * start would load. Its modules only define, which its `package.json` doesn't say, so imports that nothing uses stay.
 */
const unusedParts = {
  name: "unused-parts",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /./ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === "resolved" || !from.importer.includes("/node_modules/@actions/core/"))
        return undefined;
      const { resolveDir, importer, kind, namespace } = from;
      const options = { resolveDir, importer, kind, namespace, pluginData: "resolved" };
      return { ...(await resolve(path, options)), sideEffects: false };
    });
  },
};

/** Folder → what makes its files: names → contents. */
const bundles = {
  cli: async () => {
    const files = await bundle("dist/cli", { main: "src/cli/main.js" }, { plugins: [onFirstUse] });
    // As it is: any Node reads it, to say which one is needed.
    const launcher = fs.readFileSync(join(root, "scripts", "launcher.js"), "utf8");
    files.set("index.js", `#!/usr/bin/env node\n${launcher}`);
    return files;
  },
  action: () =>
    bundle(
      "dist/action",
      { index: "src/action/main.js", "post/index": "src/action/post.js" },
      { plugins: [onFirstUse] },
    ),
  library: () =>
    bundle(
      "build/library",
      {
        index: "src/index.js",
        entry: "src/entry/index.js",
        testing: "src/run/testing.js",
      },
      // The names of its functions are in the stack traces of applications.
      { minify: false, minifySyntax: true, minifyWhitespace: true },
    ),
  // Made by scripts/build-page.mjs; only copied.
  web: async () => {
    const folder = join(values.build, "web");
    const names = ["page.js", "page.css", "licenses.txt"];
    return new Map(names.map((name) => [name, fs.readFileSync(join(folder, name))]));
  },
};
const executable = "cli/index.js";

for (const name of positionals.length === 0 ? ["action", "cli", "web"] : positionals) {
  if (!Object.hasOwn(bundles, name)) throw new Error(`There is no bundle ${name}.`);
  const files = await bundles[name]();
  const folder = name === "library" ? join(values.build, name) : join(values.out, "dist", name);
  if (values.check) check(name, files, folder);
  else publish(name, files, folder);
}

async function bundle(outdir, entries, { plugins = [], ...named } = {}) {
  const options = {
    absWorkingDir: root,
    outdir,
    bundle: true,
    platform: "node",
    target: "node20.19",
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
    ...named,
  };
  const main = await build({
    ...options,
    entryPoints: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [name, join(values.build, file)]),
    ),
    // What is loaded on demand is in files of its own.
    splitting: true,
    chunkNames: "[name]-[hash]",
    format: "esm",
    alias: {
      // Its build for Node reads an environment variable for each token, which takes a sixth of the time of a large file.
      yaml: join(root, "node_modules/yaml/browser/index.js"),
      // Its "main" asks for its parts in a way that can't be bundled.
      "jsonc-parser": join(root, "node_modules/jsonc-parser/lib/esm/main.js"),
    },
    // For packages in CommonJS, which ask for Node's own modules.
    banner: {
      js: 'import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);',
    },
    plugins: [unusedParts, ...plugins],
  });
  const results = plugins.includes(onFirstUse) ? [main, await seldomFiles(options)] : [main];
  const files = new Map(
    results
      .flatMap(({ outputFiles }) => outputFiles)
      .map(({ path, contents }) => [relative(join(root, outdir), path), contents]),
  );
  files.set("package.json", '{ "type": "module" }\n');
  const packages = [
    ...results.flatMap(({ metafile }) => [...packagesIn(metafile).keys()]),
    ...(await packagesInTexts()),
  ];
  files.set(
    "licenses.txt",
    licensesOf(
      root,
      packages.filter((folder) => folder !== ""),
    ),
  );
  return files;
}

/** Those of what scripts/generate.mjs makes a text of. */
async function packagesInTexts() {
  const { metafile } = await build({
    entryPoints: ["src/tools/module-hooks.ts"],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    mainFields: ["module", "main"],
  });
  return packagesIn(metafile).keys();
}

function publish(name, files, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  for (const [file, contents] of files) {
    fs.mkdirSync(join(folder, file, ".."), { recursive: true });
    const mode = `${name}/${file}` === executable ? 0o755 : 0o644;
    fs.writeFileSync(join(folder, file), contents, { mode });
  }
}

function check(name, files, folder) {
  const committed = fs.existsSync(folder) ? filesOf(folder) : [];
  const isFresh =
    committed.length === files.size &&
    committed.every((file) => files.has(file)) &&
    committed.every((file) =>
      fs.readFileSync(join(folder, file)).equals(Buffer.from(files.get(file))),
    );
  if (isFresh) return;
  console.error(
    `dist/${name} is not what src/ builds to: run \`npm run bundle\` and commit the result.`,
  );
  process.exitCode = 1;
}

function filesOf(folder) {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}
