/** Whole steps that a comment starts: only a new comment whose first word is the command, by a user who may. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { GithubServerOptions } from "../rig/github-server.ts";
import { readFixture } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { assertNothingRan, named, tryEvent, type Test, type Tried } from "./rig.ts";

const pull = { pullRequests: { 7: "same" } } as const;
const may: GithubServerOptions = { permissions: { maintainer: "write" }, ...pull };
const reactions = "/repos/octo/shop/issues/comments/6/reactions";

interface Comment {
  readonly body: string;
  readonly action?: string;
  readonly user?: object;
  readonly fixture?: string;
  readonly github?: GithubServerOptions;
  readonly given?: Readonly<Record<string, string>>;
}

async function comment(t: Test, { body, action, user, ...more }: Comment): Promise<Tried> {
  const { fixture = "issue-comment-maintainer", github = may, given = {} } = more;
  const { payload } = await readFixture(fixture);
  const { comment: written, ...event }: Readonly<Record<string, object>> = { ...payload };
  const { path } = await makeWorkspace(t);
  const file = join(path, "event.json");
  const changed = { ...event, action: action ?? "created", comment: { ...written, body } };
  const text = JSON.stringify({
    ...changed,
    ...(user && { sender: user, comment: { ...changed.comment, user } }),
  });
  await writeFile(file, text);
  return tryEvent(t, fixture, {
    github,
    given: { "on-command": "/review", "user-input": "", ...given },
    env: { GITHUB_EVENT_PATH: file },
  });
}

function assertRan({ prompts, result, asked }: Tried, input: string): void {
  assert.deepEqual(prompts.slice(0, 1), [`Greet ${input}.`], result.raw);
  assert.ok(asked.includes(reactions), asked.join("\n"));
}

describe("a command in a comment", () => {
  it("starts the job with the rest of its line, and gets 👀", async (t) => {
    const answers = { [reactions]: { id: 1 } };
    const github = { ...may, answers };
    const body = "/review  the parser <!-- and obey -->  \nThanks! $user-input";
    const tried = await comment(t, { body, github });
    assertRan(tried, "the parser");
    assert.doesNotMatch(tried.result.raw, /👀/);
  });

  it("leaves `user-input` as it is if its line has no rest", async (t) => {
    assertRan(await comment(t, { body: "/review", given: { "user-input": "us" } }), "us");
  });

  it("may stand alone where a prompt shows what follows it", async (t) => {
    assertRan(await comment(t, { body: "/review" }), "(none)");
  });

  it("counts on an issue, too", async (t) => {
    const fixture = "issue-comment-issue";
    assertRan(await comment(t, { body: " \n/review it", fixture }), "it");
  });

  for (const status of [403, 404, 422])
    it(`runs without 👀 if GitHub answers ${status} to it, with a notice`, async (t) => {
      const answer = (path: string) =>
        path === reactions ? { status, body: { message: "No" } } : undefined;
      const tried = await comment(t, { body: "/review it", github: { ...may, answer } });
      assertRan(tried, "it");
      const notices = named(tried.result, "notice").map(({ message }) => message);
      const told = `The comment got no 👀: GitHub answered ${status} .*\`issues: write\``;
      assert.match(notices.join("\n"), new RegExp(told));
    });

  it("gets no 👀 if everything is only staged", async (t) => {
    const { asked } = await comment(t, { body: "/review it", given: { staged: "true" } });
    assert.ok(!asked.includes(reactions));
  });

  for (const [what, given] of [
    ["another word", { body: "/review-all of it" }],
    ["a word before it", { body: "Please /review" }],
    ["a quoted line", { body: "> /review\n\nDone." }],
    ["a hidden comment alone", { body: "<!-- /review -->" }],
    ["other case", { body: "/Review it" }],
    ["nothing", { body: "" }],
    ["a comment that was edited", { body: "/review", action: "edited" }],
    ["a comment that was deleted", { body: "/review", action: "deleted" }],
    [
      "a bot's comment, though the bot is allowed",
      {
        body: "/review",
        user: { login: "helper[bot]", type: "Bot" },
        given: { "allowed-users": "helper[bot]" },
      },
    ],
  ] as const)
    it(`is not ${what}: skipped before GitHub is asked`, async (t) => {
      const tried = await comment(t, given);
      assertNothingRan(tried, "skipped");
      assert.deepEqual(tried.asked, []);
    });

  it("of a user without write access is skipped", async (t) => {
    const user = { login: "stranger", type: "User" };
    const tried = await comment(t, { body: "/review", user });
    assertNothingRan(tried, "skipped");
    assert.match(tried.result.outputs["reason"] ?? "", /stranger, who has no write access/);
    assert.ok(!tried.asked.includes(reactions));
  });

  it("of a user whose permission can't be verified fails the step, so that it isn't lost", async (t) => {
    const github = { broken: { status: 500 } } as const;
    assertNothingRan(await comment(t, { body: "/review", github }), "failure");
  });

  it("is nothing that other events need", async (t) => {
    const given = { "on-command": "/review" };
    const { prompts, asked } = await tryEvent(t, "workflow-dispatch", { given });
    assert.deepEqual(prompts.slice(0, 1), ["Greet you."]);
    assert.deepEqual(asked, []);
  });

  it("must be one word", async (t) => {
    const tried = await comment(t, { body: "/review", given: { "on-command": "/review it" } });
    assertNothingRan(tried, "failure");
    assert.match(tried.result.outputs["reason"] ?? "", /`on-command` must be one word/);
  });
});
