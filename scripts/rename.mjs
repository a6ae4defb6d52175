// The owner and the name of the repository, and the name of the npm package, stand in package.json. This
// script changes them there, and everywhere else:
//
//   node scripts/rename.mjs OWNER/REPOSITORY [PACKAGE]
//   node scripts/rename.mjs --check
//
// --check changes nothing, and fails if a file names another repository or package than package.json. dist/ is
// generated: run `npm run bundle` afterwards.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("..", import.meta.url);
const { name, repository } = JSON.parse(fs.readFileSync(new URL("package.json", root), "utf8"));
const slug = /^git\+https:\/\/github\.com\/(.+)\.git$/.exec(repository.url)?.[1];
if (slug === undefined) fail(`package.json: repository.url is ${repository.url}`);

/** Text that names a repository: a step, an address. */
const repositories = [
  /\buses: ([\w.-]+\/[\w.-]+)(?=@)/g,
  /\b(?:raw\.githubusercontent|github)\.com[/:]([\w.-]+\/[\w-]+)/g,
];
/** Text that names a package of ours: an import, an installation, an address. */
const ours = `((?:@[\\w.-]+\\/)?agent-jobs|${escape(name)})(?![\\w-])`;
const packages = [
  // What it exports, wherever it is named: a path would have something before it.
  new RegExp(String.raw`(?<![\w@/.-])${ours}(?=/entry(?![\w./-]))`, "g"),
  ...[
    String.raw`\b(?:from|import) ?\(?["']`,
    String.raw`\bnpm (?:install|i|add|view|publish)(?: -\S+)* `,
    // Downloads the package. Without the option, it is the command of an installed one, which keeps its name.
    String.raw`\bnpx --yes `,
    String.raw`\bnpmjs\.com/package/`,
  ].map((before) => new RegExp(`(?<=${before})${ours}`, "g")),
];

const files = execFileSync("git", ["ls-files", "-z"], {
  cwd: fileURLToPath(root),
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && !file.startsWith("dist/") && fs.existsSync(new URL(file, root)));

const [first, newName = name] = process.argv.slice(2);
if (first === "--check") check();
else if (first === undefined || !/^[\w.-]+\/[\w.-]+$/.test(first))
  fail("Usage: node scripts/rename.mjs OWNER/REPOSITORY [PACKAGE] | --check");
else if (!/^(?:@[a-z0-9._-]+\/)?[a-z0-9._-]+$/.test(newName))
  fail(`${newName} is no package name.`);
else rename(first, newName);

function rename(newSlug, newPackage) {
  let changed = 0;
  for (const file of files) {
    const path = new URL(file, root);
    const text = fs.readFileSync(path, "utf8");
    const renamed = renamedText(file, text, newSlug, newPackage);
    if (renamed === text) continue;
    fs.writeFileSync(path, renamed);
    changed += 1;
  }
  console.log(`${slug} is ${newSlug} now, and ${name} is ${newPackage}, in ${changed} files.`);
  console.log("Next: npm ci && npm run bundle, npx prettier --write .");
}

function renamedText(file, text, newSlug, newPackage) {
  // Wherever it stands: the old slug means nothing else.
  const anywhere = new RegExp(`(?<![\\w.-])${escape(slug)}(?![\\w-])`, "g");
  let result = text.replaceAll(anywhere, newSlug);
  for (const pattern of packages)
    result = result.replaceAll(pattern, (found) => (found === name ? newPackage : found));
  if (file !== "package.json" && file !== "package-lock.json") return result;
  const named = new RegExp(`(?<=^\\s*"name": ")${escape(name)}(?=",$)`, "gm");
  return result.replaceAll(named, newPackage);
}

function check() {
  const stragglers = files.flatMap((file) => {
    const text = fs.readFileSync(new URL(file, root), "utf8");
    const found = (patterns, wanted) =>
      patterns.flatMap((pattern) =>
        [...text.matchAll(pattern)]
          .map(([, value]) => value)
          // Other people's actions and pages have other names.
          .filter((value) => value !== wanted && isOurs(value))
          .map((value) => `${file}: ${value} (package.json has ${wanted})`),
      );
    return [...found(repositories, slug), ...found(packages, name)];
  });
  if (stragglers.length > 0) fail([...new Set(stragglers)].join("\n"));
}

/** The repository's own name, of whichever owner, and the name that this project had first. */
function isOurs(value) {
  const ownName = slug.slice(slug.indexOf("/") + 1);
  return /(^|\/)agent-jobs$/.test(value) || value.endsWith(`/${ownName}`);
}

function escape(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
