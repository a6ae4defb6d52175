/** A tool call: its name and the most telling argument, and if it is open, all of it. */
import type { CallBlock } from "../model/model.ts";
import { stateOf } from "../model/places.ts";
import { argumentText } from "../model/search.ts";
import { formatDuration } from "../parts/format.ts";
import { StatusMark } from "../parts/status.tsx";
import { useRunContext } from "./context.ts";
import { PlaceLink } from "./place-link.tsx";
import { Heading, Cut, oneLine, type Opened } from "./row-parts.tsx";

export function CallRow({ call, opened }: { call: CallBlock; opened: Opened }) {
  const { over } = useRunContext();
  const open = opened.isOpen(call, false);
  const status = stateOf(call, over);
  const { error } = call.end ?? {};
  const isDenied = error?.code === "denied" || error?.code === "rejected";
  return (
    <div class={`row-entry row-call ${call.parentCallId === undefined ? "" : "row-nested"}`}>
      <div class="row-body">
        <Heading thing={call} opened={opened} isOpen={open}>
          <StatusMark status={status} />
          <span class="mono call-name">{call.toolName}</span>
          <span class="muted mono truncate preview">{briefArguments(call.arguments)}</span>
          <span class="hidden-text">{status}</span>
          {isDenied ? (
            <span class="tag" data-tone="warn">
              denied
            </span>
          ) : null}
          {call.endedAt === undefined ? null : (
            <span class="muted small number">{formatDuration(call.endedAt - call.at)}</span>
          )}
        </Heading>
        {open ? <CallDetails call={call} /> : null}
        {!open && status === "failed" && error !== undefined && !isDenied ? (
          <p class="call-error small">{oneLine(error.message)}</p>
        ) : null}
      </div>
      <PlaceLink place={call} />
    </div>
  );
}

function CallDetails({ call }: { call: CallBlock }) {
  const { end } = call;
  const given = argumentText(call.arguments);
  const result = end?.result?.detailedContent ?? end?.result?.content;
  return (
    <div class="call-details">
      {given === "" ? null : (
        <>
          <h4>Arguments</h4>
          <Cut text={given} label={`arguments of ${call.toolName}`} />
        </>
      )}
      {end === undefined && call.output !== "" ? (
        <>
          <h4>Output so far</h4>
          <Cut text={call.output} label={`output of ${call.toolName}`} atEnd />
        </>
      ) : null}
      {result === undefined ? null : (
        <>
          <h4>Result</h4>
          <Cut text={result} label={`result of ${call.toolName}`} />
        </>
      )}
      {end?.error === undefined ? null : (
        <>
          <h4>Error{end.error.code === undefined ? "" : ` (${end.error.code})`}</h4>
          <Cut text={end.error.message} label={`error of ${call.toolName}`} />
        </>
      )}
    </div>
  );
}

/** The most telling of the arguments: the first text, or all of them on a line. */
function briefArguments(given: unknown): string {
  if (typeof given === "object" && given !== null) {
    const texts = Object.values(given).filter((value) => typeof value === "string");
    const [first] = texts;
    if (first !== undefined) return oneLine(first);
  }
  return oneLine(argumentText(given));
}
