/**
 * A repository on a server (a bare one on this disk) with a pull request of three commits. `main` has gone on
 * since the branch began, so what the pull request changes is not what lies between `main` and its head.
 */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { readFixture } from "../rig/runner.ts";
import { makeRepository, makeWorkspace, type Owner, type Workspace } from "../rig/workspace.ts";
import { fields, read, root, templates } from "./pages.ts";

/** Sentences of the README for the nightly agents. */
const stale = [1, 2, 3, 4, 5, 6, 7].map((number) => `Sentence ${number}`);

export interface PullRequest {
  /** `file://…`, so that a depth means something. */
  readonly url: string;
  /** The tip of `main`, which is what the event calls the base. */
  readonly base: string;
  /** The commit of `main` at which the branch began: the base of an event that has not heard of later ones. */
  readonly start: string;
  readonly head: string;
  /** `GITHUB_SHA`: the head merged into the base. */
  readonly merge: string;
}

/** A line of each commit of the pull request, and what must not be seen: main's own commits. */
export const changedLines = [
  "+export const price = (net) => Math.round(net * 1.19);",
  '+test("a price is rounded", () => {});',
  "+Prices are rounded.",
];
export const otherLines = ["export const stock", "An old line of main"];

/** `files`: what is in the repository besides the files of the change. */
export async function makePullRequest(
  test: Owner,
  files: Readonly<Record<string, string>> = copied(),
): Promise<PullRequest> {
  const work = await makeRepository(test, {
    ...files,
    "README.md": `# Shop\n\nAn old line of main.\n\n${stale.join("\n")}\n`,
    "src/price.mjs": "export const price = (net) => net * 1.19;\n",
  });
  const commit = async (
    subject: string,
    files: Readonly<Record<string, string>>,
  ): Promise<void> => {
    for (const [name, content] of Object.entries(files)) await work.write(name, content);
    await work.git("add", "--all");
    await work.git("commit", "--quiet", `--message=${subject}`);
  };
  await work.git("tag", "v1.0.0");
  await work.git("switch", "--quiet", "--create=rounding");
  await commit("Round prices", {
    "src/price.mjs": "export const price = (net) => Math.round(net * 1.19);\n",
  });
  await commit("Test that they are", {
    "test/price.test.mjs": 'test("a price is rounded", () => {});\n',
  });
  await commit("Say so", { "docs/price.md": "Prices are rounded.\n" });
  await work.git("switch", "--quiet", "main");
  await commit("Count the stock", { "src/stock.mjs": "export const stock = 1;\n" });
  await work.git("tag", "v1.1.0");
  const shaOf = async (name: string): Promise<string> => (await work.git("rev-parse", name)).trim();
  const [base, head] = [await shaOf("main"), await shaOf("rounding")];
  const start = await shaOf("main~1");
  await work.git("switch", "--quiet", "--detach", "main");
  await work.git("merge", "--quiet", "--no-ff", "--message=Merge", "rounding");
  const merge = await shaOf("HEAD");
  await work.git("update-ref", "refs/pull/7/head", head);
  await work.git("update-ref", "refs/pull/7/merge", merge);
  return { url: await serve(test, work), base, start, head, merge };
}

/** Copies a repository to the server. Returns its address. */
export async function serve(test: Owner, work: Workspace): Promise<string> {
  const { path } = await makeWorkspace(test);
  await promisify(execFile)("git", ["clone", "--quiet", "--mirror", work.path, path]);
  // GitHub gives out any commit that is asked for by its name.
  await promisify(execFile)("git", ["-C", path, "config", "uploadpack.allowAnySHA1InWant", "true"]);
  return pathToFileURL(path).href;
}

/** The files that a user copies from `examples/` to the places that the recipes name, and those of our own workflows. */
function copied(): Record<string, string> {
  const files: Record<string, string> = {};
  for (const folder of [
    "entries",
    "examples/recipes",
    ...templates.map((name) => `examples/${name}`),
  ])
    for (const name of readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })) {
      if (!/^[\w.-]+\.(?:ya?ml|wf\.md)$|^prompts\//.test(name) || name.startsWith("agent-"))
        continue;
      const text = read(`${folder}/${name}`);
      files[`${folder}/${name}`] = text;
      files[`.github/agent-jobs/${name}`] = text;
    }
  return files;
}

export interface Payload {
  readonly event: string;
  readonly actor: string;
  readonly payload: object;
}

/** The event of that pull request. */
export async function pullRequestEvent(
  { base, head }: Pick<PullRequest, "base" | "head">,
  { draft = false, action = "opened" } = {},
): Promise<Payload> {
  const { event, actor, payload } = await readFixture("pull-request");
  const pullRequest = fields(fields(payload)["pull_request"]);
  return {
    event,
    actor,
    payload: {
      ...payload,
      action,
      pull_request: {
        ...pullRequest,
        draft,
        head: { ...fields(pullRequest["head"]), ref: "rounding", sha: head },
        base: { ...fields(pullRequest["base"]), ref: "main", sha: base },
      },
    },
  };
}
