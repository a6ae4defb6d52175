/** The setting of a step: its inputs, the workspace and the tokens. `Stop` ends a step that may not run. */
import { tmpdir } from "node:os";
import { filesOfCentral, type CentralFiles } from "../github/commit-files.ts";
import { createGithubApi } from "../github/github-api.ts";
import { isText } from "../text/guards.ts";
import { asInput, type Environment, type Inputs } from "./inputs.ts";
import type { RunnerCore } from "./runner-core.ts";

export interface CommentCommand {
  readonly comment: number;
  /** The text after the command in its line. */
  readonly text: string;
}

export interface Setting {
  readonly inputs: Inputs;
  readonly environment: Environment;
  readonly workspace: string;
  readonly core: RunnerCore;
  /** Prints a line to the log. It must begin with a fixed prefix. */
  readonly say: (line: string) => void;
  readonly redact: (text: string) => string;
  readonly signal: AbortSignal;
  /** The comment of the event, if it is the command that starts the job. */
  readonly command: CommentCommand | undefined;
}

/** Thrown by whatever finds a reason not to run. `action.ts` turns it into the result of the step. */
export class Stop extends Error {
  override readonly name = "Stop";
  readonly result: "failure" | "skipped";
  readonly reasons: readonly string[];
  /** The event is not trusted: nothing is wrong with the commit. */
  readonly isDistrust: boolean;

  constructor(result: "failure" | "skipped", reasons: readonly string[], isDistrust = false) {
    super(reasons[0] ?? result);
    this.result = result;
    this.reasons = reasons;
    this.isDistrust = isDistrust;
  }
}

export function temporaryFolder(environment: Environment): string {
  return environment["RUNNER_TEMP"] || tmpdir();
}

/** For an entry of another repository. Undefined: the entry is a file of this one. */
export function centralFiles(setting: Setting): CentralFiles | undefined {
  const { central, entryToken } = setting.inputs;
  return central && filesOfCentral(apiOf(setting, entryToken).api, central, asInput("entry-token"));
}

/** The API with the token that writes on GitHub. Only this token finds again what it has written. */
export function deliveryApiOf(setting: Setting) {
  return apiOf(setting, setting.inputs.deliveryToken).api;
}

export function apiOf({ environment, inputs, say, signal }: Setting, other?: string) {
  // A token for models may lack the permission to look up users.
  const builtIn = environment["GITHUB_TOKEN"];
  // Where no model is asked, the input is the token to deliver with.
  const own = (inputs.mode === "deliver" && inputs.gitHubToken) || builtIn || inputs.gitHubToken;
  const token = other ?? own;
  const { GITHUB_REPOSITORY: repository, GITHUB_API_URL: apiUrl } = environment;
  return { api: createGithubApi({ token, repository, apiUrl, log: say, signal }), token };
}

/** How the models are reached, without any part of the key. Throws a `Stop` if there is no key for them. */
export function modelAccess(
  { mode, provider, gitHubToken }: Pick<Inputs, "mode" | "provider" | "gitHubToken">,
  environment: Environment,
): string {
  if (mode === "rehearse") return "played by the rehearsal, without a token";
  if (provider !== undefined) {
    const { apiKey } = provider;
    const input = asInput(`provider-${isText(apiKey) ? "api-key" : "token-command"}`);
    const key = apiKey === undefined ? "without a key" : `with ${input}`;
    const where = new URL(provider.baseUrl).origin;
    return `your own server ${where} (${provider.type ?? "openai"}), ${key} and without a GitHub token`;
  }
  if (gitHubToken === undefined) throw new Stop("failure", [withoutToken(environment)]);
  if (gitHubToken.startsWith("ghp_")) {
    throw new Stop("failure", [
      `\`github-token\` is a classic personal token (ghp_…), which doesn't work with GitHub Copilot. Use a fine-grained one with the permission “Copilot Requests”, ${otherWays}.`,
    ]);
  }
  return gitHubToken.startsWith("ghs_")
    ? "GitHub Copilot, with an installation token (ghs_…), which requires `permissions: copilot-requests: write`"
    : "GitHub Copilot";
}

/** Whether `act` plays the runner. An earlier step could claim it: only texts may depend on it. */
export function isAct({ ACT }: Environment): boolean {
  return ACT === "true";
}

/** The built-in token is the default, and on GitHub it is never empty. */
function withoutToken(environment: Environment): string {
  return isAct(environment)
    ? "There is no token for the models: act has no built-in one. Pass a token with the permission “Copilot Requests” (`act -s GITHUB_TOKEN=…`), use your own model server (`provider-base-url`), or rehearse the job (`org/agent-jobs/rehearse`)."
    : `There is no token for the models: \`github-token\` is empty, because its secret isn't set or isn't passed to this event. Set the secret, ${otherWays}.`;
}

const otherWays =
  "or omit `github-token` and add `permissions: { contents: read, copilot-requests: write }` to the job, or use your own model server (`provider-base-url`)";
