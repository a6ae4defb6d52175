/** A step of a workflow: its activity and what it did, and if it is open, what went in and came out. */
import { stepParts, stepSubject } from "../../src/reports/step-text.ts";
import type { StepModel } from "../model/model.ts";
import { stateOf } from "../model/places.ts";
import { formatDuration } from "../parts/format.ts";
import { StatusMark } from "../parts/status.tsx";
import { useRunContext } from "./context.ts";
import { FoldRow, Detail, type Opened } from "./row-parts.tsx";
import { oneLine } from "../parts/tool-text.ts";

export function StepRow({ step, opened }: { step: StepModel; opened: Opened }) {
  const { live, over } = useRunContext();
  const { start, end, activity, endedAt, at, output } = step;
  const contents = { ...end, input: start?.input, printed: output };
  const parts = stepParts(contents);
  const status = stateOf(step, over);
  return (
    <FoldRow
      place={step}
      opened={opened}
      // The output of a running script is shown as it comes.
      normally={output !== "" && live}
      nested={(start?.depth ?? 0) > 0}
      heading={() => (
        <>
          <StatusMark status={status} />
          <span class="number muted">{step.step}</span>
          <span class="mono strong">{activity}</span>
          {start !== undefined && start.hit > 1 ? <span class="tag">run {start.hit}</span> : null}
          {start?.restored === true ? <span class="tag">from the earlier run</span> : null}
          <span class="muted mono truncate grow">{oneLine(stepSubject(contents))}</span>
          <span class="hidden-text">{status === "answered-no" ? "does not hold" : status}</span>
          {end?.to === undefined ? null : (
            <span class="muted small truncate wide-only">to {end.to}</span>
          )}
          {endedAt === undefined || endedAt === at ? null : (
            <span class="muted small number">{formatDuration(endedAt - at)}</span>
          )}
        </>
      )}
      details={
        parts.length === 0
          ? undefined
          : () =>
              parts.map(({ title, text }, index) => (
                <Detail
                  key={index}
                  title={title}
                  text={text}
                  label={`${title} of step ${step.step}`}
                  atEnd={title === "Output so far"}
                />
              ))
      }
    >
      {end?.reason === undefined ? null : <p class="indented call-error small">{end.reason}</p>}
    </FoldRow>
  );
}
