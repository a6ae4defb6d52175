/**
 * Delivers the changes of a job as one commit on the branch of its pull request. GitHub accepts it only on the head that
 * the agents saw, so nothing that somebody else pushed is lost. A trailer of the message finds the commit again, and
 * counts the commits of agent-jobs in a row: a job that is started by its own commits comes to an end.
 */
import { defaultOutputs, type ProposalsOutput } from "../entry/outputs.ts";
import type { Origin, Proposal } from "../events/output-shapes.ts";
import { executablesIn, notProposable } from "../outputs/check-proposal.ts";
import {
  harmless,
  safeTitle,
  withoutInstructions,
  withoutReferences,
} from "../text/harmless-text.ts";
import { truncate } from "../text/truncate.ts";
import { refused, skipped, type Delivery, type Step } from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import type { GithubPort } from "./github-port.ts";
import type { Made } from "./graphql.ts";
import { readTrailer, trailer } from "./push-port.ts";

interface Push {
  readonly origin: Origin;
  readonly proposal: Extract<Proposal, { kind: "push" }>;
  readonly key: string;
  readonly allowed: ProposalsOutput["push"];
}

type Port = Pick<GithubPort, "pullOf" | "messageOf" | "commitOnBranch">;

export async function planOfPush(
  github: Port,
  { origin, proposal, key, allowed = {} }: Push,
  what: string,
): Promise<readonly Step[] | Delivery> {
  const { number, isPullRequest } = origin;
  const { files, base } = proposal;
  if (isPullRequest !== true || number === undefined)
    return refused(what, "the run has no pull request");
  const problem = notProposable(files, allowed.paths);
  if (problem !== undefined) return refused(what, problem);
  const [executable] = executablesIn(files);
  if (executable !== undefined)
    return refused(
      what,
      `${JSON.stringify(executable.path)} is executable, which a push can't keep`,
    );
  if (!/^[0-9a-f]{40,64}$/.test(base)) return refused(what, "its commit is not valid");
  const { head, branch, isFork, isDefault } = await github.pullOf(number);
  if (isFork) return refused(what, "the branch is in a fork");
  if (isDefault) return refused(what, `${JSON.stringify(branch)} is the default branch`);
  const last = head === undefined ? undefined : readTrailer(await github.messageOf(head));
  if (last?.key === key) return skipped(what, "it is there already");
  if (head !== undefined && head !== base) return refused(what, outdatedPush(number));
  const { max = defaultOutputs.proposals.max } = allowed;
  const { count = 0 } = last ?? {};
  if (count >= max) {
    const commits =
      count === 1 ? "last commit of the branch is" : `last ${count} commits of the branch are`;
    return refused(
      what,
      `the ${commits} by agent-jobs, and \`outputs.proposals.push.max\` is ${max}. A commit of anybody else starts the count anew`,
    );
  }
  const headline = safeTitle(proposal.title);
  const body = messageBody(proposal, `${trailer}: ${count + 1} (${key})`);
  const send = async (): Promise<Made> => {
    try {
      return await github.commitOnBranch({ branch, head: base, headline, body, files });
    } catch (error) {
      if (!(error instanceof GithubFailure) || error.status !== 409) throw error;
      // The commit of an earlier request, which GitHub hadn't answered, or one of somebody else.
      const made = (await pushedBy(origin.workflowRun, github, number)).get(key);
      if (made !== undefined) return made;
      throw new GithubFailure(`${outdatedPush(number)} (${error.message})`, error.status);
    }
  };
  const names = files.map(({ path }) => path).join("\n");
  return [{ preview: `${headline}\n\n${body}\n\n${names}`, isMarked: true, send }];
}

function outdatedPush(number: number): string {
  return `outdated: somebody pushed to #${number} after the job had started. Start the job for the new head; changes of an older head can't be pushed`;
}

/** The last push of the run: its commit is the head of the pull request. */
export async function pushedBy(
  workflowRun: string,
  github: Port,
  number: number | undefined,
): Promise<Map<string, Made>> {
  if (number === undefined) return new Map();
  const { head } = await github.pullOf(number);
  const key = head === undefined ? undefined : readTrailer(await github.messageOf(head))?.key;
  return new Map(key?.startsWith(`${workflowRun}/`) === true ? [[key, {}]] : []);
}

const MAX_BODY = 5_000;

/** Lines of the agent are never trailers, which could name another author or reset the count. */
function messageBody({ body = "" }: Pick<Push["proposal"], "body">, last: string): string {
  const text = harmless(truncate(body, MAX_BODY, "…"))
    .trim()
    .replace(/^(\s*[\w-]*-(?:by|push))(?=\s*:)/gim, "$1\u2060");
  const safe = withoutInstructions(withoutReferences(text));
  return safe === "" ? last : `${safe}\n\n${last}`;
}
