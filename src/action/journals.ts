/** The parts of a job, the legs of a matrix, and their journals. */
import { createHash, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { oneLine } from "../text/harmless-text.ts";
import { defined, isRecord } from "../text/guards.ts";
import { artifactsOf, journalsInArtifact } from "../github/artifacts.ts";
import { GithubFailure } from "../github/github-api.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { RunReport } from "../run/execute.ts";
import { UsageError } from "../run/options.ts";
import { readEarlierJob } from "../run/past-run.ts";
import { prepareRun, type PreparedRun, type RunOptions } from "../run/prepare.ts";
import type { ContinueOptions } from "../run/prepared-run.ts";
import { checkShards, matrixOf } from "../run/shards.ts";
import type { Outputs } from "../github/step-outputs.ts";
import { asInput, AUTO, type Environment, type Inputs } from "./inputs.ts";
import type { Paths } from "./paths.ts";
import { apiOf, temporaryFolder, type Setting } from "./setting.ts";

export async function partOf(
  { mode, shard, shards, onMissing }: Inputs,
  { journals }: Paths,
): Promise<ContinueOptions & Pick<RunOptions, "jobName">> {
  if (mode === "plan") {
    checkShards(shards ?? 0, asInput("shards"));
    return { plan: true, ...defined({ shards }) };
  }
  if (mode === "merge") {
    // A journal that can't be read is reported with the others.
    const earlier = await readEarlierJob(journals[0] ?? "").catch(() => undefined);
    return { journals, onMissing, jobName: earlier?.started?.jobName };
  }
  return defined({ shard });
}

export async function outputsOfPlan(
  { inputs, environment }: Setting,
  journal: string | undefined,
  { outcome }: RunReport,
): Promise<Partial<Outputs>> {
  if (outcome.kind !== "succeeded" || journal === undefined) return {};
  return {
    matrix: JSON.stringify(await matrixOf(journal, inputs.shards ?? 1)),
    "journal-pattern": `${artifactPrefix(environment, inputs)}-*`,
  };
}

const MAX_ATTEMPTS = 10;

export function journalArtifact(
  environment: Environment,
  inputs: Inputs,
  attempt = environment["GITHUB_RUN_ATTEMPT"],
): string | undefined {
  if (attempt === undefined || attempt === "") return undefined;
  const { job = "", mode, shard } = inputs;
  const part = shard === undefined ? mode : `${shard.index}-of-${shard.count}`;
  const names = [environment["GITHUB_JOB"] ?? "", job, part === "run" ? "" : part]
    .filter((name) => name !== "")
    .map((name) => name.replace(/[^\w.-]/g, "-").slice(0, 60));
  return [artifactPrefix(environment, inputs), ...names, attempt].join("-");
}

/** All parts of a job have it, and no other step of the workflow run that is given something else. */
function artifactPrefix(environment: Environment, inputs: Inputs): string {
  const { entry, userInput, userInputFile, base, models, prompt, promptFile, outputs } = inputs;
  const asked = [legOf(environment, inputs), entry, userInput, userInputFile, base, models];
  const texts = [inputs.inputs, inputs.params, inputs.answers, prompt, promptFile, outputs];
  return `agent-jobs-${digestOf([...asked, ...texts]).slice(0, 8)}`;
}

export async function prepareAttempt(
  setting: Setting,
  options: RunOptions,
  warn: (text: string) => void,
): Promise<PreparedRun> {
  const { mode, resume: asked, shard } = setting.inputs;
  // A part of a job always goes on: what other parts have done depends on it.
  const isPart = mode === "plan" || shard !== undefined;
  const resume = isPart || asked === AUTO ? await earlierJournal(setting, warn) : undefined;
  if (resume === undefined || !(await isOfPlan(resume, options))) return prepareRun(options);
  try {
    // From the beginning, the interrupted commands would run again, too.
    return await prepareRun({ ...options, resume, rerun: true });
  } catch (error) {
    // A mistake elsewhere is reported by the second call, too.
    if (!(error instanceof UsageError)) throw error;
    const prepared = await prepareRun(options);
    warn(`The job starts from the beginning. ${error.message}`);
    return prepared;
  }
}

/** Work of a shard of another plan doesn't count, because that plan may have found other items. */
async function isOfPlan(journal: string, { shard, resume }: RunOptions): Promise<boolean> {
  if (shard === undefined || resume === undefined) return true;
  const plan = await readEarlierJob(resume);
  const { started } = await readEarlierJob(journal);
  return started?.part?.kind === "shard" && started.part.plan === plan.started?.runId;
}

async function earlierJournal(
  setting: Setting,
  warn: (text: string) => void,
): Promise<string | undefined> {
  const { inputs, environment, say } = setting;
  const attempt = Number(environment["GITHUB_RUN_ATTEMPT"]);
  if (!(attempt > 1)) return undefined;
  const { api } = apiOf(setting);
  try {
    const oldest = Math.max(1, attempt - MAX_ATTEMPTS);
    for (let earlier = attempt - 1; earlier >= oldest; earlier -= 1) {
      const name = journalArtifact(environment, inputs, String(earlier));
      if (name === undefined) break;
      const [found] = await artifactsOf(api, environment["GITHUB_RUN_ID"] ?? "", name);
      if (found === undefined) continue;
      const [journal, ...others] = await journalsInArtifact(api, found);
      if (journal === undefined || others.length > 0)
        throw new Error("the artifact must have one file whose name ends with .jsonl");
      const path = join(temporaryFolder(environment), `${name}-${randomUUID()}.jsonl`);
      await writeFile(path, journal, { flag: "wx", mode: 0o600 });
      say(`Resume: continuing from the journal of attempt ${earlier} (${name}).`);
      return path;
    }
    say("Resume: no earlier attempt uploaded a journal. The job starts from the beginning.");
  } catch (error) {
    const needs =
      error instanceof GithubFailure && (error.status === 403 || error.status === 404)
        ? " The job needs `permissions: actions: read`."
        : "";
    warn(
      `Can't read the journal of the earlier attempt: ${errorMessage(error)}.${needs} The job starts from the beginning.`,
    );
  }
  return undefined;
}

/*
 * The key of a leg tells the legs of a matrix apart: in the names of artifacts, in journals and in the markers of
 * comments. It is the same in every attempt of a workflow run, and in later runs with the same configuration.
 */

/** Inputs that configure a leg. The user input is a text of the event, so a later run of the same leg has another. */
const telling = [
  "workingDirectory",
  "models",
  "permissions",
  "inputs",
  "params",
] as const satisfies readonly (keyof Inputs)[];

export function legOf(environment: Environment, inputs: Inputs): string {
  const { mode, shard, leg = "null", provider } = inputs;
  const matrix = matrixIn(leg);
  if (matrix === undefined) return digestOf([leg]);
  // The parts of a job are one leg, wherever they run.
  const isPart = mode !== "run" || shard !== undefined;
  const place = [matrix, environment["RUNNER_OS"], environment["RUNNER_ARCH"]];
  const server = [provider?.type, provider?.baseUrl, provider?.wireApi];
  // The base commit differs between runs. The key must not, or later runs don't find the comment.
  const base = inputs.base?.replaceAll(/\b[0-9a-f]{40,64}\b/g, "");
  return digestOf([isPart ? [] : place, telling.map((name) => inputs[name]), base, server]);
}

const MAX_NAME = 100;

/** The display name of a leg: the values of its matrix, as in the names of jobs on GitHub. Undefined outside of a matrix. */
export function legNameOf({ leg = "null" }: Pick<Inputs, "leg">): string | undefined {
  const values = Object.values(matrixIn(leg) ?? { leg }).map((value) =>
    typeof value === "string" ? value : JSON.stringify(value),
  );
  return values.length === 0 ? undefined : oneLine(values.join(", "), MAX_NAME);
}

/** Reads `toJSON(matrix)`, which is `null` outside of a matrix. Undefined: the user has named the leg. */
function matrixIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value === null ? {} : isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(values: unknown): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 12);
}
