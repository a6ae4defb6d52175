/** Which change an event is about. The payload is untrusted JSON: every field is checked. */
import { defined, isList, isRecord } from "../document/guards.ts";
import { sha } from "../github/webhook-event.ts";

export type EventChange =
  /** What the head has done since it left the base. Of a comment, only the number is known. */
  | {
      readonly kind: "pull-request";
      readonly number?: number;
      readonly base?: string;
      readonly head?: string;
    }
  /** From one commit to the other. */
  | { readonly kind: "commits"; readonly base: string; readonly head: string }
  /** A new branch: what it has done since it left the default branch. */
  | { readonly kind: "new-branch"; readonly defaultBranch: string; readonly head: string };

/** Undefined: the event is about no change, as a schedule or an issue. */
export function changeOfEvent(name: string, payload: unknown): EventChange | undefined {
  if (!isRecord(payload)) return undefined;
  switch (name) {
    case "push":
      return ofPush(payload);
    case "merge_group": {
      const group = payload["merge_group"];
      return commits(field(group, "base_sha"), field(group, "head_sha"));
    }
    case "workflow_run":
      return ofWorkflowRun(payload["workflow_run"]);
    case "issue_comment": {
      const issue = payload["issue"];
      const number = numberOf(issue);
      return isRecord(field(issue, "pull_request")) && number !== undefined
        ? { kind: "pull-request", number }
        : undefined;
    }
    default:
      return ofPullRequest(payload["pull_request"]);
  }
}

function ofPullRequest(pull: unknown): EventChange | undefined {
  if (!isRecord(pull)) return undefined;
  const base = sha(field(pull["base"], "sha"));
  const head = sha(field(pull["head"], "sha"));
  return { kind: "pull-request", ...defined({ number: numberOf(pull), base, head }) };
}

function ofPush(payload: Readonly<Record<string, unknown>>): EventChange | undefined {
  const head = sha(payload["after"]);
  const before = sha(payload["before"]);
  // Zeros stand for a branch that isn't there: not yet, or no more.
  if (head === undefined || isZero(head)) return undefined;
  if (before !== undefined && !isZero(before)) return commits(before, head);
  const defaultBranch = field(payload["repository"], "default_branch");
  return typeof defaultBranch === "string"
    ? { kind: "new-branch", defaultBranch, head }
    : undefined;
}

/** A run for a pull request of a fork names none: its number is asked for by its head. */
function ofWorkflowRun(run: unknown): EventChange | undefined {
  const head = sha(field(run, "head_sha"));
  if (!String(field(run, "event")).startsWith("pull_request") || head === undefined) {
    return undefined;
  }
  const pulls = field(run, "pull_requests");
  const own = isList(pulls) ? pulls.find((pull) => field(field(pull, "head"), "sha") === head) : {};
  const base = sha(field(field(own, "base"), "sha"));
  return { kind: "pull-request", head, ...defined({ number: numberOf(own), base }) };
}

function commits(base: unknown, head: unknown): EventChange | undefined {
  const [from, to] = [sha(base), sha(head)];
  return from === undefined || to === undefined
    ? undefined
    : { kind: "commits", base: from, head: to };
}

function isZero(commit: string): boolean {
  return /^0+$/.test(commit);
}

function numberOf(value: unknown): number | undefined {
  const number = field(value, "number");
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

function field(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
