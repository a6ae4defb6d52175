/** The actions that run now, above everything that happened: they may have been accepted long ago. */
import type { IterationModel, RunModel } from "../model/model.ts";
import { formatDuration, plural } from "../parts/format.ts";
import { StatusMark } from "../parts/status.tsx";
import { ActionProgress } from "./action-rows.tsx";
import { placeHref, useRunContext, useRunTime } from "./context.ts";

const MAX_SHOWN = 5;

export function ActionsUnderWay({
  model,
  iteration,
}: {
  model: RunModel;
  iteration: IterationModel;
}) {
  const { live, runId } = useRunContext();
  const now = useRunTime(model);
  const running = [...iteration.openActions.values()].filter(
    ({ since, of }) => since !== undefined && of !== "group",
  );
  if (!live || running.length === 0) return null;
  // Actions that report progress come first.
  const shown = running
    .toSorted((a, b) => Number(b.percent !== undefined) - Number(a.percent !== undefined))
    .slice(0, MAX_SHOWN);
  return (
    <section class="under-way" aria-label="Actions under way">
      <ul>
        {shown.map((action) => (
          <li key={action.number} class="row wrap">
            <StatusMark status="running" />
            <a class="truncate" href={placeHref(runId, action)}>
              {action.display?.label ?? action.id}
            </a>
            <ActionProgress action={action} />
            <span class="muted small number push">
              {formatDuration(Math.max(0, now - (action.since ?? now)))}
            </span>
          </li>
        ))}
      </ul>
      {running.length > shown.length ? (
        <p class="muted small">{plural(running.length - shown.length, "more action")}</p>
      ) : null}
    </section>
  );
}
