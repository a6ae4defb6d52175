/**
 * Who may start an agent, and which commit says what it does. Decides alone, over what the event says and what the
 * ports answer; whatever can't be found out counts against the event.
 *
 * - Nobody is asked about a fork's pull request: it is skipped before anything else happens.
 * - A bot is trusted if its very login is listed, and never because of what GitHub says of its permission.
 * - `allow-untrusted` turns every other answer into `allowed`.
 * - Whatever the event: the work tree is believed only where everything that is used of it is checked out at
 *   `GITHUB_SHA`, and nobody but people with write access decided what that commit holds. Else there is a `baseRef`:
 *   what decides about the run (the entry, the rehearsal) comes from that commit, never from the work tree.
 */
import { sha, type Actor, type EventFacts } from "./event.ts";

export interface TrustOptions {
  readonly allowUntrusted: boolean;
  readonly allowedBots: readonly string[];
  /** `GITHUB_SHA`: on most events a commit of a branch that only people with write access change. */
  readonly eventSha: string | undefined;
  /** Whether a runner started us. Where none did, and no commit is named, the work tree is the user's own. */
  readonly onRunner: boolean;
}

/** The commits that are checked out; undefined where there is none, or nobody can tell. */
export interface CheckedOut {
  /** Where the agent works and where its input is. */
  readonly work: readonly (string | undefined)[];
  /** Where the files are that decide about the run. */
  readonly files: readonly (string | undefined)[];
}

export interface TrustPorts {
  /** The permission that GitHub knows of a person: `admin`, `write`, `read`, `none`… */
  permissionOf(login: string): Promise<string>;
  /** Whether the head of a pull request is in another repository. */
  isForkPullRequest(number: number): Promise<boolean>;
  checkedOut(): Promise<CheckedOut>;
}

export type TrustDecision =
  /** Without a `baseRef`, the work tree may be believed. */
  | { readonly kind: "trusted"; readonly reason: string; readonly baseRef: string | undefined }
  /** Not trusted, and yet to be run. */
  | { readonly kind: "allowed"; readonly reason: string; readonly baseRef: string }
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

type Verdict = Exclude<TrustDecision, { kind: "allowed" }>;

/** Only people with write access, or the repository itself, cause these. */
const unchecked = new Set([
  "schedule",
  "workflow_dispatch",
  "repository_dispatch",
  "push",
  "merge_group",
]);
/** On these a fork's run gets no secrets. */
const withoutSecrets = new Set([
  "pull_request",
  "pull_request_review",
  "pull_request_review_comment",
]);
const enough = new Set(["admin", "maintain", "write"]);

const howToAllow =
  "Whoever wants such events to start an agent sets `allow-untrusted: true` (docs/security.md says what that means).";

export async function decideTrust(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<TrustDecision> {
  const verdict = await judge();
  if (verdict.kind === "trusted" || !options.allowUntrusted) return verdict;
  const baseRef = baseRefOf(event, options);
  return baseRef === undefined
    ? { kind: "refused", reason: `${verdict.reason} Nor does the event say what its base is.` }
    : { kind: "allowed", reason: verdict.reason, baseRef };

  async function judge(): Promise<Verdict> {
    if (unchecked.has(event.name)) {
      return judgeTree(options, ports, `\`${event.name}\` needs write access to cause`);
    }
    if (isForkEvent(event)) return skip;
    if (isIncomplete(event)) {
      return {
        kind: "refused",
        reason: `The event \`${event.name}\` does not say what it is about.`,
      };
    }
    const actors = await judgeActors(event, options, ports);
    if (actors.kind !== "trusted") return actors;
    const fork = await forkOf(event, ports);
    return fork === undefined
      ? judgeTree(options, ports, actors.reason)
      : judgeFork(event, options, ports, `${actors.reason}; ${fork}`);
  }
}

const skip: Verdict = {
  kind: "skipped",
  reason: `The pull request comes from a fork: it gets no secrets, and people without write access decide what it holds. ${howToAllow}`,
};

function isForkEvent(event: EventFacts): boolean {
  return withoutSecrets.has(event.name) && event.pullRequest?.fork === true;
}

function isIncomplete({ name, readable, pullRequest }: EventFacts): boolean {
  return name === "" || !readable || (/^pull_request(_|$)/.test(name) && pullRequest === undefined);
}

async function judgeActors(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<Verdict> {
  const reasons: string[] = [];
  for (const actor of event.actors) {
    const problem = await problemOf(actor, options, ports);
    if (problem !== undefined) return { kind: "refused", reason: `${problem} ${howToAllow}` };
    reasons.push(
      `${actor.login} ${actor.bot ? "is in `allowed-bots`" : "may write to the repository"}`,
    );
  }
  return reasons.length === 0
    ? { kind: "refused", reason: `The event \`${event.name}\` does not say who caused it.` }
    : { kind: "trusted", reason: reasons.join(" and "), baseRef: undefined };
}

async function problemOf(
  actor: Actor,
  { allowedBots }: TrustOptions,
  ports: TrustPorts,
): Promise<string | undefined> {
  const { login } = actor;
  if (actor.bot) {
    return allowedBots.some((allowed) => allowed.toLowerCase() === login.toLowerCase())
      ? undefined
      : `The event was caused by the bot ${login}, which is not in \`allowed-bots\`.`;
  }
  try {
    const permission = await ports.permissionOf(login);
    return enough.has(permission)
      ? undefined
      : `The event was caused by ${login}, who may not write to the repository (permission: ${permission}).`;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `The event was caused by ${login}, whose permission can't be found out: ${why}.`;
  }
}

/** What runs with secrets on the base must not work where a fork is checked out, nor do what its files say. */
async function judgeFork(
  event: EventFacts,
  { eventSha }: TrustOptions,
  ports: TrustPorts,
  reason: string,
): Promise<Verdict> {
  const baseRef = sha(eventSha);
  const { work } = await ports.checkedOut();
  return baseRef !== undefined && areAt(work, baseRef)
    ? { kind: "trusted", reason, baseRef }
    : {
        kind: "refused",
        reason: `\`${event.name}\` runs with secrets (${reason}), and what is checked out is not the commit of the event itself: it may be the fork's. ${howToAllow}`,
      };
}

/** The event says nothing of a fork, and yet a step before us may have checked one out: the usual slash command does. */
async function judgeTree(
  { eventSha, onRunner }: TrustOptions,
  ports: TrustPorts,
  reason: string,
): Promise<Verdict> {
  if (!onRunner && (eventSha ?? "") === "") return { kind: "trusted", reason, baseRef: undefined };
  const commit = sha(eventSha);
  if (commit === undefined) {
    return {
      kind: "refused",
      reason:
        "GITHUB_SHA does not name a commit, so what is checked out can't be compared with the commit of the event. The runner sets it: leave it as it is.",
    };
  }
  const { work, files } = await ports.checkedOut();
  return areAt(work, commit) && areAt(files, commit)
    ? { kind: "trusted", reason, baseRef: undefined }
    : { kind: "trusted", reason: `${reason}; the work tree is not GITHUB_SHA`, baseRef: commit };
}

function areAt(heads: readonly (string | undefined)[], commit: string): boolean {
  return heads.length > 0 && heads.every((head) => head === commit);
}

/** Why the head may be a fork's; undefined if it is not. */
async function forkOf(event: EventFacts, ports: TrustPorts): Promise<string | undefined> {
  const { name, pullRequest, commentedPullRequest } = event;
  if (name === "workflow_run") {
    return event.upstreamFork ? "the run before it was for a fork" : undefined;
  }
  if (pullRequest !== undefined) {
    return pullRequest.fork ? "the pull request comes from a fork" : undefined;
  }
  if (commentedPullRequest === undefined) return undefined;
  const unknown = "it can't be found out whether the pull request comes from a fork";
  if (commentedPullRequest === "unknown") return unknown;
  try {
    return (await ports.isForkPullRequest(commentedPullRequest))
      ? "the pull request comes from a fork"
      : undefined;
  } catch {
    return unknown;
  }
}

/** A commit that the event's cause had no say in. On `pull_request`, `GITHUB_SHA` holds the head merged in. */
function baseRefOf(event: EventFacts, { eventSha }: TrustOptions): string | undefined {
  return withoutSecrets.has(event.name) ? event.pullRequest?.baseSha : sha(eventSha);
}
