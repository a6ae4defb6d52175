/**
 * The three pushes of examples/review, rehearsed on the real runtime and delivered to one pull request. What a run leaves
 * there is what the next rehearsal says it finds.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Conversation } from "../../src/events/conversation.ts";
import { viewsOf, type RunView } from "../../src/events/view.ts";
import { readConversation } from "../../src/github/conversation.ts";
import { deliver } from "../../src/github/deliver.ts";
import { createGithubApi } from "../../src/github/github-api.ts";
import { createGithubPort } from "../../src/github/github-port.ts";
import { readJournal } from "../../src/journal/read.ts";
import { loadScript } from "../../src/rehearsal/format/load-script.ts";
import type { Script } from "../../src/rehearsal/format/script.ts";
import { jobReport } from "../../src/reports/run-json.ts";
import { runCli } from "../rig/cli.ts";
import { GithubRepository } from "../rig/github-repository.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { origin, shown, written } from "./rig.ts";

const folder = fileURLToPath(new URL("../../../examples/review/", import.meta.url));
const heads = ["a", "b", "c"].map((letter) => letter.repeat(40));

/** The run of a rehearsal. */
async function rehearsed(t: TestContext, rehearsal: string): Promise<RunView> {
  const { path } = await makeWorkspace(t, {});
  const journal = join(path, "journal.jsonl");
  const args = ["run", "review.yml", "--rehearse", rehearsal, "--journal", journal];
  const { stderr } = await runCli(args, { cwd: folder });
  const { events } = readJournal(await readFile(journal, "utf8"));
  const [view] = viewsOf(events).values();
  return view ?? assert.fail(stderr);
}

async function scriptOf(rehearsal: string): Promise<Script> {
  const loaded = loadScript(await readFile(join(folder, rehearsal)), rehearsal);
  return loaded.kind === "loaded" ? loaded.script : assert.fail(rehearsal);
}

/** What must be the same on GitHub and in a rehearsal. Comments have more words, and the person another name. */
function essence(conversation: Conversation | undefined): readonly object[] {
  return (conversation?.findings ?? []).map((one) => {
    const { id, key, severity, rule, path, thread, byPerson, outdated, gone, text, replies } = one;
    const words = text.replace(/^\*\*.*\*\*(?:: )?/, "").trim();
    return {
      id,
      key,
      severity,
      rule,
      path,
      thread,
      byPerson,
      outdated,
      // Nobody looks at the line of a thread that is closed.
      gone: thread === "open" && gone === true,
      text: words.split(/\n\n|: /, 1)[0],
      replies: replies.map((reply) => reply.text),
    };
  });
}

const clock = {
  now: () => 0,
  sleep: (_milliseconds: number, signal?: AbortSignal) =>
    signal === undefined ? Promise.resolve() : new Promise<void>(() => {}),
};

test("three pushes converge: two findings are fixed, one is dismissed, and none is repeated", async (t) => {
  const diff: Record<string, string> = {};
  const files: Record<string, string> = {};
  const repository = await GithubRepository.start(t, { head: "", diff, files });
  const { threads, conversation, comments } = repository;
  const about = { job: "review", entry: ".github/agent-jobs/review.yml" };
  const apiUrl = repository.url;
  const api = createGithubApi({ token: "ghs_1", repository: "octo/shop", apiUrl, clock });

  /** Reads the conversation, runs the rehearsal, and delivers its outputs. Returns what is done and what is called. */
  async function push(number: number, rehearsal: string): Promise<readonly string[]> {
    const head = heads[number] ?? "";
    repository.head = head;
    const script = await scriptOf(rehearsal);
    const text = script.workspace?.commits.at(-1)?.files["src/discount.js"] ?? assert.fail();
    const lines = text.trimEnd().split("\n");
    files[`${head}:src/discount.js`] = text;
    diff["src/discount.js"] = [`@@ -0,0 +1,${lines.length} @@`, ...lines].join("\n+");
    const place = { ...origin, head, workflowRun: String(77 + number), leg: "x" };
    const found = await readConversation(api, { ...about, origin: place });
    assert.deepEqual(essence(found), essence(script.conversation));
    const view = await rehearsed(t, rehearsal);
    const { outputs = {} } = view.plan ?? {};
    const run = { ...about, view, outputs, origin: place, report: jobReport(view) };
    const port = createGithubPort(api, "octo/shop", (text) => text);
    const before = repository.calls.length;
    const deliveries = await deliver(run, port, { staged: false, clock });
    const calls = written(repository).slice(before);
    const again = await deliver(run, port, { staged: false, clock });
    assert.deepEqual(
      again.map(({ status }) => status).filter((status) => status !== "skipped"),
      [],
    );
    return [...shown(deliveries), ...calls.map((call) => call.replace(/runs\/\d+$/, "runs/N"))];
  }
  const check = 'check "agent-jobs: review": success|done|';
  const checked = ["POST /repos/octo/shop/check-runs", "PATCH /repos/octo/shop/check-runs/N"];
  assert.deepEqual(await push(0, "review.rehearsal.yml"), [
    "review of #7|done|1 new",
    "report comment on #7|done|",
    check,
    "POST /repos/octo/shop/pulls/7/reviews",
    "POST /repos/octo/shop/issues/7/comments",
    ...checked,
  ]);
  const [unit] = threads;
  assert.ok(unit !== undefined);
  unit.isOutdated = true;
  assert.deepEqual(await push(1, "review-2.rehearsal.yml"), [
    "review of #7|done|2 new, 1 fixed",
    `the finding at src/discount.js (comment ${unit.id}) of #7, closed|done|`,
    "report comment on #7, updated|done|",
    check,
    "POST /repos/octo/shop/pulls/7/reviews",
    `PATCH /repos/octo/shop/pulls/comments/${unit.id}`,
    "resolveReviewThread",
    `PATCH /repos/octo/shop/issues/comments/${comments[0]?.id}`,
    ...checked,
  ]);
  const [, half, tests] = threads;
  assert.ok(half !== undefined && tests !== undefined);
  half.isOutdated = true;
  conversation.replyTo(tests, "The tests of the shop cover them.", "maintainer");
  conversation.close(tests, "maintainer");
  assert.deepEqual(await push(2, "review-3.rehearsal.yml"), [
    "review of #7|skipped|no new findings; 1 fixed, 1 dismissed",
    `a reply to the finding at src/discount.js (comment ${tests.id}) of #7|done|`,
    `the finding at src/discount.js (comment ${half.id}) of #7, closed|done|`,
    "report comment on #7, updated|done|",
    check,
    `POST /repos/octo/shop/pulls/7/comments/${tests.id}/replies`,
    `PATCH /repos/octo/shop/pulls/comments/${half.id}`,
    "resolveReviewThread",
    `PATCH /repos/octo/shop/issues/comments/${comments[0]?.id}`,
    ...checked,
  ]);
  assert.deepEqual(
    threads.map(({ isResolved, resolvedBy, replies }) => [isResolved, resolvedBy, replies.length]),
    [
      [true, repository.me, 0],
      [true, repository.me, 0],
      [true, "maintainer", 2],
    ],
  );
  assert.deepEqual(
    repository.checks.all.map(({ head, title }) => [head, title]),
    [
      [heads[0], "⚠ Needs work · 1 error: Discounts are computed wrongly."],
      [heads[1], "⚠ Needs work · 1 error, 1 warning: Half is computed wrongly."],
      [heads[2], "Pass: Nothing is left."],
    ],
  );
  const place = { ...origin, head: heads[2] ?? "", leg: "x" };
  const left = await readConversation(api, { ...about, origin: place });
  assert.deepEqual(left.findings[2]?.replies, [
    { author: "maintainer", text: "The tests of the shop cover them." },
    { author: "github-actions", text: "Right: shop.test.js calls both.", own: true },
  ]);
  assert.deepEqual([left.round, left.lastReviewedHead], [3, heads[2]]);
  assert.equal(repository.reviews.length, 2);
  assert.equal(comments.length, 1);
});
