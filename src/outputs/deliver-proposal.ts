import { defaultOutputs } from "../entry/outputs.ts";
import type { Origin, Proposal } from "../events/output-shapes.ts";
import { isBranch, notProposable } from "./check-proposal.ts";
import { attempt, refused, skipped, write, type Delivering, type Delivery } from "./delivery.ts";
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
  const writing = {
    what: proposalName(proposal, delivering.about.origin),
    needs: needs[proposal.kind],
  };
  return attempt(delivering, writing, async () => {
    const plan = await planOf(delivering, proposed, writing.what);
    if ("status" in plan) return plan;
    let delivery = skipped(writing.what, "there is nothing to do");
    for (const { preview, find, send } of plan) {
      const before = await find?.();
      delivery =
        before === undefined
          ? await write(delivering, { ...writing, preview }, send, find)
          : { ...skipped(writing.what, "it is there already"), ...before };
    }
    return delivery;
  });
}

/** A request. With `find`, it is not sent if an earlier attempt of the run has made the same. */
interface Step {
  readonly preview: string;
  readonly find?: () => Promise<Made | undefined>;
  readonly send: () => Promise<Made>;
}

async function planOf(
  { about, github, branches, ours }: Delivering,
  { proposal, task, key }: Proposed,
  what: string,
): Promise<readonly Step[] | Delivery> {
  const { origin, outputs } = about;
  const allowed = outputs.proposals ?? {};
  if (allowed[proposal.kind] === undefined)
    return refused(what, `\`outputs.proposals\` of the entry doesn't allow it`);
  if ("number" in proposal && proposal.number !== undefined && proposal.number !== origin.number)
    return refused(what, `it is about #${proposal.number}, and the run is about another`);
  const text =
    proposal.kind === "label" || proposal.kind === "reviewers"
      ? ""
      : proposalBody(proposal, { ...about, task, key });
  const item = async (kind: "issue" | "pull_request"): Promise<Made | undefined> => {
    const found = (await github.ownItems(kind)).find(({ body }) => ours(body, kind)?.key === key);
    return found && { url: found.url };
  };
  if (proposal.kind === "issue") {
    const title = safeTitle((allowed.issue?.titlePrefix ?? "") + proposal.title);
    const send = (): Promise<Made> => github.createIssue({ title, body: text });
    return [{ preview: `${title}\n\n${text}`, find: () => item("issue"), send }];
  }
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
    // Else whatever that commit has would come with it, of a fork for example.
    if (!(await github.isOnDefaultBranch(base)))
      return refused(what, `it is based on ${base}, which is not in the default branch`);
    const title = safeTitle(proposal.title);
    const branch = ownBranch(branches, `${branchPrefix}${proposal.branch}-${origin.workflowRun}`);
    const names = files.map(({ path }) => path).join("\n");
    return [
      {
        preview: `${title} (${branch})\n\n${text}\n\n${names}`,
        find: () => item("pull_request"),
        async send() {
          await github.commit({ base, branch, message: title, files });
          return github.createPullRequest({ title, body: text, branch, isDraft: draft });
        },
      },
    ];
  }
  const { number } = origin;
  if (number === undefined) return skipped(what, "the run is about no issue or pull request");
  const comment = (kind: "comment" | "close"): Step => ({
    preview: text,
    async find() {
      const all = await github.ownComments(number);
      return all.some(({ body }) => ours(body, kind)?.key === key) ? {} : undefined;
    },
    send: () => github.createComment(number, text),
  });
  switch (proposal.kind) {
    case "comment":
      return [comment("comment")];
    case "label": {
      const { labels } = proposal;
      if (labels.length === 0) return refused(what, "it names none");
      const other = labels.find((one) => allowed.label?.allowed.includes(one) !== true);
      if (other !== undefined)
        return refused(what, `the label ${JSON.stringify(other)} is not allowed`);
      return [{ preview: "", send: () => github.addLabels(number, labels) }];
    }
    case "reviewers": {
      if (origin.isPullRequest !== true) return skipped(what, "the run is about no pull request");
      const { reviewers } = proposal;
      if (reviewers.length === 0) return refused(what, "it names none");
      const other = reviewers.find((one) => allowed.reviewers?.allowed?.includes(one) === false);
      if (other !== undefined) return refused(what, `${JSON.stringify(other)} is not allowed`);
      return [{ preview: "", send: () => github.requestReviewers(number, reviewers) }];
    }
    case "close": {
      const close = { preview: text, send: () => github.close(number) };
      return proposal.reason === undefined ? [close] : [comment("close"), close];
    }
  }
}

/** Two tasks may choose the same name. In a further attempt, each gets the same again. */
function ownBranch(taken: Set<string>, name: string): string {
  const branch = taken.has(name) ? `${name}-${taken.size + 1}` : name;
  taken.add(branch);
  return branch;
}

const onItem = "`issues: write`, on a pull request `pull-requests: write`";
const needs: Readonly<Record<Proposal["kind"], string>> = {
  comment: onItem,
  label: onItem,
  close: onItem,
  reviewers: "`pull-requests: write`",
  issue: "`issues: write`",
  pull_request: "`contents: write` and `pull-requests: write`",
};

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
