/** A step of a workflow: its activity and what it did, and if it is open, what went in and came out. */
import { stepParts, stepSubject } from "../../src/reports/step-text.ts";
import type { StepModel } from "../model/model.ts";
import { stateOf } from "../model/places.ts";
import { formatDuration } from "../parts/format.ts";
import { StatusMark } from "../parts/status.tsx";
import { useRunContext } from "./context.ts";
import { PlaceLink } from "./place-link.tsx";
import { Heading, Cut, oneLine, type Opened } from "./row-parts.tsx";

export function StepRow({ step, opened }: { step: StepModel; opened: Opened }) {
  const { live, over } = useRunContext();
  const { start, end, activity, endedAt, at, output } = step;
  const contents = { ...end, input: start?.input, printed: output };
  const parts = stepParts(contents);
  // What a script prints is worth to be seen as it comes.
  const open = opened.isOpen(step, output !== "" && live);
  const status = stateOf(step, over);
  const isEmpty = parts.length === 0;
  const heading = (
    <>
      <StatusMark status={status} />
      <span class="number muted">{step.step}</span>
      <span class="mono step-name">{activity}</span>
      {start !== undefined && start.hit > 1 ? <span class="tag">run {start.hit}</span> : null}
      {start?.restored === true ? <span class="tag">from the earlier run</span> : null}
      <span class="muted mono truncate preview">{oneLine(stepSubject(contents))}</span>
      <span class="hidden-text">{status === "answered-no" ? "does not hold" : status}</span>
      {end?.to === undefined ? null : (
        <span class="muted small truncate step-way">to {end.to}</span>
      )}
      {endedAt === undefined || endedAt === at ? null : (
        <span class="muted small number">{formatDuration(endedAt - at)}</span>
      )}
    </>
  );
  return (
    <div class={`row-entry row-call row-step ${(start?.depth ?? 0) > 0 ? "row-nested" : ""}`}>
      <div class="row-body">
        <Heading thing={step} opened={opened} isOpen={open} isEmpty={isEmpty}>
          {heading}
        </Heading>
        {end?.reason === undefined ? null : <p class="call-error small">{end.reason}</p>}
        {open && !isEmpty ? (
          <div class="call-details">
            {parts.map(({ title, text }, index) => (
              <div key={index}>
                <h4>{title}</h4>
                <Cut
                  text={text}
                  label={`${title} of step ${step.step}`}
                  atEnd={title === "Output so far"}
                />
              </div>
            ))}
          </div>
        ) : null}
      </div>
      <PlaceLink place={step} />
    </div>
  );
}
