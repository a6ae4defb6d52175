/** The change of a step, from real checkouts and a server that speaks GitHub's API; on loopback. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, it, type TestContext } from "node:test";
import { changeOfEvent, changeOfStep, type EventChange } from "../../src/github/change.ts";
import { type Change, ChangeUnknown } from "../../src/git/change.ts";
import { processEnvironment } from "../../src/platform/environment.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { modelServer } from "../rig/model-server.ts";
import { runStep } from "../rig/runner.ts";
import { makeRepository, makeWorkspace, type Owner, type Workspace } from "../rig/workspace.ts";
import { apiOf } from "./rig.ts";

/** main: first, second; from first on, the branch work: third, fourth. Files are called as their commits. */
async function makeHistory(t: Owner): Promise<Workspace & Record<"ids", readonly string[]>> {
  const workspace = await makeRepository(t, { "first.ts": "1\n" });
  const ids: string[] = [];
  const id = async (): Promise<void> =>
    void ids.push((await workspace.git("rev-parse", "HEAD")).trim());
  await id();
  for (const name of ["second", "third", "fourth"]) {
    if (name === "third") await workspace.git("checkout", "--quiet", "-b", "work", "HEAD~1");
    await workspace.write(`${name}.ts`, `${name}\n`);
    await workspace.git("add", "--all");
    await workspace.git("commit", "--quiet", `--message=${name}`);
    await id();
  }
  return { ...workspace, ids };
}

async function shallow(t: Owner, { path }: Workspace, branch = "work"): Promise<Workspace> {
  const clone = await makeWorkspace(t);
  await clone.git("clone", "--quiet", "--depth=1", `--branch=${branch}`, `file://${path}`, ".");
  return clone;
}

const removals: (() => Promise<void>)[] = [];
const owner: Owner = { after: (remove) => removals.push(remove) };
after(async () => {
  for (const remove of removals) await remove();
});
const history = await makeHistory(owner);
const [first = "", second = "", third = "", fourth = ""] = history.ids;
const clone = await shallow(owner, history);

interface Asked {
  readonly change: Change | string;
  readonly requests: readonly string[];
  readonly said: readonly string[];
}

interface Step {
  readonly event?: string;
  readonly payload?: unknown;
  readonly base?: string;
  readonly answers?: Readonly<Record<string, unknown>>;
}

async function changeIn(t: TestContext, workspace: Workspace, step: Step): Promise<Asked> {
  const { event = "schedule", payload = {}, base, answers = {} } = step;
  const server = await startGithubServer(t, { answers });
  const api = apiOf(server);
  const said: string[] = [];
  const events = await makeWorkspace(t, { "event.json": JSON.stringify(payload) });
  const environment = {
    ...processEnvironment(),
    GITHUB_EVENT_NAME: event,
    GITHUB_EVENT_PATH: `${events.path}/event.json`,
  };
  const change = await changeOfStep(workspace.path, {
    environment,
    base,
    github: api,
    say: (line) => said.push(line),
  }).catch((error: unknown) => {
    assert.ok(error instanceof ChangeUnknown, String(error));
    return error.message;
  });
  return { change, requests: server.requests.map(({ path }) => path), said };
}

const repository = { default_branch: "main" };
const zero = "0".repeat(40);
const pullRequest = (base?: string, head?: string, number = 7): unknown => ({
  pull_request: { number, base: { sha: base }, head: { sha: head } },
});
const compare = (base: string, head: string): string =>
  `/repos/octo/shop/compare/${base}...${head}?per_page=100`;
const compared = (mergeBase: string | undefined, files: unknown, base = mergeBase): unknown => ({
  merge_base_commit: { sha: mergeBase },
  base_commit: { sha: base },
  files,
});
const paths = ({ change }: Asked): unknown =>
  typeof change === "string" ? change : [change.base, ...change.files.map(({ path }) => path)];

describe("the change of a step", () => {
  it("is taken from git where the checkout has the commits", async (t) => {
    await history.git("update-ref", "refs/remotes/origin/main", second);
    const cases: readonly (readonly [Step, readonly string[]])[] = [
      [
        { event: "pull_request", payload: pullRequest(second, fourth) },
        [first, "fourth.ts", "third.ts"],
      ],
      [{ event: "push", payload: { before: third, after: fourth } }, [third, "fourth.ts"]],
      [
        { event: "push", payload: { before: zero, after: fourth, repository } },
        [first, "fourth.ts", "third.ts"],
      ],
      [{ base: third }, [third, "fourth.ts"]],
      [{}, [third, "fourth.ts"]],
    ];
    for (const [step, expected] of cases) {
      const asked = await changeIn(t, history, step);
      assert.deepEqual(paths(asked), expected, JSON.stringify(step));
      assert.deepEqual(asked.requests, []);
    }
  });

  it("is asked of the API where it doesn't", async (t) => {
    const files = [
      { filename: "fourth.ts", status: "added", additions: 1, patch: "@@ -0,0 +1 @@\n+4" },
    ];
    const pull = { number: 7, base: { sha: second }, head: { sha: fourth } };
    const byBase = { [compare(second, fourth)]: compared(first, files, second) };
    const byParent = { [compare(third, fourth)]: compared(third, files) };
    const cases: readonly (readonly [Step, string])[] = [
      [{ event: "pull_request", payload: pullRequest(second, fourth), answers: byBase }, first],
      [
        {
          event: "issue_comment",
          payload: { issue: { number: 7, pull_request: {} } },
          answers: { ...byBase, "/repos/octo/shop/pulls/7": pull },
        },
        first,
      ],
      [
        {
          event: "workflow_run",
          payload: { workflow_run: { event: "pull_request", head_sha: fourth, pull_requests: [] } },
          answers: { ...byBase, [`/repos/octo/shop/commits/${fourth}/pulls`]: [pull] },
        },
        first,
      ],
      [{ event: "push", payload: { before: third, after: fourth }, answers: byParent }, third],
      [
        {
          event: "push",
          payload: { before: zero, after: fourth, repository },
          answers: { [compare("main", fourth)]: compared(first, files) },
        },
        first,
      ],
      [
        {
          answers: {
            ...byParent,
            [`/repos/octo/shop/commits/${fourth}`]: { parents: [{ sha: third }] },
          },
        },
        third,
      ],
      [{ base: "v1", answers: { [compare("v1", fourth)]: compared(first, files) } }, first],
    ];
    for (const [step, base] of cases) {
      const asked = await changeIn(t, clone, step);
      assert.deepEqual(paths(asked), [base, "fourth.ts"], JSON.stringify([step, asked]));
      assert.deepEqual(asked.said, [
        "Change: from GitHub's API, because the checkout lacks commits.",
      ]);
      assert.ok(typeof asked.change === "object");
      assert.equal(asked.change.head, fourth);
      const head = "diff --git a/fourth.ts b/fourth.ts\n--- /dev/null\n+++ b/fourth.ts\n";
      assert.equal(asked.change.diff, `${head}@@ -0,0 +1 @@\n+4\n`);
    }
  });

  it("has files of every kind, as git lists them", async (t) => {
    const file = (filename: string, status: string, more: object = {}): unknown => ({
      filename,
      status,
      additions: 0,
      deletions: 0,
      changes: 0,
      ...more,
    });
    const { change } = await changeIn(t, clone, {
      base: "main",
      answers: {
        [compare("main", fourth)]: compared(first, [
          file("new name.ts", "renamed", { previous_filename: "old\nname.ts" }),
          file("gone.ts", "removed", { deletions: 2, patch: "@@ -1,2 +0,0 @@\n-a\n-b" }),
          file("logo.png", "modified"),
          file("lib", "modified", {
            additions: 1,
            deletions: 1,
            patch: `@@ -1 +1 @@\n-Subproject commit ${first}\n+Subproject commit ${fourth}`,
          }),
          file("huge.json", "modified", { additions: 90_000 }),
        ]),
      },
    });
    assert.ok(typeof change === "object", JSON.stringify(change));
    assert.deepEqual(
      change.files.map(({ path, status, additions, deletions, ...more }) => [
        path,
        status,
        additions,
        deletions,
        ...Object.values(more),
      ]),
      [
        ["new name.ts", "renamed", 0, 0, "old\nname.ts"],
        ["gone.ts", "deleted", 0, 2],
        ["logo.png", "modified", null, null],
        ["lib", "modified", 1, 1, true],
        ["huge.json", "modified", 90_000, 0],
      ],
    );
    assert.match(change.diff, /^rename from "a?\/?old\\nname\.ts"\nrename to new name\.ts$/m);
    assert.match(change.diff, /^Binary files a\/logo\.png and b\/logo\.png differ$/m);
    assert.match(
      change.diff,
      /b\/huge\.json\n\(GitHub gives no diff of this file, it is too large/,
    );
  });

  it("is complete, or unknown", async (t) => {
    const all = Array.from({ length: 950 }, (_, index) => ({
      filename: `f${index}.ts`,
      status: "added",
      additions: 1,
      deletions: 0,
    }));
    const pages = Object.fromEntries(
      Array.from({ length: 10 }, (_, page) => [
        `/repos/octo/shop/pulls/7/files?per_page=100&page=${page + 1}`,
        all.slice(page * 100, (page + 1) * 100),
      ]),
    );
    const many = (head: string, changed: number): Step => ({
      event: "pull_request",
      payload: pullRequest(second, fourth),
      answers: {
        [compare(second, fourth)]: compared(first, all.slice(0, 300), second),
        ...pages,
        "/repos/octo/shop/pulls/7": { head: { sha: head }, changed_files: changed },
      },
    });
    const pushed = (before: string, answer: unknown): Step => ({
      event: "push",
      payload: { before, after: fourth },
      answers: { [compare(before, fourth)]: answer },
    });
    const { change } = await changeIn(t, clone, many(fourth, 950));
    assert.ok(typeof change === "object", JSON.stringify(change));
    assert.equal(change.files.length, 950);
    const forced = pushed(second, compared(first, all.slice(0, 1), second));
    const { change: since } = await changeIn(t, clone, forced);
    assert.ok(typeof since === "object", JSON.stringify(since));
    assert.equal(since.base, first);
    assert.match(since.notes?.join("\n") ?? "", /^This was a force push: .* is no ancestor/);
    assert.match(
      since.notes?.at(-1) ?? "",
      /^Not shown, because GitHub gives no diff: "f0\.ts"\.$/,
    );
    const fetch = "Set fetch-depth: 0";
    for (const [step, reason] of [
      [many(fourth, 4000), `4000 files.*${fetch}`],
      [many(second, 950), "#7 has a newer head"],
      [
        pushed(first, compared(first, all.slice(0, 300))),
        `300 files or more, more than GitHub's API lists\\. ${fetch}`,
      ],
      [
        { event: "pull_request", payload: pullRequest(second, fourth) },
        "is not a commit in this checkout.*shallow: set fetch-depth: 0.*answered 404.*`contents: read`, and `pull-requests: read`",
      ],
      [
        { event: "issue_comment", payload: { issue: { number: 8, pull_request: {} } } },
        "answered 404.*The token needs `pull-requests: read`",
      ],
    ] as const) {
      const { change: message } = await changeIn(t, clone, step);
      assert.ok(typeof message === "string", JSON.stringify(step));
      assert.match(message, new RegExp(reason));
      assert.doesNotMatch(message, /\n/);
    }
  });
});

describe("a step whose job uses the change", () => {
  const entry = `models: { driving: gpt-5 }
tasks:
  review:
    model: { category: driving }
    availability: { change: ["src/**"] }
    prompt: "Review $change-files in $change-diff"
jobs:
  review: { work: { kind: Ref, taskId: review } }
`;
  const hostile = "src/a\n::error::pwned\r::set-output name=x::|<b>`$(touch x)`.ts";

  async function step(t: TestContext, filename: string) {
    let diff = "";
    const model = await modelServer(t, ({ prompt, toolResults }) => {
      if (toolResults.length > 0) {
        diff = toolResults.join("\n");
        return { text: "Reviewed." };
      }
      const [path = ""] = /\S+change\.diff/.exec(prompt) ?? [];
      return { toolCalls: [{ name: "view", arguments: { path } }] };
    });
    const workspace = await makeRepository(t, { "review.yml": entry });
    await workspace.git("commit", "--quiet", "--allow-empty", "--message=second");
    const head = (await workspace.git("rev-parse", "HEAD")).trim();
    const { path } = await shallow(t, workspace, "main");
    const before = "b".repeat(40);
    const github = await startGithubServer(t, {
      answers: {
        [compare(before, head)]: compared(before, [
          { filename, status: "added", additions: 1, deletions: 0, patch: "@@ -0,0 +1 @@\n+evil" },
        ]),
      },
    });
    const events = await makeWorkspace(t, {
      "event.json": JSON.stringify({ before, after: head, sender: { login: "octo", id: 1 } }),
    });
    const result = await runStep(t, {
      workspace: path,
      event: "push",
      apiUrl: github.url,
      env: { GITHUB_EVENT_PATH: `${events.path}/event.json`, GITHUB_TOKEN: "ghs_0123456789" },
      inputs: {
        entry: "review.yml",
        "provider-base-url": model.baseUrl,
        "output-dir": "out",
      },
    });
    return { result, prompts: model.requests.map(({ prompt }) => prompt), diff };
  }

  it("reads the diff without a shell, and the name of a file is nothing but data", async (t) => {
    const { result, prompts, diff } = await step(t, hostile);
    assert.equal(result.outputs["result"], "success", result.raw);
    assert.match(
      prompts[0] ?? "",
      /^Review added "src\/a\\n::error::pwned\\r::set-output name=x::\|<b>`\$\(touch x\)`\.ts" \+1 -0 in \/\S+change\.diff$/,
    );
    assert.match(diff, /\+evil/);
    assert.doesNotMatch(result.raw, /^\s*(?:::|##\[).*pwned/m);
    assert.doesNotMatch(result.summary, /pwned/);
    assert.doesNotMatch(JSON.stringify(result.commands), /pwned/);
  });

  it("is skipped, and passes, if the change has nothing for the job", async (t) => {
    const { result, prompts } = await step(t, "docs/a.md");
    assert.equal(result.code, 0, result.raw);
    assert.deepEqual(prompts, []);
    assert.equal(result.outputs["result"], "skipped");
    assert.match(result.outputs["reason"] ?? "", /^nothing ran: no changed file matches "src/);
    assert.match(result.summary, /skipped/);
  });
});

it("a finding has its line in the head, also if no prompt is about the change", async (t) => {
  const workspace = await makeRepository(t, {
    "e.yml": `models: { driving: gpt-5 }
outputs: { findings: {} }
tasks: { look: { model: { category: driving }, prompt: "Look, then call job_annotate." } }
jobs: { look: { work: { kind: Ref, taskId: look } } }
`,
    "src/é.ts": "one\ntwo\n",
  });
  const [from = ""] = (await workspace.git("rev-parse", "HEAD")).split("\n");
  await workspace.git("checkout", "--quiet", "-b", "work");
  await workspace.write("src/é.ts", "one\ntwo\nthree\n");
  await workspace.git("commit", "--quiet", "--all", "--message=Three");
  const to = (await workspace.git("rev-parse", "HEAD")).trim();
  await workspace.git("checkout", "--quiet", "main");
  await workspace.write("src/é.ts", "zero\none\ntwo\n");
  await workspace.git("commit", "--quiet", "--all", "--message=Zero");
  await workspace.git("merge", "--quiet", "--no-edit", "work");
  const path = '"src/\\303\\251.ts"';
  const model = await modelServer(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "Done." }
      : {
          toolCalls: [
            {
              name: "job_annotate",
              arguments: { path, line: 4, severity: "notice", message: "x" },
            },
          ],
        },
  );
  const github = await startGithubServer(t, { permissions: { maintainer: "write" } });
  const fixture = await readFile(
    new URL("../../../test/fixtures/events/pull-request.json", import.meta.url),
    "utf8",
  );
  const { payload } = JSON.parse(
    fixture.replaceAll("c".repeat(40), to).replaceAll("b".repeat(40), from),
  );
  const events = await makeWorkspace(t, { "event.json": JSON.stringify(payload) });
  const result = await runStep(t, {
    workspace: workspace.path,
    event: "pull-request",
    apiUrl: github.url,
    env: { GITHUB_EVENT_PATH: `${events.path}/event.json`, GITHUB_TOKEN: "ghs_0123456789" },
    inputs: { entry: "e.yml", "provider-base-url": model.baseUrl, "output-dir": "out" },
  });
  assert.equal(result.outputs["result"], "success", result.raw);
  const found = (await workspace.read("out/journal.jsonl"))
    .split("\n")
    .find((line) => line.includes("finding."));
  assert.match(found ?? result.raw, /"path":"src\/é\.ts","line":4,"headLine":3/);
});

const [base, head] = ["a".repeat(40), "b".repeat(40)];
const run = (event: string): unknown => ({
  workflow_run: { event, head_sha: head, pull_requests: [{ number: 7, head: { sha: head } }] },
});
const cases: readonly (readonly [string, string, unknown, EventChange | undefined])[] = [
  [
    "a merge queue",
    "merge_group",
    { merge_group: { base_sha: base, head_sha: head } },
    { kind: "commits", base, head },
  ],
  ["a run for a push", "workflow_run", run("push"), undefined],
  ["a push that deletes a branch", "push", { before: base, after: zero, repository }, undefined],
  ["a comment on an issue", "issue_comment", { issue: { number: 7 } }, undefined],
  ["no payload", "pull_request", null, undefined],
  ["no commit", "push", { before: "--output=x", after: head }, undefined],
];
for (const [name, event, payload, expected] of cases)
  it(`the change of an event is known for ${name} if it has one`, () =>
    assert.deepEqual(changeOfEvent(event, payload), expected));
