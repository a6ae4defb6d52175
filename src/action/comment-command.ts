/** A command in a comment, such as `/review`, that starts the job. Every other comment is skipped. */
import { reportReasons } from "../github/annotations.ts";
import type { GithubApi } from "../github/github-api.ts";
import { at, isBot, payloadOf, textAt } from "../github/webhook-event.ts";
import { errorMessage } from "../platform/system-error.ts";
import { systemClock } from "../platform/system-clock.ts";
import { within } from "../platform/waiting.ts";
import { cleanEventText } from "../text/harmless-text.ts";
import { asInput, type Environment, type Inputs } from "./inputs.ts";
import { Stop, type CommentCommand, type Setting } from "./setting.ts";

/** Undefined: the event is no comment, or comments need no command. Throws a `Stop` for a comment that is not the command. */
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
