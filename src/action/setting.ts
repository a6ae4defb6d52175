/** The setting of a step: its inputs, the workspace and the tokens. `Stop` ends a step that may not run. */
import { tmpdir } from "node:os";
import { filesOfCentral, type CentralFiles } from "../github/commit-files.ts";
import { createGithubApi, type GithubApi } from "../github/github-api.ts";
import { isText } from "../text/guards.ts";
import { asInput, type Environment, type Inputs } from "./inputs.ts";
import type { RunnerCore } from "./runner-core.ts";
import { reportReasons } from "../github/annotations.ts";
import { at, isBot, payloadOf, textAt } from "../github/webhook-event.ts";
import { errorMessage } from "../platform/system-error.ts";
import { systemClock } from "../platform/system-clock.ts";
import { within } from "../platform/waiting.ts";
import { cleanEventText } from "../text/harmless-text.ts";

interface CommentCommand {
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

/**
 * The command in a comment, such as `/review`, that starts the job. Every other comment is skipped.
 * Undefined: the event is no comment, or comments need no command. Throws a `Stop` for a comment that is not the command.
 */
export async function commandOf(
  { onCommand }: Inputs,
  environment: Environment,
): Promise<CommentCommand | undefined> {
  if (onCommand === undefined || environment["GITHUB_EVENT_NAME"] !== "issue_comment")
    return undefined;
  const payload = await payloadOf(environment["GITHUB_EVENT_PATH"]);
  const found = readCommand(payload, onCommand);
  if (typeof found === "string") throw new Stop("skipped", [found]);
  return found;
}

/** The reason why the comment is not the command, as a sentence. */
function readCommand(payload: unknown, command: string): CommentCommand | string {
  const option = `${asInput("on-command")}: ${command}`;
  const action = textAt(payload, "action");
  if (action !== "created")
    return `The comment was ${action ?? "changed"}, and only a new comment is a command (${option}).`;
  const comment = at(payload, "comment");
  if (isBot(at(comment, "user")))
    return `The comment is by a bot, and only a user's comment is a command (${option}).`;
  const { text } = cleanEventText(textAt(comment, "body") ?? "");
  const [, word, rest = ""] = /^\s*(\S+)([^\n]*)/.exec(text) ?? [];
  if (word !== command) return `The first word of the comment is not the command (${option}).`;
  const id = at(comment, "id");
  if (typeof id !== "number" || !Number.isSafeInteger(id))
    return `The event has no id of the comment (${option}).`;
  return { comment: id, text: rest.trim() };
}

const REACTION_MS = 10_000;

/** Adds 👀 to the comment. A refused reaction is only a notice. */
export async function showTaken(
  { command, inputs, core }: Setting,
  api: Pick<GithubApi, "write">,
): Promise<void> {
  const { mode, staged } = inputs;
  if (command === undefined || staged || mode === "rehearse") return;
  const route = "POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions";
  const reacting = api.write(route, { comment_id: command.comment, content: "eyes" });
  const why = await within(reacting, REACTION_MS, systemClock).then(
    (done) => (done === undefined ? `no answer within ${REACTION_MS / 1000} s` : undefined),
    errorMessage,
  );
  if (why === undefined) return;
  const text = `The comment got no 👀: ${why}. The token needs \`issues: write\`, or \`pull-requests: write\` for a comment on a pull request.`;
  reportReasons(core, "notice", [text]);
}
