/**
 * Decides who may start an agent, and which commit decides what it does. If trust can't be verified, the event is
 * refused.
 *
 * - A fork's pull request is skipped before GitHub is asked anything.
 * - A bot is trusted if its exact login is listed, and never because of its permission on GitHub.
 * - A user with write access may re-run the run of any user, and then counts as its cause.
 * - `*` in `allowed-users` turns every other answer into `allowed`.
 * - A rehearsal has a script as its model, so nobody instructs an agent, and GitHub is asked nothing.
 * - A stranger's issue may start a job that can do no harm, which is known only once the entry is read (`action/job-bounds.ts`).
 * - Whatever the event: the work tree is believed only where everything that is used of it is checked out at
 *   `GITHUB_SHA`, and only users with write access could change that commit. Otherwise there is a `baseRef`:
 *   what decides about the run (the entry, the rehearsal) comes from that commit, never from the work tree.
 */
import { sha, type Actor, type EventFacts } from "./webhook-event.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface TrustOptions {
  /** Logins of users and bots; `*` is everybody. */
  readonly allowed: readonly string[];
  /** `GITHUB_SHA`: on most events a commit of a branch that only users with write access can change. */
  readonly eventSha: string | undefined;
  /** Whether GitHub is asked with the built-in token, which may look up permissions. */
  readonly builtInToken: boolean;
  /** Whether a runner started the action. Without a runner and a commit, the work tree belongs to the user. */
  readonly onRunner: boolean;
  /** Whether the runner is `act`. An earlier step could claim it, so only texts depend on it. */
  readonly onAct: boolean;
  readonly rehearses: boolean;
}

/** Commits of folders. Undefined: there is none, or it is unknown. */
export interface CheckedOut {
  /** The agent works and has its input there. */
  readonly work: readonly (string | undefined)[];
  /** The files that decide about the run are there. */
  readonly files: readonly (string | undefined)[];
}

export interface TrustPorts {
  permissionOf(login: string): Promise<string>;
  isForkPullRequest(number: number): Promise<boolean>;
  checkedOut(): Promise<CheckedOut>;
}

/** `baseRef`: the commit whose files decide about the run. Undefined: the checkout is trusted. */
export type TrustDecision =
  | { readonly kind: "trusted"; readonly reason: string; readonly baseRef: string | undefined }
  /** The event is not trusted, and runs because everything is allowed. */
  | { readonly kind: "allowed"; readonly reason: string; readonly baseRef: string }
  /** The event is not trusted, and runs only if the job is harmless. */
  | { readonly kind: "limited"; readonly reason: string; readonly baseRef: string | undefined }
  | { readonly kind: "skipped"; readonly reason: string; readonly cause: string }
  | {
      readonly kind: "refused";
      /** The cause, and what to do. */
      readonly reason: string;
      readonly cause: string;
      /** The event was not triggered to get an answer. */
      readonly unattended: boolean;
      /** The only reason is that users who triggered the event have no write access. */
      readonly onlyStrangers?: boolean;
    };

type Verdict = Exclude<TrustDecision, { kind: "allowed" | "limited" }>;
type Refusal = Extract<Verdict, { kind: "refused" }>;

/** Only users with write access, or the repository itself, can trigger these. */
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
/** Events that a user can trigger to get an answer of an agent. A review is addressed to the author. */
const answered = new Set(["issue_comment", "commit_comment", "discussion_comment"]);

export function mayWrite(permission: string): boolean {
  return ["admin", "maintain", "write"].includes(permission);
}

const page = "https://github.com/org/agent-jobs/blob/main/docs/security.md#who-may-start-an-agent";

export async function decideTrust(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<TrustDecision> {
  const verdict = await judge(event, options, ports);
  if (verdict.kind === "trusted") return verdict;
  if (options.allowed.includes("*")) {
    // A commit that the user who triggered the event can't change. On `pull_request`, `GITHUB_SHA` contains the merged head.
    const baseRef = withoutSecrets.has(event.name)
      ? event.pullRequest?.baseSha
      : sha(options.eventSha);
    return baseRef === undefined
      ? refused(`${verdict.cause} The event doesn't name its base, either.`)
      : { kind: "allowed", reason: verdict.cause, baseRef };
  }
  // Anybody may write an issue, and nothing else comes with it.
  if (event.name !== "issues" || verdict.kind !== "refused" || verdict.onlyStrangers !== true)
    return verdict;
  const tree = await judgeTree(options, ports, verdict.reason);
  return tree.kind === "trusted"
    ? { kind: "limited", reason: verdict.reason, baseRef: tree.baseRef }
    : tree;
}

async function judge(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<Verdict> {
  if (unchecked.has(event.name))
    return judgeTree(options, ports, `\`${event.name}\` requires write access`);
  if (withoutSecrets.has(event.name) && event.pullRequest?.fork === true) return ofFork;
  if (isIncomplete(event) && !options.rehearses) return incomplete(event, options);
  const cause = await judgeCause(event, options, ports);
  if (typeof cause !== "string") return cause;
  const fork = await forkOf(event, options, ports);
  return fork === undefined
    ? judgeTree(options, ports, cause)
    : judgeFork(event, options, ports, `${cause}; ${fork}`);
}

function refused(cause: string, advice?: string): Refusal {
  const reason = advice === undefined ? cause : `${cause} ${advice}`;
  return { kind: "refused", reason, cause, unattended: false };
}

const forkCause =
  "The pull request comes from a fork, which gets no secrets and contains files of users without write access.";
const ofFork: Verdict = {
  kind: "skipped",
  cause: forkCause,
  reason: `${forkCause} A maintainer can push the branch to this repository. With \`allowed-users: "*"\`, the job would run with the entry of the base: ${page}`,
};

function isIncomplete({ name, readable, pullRequest }: EventFacts): boolean {
  return name === "" || !readable || (/^pull_request(_|$)/.test(name) && pullRequest === undefined);
}

function incomplete({ name, readable }: EventFacts, { onAct }: TrustOptions): Refusal {
  const cause =
    name === ""
      ? "GITHUB_EVENT_NAME is not set, so it is unknown who started the step."
      : readable
        ? `The event \`${name}\` names no pull request.`
        : `The event \`${name}\` has no file (GITHUB_EVENT_PATH), or one that is not JSON.`;
  if (onAct) return refused(cause, `Pass the event to act: \`act ${name} -e event.json\`.`);
  return refused(
    cause,
    readable ? "GITHUB_EVENT_NAME and GITHUB_EVENT_PATH don't belong together." : undefined,
  );
}

/** Why the users who caused the event are trusted, or a refusal. */
async function judgeCause(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
): Promise<string | Refusal> {
  const { name, actors, restartedBy } = event;
  if (options.rehearses) return "a rehearsal plays the model";
  // Its actor is the last author of the schedule, who may have left since.
  if (name === "workflow_run" && event.upstreamEvent === "schedule" && !event.upstreamFork)
    return "the triggering run was started by the repository's schedule";
  if (restartedBy !== undefined && !restartedBy.bot) {
    const standing = await standingOf(restartedBy, options, ports);
    if (standing.kind === "trusted") return `${standing.reason} and re-ran the job`;
  }
  if (actors.length === 0)
    return refused(
      `The event \`${name}\` doesn't name the user who triggered it, so no permission can be checked.`,
    );
  const standings: Standing[] = [];
  for (const actor of actors) standings.push(await standingOf(actor, options, ports));
  const doubts = standings.filter((one) => one.kind !== "trusted");
  if (doubts.length === 0) return standings.map(({ reason }) => reason).join(" and ");
  const has = (kind: Standing["kind"]): boolean => doubts.some((one) => one.kind === kind);
  const causes = doubts.map(({ reason }) => `The event was triggered by ${reason}.`);
  return {
    kind: "refused",
    reason: [...causes, ...new Set(doubts.map(({ advice }) => advice))].join(" "),
    cause: causes.join(" "),
    unattended: !has("unknown") && (!has("stranger") || !answered.has(name)),
    onlyStrangers: !has("unknown") && !has("bot"),
  };
}

/** Whether a user may start agents. `reason`: why, or for the others, a clause that names the user and what is missing. */
type Standing =
  | { readonly kind: "trusted"; readonly reason: string }
  | {
      readonly kind: "bot" | "stranger" | "unknown";
      readonly reason: string;
      readonly advice: string;
    };

async function standingOf(
  { login, bot }: Actor,
  { allowed, builtInToken, onAct }: TrustOptions,
  ports: TrustPorts,
): Promise<Standing> {
  const runAgain = onAct
    ? "run act as a user with write access (`act --actor LOGIN`)"
    : "let a user with write access re-run the job (“Re-run jobs”)";
  if (allowed.some((one) => one.toLowerCase() === login.toLowerCase()))
    return { kind: "trusted", reason: `${login} is in \`allowed-users\`` };
  if (bot)
    return {
      kind: "bot",
      reason: `the bot ${login}, which is not in \`allowed-users\``,
      advice: `Add it if it may start agents, or ${runAgain}.`,
    };
  try {
    const permission = await ports.permissionOf(login);
    if (mayWrite(permission)) return { kind: "trusted", reason: `${login} has write access` };
    return {
      kind: "stranger",
      reason: `${login}, who has no write access to the repository (permission: ${permission})`,
      advice: `Add them to \`allowed-users\` if they may start agents, or ${runAgain}. Before you set \`allowed-users: "*"\`, which lets everybody start an agent, read ${page}`,
    };
  } catch (error) {
    const why = errorMessage(error);
    const isToken = !builtInToken && /answered 40[134]|no GitHub token/.test(why);
    const builtIn = onAct
      ? "Pass one that may read the repository: `act -s GITHUB_TOKEN=…`."
      : 'The built-in token may check permissions: set `env: { GITHUB_TOKEN: "${{ github.token }}" }` on the step.';
    return {
      kind: "unknown",
      reason: `${login}, whose permission can't be verified: ${why}`,
      advice: isToken ? builtIn : `Try again later, or ${runAgain}.`,
    };
  }
}

/** A run with secrets must not work in a fork's checkout, or follow its files. */
async function judgeFork(
  event: EventFacts,
  options: TrustOptions,
  ports: TrustPorts,
  reason: string,
): Promise<Verdict> {
  const baseRef = sha(options.eventSha);
  const { work } = await ports.checkedOut();
  if (baseRef === undefined || !areAt(work, baseRef))
    return refused(
      `\`${event.name}\` runs with secrets (${reason}), and the checkout is not at the event's commit, so it may contain the fork's files.`,
      "Check out the event's own commit (actions/checkout without `ref`, in an image that has git), and let the agent work there. The fork's files can be in a subfolder, as data.",
    );
  // A rehearsal needs no token to read the base with.
  return options.rehearses
    ? judgeTree(options, ports, reason)
    : { kind: "trusted", reason, baseRef };
}

/** The event doesn't mention a fork, but an earlier step may have checked one out, as the common slash command does. */
async function judgeTree(
  { eventSha, onRunner, onAct }: TrustOptions,
  ports: TrustPorts,
  reason: string,
): Promise<Verdict> {
  if (!onRunner && (eventSha ?? "") === "") return { kind: "trusted", reason, baseRef: undefined };
  const commit = sha(eventSha);
  if (commit === undefined) {
    return refused(
      "GITHUB_SHA doesn't name a commit, so the checkout can't be compared with the event's commit.",
      onAct
        ? "Commit something, so that act finds a commit."
        : "Don't change GITHUB_SHA, which the runner sets.",
    );
  }
  const { work, files } = await ports.checkedOut();
  return areAt(work, commit) && areAt(files, commit)
    ? { kind: "trusted", reason, baseRef: undefined }
    : { kind: "trusted", reason: `${reason}; the checkout is not at GITHUB_SHA`, baseRef: commit };
}

export function areAt(heads: readonly (string | undefined)[], commit: string): boolean {
  return heads.length > 0 && heads.every((head) => head === commit);
}

async function forkOf(
  event: EventFacts,
  { rehearses }: TrustOptions,
  ports: TrustPorts,
): Promise<string | undefined> {
  const { name, pullRequest, commentedPullRequest } = event;
  const unknown = "it is unknown whether the pull request comes from a fork";
  if (name !== "" && !withoutSecrets.has(name) && isIncomplete(event)) return unknown;
  if (name === "workflow_run") {
    return event.upstreamFork ? "the triggering run was for a fork" : undefined;
  }
  if (pullRequest !== undefined) {
    return pullRequest.fork ? "the pull request comes from a fork" : undefined;
  }
  if (commentedPullRequest === undefined) return undefined;
  if (commentedPullRequest === "unknown" || rehearses) return unknown;
  try {
    return (await ports.isForkPullRequest(commentedPullRequest))
      ? "the pull request comes from a fork"
      : undefined;
  } catch {
    return unknown;
  }
}
