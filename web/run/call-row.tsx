/** A tool call: its name and the most telling argument, and if it is open, all of it. */
import type { CallBlock } from "../model/model.ts";
import { stateOf } from "../model/places.ts";
import { argumentText, oneLine, summaryOf } from "../parts/tool-text.ts";
import { formatDuration } from "../parts/format.ts";
import { StatusMark } from "../parts/status.tsx";
import { useRunContext } from "./context.ts";
import { FoldRow, Detail, type Opened } from "./row-parts.tsx";

export function CallRow({ call, opened }: { call: CallBlock; opened: Opened }) {
  const { over } = useRunContext();
  const status = stateOf(call, over);
  const { toolName, end, output, parentCallId, endedAt } = call;
  const { error, result } = end ?? {};
  const isDenied = error?.code === "denied" || error?.code === "rejected";
  const isFailure = status === "failed" && error !== undefined && !isDenied;
  return (
    <FoldRow
      place={call}
      opened={opened}
      nested={parentCallId !== undefined}
      heading={() => (
        <>
          <StatusMark status={status} />
          <span class="mono strong">{toolName}</span>
          <span class="muted mono truncate grow">{summaryOf(call.arguments)}</span>
          <span class="hidden-text">{status}</span>
          {isDenied ? (
            <span class="tag" data-tone="warn">
              denied
            </span>
          ) : null}
          {endedAt === undefined ? null : (
            <span class="muted small number">{formatDuration(endedAt - call.at)}</span>
          )}
        </>
      )}
      details={() => (
        <>
          <Detail
            title="Arguments"
            text={argumentText(call.arguments)}
            label={`arguments of ${toolName}`}
          />
          <Detail title="Output so far" text={output} label={`output of ${toolName}`} atEnd />
          <Detail
            title="Result"
            text={result?.detailedContent ?? result?.content}
            label={`result of ${toolName}`}
          />
          <Detail
            title={`Error${error?.code === undefined ? "" : ` (${error.code})`}`}
            text={error?.message}
            label={`error of ${toolName}`}
          />
        </>
      )}
    >
      {isFailure && !opened.isOpen(call, false) ? (
        <p class="indented call-error small">{oneLine(error.message)}</p>
      ) : null}
    </FoldRow>
  );
}
