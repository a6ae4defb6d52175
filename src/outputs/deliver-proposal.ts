/** One proposal of an agent, checked again against what the entry allows, and done. */
import { defaultOutputs } from "../entry/outputs.ts";
import type { Origin, Proposal } from "../events/output-shapes.ts";
import { isBranch, notProposable } from "./check-proposal.ts";
import {
  attempt,
  refused,
  skipped,
  write,
  writeOnce,
  type Delivering,
  type Delivery,
  type Writing,
} from "./delivery.ts";
import type { Made } from "./github-port.ts";
import { safeTitle } from "./harmless-text.ts";
import { bodyOf, byline, markerLine, maxBody, safeText, type Publisher } from "./comment-parts.ts";
import { safeCell } from "./safe-markdown.ts";

interface Proposed {
  readonly proposal: Proposal;
  readonly task: string;
  /** The same for the same proposal of a further attempt of the workflow run. */
  readonly key: string;
}

export function deliverProposal(delivering: Delivering, proposed: Proposed): Promise<Delivery> {
  const { proposal } = proposed;
  const writing = { what: proposalName(proposal, delivering.about.origin), needs: needs(proposal) };
  return attempt(delivering, writing, () => tried(delivering, proposed, writing));
}

async function tried(
  delivering: Delivering,
  proposed: Proposed,
  { what, needs: permissions }: Writing,
): Promise<Delivery> {
  const { about, github } = delivering;
  const { proposal, task, key } = proposed;
  const { origin, outputs } = about;
  const allowed = outputs.proposals ?? {};
  if (allowed[proposal.kind] === undefined)
    return refused(what, `\`outputs.proposals\` of the entry doesn't allow it`);
  if ("number" in proposal && proposal.number !== undefined && proposal.number !== origin.number)
    return refused(what, `it is about #${proposal.number}, and the run is about another`);
  const { number } = origin;
  const body = (): string =>
    proposal.kind === "label" || proposal.kind === "reviewers"
      ? ""
      : proposalBody(proposal, { ...about, task, key });
  const writing = (preview: string): Writing => ({ what, needs: permissions, preview });
  switch (proposal.kind) {
    case "issue": {
      const text = body();
      const title = safeTitle((allowed.issue?.titlePrefix ?? "") + proposal.title);
      return item(delivering, proposed, writing(`${title}\n\n${text}`), "issue", () =>
        github.createIssue({ title, body: text }),
      );
    }
    case "pull_request": {
      const { paths, branchPrefix, draft } = {
        ...defaultOutputs.proposals,
        ...allowed.pull_request,
      };
      const problem = notProposable(proposal.files, paths);
      if (problem !== undefined) return refused(what, problem);
      const { base, files } = proposal;
      if (!isBranch(proposal.branch) || !/^[0-9a-f]{40,64}$/.test(base))
        return refused(what, "the name of its branch or its commit is not valid");
      // Else whatever that commit has would come with it, of a fork for example.
      if (!(await github.isOnDefaultBranch(base)))
        return refused(what, `it is based on ${base}, which is not in the default branch`);
      const title = safeTitle(proposal.title);
      const text = body();
      const branch = ownBranch(
        delivering.branches,
        `${branchPrefix}${proposal.branch}-${origin.workflowRun}`,
      );
      const names = files.map(({ path }) => path).join("\n");
      const preview = `${title} (${branch})\n\n${text}\n\n${names}`;
      return item(delivering, proposed, writing(preview), "pull_request", async () => {
        await github.commit({ base, branch, message: title, files });
        return github.createPullRequest({ title, body: text, branch, isDraft: draft });
      });
    }
    default:
  }
  if (number === undefined) return skipped(what, "the run is about no issue or pull request");
  switch (proposal.kind) {
    case "comment": {
      const text = body();
      return comment(delivering, proposed, writing(text), number, text);
    }
    case "label": {
      const { labels } = proposal;
      if (labels.length === 0) return refused(what, "it names none");
      const other = labels.find((one) => allowed.label?.allowed.includes(one) !== true);
      if (other !== undefined)
        return refused(what, `the label ${JSON.stringify(other)} is not allowed`);
      return write(delivering, writing(""), () => github.addLabels(number, labels));
    }
    case "reviewers": {
      if (origin.isPullRequest !== true) return skipped(what, "the run is about no pull request");
      const { reviewers } = proposal;
      if (reviewers.length === 0) return refused(what, "it names none");
      const other = reviewers.find((one) => allowed.reviewers?.allowed?.includes(one) === false);
      if (other !== undefined) return refused(what, `${JSON.stringify(other)} is not allowed`);
      return write(delivering, writing(""), () => github.requestReviewers(number, reviewers));
    }
    case "close": {
      const text = body();
      if (proposal.reason !== undefined) {
        const said = await comment(delivering, proposed, writing(text), number, text);
        if (said.status === "refused") return said;
      }
      return write(delivering, writing(text), () => github.close(number));
    }
  }
}

/** A comment that an earlier attempt of the run has written is not written again. */
async function comment(
  delivering: Delivering,
  { proposal, key }: Proposed,
  writing: Writing,
  number: number,
  text: string,
): Promise<Delivery> {
  const { github, ours } = delivering;
  const kind = proposal.kind === "close" ? "close" : "comment";
  const find = async (): Promise<Made | undefined> =>
    (await github.ownComments(number)).some(({ body }) => ours(body, kind)?.key === key)
      ? {}
      : undefined;
  if ((await find()) !== undefined) return skipped(writing.what, "it is there already");
  return writeOnce(delivering, writing, {
    find,
    create: () => github.createComment(number, text),
  });
}

async function item(
  delivering: Delivering,
  { key }: Proposed,
  writing: Writing,
  kind: "issue" | "pull_request",
  create: () => Promise<Made>,
): Promise<Delivery> {
  const { github, ours } = delivering;
  const find = async (): Promise<Made | undefined> => {
    const found = (await github.ownItems(kind)).find(({ body }) => ours(body, kind)?.key === key);
    return found && { url: found.url };
  };
  const before = await find();
  if (before !== undefined) return { ...skipped(writing.what, "it is there already"), ...before };
  return writeOnce(delivering, writing, { find, create });
}

/** Two tasks may choose the same name. In a further attempt, each gets the same again. */
function ownBranch(taken: Set<string>, name: string): string {
  const branch = taken.has(name) ? `${name}-${taken.size + 1}` : name;
  taken.add(branch);
  return branch;
}

function needs({ kind }: Proposal): string {
  switch (kind) {
    case "reviewers":
      return "`pull-requests: write`";
    case "pull_request":
      return "`contents: write` and `pull-requests: write`";
    case "issue":
      return "`issues: write`";
    case "comment":
    case "label":
    case "close":
      return "`issues: write`, on a pull request `pull-requests: write`";
  }
}

export function proposalName(proposal: Proposal, { number }: Origin): string {
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
    case "close":
      return `closing${target}`;
  }
}

interface ProposedText extends Publisher {
  readonly task: string;
  /** By which a re-run finds what was written already. */
  readonly key: string;
}

const MAX_REASON = 1_000;

type WithText = Extract<Proposal, { kind: "comment" | "issue" | "pull_request" | "close" }>;

/** Of what is to be closed: the comment that says why. */
export function proposalBody(proposal: WithText, about: ProposedText): string {
  const { kind, reason = "" } = proposal;
  const why = safeCell(reason, { maxLength: MAX_REASON });
  const text = "body" in proposal ? proposal.body : "";
  return bodyOf(markerLine(about, { kind, key: about.key }), [
    safeText(text, maxBody - 10_000, about),
    why === "" ? "" : `**Why:** ${why}`,
    byline(about, about.task),
  ]);
}
