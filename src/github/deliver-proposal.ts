import { createHash } from "node:crypto";
import { defaultOutputs } from "../entry/outputs.ts";
import type { Origin, Proposal } from "../events/output-shapes.ts";
import { isBranch, notProposable } from "../outputs/check-proposal.ts";
import type { CollectedProposal } from "../outputs/collect.ts";
import {
  attempt,
  refused,
  skipped,
  write,
  type Delivering,
  type Delivery,
  type Step,
} from "./delivery.ts";
import { planOfPush, pushedBy } from "./deliver-push.ts";
import type { GithubPort, OwnItem } from "./github-port.ts";
import type { Made } from "./graphql.ts";
import { GithubFailure } from "./github-api.ts";
import { safeTitle } from "../text/harmless-text.ts";
import { bodyOf, byline, markerLine, maxBody, safeText, type Publisher } from "./comments.ts";
import { safeCell } from "./markdown.ts";

interface Proposed extends CollectedProposal {
  /** Names the workflow run and the content: a further attempt finds what an earlier one has published. */
  readonly key: string;
}

/** Agents run side by side, so the position of a proposal can differ in a further attempt. Its key doesn't. */
export function withKeys(
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

export function deliverProposal(delivering: Delivering, proposed: Proposed): Promise<Delivery> {
  const { about, published } = delivering;
  const { proposal, key } = proposed;
  const { kind } = proposal;
  const allowed = about.outputs.proposals?.[kind];
  const writing = { what: proposalName(proposal, about.origin), needs: needs[kind] };
  const { what } = writing;
  return attempt(delivering, writing, async () => {
    if (allowed === undefined)
      return refused(what, `\`outputs.proposals\` of the entry doesn't allow it`);
    const known = published.get(kind) ?? (await publishedOf(delivering, kind));
    published.set(kind, known);
    const { max = defaultOutputs.proposals.max } = allowed;
    const units = countedParts(proposal).map((unit) => key + unit);
    // Earlier attempts count, so that a re-run of an agent that chooses other words stays within the limit.
    if (!known.has(key) && known.size + units.length > max)
      return skipped(what, `\`outputs.proposals.${kind}.max\` is ${max}`);
    const plan = await planOf(delivering, proposed, what);
    if ("status" in plan) return plan;
    let delivery = skipped(what, "there is nothing to do");
    for (const { preview, isMarked, send } of plan) {
      const before = isMarked === true ? known.get(key) : undefined;
      const find = async (): Promise<Made | undefined> =>
        (await publishedOf(delivering, kind)).get(key);
      delivery =
        before === undefined
          ? await write(delivering, { ...writing, preview }, send, isMarked && find)
          : { ...skipped(what, "it is there already"), ...before };
    }
    for (const unit of units) known.set(unit, {});
    return delivery;
  });
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
  { about, github, ours }: Delivering,
  kind: Proposal["kind"],
): Promise<Map<string, Made>> {
  const { number, workflowRun } = about.origin;
  if (kind === "label" || kind === "reviewers") return new Map();
  if (kind === "push") return pushedBy(workflowRun, github, number);
  const isItem = kind === "issue" || kind === "pull_request";
  const comments = isItem || number === undefined ? [] : await github.ownComments(number);
  const all: readonly Written[] = isItem ? await github.ownItems(kind) : comments;
  const keyed = all.flatMap(({ body, url }): [string, Made][] => {
    const { key = "" } = ours(body, kind) ?? {};
    return key.startsWith(`${workflowRun}/`) ? [[key, { url }]] : [];
  });
  return new Map(keyed);
}

type Written = Pick<OwnItem, "body"> & Made;

async function planOf(
  { about, github }: Delivering,
  { proposal, task, key }: Proposed,
  what: string,
): Promise<readonly Step[] | Delivery> {
  const { origin, outputs } = about;
  const allowed = outputs.proposals ?? {};
  if ("number" in proposal && proposal.number !== undefined && proposal.number !== origin.number)
    return refused(what, `it is about #${proposal.number}, which is not that of the run`);
  const text =
    proposal.kind === "label" || proposal.kind === "reviewers" || proposal.kind === "push"
      ? ""
      : proposalBody(proposal, { ...about, task, key });
  if (proposal.kind === "issue") {
    const title = safeTitle((allowed.issue?.titlePrefix ?? "") + proposal.title);
    const send = (): Promise<Made> => github.createIssue({ title, body: text });
    return [{ preview: `${title}\n\n${text}`, isMarked: true, send }];
  }
  if (proposal.kind === "push")
    return planOfPush(github, { origin, proposal, key, allowed: allowed.push }, what);
  if (proposal.kind === "pull_request") {
    const { paths, branchPrefix, draft } = {
      ...defaultOutputs.proposals,
      ...allowed.pull_request,
    };
    const problem = notProposable(proposal.files, paths);
    if (problem !== undefined) return refused(what, problem);
    const { base, files } = proposal;
    if (!isBranch(proposal.branch) || !/^[0-9a-f]{40,64}$/.test(base))
      return refused(what, "the name of its branch or its commit is not valid");
    // The branch would bring all commits below it, also those of a fork.
    if (!(await github.isOnDefaultBranch(base)))
      return refused(what, `it is based on ${base}, which is not in the default branch`);
    const title = safeTitle(proposal.title);
    // No other proposal has the name: an earlier attempt, or another leg, may have chosen the same branch.
    const branch = `${branchPrefix}${proposal.branch}-${key.replace("/", "-")}`;
    const names = files.map(({ path }) => path).join("\n");
    return [
      {
        preview: `${title} (${branch})\n\n${text}\n\n${names}`,
        isMarked: true,
        async send() {
          const { isNew } = await github.commit({ base, branch, message: title, files });
          try {
            return await github.createPullRequest({ title, body: text, branch, isDraft: draft });
          } catch (error) {
            // After an uncertain failure, the pull request may exist. Deleting its branch would close it.
            if (!isNew || !(error instanceof GithubFailure) || error.isUncertain) throw error;
            throw await withoutBranch(github, branch, error);
          }
        },
      },
    ];
  }
  const { number } = origin;
  if (number === undefined) return skipped(what, "the run has no issue or pull request");
  const comment: Step = {
    preview: text,
    isMarked: true,
    send: () => github.createComment(number, text),
  };
  switch (proposal.kind) {
    case "comment":
      return [comment];
    case "label": {
      const { labels } = proposal;
      if (labels.length === 0) return refused(what, "it names no labels");
      const other = labels.find((one) => allowed.label?.allowed.includes(one) !== true);
      if (other !== undefined)
        return refused(what, `the label ${JSON.stringify(other)} is not allowed`);
      return [{ preview: "", send: () => github.addLabels(number, labels) }];
    }
    case "reviewers": {
      if (origin.isPullRequest !== true) return skipped(what, "the run has no pull request");
      const { reviewers } = proposal;
      if (reviewers.length === 0) return refused(what, "it names no reviewers");
      const other = reviewers.find((one) => allowed.reviewers?.allowed?.includes(one) === false);
      if (other !== undefined) return refused(what, `${JSON.stringify(other)} is not allowed`);
      return [{ preview: "", send: () => github.requestReviewers(number, reviewers) }];
    }
    case "close": {
      const close = { preview: text, send: () => github.close(number) };
      return proposal.reason === undefined ? [close] : [comment, close];
    }
  }
}

/** The refusal of a pull request, whose branch nobody needs then. */
async function withoutBranch(
  github: GithubPort,
  branch: string,
  { message, status }: GithubFailure,
): Promise<GithubFailure> {
  try {
    await github.deleteBranch(branch);
    return new GithubFailure(message, status);
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    return new GithubFailure(`${message}. Its branch ${branch} stays: ${error.message}`, status);
  }
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
