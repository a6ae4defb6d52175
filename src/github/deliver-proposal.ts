/**
 * Delivers what agents have proposed, within what the entry allows. A push is one commit on the branch of the pull request.
 * GitHub accepts it only on the head that the agents saw, so nothing that somebody else pushed is lost. A trailer of its
 * message finds it again, and counts the commits of agent-jobs in a row: a job that its own commits start comes to an end.
 */
import { createHash } from "node:crypto";
import { defaultOutputs } from "../entry/outputs.ts";
import type { Origin, Proposal } from "../events/output-shapes.ts";
import { executablesIn, isBranch, notProposable } from "../outputs/check-proposal.ts";
import type { CollectedProposal } from "../outputs/collect.ts";
import {
  harmless,
  safeTitle,
  withoutInstructions,
  withoutReferences,
} from "../text/harmless-text.ts";
import { errorMessage } from "../platform/system-error.ts";
import { truncate } from "../text/truncate.ts";
import { bodyOf, byline, markerLine, maxBody, safeText, type Publisher } from "./comments.ts";
import { refused, skipped, type Delivering, type Outcome } from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import type { Made } from "./github-port.ts";
import { safeCell } from "./markdown.ts";
import { sha } from "./webhook-event.ts";

interface Proposed extends CollectedProposal {
  /** Names the workflow run and the content: a further attempt finds what an earlier one has published. */
  readonly key: string;
}

/** A request. With `isMarked`, its text has a marker and is found again; otherwise, the request may be sent twice. */
interface Step {
  readonly preview: string;
  readonly isMarked?: true;
  readonly send: () => Promise<Made>;
}

/** Proposals that are handled. A journal can have any number, and each refusal costs a few requests. */
const mostProposals = 200;

export function isPush({ proposal }: CollectedProposal): boolean {
  return proposal.kind === "push";
}

export async function deliverProposals(
  delivering: Delivering,
  proposals: readonly CollectedProposal[],
): Promise<void> {
  const { about } = delivering;
  // The review is about the head that a push replaces. The last push has the changes of those before it.
  const all = withKeys(
    [...proposals.filter((one) => !isPush(one)), ...proposals.filter(isPush).slice(-1)],
    about,
  );
  const left = all.length - mostProposals;
  if (left > 0) delivering.log(`${left} of ${all.length} proposals`, skipped("too many"));
  /** By kind and key, what this or an earlier attempt of the workflow run has published. */
  const published = new Map<Proposal["kind"], Map<string, Made>>();
  for (const proposed of all.slice(0, mostProposals)) {
    const { kind } = proposed.proposal;
    const what = proposalName(proposed.proposal, about.origin);
    await delivering.deliver(what, needs[kind], async () => {
      if (about.outputs.proposals?.[kind] === undefined)
        return refused("`outputs.proposals` of the entry doesn't allow it");
      const known = published.get(kind) ?? (await publishedOf(delivering, kind));
      published.set(kind, known);
      return deliverProposal(delivering, proposed, known);
    });
  }
}

/** Agents run side by side, so the position of a proposal can differ in a further attempt. Its key doesn't. */
function withKeys(
  all: readonly CollectedProposal[],
  { job, entry, origin }: Publisher,
): readonly Proposed[] {
  const counts = new Map<string, number>();
  return all.map((one) => {
    const { task, items, proposal } = one;
    const content = JSON.stringify([entry, job, origin.leg, task, items, proposal]);
    const digest = createHash("sha256").update(content).digest("hex").slice(0, 12);
    const count = (counts.get(digest) ?? 0) + 1;
    counts.set(digest, count);
    const key = `${origin.workflowRun}/${digest}${count === 1 ? "" : `-${count}`}`;
    return { ...one, key };
  });
}

async function deliverProposal(
  delivering: Delivering,
  proposed: Proposed,
  known: Map<string, Made>,
): Promise<Outcome> {
  const { proposal, key } = proposed;
  const { kind } = proposal;
  const { max = defaultOutputs.proposals.max } = delivering.about.outputs.proposals?.[kind] ?? {};
  const units = countedParts(proposal).map((unit) => key + unit);
  // Earlier attempts count, so that a re-run of an agent that chooses other words stays within the limit.
  if (!known.has(key) && known.size + units.length > max)
    return skipped(`\`outputs.proposals.${kind}.max\` is ${max}`);
  const steps = await stepsOf(delivering, proposed);
  if ("status" in steps) return steps;
  let outcome = skipped("there is nothing to do");
  for (const { preview, isMarked, send } of steps) {
    const before = isMarked === true ? known.get(key) : undefined;
    const find = async (): Promise<Made | undefined> =>
      (await publishedOf(delivering, kind)).get(key);
    outcome =
      before === undefined
        ? await delivering.write(preview, send, isMarked && find)
        : { ...skipped("it is there already"), ...before };
  }
  for (const unit of units) known.set(unit, {});
  return outcome;
}

function countedParts(proposal: Proposal): readonly string[] {
  switch (proposal.kind) {
    case "label":
      return proposal.labels;
    case "reviewers":
      return proposal.reviewers;
    default:
      return [""];
  }
}

/** Everything on GitHub with a marker of this leg and workflow run, by key. */
async function publishedOf(
  delivering: Delivering,
  kind: Proposal["kind"],
): Promise<Map<string, Made>> {
  const { about, github } = delivering;
  const { number, workflowRun } = about.origin;
  const written = async (): Promise<readonly (Made & { readonly body: string })[]> => {
    if (kind === "issue") return github.ownItems("issues");
    if (kind === "pull_request") return github.ownItems("pullRequests");
    return number === undefined ? [] : github.ownComments(number);
  };
  const keyed = async (): Promise<readonly [key: string, made: Made][]> => {
    if (kind === "label" || kind === "reviewers") return [];
    if (kind !== "push")
      return (await written()).map(({ body, url }) => [
        delivering.ours(body, kind)?.key ?? "",
        { url },
      ]);
    // The last push of the run: its commit is the head of the pull request.
    const { head } = number === undefined ? {} : await github.pullOf(number);
    const last = head === undefined ? undefined : readTrailer(await github.messageOf(head));
    return [[last?.key ?? "", {}]];
  };
  return new Map((await keyed()).filter(([key]) => key.startsWith(`${workflowRun}/`)));
}

async function stepsOf(
  delivering: Delivering,
  { proposal, task, key }: Proposed,
): Promise<readonly Step[] | Outcome> {
  const { about, github } = delivering;
  const { number, isPullRequest } = about.origin;
  const allowed = about.outputs.proposals ?? {};
  if ("number" in proposal && proposal.number !== undefined && proposal.number !== number)
    return refused(`it is about #${proposal.number}, which is not that of the run`);
  if (proposal.kind === "push") return stepsOfPush(delivering, proposal, key);
  if (proposal.kind === "pull_request") return stepsOfPull(delivering, proposal, { task, key });
  if (proposal.kind === "issue") {
    const title = safeTitle((allowed.issue?.titlePrefix ?? "") + proposal.title);
    const body = proposalBody(proposal, { ...about, task, key });
    const send = () => github.createIssue({ title, body });
    return [{ preview: `${title}\n\n${body}`, isMarked: true, send }];
  }
  if (number === undefined) return skipped("the run has no issue or pull request");
  const comment = (given: WithText): Step => {
    const preview = proposalBody(given, { ...about, task, key });
    return { preview, isMarked: true, send: () => github.createComment(number, preview) };
  };
  switch (proposal.kind) {
    case "comment":
      return [comment(proposal)];
    case "label": {
      const { labels } = proposal;
      if (labels.length === 0) return refused("it names no labels");
      const other = labels.find((one) => allowed.label?.allowed.includes(one) !== true);
      if (other !== undefined) return refused(`the label ${JSON.stringify(other)} is not allowed`);
      return [{ preview: "", send: () => github.addLabels(number, labels) }];
    }
    case "reviewers": {
      if (isPullRequest !== true) return skipped("the run has no pull request");
      const { reviewers } = proposal;
      if (reviewers.length === 0) return refused("it names no reviewers");
      const other = reviewers.find((one) => allowed.reviewers?.allowed?.includes(one) === false);
      if (other !== undefined) return refused(`${JSON.stringify(other)} is not allowed`);
      return [{ preview: "", send: () => github.requestReviewers(number, reviewers) }];
    }
    case "close": {
      const step = comment(proposal);
      const close = { preview: step.preview, send: () => github.close(number) };
      return proposal.reason === undefined ? [close] : [step, close];
    }
  }
}

async function stepsOfPull(
  { about, github }: Delivering,
  proposal: Extract<Proposal, { kind: "pull_request" }>,
  by: Pick<Proposed, "task" | "key">,
): Promise<readonly Step[] | Outcome> {
  const { base, files } = proposal;
  const { paths, branchPrefix, draft } = {
    ...defaultOutputs.proposals,
    ...about.outputs.proposals?.pull_request,
  };
  const problem = notProposable(files, paths);
  if (problem !== undefined) return refused(problem);
  if (!isBranch(proposal.branch) || sha(base) === undefined)
    return refused("the name of its branch or its commit is not valid");
  // The branch would bring all commits below it, also those of a fork.
  if (!(await github.isOnDefaultBranch(base)))
    return refused(`it is based on ${base}, which is not in the default branch`);
  const title = safeTitle(proposal.title);
  const body = proposalBody(proposal, { ...about, ...by });
  // No other proposal has the name: an earlier attempt, or another leg, may have chosen the same branch.
  const head = `${branchPrefix}${proposal.branch}-${by.key.replace("/", "-")}`;
  const send = async (): Promise<Made> => {
    const { isNew } = await github.commit({ base, branch: head, message: title, files });
    try {
      return await github.createPullRequest({ title, body, head, draft });
    } catch (error) {
      // After an uncertain failure, the pull request may exist. Deleting its branch would close it.
      if (!isNew || !(error instanceof GithubFailure) || error.isUncertain) throw error;
      const { message, status } = error;
      const stays = await github.deleteBranch(head).then(
        () => "",
        (why: unknown) => `. Its branch ${head} stays: ${errorMessage(why)}`,
      );
      throw new GithubFailure(message + stays, status);
    }
  };
  return [{ preview: `${title} (${head})\n\n${body}\n\n${namesOf(files)}`, isMarked: true, send }];
}

function namesOf(files: readonly { readonly path: string }[]): string {
  return files.map(({ path }) => path).join("\n");
}

async function stepsOfPush(
  { about, github, pull }: Delivering,
  proposal: Extract<Proposal, { kind: "push" }>,
  key: string,
): Promise<readonly Step[] | Outcome> {
  const { files, base } = proposal;
  const { paths, max = defaultOutputs.proposals.max } = about.outputs.proposals?.push ?? {};
  if (pull === undefined) return refused("the run has no pull request");
  const problem = notProposable(files, paths);
  if (problem !== undefined) return refused(problem);
  const [executable] = executablesIn(files);
  if (executable !== undefined)
    return refused(`${JSON.stringify(executable.path)} is executable, which a push can't keep`);
  if (sha(base) === undefined) return refused("its commit is not valid");
  const { head, branch, isFork, isDefault } = await github.pullOf(pull);
  if (isFork) return refused("the branch is in a fork");
  if (isDefault) return refused(`${JSON.stringify(branch)} is the default branch`);
  const last = head === undefined ? undefined : readTrailer(await github.messageOf(head));
  if (last?.key === key) return skipped("it is there already");
  const outdated = `outdated: somebody pushed to #${pull} after the job had started. Start the job for the new head; changes of an older head can't be pushed`;
  if (head !== undefined && head !== base) return refused(outdated);
  const { count = 0 } = last ?? {};
  if (count >= max) {
    const commits =
      count === 1 ? "last commit of the branch is" : `last ${count} commits of the branch are`;
    return refused(
      `the ${commits} by agent-jobs, and \`outputs.proposals.push.max\` is ${max}. A commit of anybody else starts the count anew`,
    );
  }
  const headline = safeTitle(proposal.title);
  const body = messageOf(proposal, `${trailer}: ${count + 1} (${key})`);
  const send = async (): Promise<Made> => {
    try {
      return await github.commitOnBranch({ branch, head: base, headline, body, files });
    } catch (error) {
      if (!(error instanceof GithubFailure) || error.status !== 409) throw error;
      // The commit of an earlier request, which GitHub hadn't answered, or one of somebody else.
      const { head: now = base } = await github.pullOf(pull);
      if (readTrailer(await github.messageOf(now))?.key === key) return {};
      throw new GithubFailure(`${outdated} (${error.message})`, error.status);
    }
  };
  return [{ preview: `${headline}\n\n${body}\n\n${namesOf(files)}`, isMarked: true, send }];
}

/** The trailer in the message of each pushed commit: how many there are in a row, and the key of this one. */
const trailer = "Agent-Jobs-Push";

export function readTrailer(
  message: string,
): { readonly count: number; readonly key: string } | undefined {
  const all = [...message.matchAll(/^Agent-Jobs-Push: (\d{1,3}) \(([\w/-]+)\)$/gm)];
  const [, count = "", key = ""] = all.at(-1) ?? [];
  return key === "" ? undefined : { count: Number(count), key };
}

const MAX_MESSAGE = 5_000;

/** Lines of the agent are never trailers, which could name another author or reset the count. */
function messageOf({ body = "" }: { readonly body?: string }, last: string): string {
  const text = harmless(truncate(body, MAX_MESSAGE, "…"))
    .trim()
    .replace(/^(\s*[\w-]*-(?:by|push))(?=\s*:)/gim, "$1\u2060");
  const safe = withoutInstructions(withoutReferences(text));
  return safe === "" ? last : `${safe}\n\n${last}`;
}

const onItem = "`issues: write`, on a pull request `pull-requests: write`";
const needs: Readonly<Record<Proposal["kind"], string>> = {
  comment: onItem,
  label: onItem,
  close: onItem,
  reviewers: "`pull-requests: write`",
  issue: "`issues: write`",
  pull_request: "`contents: write` and `pull-requests: write`",
  push: "`contents: write` and `pull-requests: read`",
};

function proposalName(proposal: Proposal, { number }: Origin): string {
  const target = number === undefined ? "" : ` #${number}`;
  switch (proposal.kind) {
    case "comment":
      return `comment on${target}`;
    case "label":
      return `labels ${proposal.labels.join(", ")} on${target}`;
    case "reviewers":
      return `reviewers ${proposal.reviewers.join(", ")} for${target}`;
    case "issue":
      return `issue ${JSON.stringify(proposal.title)}`;
    case "pull_request":
      return `pull request ${JSON.stringify(proposal.title)}`;
    case "push":
      return `commit ${JSON.stringify(proposal.title)} on${target}`;
    case "close":
      return `closing${target}`;
  }
}

const MAX_REASON = 1_000;

type WithText = Extract<Proposal, { kind: "comment" | "issue" | "pull_request" | "close" }>;

export function proposalBody(
  proposal: WithText,
  about: Publisher & Pick<Proposed, "task" | "key">,
): string {
  const { kind, reason = "" } = proposal;
  const why = safeCell(reason, { maxLength: MAX_REASON });
  const text = "body" in proposal ? proposal.body : "";
  return bodyOf(markerLine(about, { kind, key: about.key }), [
    safeText(text, maxBody - 10_000, about),
    why === "" ? "" : `**Why:** ${why}`,
    byline(about, about.task),
  ]);
}
