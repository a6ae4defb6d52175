/** The rows of the action protocol: documents with their thoughts, and actions with what they got and returned. */
import type { ComponentChildren } from "preact";
import type { ActionModel, DocumentModel, IterationModel } from "../model/model.ts";
import { documentTitle, stateOf } from "../model/places.ts";
import { formatCount, formatDuration, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { StatusMark, type Status } from "../parts/status.tsx";
import { placeHref, useRunContext, useRunTime } from "./context.ts";
import { PlaceLink, FoldRow, Detail, Prose, type Opened } from "./row-parts.tsx";
import { oneLine } from "../parts/tool-text.ts";

type EventOf<Type extends DocumentModel["event"]["type"]> = Extract<
  DocumentModel["event"],
  { readonly type: Type }
>;

export function DocumentRow({ document, opened }: { document: DocumentModel; opened: Opened }) {
  const { event } = document;
  switch (event.type) {
    case "actions.accepted":
      return <AcceptedRow document={document} event={event} opened={opened} />;
    case "actions.rejected":
      return <RejectedRow document={document} event={event} />;
    case "actions.warning":
      return (
        <Note document={document} tone="warn">
          <p>{event.text}</p>
        </Note>
      );
    case "card.ended": {
      const { status, reason, milliseconds } = event;
      return (
        <Note document={document} tone={status === "succeeded" ? undefined : "warn"}>
          <p>
            {documentTitle(document)}: {actionWord(status)} after {formatDuration(milliseconds)}
          </p>
          {reason === undefined ? null : <p class="small">{reason}</p>}
        </Note>
      );
    }
  }
}

function Note({
  document,
  tone,
  children,
}: {
  document: DocumentModel;
  tone: "warn" | "fail" | undefined;
  children: ComponentChildren;
}) {
  return (
    <div class="row-entry note" data-tone={tone ?? "skip"}>
      <span class="row-icon">
        <Icon name={tone === undefined ? "dot" : "alert"} size={14} />
      </span>
      <div class="grow">{children}</div>
      <PlaceLink place={document} />
    </div>
  );
}

function AcceptedRow({
  document,
  event,
  opened,
}: {
  document: DocumentModel;
  event: EventOf<"actions.accepted">;
  opened: Opened;
}) {
  const { thoughts, response = "", actions, stop, variables } = event;
  const changed = [
    ...variables.set.map((name) => `${name} set`),
    ...variables.deleted.map((name) => `${name} deleted`),
  ];
  const isEmpty = thoughts.length === 0 && changed.length === 0;
  const [first] = thoughts;
  return (
    <FoldRow
      place={document}
      opened={opened}
      heading={(isOpen) => (
        <>
          <Icon name="list" size={14} />
          <strong>{documentTitle(document)}</strong>
          <span class="tag">{plural(actions, "action")}</span>
          {stop ? <span class="tag">stop</span> : null}
          {first === undefined ? null : (
            <>
              <span class="muted small">{plural(thoughts.length, "thought")}</span>
              {isOpen ? null : (
                <span class="muted truncate grow wide-only">{oneLine(first.content)}</span>
              )}
            </>
          )}
        </>
      )}
      details={
        isEmpty
          ? undefined
          : () => (
              <div class="muted">
                {thoughts.map(({ type, content }, index) => (
                  <div key={index}>
                    <h4 class="muted small strong">{type}</h4>
                    <Prose text={content} />
                  </div>
                ))}
                {changed.length === 0 ? null : <p class="small">Variables: {changed.join(", ")}</p>}
              </div>
            )
      }
    >
      {response.trim() === "" ? null : (
        <div class="indented">
          <Prose text={response} />
        </div>
      )}
    </FoldRow>
  );
}

const MAX_PROBLEMS = 50;

function RejectedRow({
  document,
  event: { problems },
}: {
  document: DocumentModel;
  event: EventOf<"actions.rejected">;
}) {
  return (
    <Note document={document} tone="fail">
      <p>
        {documentTitle(document)}: {plural(problems.length, "problem")}
      </p>
      <ul class="small">
        {problems.slice(0, MAX_PROBLEMS).map(({ path, message }, index) => (
          <li key={index}>
            {path === "" ? null : <code>{path}</code>} {message}
          </li>
        ))}
      </ul>
      {problems.length > MAX_PROBLEMS ? (
        <p class="small">{plural(problems.length - MAX_PROBLEMS, "further problem")}</p>
      ) : null}
    </Note>
  );
}

export function ActionRow({ action, opened }: { action: ActionModel; opened: Opened }) {
  const { over } = useRunContext();
  const {
    id,
    action: name,
    of,
    display,
    group,
    since,
    endedAt,
    end,
    params,
    requires = [],
  } = action;
  const label = display?.label;
  const status = stateOf(action, over);
  const { output, outputCharacters = output?.length ?? 0, reason, replayed } = end ?? {};
  const isEmpty = params === undefined && output === undefined && requires.length === 0;
  return (
    <FoldRow
      place={action}
      opened={opened}
      nested={group !== undefined}
      heading={() => (
        <>
          <StatusMark status={status} />
          <span class="mono strong truncate">{id}</span>
          {name === undefined || name === id ? null : (
            <span class="tag">{of === "group" ? `group ${name}` : name}</span>
          )}
          {action.execution === "ASYNC" ? <span class="tag wide-only">background</span> : null}
          {action.inThought === true ? <span class="tag wide-only">in a thought</span> : null}
          {replayed === true ? <span class="tag wide-only">earlier result</span> : null}
          {label === undefined ? (
            <span class="muted mono truncate grow">{oneLine(params ?? "")}</span>
          ) : (
            <span class="muted truncate grow">{label}</span>
          )}
          <span class="hidden-text">{wordOf(action, status)}</span>
          {status === "succeeded" || status === "running" ? null : (
            <span class="muted small" aria-hidden="true">
              {wordOf(action, status)}
            </span>
          )}
          {since === undefined || endedAt === undefined ? null : (
            <span class="muted small number">{formatDuration(endedAt - since)}</span>
          )}
        </>
      )}
      details={
        isEmpty
          ? undefined
          : () => (
              <>
                {requires.length === 0 ? null : <p class="small">Needs {requires.join(", ")}</p>}
                <Detail title="Params" text={params} label={`params of ${id}`} />
                <Detail
                  title={
                    outputCharacters > (output?.length ?? 0)
                      ? `Result, the beginning of ${formatCount(outputCharacters)} characters`
                      : "Result"
                  }
                  text={output}
                  label={`result of ${id}`}
                />
              </>
            )
      }
    >
      {status === "running" ? <ActionProgress action={action} /> : null}
      {reason === undefined ? null : (
        <p class="indented call-error small" data-tone={status === "failed" ? "fail" : "skip"}>
          {reason}
        </p>
      )}
    </FoldRow>
  );
}

/** Nothing if it tells no progress. */
export function ActionProgress({ action }: { action: ActionModel }) {
  const { percent, message, display, id } = action;
  if (percent === undefined && message === undefined) return null;
  return (
    <div class="row indented action-progress small">
      {percent === undefined ? null : (
        <>
          <progress max={100} value={percent} aria-label={`Progress of ${display?.label ?? id}`} />
          <span class="number">{Math.floor(percent)} %</span>
        </>
      )}
      {message === undefined ? null : <span class="muted truncate">{message}</span>}
    </div>
  );
}

const MAX_SHOWN = 5;

/** The actions that run now, above everything that happened: they may have been accepted long ago. */
export function ActionsUnderWay({ iteration }: { iteration: IterationModel }) {
  const { live, runId } = useRunContext();
  const now = useRunTime();
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

function wordOf({ end }: ActionModel, status: Status): string {
  if (end !== undefined) return actionWord(end.status);
  return status === "pending" ? "waiting" : status;
}

/** For people. The words of the protocol are for the model. */
function actionWord(status: NonNullable<ActionModel["end"]>["status"]): string {
  if (status === "timed_out") return "timed out";
  return status === "cancelled" ? "canceled" : status;
}
