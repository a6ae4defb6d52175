/**
 * Delivers what the journal of a run publishes. Anybody who could start that run may have written it. Within one
 * workflow run, the digest that went from job to job proves where it is from. Across runs its content is untrusted, and
 * GitHub is asked which pull request the run was for. The entry of the base, never the journal, says what is allowed.
 */
import { createHash } from "node:crypto";
import { loadEntry } from "../entry/prepare.ts";
import { outputsOf, type Outputs } from "../entry/outputs.ts";
import type { Origin } from "../events/output-shapes.ts";
import { viewsOf, type RunView } from "../events/view.ts";
import { readJournal } from "../journal/read.ts";
import { deliver } from "./deliver.ts";
import { skipped, type Delivery } from "./delivery.ts";
import type { Environment } from "../platform/environment.ts";
import { readSmallFile } from "../platform/files.ts";
import { systemClock } from "../platform/system-clock.ts";
import { errorMessage } from "../platform/system-error.ts";
import { jobReport } from "../reports/run-json.ts";
import { diagnosticLine } from "../document/diagnostic.ts";
import { filesOfBase, type CentralFiles, type CommitFiles } from "./commit-files.ts";
import { NotFoundError, type GithubApi } from "./github-api.ts";
import { originOf } from "./origin.ts";
import { at, payloadOf, sha } from "./webhook-event.ts";
import { createGithubPort } from "./github-port.ts";

export interface JournalToDeliver {
  readonly journal: string;
  /** The entry file in the repository, with slashes. */
  readonly entry: string;
  /** If the entry is in another repository. */
  readonly central?: CentralFiles | undefined;
  /** Default: the only one of the entry. */
  readonly job?: string | undefined;
  /** SHA-256 of the bytes of the journal, in hex. */
  readonly digest?: string | undefined;
  readonly staged: boolean;
  readonly environment: Environment;
  /** Reads. */
  readonly api: GithubApi;
  /** Writes, with a token of its own. Default: `api`. */
  readonly deliveryApi?: GithubApi;
  readonly redact: (text: string) => string;
}

/** The journal is not what it should be: nothing was delivered. The message says why. */
export class JournalRefused extends Error {}

const largestJournal = 200_000_000;

export async function deliverJournal(
  asked: JournalToDeliver,
): Promise<{ readonly view: RunView; readonly deliveries: readonly Delivery[] }> {
  const { environment, api, staged, central } = asked;
  const entry = central?.name ?? asked.entry;
  const here = await originOf(environment, api);
  if (here === undefined)
    throw new JournalRefused(
      "Delivery needs GITHUB_REPOSITORY and GITHUB_RUN_ID, as GitHub Actions sets them.",
    );
  const { view, digest } = readRun(asked.journal);
  api.beginDelivery();
  const payload = await payloadOf(environment["GITHUB_EVENT_PATH"]);
  const origin = await trustedOrigin(view.plan?.origin, here, payload, digest, asked);
  const files =
    central ??
    filesOfBase(api, baseOf(payload, here, environment), "The token needs `contents: read`.");
  const outputs = await outputsOfEntry(asked, view.jobName, files);
  const isNamed = typeof outputs !== "string";
  // The journal has its own, which nobody has checked.
  if (view.plan !== undefined) view.plan = { ...view.plan, outputs: isNamed ? outputs : {} };
  if (!isNamed) return { view, deliveries: [{ what: "everything", ...skipped(outputs) }] };
  const deliveries = await deliver(
    { view, outputs, origin, entry, job: view.jobName, report: jobReport(view) },
    createGithubPort(asked.deliveryApi ?? api, asked.redact),
    { staged, clock: systemClock },
  );
  return { view, deliveries };
}

function readRun(path: string): { readonly view: RunView; readonly digest: string } {
  let bytes: Uint8Array;
  try {
    const read = readSmallFile(path, largestJournal);
    if (read === undefined)
      throw new Error(`it is not a regular file, or has more than ${largestJournal} bytes`);
    bytes = read;
  } catch (error) {
    throw new JournalRefused(`Can't read the journal ${path}: ${errorMessage(error)}.`);
  }
  const { events, problems } = readJournal(
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes),
  );
  const [problem] = problems;
  if (problem !== undefined)
    throw new JournalRefused(`The journal ${path} is damaged: ${problem.reason}`);
  const starts = events.filter(({ type }) => type === "run.started").length;
  if (starts !== 1)
    throw new JournalRefused(`The journal ${path} has ${starts} runs. Give one with one run.`);
  const [view] = viewsOf(events).values();
  if (view?.endedAt === undefined)
    throw new JournalRefused(`The run of the journal ${path} has not ended.`);
  const { part, rehearsed } = view.plan ?? {};
  if (rehearsed === true)
    throw new JournalRefused(
      `The journal ${path} is of a rehearsal: a script played the model. Deliver the journal of a real run.`,
    );
  if (part?.kind === "plan" || part?.kind === "shard")
    throw new JournalRefused(
      `The journal ${path} is of a ${part.kind}, which is only a part of the job. Deliver the journal of their merge.`,
    );
  return { view, digest: createHash("sha256").update(bytes).digest("hex") };
}

/** Returns the origin that the journal claims, as far as it can be verified. */
async function trustedOrigin(
  claimed: Origin | undefined,
  here: Origin,
  payload: unknown,
  digest: string,
  asked: JournalToDeliver,
): Promise<Origin> {
  if (claimed === undefined)
    throw new JournalRefused("The journal is of a run outside of GitHub Actions.");
  if (claimed.repository !== here.repository)
    throw new JournalRefused(
      `The journal is of a run in ${claimed.repository}, and this is ${here.repository}.`,
    );
  if (asked.digest !== undefined && asked.digest.toLowerCase() !== digest)
    throw new JournalRefused(
      `The journal was changed: its SHA-256 is ${digest}, not ${asked.digest}.`,
    );
  // The texts and links are those of here: a journal could name any server.
  const origin: Origin = { ...claimed, server: here.server };
  if (claimed.workflowRun === here.workflowRun) {
    if (asked.digest === undefined)
      throw new JournalRefused(
        "The digest is missing. Pass on the output `journal-digest` of the job that wrote the journal, as `journal-digest`.",
      );
    if (claimed.head !== here.head || claimed.number !== here.number)
      throw new JournalRefused(
        `The journal is about ${subject(claimed)}, and this event about ${subject(here)}.`,
      );
    return origin;
  }
  const run = at(payload, "workflow_run");
  if (here.event !== "workflow_run" || String(at(run, "id")) !== claimed.workflowRun)
    throw new JournalRefused(
      `The journal is of workflow run ${claimed.workflowRun}. This is run ${here.workflowRun}, and its event was started by no such run.`,
    );
  await checkUpstream(claimed, run, payload, asked.api);
  // A later one would keep a re-run from replacing the report.
  const attempt = at(run, "run_attempt");
  return { ...origin, attempt: typeof attempt === "number" ? attempt : 1 };
}

/** The journal is of the run that has started this one; whom that was for, only GitHub can tell. */
async function checkUpstream(
  { number, head, isPullRequest }: Origin,
  run: unknown,
  payload: unknown,
  api: GithubApi,
): Promise<void> {
  const headSha = sha(at(run, "head_sha"));
  const headRepository = at(run, "head_repository", "id");
  if (headSha === undefined || head !== headSha)
    throw new JournalRefused(
      `The journal is about commit ${head}, and its workflow run about ${headSha ?? "an unknown one"}.`,
    );
  if (number === undefined) {
    if (headRepository === at(payload, "repository", "id")) return;
    throw new JournalRefused(
      "The workflow run was for a fork, and its journal names no pull request.",
    );
  }
  if (isPullRequest !== true)
    throw new JournalRefused(
      `The journal is about issue #${number}, which no \`workflow_run\` is.`,
    );
  const pull = await createGithubPort(api, (text) => text).pullOf(number);
  if (pull.repositoryId === undefined || pull.repositoryId !== headRepository)
    throw new JournalRefused(
      `Pull request #${number} is not from the repository that the workflow run was for.`,
    );
}

function subject({ number, head }: Origin): string {
  return `${number === undefined ? "no pull request" : `#${number}`} at ${head}`;
}

/** The commit whose entry decides: nobody without write access can have changed it. */
function baseOf(payload: unknown, { event }: Origin, environment: Environment): string {
  // Only for `pull_request_target`, GITHUB_SHA is in the base: otherwise it is the merge of the pull request.
  const commit =
    event.startsWith("pull_request") && event !== "pull_request_target"
      ? at(payload, "pull_request", "base", "sha")
      : environment["GITHUB_SHA"];
  const base = sha(commit);
  if (base === undefined)
    throw new JournalRefused("The commit of the base is unknown: GITHUB_SHA is not set.");
  return base;
}

async function outputsOfEntry(
  { entry: named, job: asked, central }: JournalToDeliver,
  job: string,
  { read, called, commit, help }: CommitFiles,
): Promise<Outputs | string> {
  const entry = central?.path ?? named;
  let content: Uint8Array;
  try {
    content = await read(entry);
  } catch (error) {
    // A file of another repository has been named with its commit, so it is there.
    if (error instanceof NotFoundError && central === undefined)
      return `${entry} is not in the base (commit ${commit})`;
    throw new JournalRefused(
      `${entry} can't be read from ${called} (commit ${commit}): ${errorMessage(error)}. ${help}`,
    );
  }
  // What is allowed doesn't depend on the texts of prompts.
  const loaded = loadEntry(content, entry, { readPrompt: () => ({ kind: "read", text: "…" }) });
  if (loaded.kind === "rejected") {
    const [first] = loaded.diagnostics;
    throw new JournalRefused(
      `The entry of ${called} (commit ${commit}) is not valid: ${first === undefined ? entry : diagnosticLine(first)}`,
    );
  }
  const { jobs } = loaded.entry;
  if (!Object.hasOwn(jobs, job)) return `${entry} of ${called} has no job ${JSON.stringify(job)}`;
  const wanted = asked ?? onlyJob(jobs, entry);
  if (wanted !== job)
    throw new JournalRefused(
      `The journal is of job ${JSON.stringify(job)}, and ${JSON.stringify(wanted)} is to be delivered.`,
    );
  return outputsOf(loaded.entry, job) ?? {};
}

/** The journal doesn't choose: jobs may be allowed different things. */
function onlyJob(jobs: object, entry: string): string {
  const [only, ...others] = Object.keys(jobs);
  if (only !== undefined && others.length === 0) return only;
  throw new JournalRefused(`${entry} has several jobs. Name the one that is to be delivered.`);
}
