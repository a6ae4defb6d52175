// Writes src/generated/, which git ignores. Build and lint run it first; it takes a moment and needs nothing but the
// packages of package.json:
//   example-entry.ts   the entry that `agent-jobs serve` starts with where none is named
//   module-programs.ts the programs in which modules run as tools, as texts
//   templates.ts       the files that `agent-jobs init` writes: those of examples/, to the letter
//   runtime-hashes.ts  the version of the runtime's packages and the SHA-512 of each, from package-lock.json
//   version.ts         the version of agent-jobs
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = new URL("../", import.meta.url);
const folder = new URL("src/generated/", root);
const read = (name) => fs.readFileSync(new URL(name, root), "utf8");

const files = {
  "example-entry.ts": exampleEntry(),
  "module-programs.ts": await modulePrograms(),
  "runtime-hashes.ts": runtimeHashes(),
  "templates.ts": templates(),
  "version.ts": `/** Of agent-jobs. */\nexport const version = ${JSON.stringify(JSON.parse(read("package.json")).version)};\n`,
};

fs.mkdirSync(folder, { recursive: true });
for (const name of fs.readdirSync(folder))
  if (name.endsWith(".ts") && !(name in files)) fs.rmSync(new URL(name, folder), { force: true });
for (const [name, body] of Object.entries(files))
  write(name, `// Written by scripts/generate.mjs.\n${body}`);

// A file of build/ that imports the library by its name gets the compiled one, not the bundle in dist/.
fs.mkdirSync(new URL("build/", root), { recursive: true });
fs.writeFileSync(
  new URL("build/package.json", root),
  JSON.stringify({
    name: JSON.parse(read("package.json")).name,
    type: "module",
    exports: {
      ".": "./src/index.js",
      "./entry": "./src/entry/index.js",
      "./testing": "./src/run/testing.js",
    },
  }),
);

/** In one step, and only what is new: another build may be reading the file. */
function write(name, text) {
  const file = new URL(name, folder);
  if (fs.existsSync(file) && fs.readFileSync(file, "utf8") === text) return;
  const draft = new URL(`${name}.${process.pid}`, folder);
  fs.writeFileSync(draft, text);
  fs.renameSync(draft, file);
}

/** Programs as texts, so that any bundle contains them: they are written to a file where they run. */
async function modulePrograms() {
  const text = async (file) => {
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL(file, root))],
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      platform: "node",
      target: "node20.19",
      mainFields: ["module", "main"],
      legalComments: "none",
    });
    return JSON.stringify(outputFiles[0].text);
  };
  return `
export const moduleWorker: string = ${await text("src/tools/module-worker.ts")};

export const moduleHooks: string = ${await text("src/tools/module-hooks.ts")};
`;
}

function exampleEntry() {
  const file = "examples/recipes/correct-docs.yml";
  return `
export const exampleEntry = {
  file: ${JSON.stringify(file)},
  text: ${JSON.stringify(read(file))},
} as const;
`;
}

/** Each is a folder of examples/. Workflows are `agent-*.yml`. Its page and its pictures stay here. */
function templates() {
  const names = ["review", "fix-ci", "nightly", "triage", "release-notes"];
  const files = (name) =>
    fs
      .readdirSync(new URL(`examples/${name}`, root), { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => path.relative(fileURLToPath(root), path.join(file.parentPath, file.name)))
      .sort()
      .flatMap((file) => {
        const inside = file.split(path.sep).slice(2).join("/");
        if (/^README\.md$|\.png$/.test(inside)) return [];
        const folder = /^agent-.*\.yml$/.test(inside) ? "workflows" : "agent-jobs";
        return [[`.github/${folder}/${inside}`, read(file)]];
      });
  const all = Object.fromEntries(names.map((name) => [name, Object.fromEntries(files(name))]));
  return `
/** Template → path in the repository → content. */
export const templates: Readonly<Record<string, Readonly<Record<string, string>>>> = ${JSON.stringify(all, null, 2)};
`;
}

function runtimeHashes() {
  const sdk = "@github/copilot-sdk";
  const { packages } = JSON.parse(read("package-lock.json"));
  const pinned = JSON.parse(read("package.json")).dependencies[sdk];
  const locked = packages[`node_modules/${sdk}`];
  if (locked?.version !== pinned)
    throw new Error(
      `package.json pins ${sdk} ${pinned}, package-lock.json has ${locked?.version}.`,
    );
  const prefix = `${sdk}-`;
  const hashes = {};
  const missing = [];
  for (const name of Object.keys(locked.optionalDependencies).sort()) {
    if (!name.startsWith(prefix)) continue;
    const { version, integrity } = packages[`node_modules/${name}`] ?? {};
    // scripts/complete-lockfile.mjs adds what the registry in use does not hold, without a hash.
    if (integrity === undefined) missing.push(name.slice(prefix.length));
    else if (version !== pinned || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))
      throw new Error(`${name} in package-lock.json: not version ${pinned} with a SHA-512.`);
    else hashes[name.slice(prefix.length)] = integrity;
  }
  return `
/** The version of the packages \`${prefix}<platform>\`. */
export const runtimeVersion = ${JSON.stringify(pinned)};

/** Platform → the integrity of its package, as npm writes it: \`sha512-\` and base64. */
export const runtimeHashes: Readonly<Record<string, string>> = ${JSON.stringify(hashes, null, 2)};

/** Platforms that the SDK names and package-lock.json has no hash of: nothing is installed there. */
export const runtimesWithoutHash: readonly string[] = ${JSON.stringify(missing)};
`;
}
