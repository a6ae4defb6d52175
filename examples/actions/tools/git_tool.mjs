// Pulls docs_repository into local_docs. So that the example needs no network, its remote is a repository that this
// tool makes from docs/ the first time.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { json } from "node:stream/consumers";

const { operation, repo } = await json(process.stdin);
const remote = `out/remotes/${repo}`;
if (repo !== "docs_repository") throw new Error(`There is no repository ${repo}.`);
if (!existsSync(remote)) makeRemote();

// The folder is there before the repository is: permissions.write makes it.
if (existsSync("local_docs/.git")) git("-C", "local_docs", operation, "--ff-only");
else git("clone", remote, "local_docs");
console.log(JSON.stringify({ repo, head: git("-C", "local_docs", "log", "-1", "--format=%s") }));

function makeRemote() {
  git("init", "--initial-branch=main", remote);
  cpSync("docs", remote, { recursive: true });
  git("-C", remote, "add", ".");
  const author = ["-c", "user.name=Docs", "-c", "user.email=docs@example.com"];
  git("-C", remote, ...author, "commit", "--message=Describe the logging service");
}

function git(...args) {
  console.error(`git ${args.join(" ")}`);
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}
