/** What is new since the head that was reviewed last, from real checkouts and a server that speaks GitHub's API. */
import assert from "node:assert/strict";
import { after, describe, it, type TestContext } from "node:test";
import type { Change } from "../../src/git/change.ts";
import { changeOfStep } from "../../src/github/change.ts";
import { markerOf, readMarker } from "../../src/github/markers.ts";
import { processEnvironment } from "../../src/platform/environment.ts";
import { GithubRepository } from "../rig/github-repository.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { runStep, type StepResult } from "../rig/runner.ts";
import { makeRepository, makeWorkspace, type Owner } from "../rig/workspace.ts";
import { apiOf } from "./rig.ts";

const removals: (() => Promise<void>)[] = [];
const owner: Owner = { after: (remove) => removals.push(remove) };
after(async () => {
  for (const remove of removals) await remove();
});

const repository = await makeRepository(owner, { "a.ts": "1\n2\n3\n", "main.ts": "1\n" });
async function commit(name: string, content: string): Promise<string> {
  await repository.write(name, content);
  await repository.git("add", "--all");
  await repository.git("commit", "--quiet", `--message=${name}`);
  return head();
}
const head = async (): Promise<string> => (await repository.git("rev-parse", "HEAD")).trim();

const base = await head();
await repository.git("checkout", "--quiet", "-b", "work");
await commit("a.ts", "one\n2\n3\n");
const reviewed = await commit("b.ts", "1\n");
await repository.git("checkout", "--quiet", "main");
const newBase = await commit("main.ts", "of others\n");
await repository.git("checkout", "--quiet", "work");
await repository.git("merge", "--quiet", "--no-edit", "main");
const merged = await head();
await commit("a.ts", "one\n2\nthree\n");
const tip = await commit("c.ts", "1\n");
await repository.git("checkout", "--quiet", "-b", "rebased", base);
const unrelated = await commit("a.ts", "elsewhere\n");
await repository.git("checkout", "--quiet", "work");

interface Asked {
  readonly change: Change;
  readonly said: string;
}

async function changeSince(
  t: TestContext,
  since: string | undefined,
  { to = tip, from = base, answers = {}, path = "" } = {},
): Promise<Asked> {
  const server = await startGithubServer(t, { answers });
  const github = apiOf(server);
  const payload = { pull_request: { number: 7, base: { sha: from }, head: { sha: to } } };
  const events = await makeWorkspace(t, { "event.json": JSON.stringify(payload) });
  const environment = {
    ...processEnvironment(),
    GITHUB_EVENT_NAME: "pull_request",
    GITHUB_EVENT_PATH: `${events.path}/event.json`,
  };
  const said: string[] = [];
  const asked = { environment, base: undefined, github, say: (line: string) => said.push(line) };
  const change = await changeOfStep(path === "" ? repository.path : path, asked, since);
  return { change, said: said.join("\n") };
}

const pathsOf = ({ change }: Asked): readonly string[] => change.files.map(({ path }) => path);
const short = (sha: string): string => sha.slice(0, 12);

describe("since the last review", () => {
  it("the change is what is new, without what a merge of the base brings in", async (t) => {
    const asked = await changeSince(t, reviewed, { from: newBase });
    assert.deepEqual(pathsOf(asked), ["a.ts", "c.ts"]);
    assert.equal(asked.change.base, reviewed);
    assert.match(asked.change.diff, /^diff --git a\/a\.ts[^]*\+three\n[^]*^diff --git a\/c\.ts/m);
    assert.doesNotMatch(asked.change.diff, /of others|main\.ts|\+one/);
    assert.deepEqual(asked.change.notes, [
      `These are the changes since ${short(reviewed)}, which an earlier run has reviewed.`,
    ]);
    assert.equal(
      asked.said,
      `Change: since ${short(reviewed)}, which was reviewed last. 2 files of 3.`,
    );
    const onlyMerged = await changeSince(t, reviewed, { from: newBase, to: merged });
    assert.deepEqual([pathsOf(onlyMerged), onlyMerged.change.diff], [[], ""]);
  });

  const whole: readonly (readonly [string, string | undefined, RegExp])[] = [
    ["nothing was reviewed yet", undefined, /^$/],
    ["the head was reviewed already", tip, /^$/],
    [
      "the last head is no ancestor, as after a force push",
      unrelated,
      new RegExp(
        `^Change: the whole pull request, because ${short(unrelated)}, which was reviewed`,
      ),
    ],
    [
      "the last head is unknown",
      "f".repeat(40),
      /^Change: the whole pull request, because what is new since f{12} is unknown: /,
    ],
  ];
  for (const [name, since, said] of whole)
    it(`the change is the whole pull request, if ${name}`, async (t) => {
      const asked = await changeSince(t, since, { from: newBase });
      assert.deepEqual(pathsOf(asked), ["a.ts", "b.ts", "c.ts"]);
      assert.match(asked.said, said);
    });

  it("GitHub's API is asked where the checkout lacks commits", async (t) => {
    const shallow = await makeWorkspace(t);
    const from = `file://${repository.path}`;
    await shallow.git("clone", "--quiet", "--depth=1", "--branch=work", from, ".");
    const file = (filename: string): object => ({
      filename,
      status: "modified",
      additions: 1,
      deletions: 0,
      patch: "@@ -1 +1 @@\n+new",
    });
    const compare = (left: string): string =>
      `/repos/octo/shop/compare/${left}...${tip}?per_page=100`;
    const compared = (sha: string, base_commit: string, ...names: readonly string[]): object => ({
      merge_base_commit: { sha },
      base_commit: { sha: base_commit },
      files: names.map(file),
    });
    const answers = {
      [compare(base)]: compared(base, base, "a.ts", "b.ts", "c.ts"),
      [compare(reviewed)]: compared(reviewed, reviewed, "a.ts", "main.ts"),
      [compare(unrelated)]: compared(base, unrelated, "a.ts", "b.ts"),
    };
    const asked = await changeSince(t, reviewed, { answers, path: shallow.path });
    assert.deepEqual(pathsOf(asked), ["a.ts"]);
    assert.doesNotMatch(asked.change.diff, /main\.ts/);
    const forced = await changeSince(t, unrelated, { answers, path: shallow.path });
    assert.deepEqual(pathsOf(forced), ["a.ts", "b.ts", "c.ts"]);
    assert.match(forced.said, /is no ancestor of its head/);
  });

  it("is what a step asks for, by the report comment of the token's own user", async (t) => {
    const entry = JSON.stringify({
      models: { driving: "m" },
      outputs: { report: { comment: "sticky" }, findings: { since: "last-review" } },
      permissions: { preset: "workspace", sandbox: "off" },
      tasks: {},
      jobs: { main: { work: { kind: "Run", run: "echo hello" } } },
    });
    const workspace = await makeRepository(t, { "review.yml": entry });
    const at = (await workspace.git("rev-parse", "HEAD")).trim();
    // As the fixture of the event has them.
    const [from, to, before] = ["b", "c", "d"].map((digit) => digit.repeat(40));
    const files = { [`${at}:review.yml`]: entry, [`${from}:review.yml`]: entry };
    const diff = { "a.ts": "@@ -1 +1 @@\n-old\n+new" };
    const github = await GithubRepository.start(t, { head: to ?? "", files, diff });
    const place = { job: "main", entry: "review.yml" };
    const step = (): Promise<StepResult> =>
      runStep(t, {
        workspace: workspace.path,
        event: "pull-request",
        apiUrl: github.url,
        env: { GITHUB_RUN_ATTEMPT: "1" },
        inputs: { entry: "review.yml", "github-token": "ghs_0123456789abcdef" },
      });
    github.comment(markerOf({ kind: "report", ...place, reviewed: "e".repeat(40) }), "mallory");
    assert.doesNotMatch((await step()).log, /which was reviewed last/);
    assert.equal(readMarker(github.comments[1]?.body ?? "")?.reviewed, to);
    github.comments.length = 0;
    github.comment(markerOf({ kind: "report", ...place, reviewed: before ?? "" }));
    const { log } = await step();
    assert.match(log, /^Change: since d{12}, which was reviewed last\. 1 file of 1\.$/m);
  });
});
