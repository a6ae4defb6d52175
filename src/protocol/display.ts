import { defined } from "../text/guards.ts";
import type { ActionDisplay } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import { withoutSequences } from "../text/harmless-text.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
import type { ToolProgress } from "../tools/tool.ts";
import type { ActionSpec } from "./message-schema.ts";

const longestLabel = 200;
/** Only the end of an action is its 100 %. */
const mostPercent = 95;
const stepPercent = 5;
const pauseMs = 200;

/** One line, in which nothing takes the place of what is hidden. No word is cut: it is redacted later. */
export function labelOf(text: string): string {
  const line = withoutSequences(text.slice(0, 10 * longestLabel))
    .replaceAll(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, "")
    .trim();
  return truncateUnredacted(line, longestLabel).trimEnd();
}

export function displayOf({ display, action }: ActionSpec): ActionDisplay | undefined {
  if (display === undefined || display === null) return undefined;
  const label = labelOf(display.label ?? "");
  return {
    kind: display.type === "progress_bar" ? "progress_bar" : "status_message",
    label: label === "" ? labelOf(action) : label,
  };
}

/** Steps by the estimate of the model fill the gaps. It never goes backward, and doesn't come too often. */
export function startProgress(
  { display }: ActionSpec,
  clock: Clock,
  notify: (news: { readonly percent?: number; readonly message?: string }) => void,
): { report(progress: ToolProgress): void; end(): void } {
  const stepMs = (display?.estimated_duration_seconds ?? 0) * 10 * stepPercent;
  let stop: Release = () => {};
  let shownPercent = -1;
  let shownMessage: string | undefined;
  let last = Number.NEGATIVE_INFINITY;
  const estimate = (): void => {
    stop = startTimer(clock, stepMs, () => {
      if (shownPercent >= mostPercent) return;
      shownPercent = Math.min(mostPercent, Math.max(0, shownPercent) + stepPercent);
      notify({ percent: shownPercent });
      estimate();
    });
  };
  if (stepMs > 0) estimate();
  return {
    report({ percent, message }) {
      const now = clock.now();
      const rounded = Math.min(mostPercent, Math.floor(percent ?? Number.NaN));
      const label = typeof message === "string" ? labelOf(message) : undefined;
      const grown = rounded > shownPercent;
      if (!grown && (label === undefined || label === shownMessage || now - last < pauseMs)) return;
      last = now;
      if (grown) shownPercent = rounded;
      shownMessage = label ?? shownMessage;
      notify({
        ...(shownPercent >= 0 ? { percent: shownPercent } : {}),
        ...defined({ message: label }),
      });
    },
    end: () => stop(),
  };
}
