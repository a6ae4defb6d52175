import { sentence } from "../text/truncate.ts";
import { outcomeText } from "../events/event.ts";
import { endText, type RunView } from "../events/view.ts";
import { collectOutputs } from "../outputs/collect.ts";
import { verdictLine } from "../outputs/verdict.ts";

export interface Exit {
  readonly passes: boolean;
  /** Why the exit code is what it is; empty for a plain success. */
  readonly reason: string;
  /** Such as `the exit code is 1`, and what makes a failure pass. */
  readonly words: { readonly fails: string; readonly passes: string };
}

/** How a job ended, what the exit code means where that differs, and the verdict. `head`: such as `job x succeeded`. */
export function lastLine(view: RunView, head: string, exit: Exit): string {
  const { passes, words } = exit;
  const [reason = ""] = exit.reason.split("\n", 1);
  const { verdict } = collectOutputs(view);
  const isOther = reason !== "" && reason !== endText(view);
  const ended =
    endText(view) || (view.jobOutcome === undefined ? "" : outcomeText(view.jobOutcome));
  const own = ended === "" ? head : `${head}: ${ended}`;
  const but = `${own}, but ${words.fails}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
  const parts = [
    isOther && !passes ? but : own,
    ...(isOther && passes ? [reason] : []),
    ...(passes && (isOther || view.status === "failed") ? [words.passes] : []),
    ...(verdict === undefined ? [] : [`Verdict: ${verdictLine(verdict)}`]),
  ];
  return parts.map((part, index) => (index < parts.length - 1 ? sentence(part) : part)).join(" ");
}
