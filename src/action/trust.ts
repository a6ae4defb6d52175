/**
 * Who may start an agent, and which commit says what it does. Decides alone, over what the event says and what the
 * ports answer; whatever can't be found out counts against the event.
 *
 * - Nobody is asked about a fork's pull request: it is skipped before anything else happens.
 * - A bot is trusted if its very login is listed, and never because of what GitHub says of its permission.
 * - Who has write access may start the run of anybody's event again: then they have caused it.
 * - `allow-untrusted` turns every other answer into `allowed`.
 * - Whatever the event: the work tree is believed only where everything that is used of it is checked out at
 *   `GITHUB_SHA`, and nobody but people with write access decided what that commit holds. Else there is a `baseRef`:
 *   what decides about the run (the entry, the rehearsal) comes from that commit, never from the work tree.
 */
import { sha, type Actor, type EventFacts } from "./webhook-event.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface TrustOptions {
  readonly allowUntrusted: boolean;
  readonly allowedBots: readonly string[];
  /** Logins of people who may although they have no write access. */
  readonly allowedUsers: readonly string[];
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
  | {
      readonly kind: "refused";
      readonly reason: string;
      /** The event came by itself: nobody waits for what an agent would have made of it. */
      readonly unattended: boolean;
    };

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

/** What somebody does to be answered. */
const answered = new Set([
  "issue_comment",
  "commit_comment",
  "discussion_comment",
  "pull_request_review",
  "pull_request_review_comment",
]);

const page = "https://github.com/org/agent-jobs/blob/main/docs/security.md#who-may-start-an-agent";

export async function decideTrust(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<TrustDecision> {
  const verdict = await judge();
  if (verdict.kind === "trusted" || !options.allowUntrusted) return verdict;
  const baseRef = baseRefOf(event, options);
  return baseRef === undefined
    ? refused(`${verdict.reason} Nor does the event say what its base is.`)
    : { kind: "allowed", reason: verdict.reason, baseRef };

  async function judge(): Promise<Verdict> {
    if (unchecked.has(event.name)) {
      return judgeTree(options, ports, `\`${event.name}\` needs write access to cause`);
    }
    if (isForkEvent(event)) return skip;
    if (isIncomplete(event)) {
      return refused(
        `The event \`${event.name}\` does not say what it is about. The runner sets GITHUB_EVENT_NAME and GITHUB_EVENT_PATH: leave them as they are.`,
      );
    }
    const cause = await judgeCause(event, options, ports);
    if (cause.kind !== "trusted") return cause;
    const fork = await forkOf(event, ports);
    return fork === undefined
      ? judgeTree(options, ports, cause.reason)
      : judgeFork(event, options, ports, `${cause.reason}; ${fork}`);
  }
}

function refused(reason: string, unattended = false): Verdict {
  return { kind: "refused", reason, unattended };
}

const skip: Verdict = {
  kind: "skipped",
  reason: `The pull request comes from a fork: it gets no secrets, and people without write access decide what it holds. A maintainer can push its branch to this repository. With \`allow-untrusted: true\` it would run, with the entry of its base: ${page}`,
};

function isForkEvent(event: EventFacts): boolean {
  return withoutSecrets.has(event.name) && event.pullRequest?.fork === true;
}

function isIncomplete({ name, readable, pullRequest }: EventFacts): boolean {
  return name === "" || !readable || (/^pull_request(_|$)/.test(name) && pullRequest === undefined);
}

type Cause =
  { readonly kind: "trusted"; readonly reason: string } | Extract<Verdict, { kind: "refused" }>;

async function judgeCause(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<Cause> {
  // Its actor is whoever wrote the schedule last, and may have left since.
  if (event.name === "workflow_run" && event.upstreamEvent === "schedule" && !event.upstreamFork) {
    return {
      kind: "trusted",
      reason: "the run before it was started by the repository's schedule",
    };
  }
  const { restartedBy } = event;
  if (restartedBy !== undefined && !restartedBy.bot) {
    const standing = await standingOf(restartedBy, options, ports);
    if (standing.kind === "trusted") {
      return { kind: "trusted", reason: `started again by ${standing.reason}` };
    }
  }
  if (event.actors.length === 0) {
    return notNamed(event);
  }
  const standings: Standing[] = [];
  for (const actor of event.actors) standings.push(await standingOf(actor, options, ports));
  const trusted = standings.filter((standing) => standing.kind === "trusted");
  return trusted.length === standings.length
    ? { kind: "trusted", reason: trusted.map(({ reason }) => reason).join(" and ") }
    : notTrusted(event, standings);
}

type Standing =
  | { readonly kind: "trusted"; readonly reason: string }
  | { readonly kind: "bot"; readonly login: string }
  | { readonly kind: "stranger"; readonly login: string; readonly permission: string }
  | { readonly kind: "unknown"; readonly login: string; readonly why: string };

async function standingOf(
  { login, bot }: Actor,
  { allowedBots, allowedUsers }: TrustOptions,
  ports: TrustPorts,
): Promise<Standing> {
  const list = bot ? "allowed-bots" : "allowed-users";
  const listed = bot ? allowedBots : allowedUsers;
  if (listed.some((allowed) => allowed.toLowerCase() === login.toLowerCase())) {
    return { kind: "trusted", reason: `${login} is in \`${list}\`` };
  }
  if (bot) return { kind: "bot", login };
  try {
    const permission = await ports.permissionOf(login);
    return enough.has(permission)
      ? { kind: "trusted", reason: `${login} may write to the repository` }
      : { kind: "stranger", login, permission };
  } catch (error) {
    return { kind: "unknown", login, why: errorMessage(error) };
  }
}

const runAgain = "somebody with write access starts this run again (“Re-run jobs”)";

/** Everybody at once, with what would help in each case. */
function notTrusted(
  event: EventFacts,
  standings: readonly Standing[],
): Cause & { kind: "refused" } {
  const bots = standings.filter((standing) => standing.kind === "bot");
  const strangers = standings.filter((standing) => standing.kind === "stranger");
  const unknown = standings.filter((standing) => standing.kind === "unknown");
  const sentences: string[] = [];
  if (bots.length > 0) {
    const logins = bots.map(({ login }) => login).join(" and ");
    const [which, them, they] =
      bots.length === 1
        ? [`the bot ${logins}, which is not in`, "it", "it"]
        : [`the bots ${logins}, which are not in`, "them", "they"];
    sentences.push(
      `The event was caused by ${which} \`allowed-bots\`. List ${them} there if ${they} may start agents, or ${runAgain}.`,
    );
  }
  if (strangers.length > 0) {
    const people = strangers.map(
      ({ login, permission }) =>
        `${login}, who may not write to the repository (permission: ${permission})`,
    );
    sentences.push(
      `The event was caused by ${people.join(", and by ")}. List them in \`allowed-users\` if they may start agents, or ${runAgain}. \`allow-untrusted: true\` lets everybody start one: read ${page} before.`,
    );
  }
  for (const { login, why } of unknown) {
    sentences.push(
      `The event was caused by ${login}, whose permission can't be found out: ${why}. ${helpToAsk(why)}`,
    );
  }
  const unattended = unknown.length === 0 && (strangers.length === 0 || !answered.has(event.name));
  return { kind: "refused", reason: sentences.join(" "), unattended };
}

/** What helps if GitHub does not say who somebody is. */
function helpToAsk(why: string): string {
  return /answered 40[134]|no GitHub token/.test(why)
    ? "The built-in token may ask: give it to the step as `env: { GITHUB_TOKEN: ${{ github.token }} }`."
    : "Run the job again when GitHub can be reached.";
}

function notNamed({ name }: EventFacts): Cause {
  return {
    kind: "refused",
    reason: `The event \`${name}\` does not say who caused it, so nobody's permission can be checked.`,
    unattended: false,
  };
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
    : refused(
        `\`${event.name}\` runs with secrets (${reason}), and what is checked out is not the commit of the event itself: it may be the fork's. ${howToCheckOut}`,
      );
}

const howToCheckOut =
  "Check out the event's own commit (actions/checkout without `ref`, in an image that has git), and let the agent work there; the fork's change can be in a folder below, as data.";

/** The event says nothing of a fork, and yet a step before us may have checked one out: the usual slash command does. */
async function judgeTree(
  { eventSha, onRunner }: TrustOptions,
  ports: TrustPorts,
  reason: string,
): Promise<Verdict> {
  if (!onRunner && (eventSha ?? "") === "") return { kind: "trusted", reason, baseRef: undefined };
  const commit = sha(eventSha);
  if (commit === undefined) {
    return refused(
      "GITHUB_SHA does not name a commit, so what is checked out can't be compared with the commit of the event. The runner sets it: leave it as it is.",
    );
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
