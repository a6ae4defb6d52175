// Checks a release before it goes out; the release workflow runs it first. Prints everything that does not
// hold, and fails if there is anything. Without a tag in GITHUB_REF_NAME it checks all that a tag has no say in.
import fs from "node:fs";

const root = new URL("..", import.meta.url);
const read = (name) => fs.readFileSync(new URL(name, root), "utf8");
const { version, repository } = JSON.parse(read("package.json"));
const { version: locked, packages } = JSON.parse(read("package-lock.json"));
const { GITHUB_REF_TYPE: refType, GITHUB_REF_NAME: tag, GITHUB_REPOSITORY: here } = process.env;
const problems = [];

if (refType === "tag" && tag !== `v${version}`)
  problems.push(`The tag is ${tag}, but package.json has version ${version}.`);

// npm refuses the provenance of a package that names another repository.
const slug = /^git\+https:\/\/github\.com\/(.+)\.git$/.exec(repository?.url ?? "")?.[1];
if (here !== undefined && slug !== here)
  problems.push(
    `package.json names the repository ${slug}, but this is ${here}. docs/internals/releasing.md says how to change it.`,
  );

if (slug?.startsWith("org/"))
  problems.push(
    `package.json names the repository ${slug}, whose owner is a placeholder. docs/internals/releasing.md says how to change it.`,
  );

if (locked !== version)
  problems.push(`package-lock.json has version ${locked}, not ${version}. Run: npm install`);

for (const page of ["README.md", "docs/action.md"])
  if (/not published yet/i.test(read(page)))
    problems.push(`${page} says "not published yet". Remove it.`);

if (!read("CHANGELOG.md").includes(`\n## [${version}]`))
  problems.push(`CHANGELOG.md has no section "## [${version}]".`);

// A platform without a hash can't install the runtime: the release would work on some runners only.
const sdk = "@github/copilot-sdk";
const names = Object.keys(packages[`node_modules/${sdk}`]?.optionalDependencies ?? {}).filter(
  (name) => name.startsWith(`${sdk}-`),
);
if (names.length === 0) problems.push(`package-lock.json names no platforms of ${sdk}.`);
for (const name of names) {
  const integrity = packages[`node_modules/${name}`]?.integrity;
  if (integrity === undefined)
    problems.push(
      `package-lock.json has no SHA-512 of ${name}. Run the workflow "Runtime hashes".`,
    );
}

for (const problem of problems)
  console.error(process.env.GITHUB_ACTIONS === "true" ? `::error::${problem}` : problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`Version ${version} can be released.`);
