/** The works of a run with their statuses: what the flowchart shows, as text. */
import { elapsedMs } from "../../src/events/view.ts";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RunModel } from "../model/model.ts";
import { formatCount, formatDuration } from "../parts/format.ts";
import { looks, StatusMark } from "../parts/status.tsx";
import { useNow } from "../parts/time.tsx";
import { runHref } from "../routes.ts";
import { useRunContext } from "./context.ts";
import { workStatus } from "./status-of.ts";

export function WorksList({ model, selected }: { model: RunModel; selected: number | undefined }) {
  const { runId, live } = useRunContext();
  const now = useNow(live ? 1_000 : 0);
  const list = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const box = list.current;
    const link = box?.querySelector<HTMLElement>("[aria-current]");
    if (box === null || link === null || link === undefined) return;
    const { top, bottom } = link.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom)
      box.scrollTop += (top + bottom) / 2 - (frame.top + frame.bottom) / 2;
  }, [selected]);
  return (
    <nav ref={list} class="works" aria-label="Works">
      <ul>
        {[...model.works.values()].map(({ workId, taskId, iterations }) => {
          const view = model.view.works.get(workId);
          const status = workStatus(view);
          const elapsed = view === undefined ? 0 : elapsedMs(view, model.view.endedAt ?? now);
          const tokens = view === undefined ? 0 : view.inputTokens + view.outputTokens;
          const facts = [
            status === "retried" ? "Retried" : looks[status].word,
            ...(iterations.size > 1 ? [`${iterations.size} iterations`] : []),
            ...(elapsed > 0 ? [formatDuration(elapsed)] : []),
            ...(tokens > 0 ? [`${formatCount(tokens)} tokens`] : []),
          ];
          return (
            <li key={workId}>
              <a
                href={runHref(runId, { kind: "work", workId, iteration: undefined })}
                aria-current={workId === selected ? "true" : undefined}
              >
                <StatusMark status={status} />
                <span class="works-text">
                  <span class="truncate">
                    {taskId} <span class="muted number">#{workId}</span>
                  </span>
                  <span class="works-facts truncate">{facts.join(" · ")}</span>
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
