// Writes src/runtime/runtime-hashes.ts: the version of the runtime's packages and the SHA-512 of each, as
// package-lock.json has them. Run it after every change of the version of @github/copilot-sdk.
// With --check it writes nothing and fails if the file is not what the lock says.
import fs from "node:fs";

const root = new URL("..", import.meta.url);
const target = new URL("src/runtime/runtime-hashes.ts", root);
const sdk = "@github/copilot-sdk";

const read = (name) => JSON.parse(fs.readFileSync(new URL(name, root), "utf8"));
const { packages } = read("package-lock.json");
const locked = packages[`node_modules/${sdk}`];
const pinned = read("package.json").dependencies[sdk];
if (locked?.version !== pinned) {
  console.error(`package.json pins ${sdk} ${pinned}, package-lock.json has ${locked?.version}.`);
  process.exit(1);
}

const prefix = `${sdk}-`;
const platforms = Object.keys(locked.optionalDependencies)
  .filter((name) => name.startsWith(prefix))
  .sort();
const hashes = [];
const missing = [];
for (const name of platforms) {
  const platform = name.slice(prefix.length);
  const entry = packages[`node_modules/${name}`];
  // scripts/complete-lockfile.mjs adds what the registry in use does not hold, without a hash.
  if (entry?.integrity === undefined) missing.push(platform);
  else if (entry.version !== pinned || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity)) {
    console.error(`${name} in package-lock.json: not version ${pinned} with a SHA-512.`);
    process.exit(1);
  } else hashes.push([platform, entry.integrity]);
}

const list = (names) => (names.length === 0 ? "[]" : `[${names.map((n) => `"${n}"`).join(", ")}]`);
const text = `// Written by scripts/write-runtime-hashes.mjs from package-lock.json. Don't edit.

/** The version of the packages \`${prefix}<platform>\`. */
export const runtimeVersion = "${pinned}";

/** Platform → the integrity of its package, as npm writes it: \`sha512-\` and base64. */
export const runtimeHashes: Readonly<Record<string, string>> = {
${hashes.map(([platform, hash]) => `  "${platform}":\n    "${hash}",\n`).join("")}};

/** Platforms that the SDK names and package-lock.json has no hash of: nothing is installed there. */
export const runtimesWithoutHash: readonly string[] = ${list(missing)};
`;

const current = fs.existsSync(target) ? fs.readFileSync(target, "utf8") : "";
// Prettier may have broken the last line; only the content counts.
const content = (file) => file.replaceAll(/,(?=\s*[\]}])/g, "").replaceAll(/\s+/g, "");
if (!process.argv.includes("--check")) {
  if (content(current) !== content(text)) fs.writeFileSync(target, text);
} else if (content(current) !== content(text)) {
  console.error(
    "src/runtime/runtime-hashes.ts is stale. Run: node scripts/write-runtime-hashes.mjs",
  );
  process.exitCode = 1;
}
