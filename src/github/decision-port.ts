/** Reviews that merge rules count: their state, the pull requests that may not be approved, and how a review is made and withdrawn. */
import { pagesOf } from "./github-api.ts";
import type { Calls } from "./graphql.ts";
import { readMarker } from "./markers.ts";
import { readTrailer } from "./push-port.ts";
import { at, isBot, textAt } from "./webhook-event.ts";

/** A review of the token's user that asks for changes or approves, and was not dismissed. */
export interface OwnDecision {
  readonly id: number;
  readonly isApproval: boolean;
  readonly head: string;
  readonly body: string;
}

export function createDecisionCalls({ api, graphql, write: send, redact }: Calls) {
  return {
    /** The newest first. */
    async ownDecisions(number: number): Promise<readonly OwnDecision[]> {
      const fields = "databaseId state body viewerDidAuthor commit { oid }";
      const all = await graphql.nodes({ kind: "pullRequest", number }, "reviews", fields, "whole");
      return all.flatMap((one): OwnDecision[] => {
        const state = textAt(one, "state");
        const isApproval = state === "APPROVED";
        if (at(one, "viewerDidAuthor") !== true) return [];
        if (!isApproval && state !== "CHANGES_REQUESTED") return [];
        const head = textAt(at(one, "commit"), "oid") ?? "";
        const id = Number(at(one, "databaseId"));
        return [{ id, isApproval, head, body: textAt(one, "body") ?? "" }];
      });
    },
    /** The reason why the pull request may not be approved. Undefined: people wrote it. */
    async writtenByAgent(pull_number: number): Promise<string | undefined> {
      const pull = await api.get("GET /repos/{owner}/{repo}/pulls/{pull_number}", { pull_number });
      if (isBot(at(pull, "user"))) return `its author is ${textAt(at(pull, "user"), "login")}`;
      if (readMarker(textAt(pull, "body") ?? "") !== undefined) return "an agent has proposed it";
      if (Number(at(pull, "commits")) > MAX_COMMITS) return "it has more commits than GitHub lists";
      const listed = "GET /repos/{owner}/{repo}/pulls/{pull_number}/commits";
      for await (const commits of pagesOf(api.get, listed, { pull_number })) {
        const bot = commits.map((one) => at(one, "author")).find(isBot);
        if (bot !== undefined) return `a commit is by ${textAt(bot, "login")}`;
        // A push with a person's token has that person as its author.
        if (commits.some((one) => readTrailer(textAt(at(one, "commit"), "message") ?? "")))
          return "an agent has pushed to it";
      }
      return undefined;
    },
    decide: (pull_number: number, head: string, isApproval: boolean, body: string) =>
      send(
        "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        {
          pull_number,
          commit_id: head,
          event: isApproval ? "APPROVE" : "REQUEST_CHANGES",
          body: redact(body),
        },
        "once",
      ),
    /** GitHub refuses to dismiss a review twice. */
    withdraw: (pull_number: number, review_id: number, message: string) =>
      send(
        "PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals",
        { pull_number, review_id, message: redact(message), event: "DISMISS" },
        "once",
      ),
  };
}

/** GitHub lists no more. */
const MAX_COMMITS = 250;
