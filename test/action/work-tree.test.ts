/** Whether the work tree may say what is run: every event, whatever is checked out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventSha, readFixture } from "../rig/runner.ts";
import { decide, type Situation } from "../github/trust-rig.ts";

const other = "c".repeat(40);
/** Event → the fixture with its payload; a "fork" is what the fixture, or the pull request of its comment, is about. */
const events: readonly (readonly [string, string, "fork" | "same" | "none"])[] = [
  ["push", "push", "none"],
  ["workflow_dispatch", "workflow-dispatch", "none"],
  ["an_event_of_tomorrow", "issues", "none"],
  ["issue_comment", "issue-comment-issue", "none"],
  ["issue_comment", "issue-comment-maintainer", "same"],
  ["issue_comment", "issue-comment-maintainer", "fork"],
  ["pull_request", "pull-request", "same"],
  ["pull_request", "pull-request-fork", "fork"],
  ["pull_request_review", "pull-request-review-fork", "fork"],
  ["pull_request_review_comment", "pull-request-fork", "fork"],
  ["pull_request_target", "pull-request-target-same", "same"],
  ["pull_request_target", "pull-request-target", "fork"],
  ["workflow_run", "workflow-run", "same"],
  ["workflow_run", "workflow-run-fork", "fork"],
];

/** The source that decides about the run: the work tree, a commit, or nothing runs. */
async function sourceOf(
  [name, fixture, head]: (typeof events)[number],
  { sha, ...situation }: Situation & { readonly sha?: string },
): Promise<string> {
  const { actor } = await readFixture(fixture);
  const { decision } = await decide(fixture, {
    ...situation,
    name,
    actor,
    commented: head === "fork",
    ...(sha === undefined ? {} : { eventSha: sha === "" ? undefined : sha }),
  });
  switch (decision.kind) {
    case "skipped":
    case "refused":
      return decision.kind;
    case "allowed":
    case "limited":
    case "trusted":
      return decision.baseRef ?? "work tree";
  }
}

const withoutSecrets = /^pull_request(_review(_comment)?)?$/;

describe("what decides about a run", () => {
  for (const event of events) {
    const [name, , head] = event;
    const is = async (
      situation: Parameters<typeof sourceOf>[1],
      same: string,
      fork: string,
    ): Promise<void> => {
      const skipped = head === "fork" && withoutSecrets.test(name);
      const expected = skipped ? "skipped" : head === "fork" ? fork : same;
      assert.equal(await sourceOf(event, situation), expected);
    };

    describe(`${name}, ${head === "none" ? "about no pull request" : `about ${head === "fork" ? "a fork's" : "our own"} branch`}`, () => {
      it("with GITHUB_SHA checked out", () =>
        is({ checkedOut: [eventSha] }, "work tree", eventSha));

      it("with another commit checked out, or one of two", async () => {
        for (const work of [[other], [eventSha, other]]) {
          await is({ checkedOut: work }, eventSha, "refused");
        }
      });

      it("with the entry or the rehearsal in another checkout", async () => {
        for (const files of [[other], [eventSha, other], [eventSha, undefined]]) {
          await is({ checkedOut: [eventSha], files }, eventSha, eventSha);
        }
      });

      it("with nothing checked out, or what nobody can tell", async () => {
        for (const work of [[undefined], [eventSha, undefined], []]) {
          await is({ checkedOut: work }, eventSha, "refused");
        }
      });

      it("with no commit in GITHUB_SHA", async () => {
        for (const sha of ["", "main", `${eventSha}?x=1`, "HEAD", "0".repeat(39)]) {
          for (const work of [[eventSha], [undefined], [sha]]) {
            await is({ checkedOut: work, sha }, "refused", "refused");
          }
        }
      });

      it("where untrusted events are allowed", async () => {
        const base = "b".repeat(40);
        for (const work of [[eventSha], [other], [undefined]]) {
          const given = { checkedOut: work, allowed: ["*"] };
          const source = await sourceOf(event, given);
          if (head !== "fork" && work[0] === eventSha) assert.equal(source, "work tree");
          else if (head === "fork" && withoutSecrets.test(name)) assert.equal(source, base);
          else assert.equal(source, eventSha);
        }
      });
    });
  }

  it("is the user's own work tree where no runner started us and no commit is named", async () => {
    const event = ["workflow_dispatch", "workflow-dispatch", "none"] as const;
    const local = { checkedOut: [other], onRunner: false };
    assert.equal(await sourceOf(event, { ...local, sha: "" }), "work tree");
    assert.equal(await sourceOf(event, local), eventSha);
    assert.equal(await sourceOf(event, { ...local, sha: "main" }), "refused");
  });
});
