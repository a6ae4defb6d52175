/** Keeps what a job shows on GitHub in the state of its step, so that the post step can end it. */
import * as is from "../document/describe.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { origin, outputs } from "../events/output-shapes.ts";
import { createGithubApi } from "../github/github-api.ts";
import { createGithubPort } from "../github/github-port.ts";
import { LiveStatus } from "../github/live-status.ts";
import { sayLine } from "../github/step-log.ts";
import type { Environment } from "../platform/environment.ts";
import { systemClock } from "../platform/system-clock.ts";
import { parsedJson } from "../text/guards.ts";
import { LIVE_STATE, type RunnerCore } from "./runner-core.ts";

const shownJob = is.record({
  job: is.text,
  entry: is.text,
  origin,
  outputs,
});
type ShownJob = is.TypeOf<typeof shownJob>;

interface Connection {
  readonly token: string | undefined;
  readonly environment: Environment;
  readonly redact: (text: string) => string;
  readonly say: (line: string) => void;
  readonly onEnded?: () => void;
}

export function statusOf(
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
