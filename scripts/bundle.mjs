// Bundles the compiled command line and library (dist/cli) and the action (dist/action), which are committed:
// `npx agent-jobs` and `uses: …/agent-jobs` work straight from a checkout. With --check it fails if what is committed is
// not the same. With --out FOLDER it writes there; a name (cli, action, web) bundles that one only.
import fs from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import ncc from "@vercel/ncc";
import { build, transformSync } from "esbuild";
import { licensesOf, packagesIn } from "./licenses.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const compiled = join(root, "build");
const target = "node20.19";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    out: { type: "string", default: root },
  },
});

/** Folder → what makes its files: names → contents. */
const bundles = {
  action: async () => {
    // ncc names the chunks by the paths of their modules, relative to the working directory.
    process.chdir(root);
    const main = await bundleByNcc("src/action/main.js");
    const texts = licensesOf(await packagesInTexts());
    main.set("licenses.txt", `${main.get("licenses.txt")}\n\n${texts}`);
    return new Map([...main, ...mainsOfFamily()]);
  },
  // The command line and the library share most of their code, so they share its files.
  cli: async () => {
    const files = await bundleByEsbuild("dist/cli", {
      main: "src/cli/main.js",
      library: "src/index.js",
      entry: "src/entry/index.js",
      testing: "src/run/testing.js",
    });
    // It is copied as it is: any Node reads it, to say which one is needed.
    const launcher = fs.readFileSync(join(root, "scripts", "launcher.js"), "utf8");
    return files.set("index.js", `#!/usr/bin/env node\n${launcher}`);
  },
  // scripts/build-page.mjs has made them.
  web: async () => {
    const names = ["page.js", "page.css", "licenses.txt"];
    return new Map(names.map((name) => [name, fs.readFileSync(join(compiled, "web", name))]));
  },
};

for (const name of positionals.length === 0 ? ["action", "cli", "web"] : positionals) {
  if (!Object.hasOwn(bundles, name)) throw new Error(`There is no bundle ${name}.`);
  const files = await bundles[name]();
  const folder = join(values.out, "dist", name);
  if (values.check) check(name, files, folder);
  else publish(files, folder);
}

/** The main files of the actions, and their post step: they share the bundle. */
function mainsOfFamily() {
  const folder = join(compiled, "src/action/mains");
  return fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".js"))
    .map((name) => {
      const text = fs.readFileSync(join(folder, name), "utf8");
      return [name, text.replace("../main.js", "./index.js").replace(/\n\/\/# source.*/, "")];
    });
}

/** An entry point of the action, with a chunk for each module that is imported on demand. */
async function bundleByNcc(file) {
  const copies = withoutUnusedClient();
  try {
    const { code, assets } = await ncc(join(compiled, file), {
      cache: false,
      esm: true,
      license: "licenses.txt",
      quiet: true,
      target: "es2022",
    });
    const files = new Map([["index.js", code]]);
    for (const [name, { source }] of Object.entries(assets)) files.set(name, source);
    for (const [name, source] of files)
      if (name.endsWith(".js")) files.set(name, minified(String(source)));
    return files;
  } catch (error) {
    // The stack would print a line of 3 MB.
    throw new Error(`ncc can't bundle ${file}: ${error.message}`, { cause: error });
  } finally {
    fs.rmSync(copies, { recursive: true, force: true });
  }
}

/** ncc's own minifier leaves the chunks as they are. */
function minified(code) {
  return transformSync(code, { minify: true, format: "esm", target, legalComments: "none" }).code;
}

/**
 * `@actions/core` asks for OpenID tokens with an HTTP client (`undici`), which no code of ours uses: 0.1 s of CPU at each
 * start. Its package.json doesn't declare that its modules can be left out, so ncc reads a copy that does.
 */
function withoutUnusedClient() {
  const folder = join(compiled, "node_modules");
  const name = "@actions/core";
  fs.cpSync(join(root, "node_modules", name), join(folder, name), { recursive: true });
  const manifest = join(folder, name, "package.json");
  const fields = JSON.parse(fs.readFileSync(manifest, "utf8"));
  fs.writeFileSync(manifest, JSON.stringify({ ...fields, sideEffects: false }));
  return folder;
}

async function bundleByEsbuild(outdir, entries) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    outdir,
    entryPoints: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [name, join(compiled, file)]),
    ),
    bundle: true,
    platform: "node",
    target,
    format: "esm",
    // A module that is loaded on demand is in a file of its own.
    splitting: true,
    chunkNames: "[name]-[hash]",
    // The names of functions stay: they are in the stack traces of applications.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    metafile: true,
    write: false,
    alias: {
      // Its build for Node reads an environment variable for each token, which takes a sixth of the time of a large file.
      yaml: join(root, "node_modules/yaml/browser/index.js"),
      // Its "main" asks for its parts in a way that can't be bundled.
      "jsonc-parser": join(root, "node_modules/jsonc-parser/lib/esm/main.js"),
    },
    // Packages in CommonJS ask for Node's own modules.
    banner: {
      js: 'import{createRequire as nodeRequire}from"node:module";const require=nodeRequire(import.meta.url);',
    },
    // Few runs load these packages, which are installed beside the bundle.
    external: ["@actions/github", "@modelcontextprotocol/client", "@opentelemetry/*"],
  });
  const files = new Map(
    outputFiles.map(({ path, contents }) => [relative(join(root, outdir), path), contents]),
  );
  files.set("package.json", '{ "type": "module" }\n');
  const packages = [...packagesIn(metafile), ...(await packagesInTexts())];
  return files.set("licenses.txt", licensesOf(packages));
}

/** The packages in the texts that scripts/generate.mjs makes. */
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
  return packagesIn(metafile);
}

function publish(files, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  for (const [file, contents] of files) {
    fs.mkdirSync(dirname(join(folder, file)), { recursive: true });
    const isProgram = typeof contents === "string" && contents.startsWith("#!");
    const mode = isProgram ? 0o755 : 0o644;
    fs.writeFileSync(join(folder, file), contents, { mode });
  }
}

function check(name, files, folder) {
  const committed = fs.existsSync(folder)
    ? fs
        .readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    : [];
  const isFresh =
    committed.length === files.size &&
    committed.every(
      (file) =>
        files.has(file) && fs.readFileSync(join(folder, file)).equals(Buffer.from(files.get(file))),
    );
  if (isFresh) return;
  console.error(
    `dist/${name} is not what src/ builds to: run \`npm run bundle\` and commit the result.`,
  );
  process.exitCode = 1;
}
