/**
 * The journal of an earlier attempt of the workflow run, from which `resume: auto` continues. It is an artifact that the
 * same run uploaded under a name that identifies the step: `journal-artifact`.
 */
import { createHash, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { isList, isRecord } from "../document/guards.ts";
import { GithubFailure } from "../outputs/github-port.ts";
import { errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import { readEarlierJob } from "../run/past-run.ts";
import { prepareRun, type PreparedRun, type RunOptions } from "../run/prepare.ts";
import type { GithubApi } from "../github/github-api.ts";
import type { Environment, Inputs } from "./inputs.ts";
import { apiOf, AUTO, type Setting } from "./preparation.ts";

/** As it is uploaded, and as it is when unpacked. */
const MAX_BYTES = { zip: 50_000_000, journal: 500_000_000 };
/** Attempts that are looked at, the latest first. */
const MAX_ATTEMPTS = 10;

/** Undefined outside of a workflow run. */
export function journalArtifact(
  environment: Environment,
  inputs: Inputs,
  attempt = environment["GITHUB_RUN_ATTEMPT"],
): string | undefined {
  if (inputs.journal === undefined || attempt === undefined || attempt === "") return undefined;
  const { job = "", mode, shard } = inputs;
  const part = shard === undefined ? mode : `${shard.index}-of-${shard.count}`;
  const names = [environment["GITHUB_JOB"] ?? "", job, part === "run" ? "" : part]
    .filter((name) => name !== "")
    .map((name) => name.replace(/[^\w.-]/g, "-").slice(0, 60));
  return [artifactPrefix(inputs), ...names, attempt].join("-");
}

/** All parts of a job have it, and no other step of the workflow run that is given something else. */
export function artifactPrefix({ entry, job, userInput, inputs, params }: Inputs): string {
  const asked = JSON.stringify([entry, job, userInput, inputs, params]);
  return `agent-jobs-${createHash("sha256").update(asked).digest("hex").slice(0, 8)}`;
}

/** Prepares the run, from the journal of an earlier attempt if there is one that can be resumed. */
export async function prepareAttempt(
  setting: Setting,
  options: RunOptions,
  warn: (text: string) => void,
): Promise<PreparedRun> {
  const resume = setting.inputs.resume === AUTO ? await earlierJournal(setting, warn) : undefined;
  if (resume === undefined || !(await isOfPlan(resume, options))) return prepareRun(options);
  try {
    return await prepareRun({ ...options, resume });
  } catch (error) {
    // What is wrong with more than the journal is wrong without it, too.
    if (!(error instanceof UsageError)) throw error;
    const prepared = await prepareRun(options);
    warn(`The job starts from the beginning. ${error.message}`);
    return prepared;
  }
}

/** What a shard of another plan has done does not count: the plan may have found other items. */
async function isOfPlan(journal: string, { shard, resume }: RunOptions): Promise<boolean> {
  if (shard === undefined || resume === undefined) return true;
  const plan = await readEarlierJob(resume);
  const { started } = await readEarlierJob(journal);
  return started?.part?.kind === "shard" && started.part.plan === plan.started?.runId;
}

/** Undefined: there is none, so the run starts from its beginning. */
async function earlierJournal(
  setting: Setting,
  warn: (text: string) => void,
): Promise<string | undefined> {
  const { inputs, environment } = setting;
  const attempt = Number(environment["GITHUB_RUN_ATTEMPT"]);
  if (!(attempt > 1)) return undefined;
  const { api, say } = apiOf(setting);
  try {
    for (
      let earlier = attempt - 1;
      earlier > Math.max(0, attempt - 1 - MAX_ATTEMPTS);
      earlier -= 1
    ) {
      const name = journalArtifact(environment, inputs, String(earlier));
      if (name === undefined) break;
      const bytes = await artifact(api, environment["GITHUB_RUN_ID"] ?? "", name);
      if (bytes === undefined) continue;
      const path = join(environment["RUNNER_TEMP"] || tmpdir(), `${name}-${randomUUID()}.jsonl`);
      await writeFile(path, journalIn(bytes), { flag: "wx", mode: 0o600 });
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

/** The newest one of the name, as a ZIP file. */
async function artifact(
  api: GithubApi,
  runId: string,
  name: string,
): Promise<Uint8Array | undefined> {
  const found = await api.get("GET /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", {
    run_id: runId,
    name,
    per_page: "10",
  });
  const list = isRecord(found) && isList(found["artifacts"]) ? found["artifacts"] : [];
  const usable = list.find(
    (one) => isRecord(one) && one["name"] === name && one["expired"] !== true,
  );
  if (!isRecord(usable)) return undefined;
  const { id, size_in_bytes: size } = usable;
  if (typeof id !== "number") throw new Error("GitHub's response has no artifact");
  if (typeof size === "number" && size > MAX_BYTES.zip)
    throw new Error(`the artifact has ${size} bytes (at most ${MAX_BYTES.zip} are read)`);
  const data = await api.get(
    "GET /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}",
    { artifact_id: String(id), archive_format: "zip" },
  );
  if (!(data instanceof ArrayBuffer)) throw new Error("GitHub's response is not a file");
  return new Uint8Array(data);
}

function journalIn(zip: Uint8Array): Uint8Array {
  const files = unzipSync(zip, {
    filter: ({ name, originalSize }) =>
      !name.endsWith("/") && name.endsWith(".jsonl") && originalSize <= MAX_BYTES.journal,
  });
  const [journal, ...others] = Object.values(files);
  if (journal === undefined || others.length > 0)
    throw new Error("the artifact must have one file whose name ends with .jsonl");
  return journal;
}
