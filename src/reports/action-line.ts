import type { ActionEnded, ActionEvent, DocumentRejected, EndedStatus } from "../events/action.ts";
import type { RunEvent } from "../events/event.ts";
import {
  actionOf,
  delegateIn,
  type ActionView,
  type OpenAction,
  type RunView,
} from "../events/view.ts";
import { detail, plain, warning, type Line } from "./paint.ts";
import { oneLine } from "../text/harmless-text.ts";
import { plural, tookText } from "../text/numbers.ts";

const SHORT = 100;
const LONG = 300;
const MAX_PROBLEMS = 3;
const MAX_THOUGHTS = 20;

/** `view` must include the event already. */
export function actionLines(
  event: Extract<RunEvent, { type: "action" }>,
  view: RunView,
): readonly Line[] {
  const work = view.works.get(event.work.workId);
  if (work?.actions === undefined) return [];
  const { action } = event;
  const known =
    action.type === "action.started" || action.type === "action.ended"
      ? actionOf(work.actions, action, delegateIn(work, event.work))
      : undefined;
  return linesOf(action, known);
}

function linesOf(event: ActionEvent, known: OpenAction | ActionView | undefined): readonly Line[] {
  switch (event.type) {
    case "actions.accepted": {
      const { iteration, thoughts, actions, stop, response = "" } = event;
      return [
        plain(`document ${iteration}: ${plural(actions, "action")}${stop ? ", stop" : ""}`),
        ...thoughts
          .slice(0, MAX_THOUGHTS)
          .map(({ type, content }) => detail(`thought ${type}: ${content}`)),
        ...(response.trim() === "" ? [] : [plain(`said: ${oneLine(response, LONG)}`)]),
      ];
    }
    case "actions.rejected":
      return [warning(rejectedText(event))];
    case "actions.warning":
      return [warning(`warning: ${oneLine(event.text, LONG)}`)];
    case "action.waiting":
      return [detail(`${actionName(event)} accepted`)];
    case "action.started": {
      const { id, params = "{}" } = event;
      const background = known?.background === true && known.group === undefined;
      const line = background ? plain : detail;
      return [
        line(`${actionName(known ?? { id })} started${background ? " in the background" : ""}`),
        ...(params === "{}" ? [] : [detail(`| params: ${params}`)]),
      ];
    }
    // The live view shows it.
    case "action.progress":
      return [];
    case "action.ended":
      return ended(event, known);
    case "card.ended": {
      const line = event.status === "succeeded" ? detail : warning;
      return [line(`card ${oneLine(event.id, SHORT)} ${endText(event)}`)];
    }
  }
}

export function rejectedText({
  iteration,
  problems,
}: Pick<DocumentRejected, "iteration" | "problems">): string {
  const shown = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const where = path === "" ? "" : `${oneLine(path, SHORT)}: `;
    return `${where}${oneLine(message, LONG).replace(/\.$/, "")}`;
  });
  if (shown.length < problems.length) shown.push(`${problems.length - shown.length} more`);
  return `document ${iteration} rejected: ${shown.join("; ")}`;
}

function actionName({
  id,
  action = "",
  kind,
}: Pick<ActionView, "id"> & Partial<Pick<ActionView, "action" | "kind">>): string {
  const name = oneLine(id, SHORT);
  if (action === "" || action === id) return name;
  return `${name} (${kind === "group" ? "group " : ""}${oneLine(action, SHORT)})`;
}

function ended(event: ActionEnded, known: OpenAction | ActionView | undefined): readonly Line[] {
  const { id, status, output } = event;
  const internal = known?.kind === "task_manager" || known?.kind === "trap_card";
  const went = status === "succeeded";
  const line = went && internal ? detail : went || status === "cancelled" ? plain : warning;
  const isShown = output !== undefined && known?.kind !== "group";
  return [
    line(`${actionName(known ?? { id })} ${endText(event)}`),
    ...(isShown ? [detail(`| ${output}`)] : []),
  ];
}

function endText({
  status,
  milliseconds,
  reason,
  replayed,
}: Pick<ActionEnded, "status" | "milliseconds" | "reason" | "replayed">): string {
  if (replayed === true) return `${statusWord(status)}: the result of the same action before`;
  const took = milliseconds > 0 ? ` after ${tookText(milliseconds)}` : "";
  // Its reason is its time.
  const hasReason = reason !== undefined && status !== "timed_out";
  return `${statusWord(status)}${took}${hasReason ? `: ${oneLine(reason, LONG)}` : ""}`;
}

/** For people. The words of the protocol are for the model. */
export function statusWord(status: EndedStatus): string {
  if (status === "timed_out") return "timed out";
  return status === "cancelled" ? "canceled" : status;
}
