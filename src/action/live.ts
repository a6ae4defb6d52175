/** Shows a job on GitHub while it runs. However the step ends, and also if it is killed, GitHub doesn't show it as running. */
import * as is from "../document/describe.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { origin as originShape, outputs as outputsShape } from "../events/output-shapes.ts";
import { createGithubApi } from "../github/github-api.ts";
import { createGithubPort } from "../github/github-port.ts";
import { sayLine } from "../github/step-log.ts";
import type { Environment } from "../platform/environment.ts";
import { systemClock } from "../platform/system-clock.ts";
import { parsedJson } from "../text/guards.ts";
import { loadEntry } from "../entry/prepare.ts";
import { outputsOf } from "../entry/outputs.ts";
import type { Origin } from "../events/output-shapes.ts";
import type { Conclusion } from "../github/check-port.ts";
import type { Delivery } from "../github/delivery.ts";
import { filesOfBase } from "../github/commit-files.ts";
import { at, payloadOf, sameRepository, sha } from "../github/webhook-event.ts";
import { LiveStatus, showsProgress, type End } from "../github/live-status.ts";
import { onAbort } from "../platform/waiting.ts";
import type { PreparedRun } from "../run/prepare.ts";
import type { Outputs } from "../github/step-outputs.ts";
import { nameInRepository } from "./entry-copies.ts";
import { originOfStep } from "./deliver.ts";
import type { Paths } from "./paths.ts";
import { LIVE_STATE, type RunnerCore } from "./runner-core.ts";
import { apiOf, centralFiles, Stop, type Setting } from "./setting.ts";
import type { Sources } from "./sources.ts";

/** Undefined if the job shows nothing, or if another step delivers. */
export async function beginLive(
  setting: Setting,
  { entry: loaded, jobName: job, entryFile = "" }: PreparedRun,
  origin: Origin | undefined,
): Promise<LiveStatus | undefined> {
  const { inputs, core, signal } = setting;
  const { mode, shard, staged } = inputs;
  const outputs = outputsOf(loaded, job) ?? {};
  const isDelivered = mode === "run" && shard === undefined && !staged;
  if (!isDelivered || origin === undefined || !showsProgress(outputs)) return undefined;
  const shown = { job, entry: centralFiles(setting)?.name ?? entryFile, origin, outputs };
  const status = statusOf(shown, {
    ...setting,
    token: apiOf(setting, inputs.deliveryToken).token,
    onEnded: () => core.saveState(LIVE_STATE, ""),
  });
  // A step that is killed leaves the end to its post step.
  core.saveState(LIVE_STATE, JSON.stringify(shown));
  await status.begin();
  onAbort(signal, () => {
    void status.end({ conclusion: "cancelled", reason: String(signal.reason) });
  });
  return status;
}

/** The end by the result of the step, or by the reason why the step fails although its job succeeded. Otherwise, the reason says why nothing was delivered. */
export function liveEnd(
  { result, reason }: Pick<Outputs, "result" | "reason">,
  deliveries: readonly Delivery[] = [],
): End {
  const conclusion = conclusions[result] ?? "failure";
  if (reason !== "")
    return { conclusion: conclusion === "success" ? "failure" : conclusion, reason };
  const undelivered = deliveries.find(({ what }) => what === "everything");
  return { conclusion, reason: undelivered?.reason ?? "" };
}

const conclusions: Readonly<Record<string, Conclusion>> = {
  success: "success",
  skipped: "neutral",
  cancelled: "cancelled",
};

/** If `read` finds that the event isn't trusted, the check run of its pull request is neutral: rules wait for one. */
export async function trustedOr(
  setting: Setting,
  paths: Paths,
  read: () => Promise<Sources>,
): Promise<Sources> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Stop && error.isDistrust)
      await showDistrust(setting, paths, error.message).catch(() => undefined);
    throw error;
  }
}

async function showDistrust(
  setting: Setting,
  { entry: path }: Paths,
  reason: string,
): Promise<void> {
  const { inputs, environment } = setting;
  const { api } = apiOf(setting);
  const { token } = apiOf(setting, inputs.deliveryToken);
  const payload = await payloadOf(environment["GITHUB_EVENT_PATH"]);
  const pull = at(payload, "pull_request");
  const base = sha(at(pull, "base", "sha"));
  const isFork = !sameRepository(at(pull, "head", "repo"), at(pull, "base", "repo"));
  const { GITHUB_EVENT_NAME: event = "" } = environment;
  // The token of a fork's `pull_request` can't write.
  const isPull = event === "pull_request_target" || (event === "pull_request" && !isFork);
  const isDelivered = inputs.mode === "run" && !inputs.staged;
  if (!isPull || !isDelivered || base === undefined) return;
  const central = centralFiles(setting);
  const files = central ?? filesOfBase(api, base, "");
  const entry = central?.path ?? (await nameInRepository(setting, api, path));
  const loaded = loadEntry(await files.read(entry), entry, {
    readPrompt: () => ({ kind: "read", text: "…" }),
  });
  if (loaded.kind === "rejected") return;
  const [only, ...others] = Object.keys(loaded.entry.jobs);
  const job = inputs.job ?? (others.length === 0 ? only : undefined);
  const { check } = (job !== undefined && outputsOf(loaded.entry, job)) || {};
  const origin = await originOfStep(setting);
  if (job === undefined || check === undefined || origin === undefined) return;
  const shown = { job, entry: central?.name ?? path, origin, outputs: { check } };
  await statusOf(shown, { ...setting, token }).skip(reason);
}

/* What a job shows is kept in the state of its step, so that the post step can end it. */

const shownJob = is.record({
  job: is.text,
  entry: is.text,
  origin: originShape,
  outputs: outputsShape,
});
type ShownJob = is.TypeOf<typeof shownJob>;

interface Connection {
  readonly token: string | undefined;
  readonly environment: Environment;
  readonly redact: (text: string) => string;
  readonly say: (line: string) => void;
  readonly onEnded?: () => void;
}

function statusOf(
  { outputs: shown, ...about }: ShownJob,
  { token, environment, redact, say: log, onEnded = () => {} }: Connection,
): LiveStatus {
  const { GITHUB_REPOSITORY: repository = "", GITHUB_API_URL: apiUrl } = environment;
  return new LiveStatus({
    about,
    outputs: shown,
    clock: systemClock,
    log,
    onEnded,
    connect(signal) {
      const api = createGithubApi({ token, repository, apiUrl, log, ...(signal && { signal }) });
      return createGithubPort(api, redact);
    },
  });
}

/** For the post step of a step that was killed. An agent may have written its state, so it ends only what this attempt has begun. */
export async function endKilled(core: RunnerCore, environment: Environment): Promise<void> {
  const shown = parsedJson(core.getState(LIVE_STATE));
  if (!schemaCheck<ShownJob>(shownJob, "state").accepts(shown)) return;
  const { GITHUB_RUN_ID: run, GITHUB_RUN_ATTEMPT: attempt = "1" } = environment;
  const { workflowRun, attempt: begun } = shown.origin;
  if (workflowRun !== run || String(begun) !== attempt) return;
  const names = ["INPUT_DELIVERY-TOKEN", "GITHUB_TOKEN", "INPUT_GITHUB-TOKEN"];
  const token = names.map((name) => environment[name]).find((text = "") => text !== "");
  const say = (line: string): void => sayLine(core, line);
  const status = statusOf(shown, { token, environment, redact: (text) => text, say });
  await status.end({ conclusion: "cancelled", reason: "the step was killed" });
}
