/** How the rows of a work look: sessions, turns, and what happened in them. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ModelUsed } from "../../src/events/session-activity.ts";
import type { Usage } from "../../src/events/view.ts";
import type {
  Block,
  CallBlock,
  DecisionItem,
  SessionModel,
  TextBlock,
  TurnModel,
} from "../model/model.ts";
import { roleName, turnTitle } from "../model/places.ts";
import type { Row } from "../model/rows.ts";
import { argumentText } from "../model/search.ts";
import { CodeBlock } from "../parts/code-block.tsx";
import { formatCost, formatCount, formatDuration, plural } from "../parts/format.ts";
import { Icon, Spinner, type IconName } from "../parts/icon.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { StatusBadge, StatusMark, type Status } from "../parts/status.tsx";
import { ClockTime } from "../parts/time.tsx";
import { useRunContext } from "./context.ts";
import { DecisionMark } from "./decisions.tsx";
import { PlaceLink } from "./place-link.tsx";

/** What the reader has opened and closed. Rows that are not visible are not rendered, so they can't keep it. */
export interface Opened {
  /** Whether it is open; `normally`: if the reader has not touched it. */
  readonly isOpen: (thing: object, normally: boolean) => boolean;
  readonly toggle: (thing: object, open: boolean) => void;
}

export function RowView({ row, opened }: { row: Row; opened: Opened }) {
  switch (row.kind) {
    case "session":
      return <SessionRow session={row.session} first={row.first} opened={opened} />;
    case "turn":
      return <TurnRow turn={row.turn} opened={opened} />;
    case "block":
      return <BlockRow block={row.block} opened={opened} />;
    case "end":
      return <EndRow turn={row.turn} />;
    case "decision":
      return <DecisionRow decision={row.decision} />;
  }
}

function SessionRow({
  session,
  first,
  opened,
}: {
  session: SessionModel;
  first: boolean;
  opened: Opened;
}) {
  const open = opened.isOpen(session, true);
  const { role, modelId, attempt, sessionId, endedAt } = session;
  return (
    <div class="row-session">
      <button
        type="button"
        class="row-toggle"
        aria-expanded={open}
        onClick={() => opened.toggle(session, !open)}
      >
        <Chevron />
        <Icon name={role === "driving" ? "gavel" : "chat"} size={14} />
        <strong>{roleName(role)}</strong>
        {first ? null : <span class="muted">continued</span>}
        {modelId === "" ? null : <span class="tag">{modelId}</span>}
        {attempt > 1 ? <span class="tag">attempt {attempt}</span> : null}
        <span class="muted small mono truncate session-id">{sessionId}</span>
        {endedAt === undefined ? <span class="muted small">open</span> : null}
      </button>
    </div>
  );
}

function Chevron() {
  return (
    <span class="chevron">
      <Icon name="chevron" size={14} />
    </span>
  );
}

const LONG_PROMPT = 600;

function TurnRow({ turn, opened }: { turn: TurnModel; opened: Opened }) {
  const prompt = turn.start?.prompt;
  const isLong = prompt !== undefined && prompt.length > LONG_PROMPT;
  const open = opened.isOpen(turn, !isLong);
  return (
    <div class="row-turn">
      <div class="row-heading">
        <Icon name="person" size={14} />
        <h4>{turnTitle(turn)}</h4>
        {turn.start === undefined ? null : <span class="muted small">{turn.start.modelId}</span>}
        <span class="muted small">
          <ClockTime at={turn.startedAt} />
        </span>
        <PlaceLink place={turn} />
      </div>
      {prompt === undefined ? (
        <p class="muted">The journal lacks the start of this turn.</p>
      ) : (
        <div class="prompt">
          <Plain text={open ? prompt : prompt.slice(0, LONG_PROMPT)} />
          {isLong ? (
            <button
              type="button"
              class="text-button"
              aria-expanded={open}
              onClick={() => opened.toggle(turn, !open)}
            >
              {open ? "Show less" : `Show all (${formatCount(prompt.length)} characters)`}
            </button>
          ) : null}
        </div>
      )}
    </div>
  );
}

function Plain({ text }: { text: string }) {
  return <div class="plain">{text}</div>;
}

function EndRow({ turn }: { turn: TurnModel }) {
  const { outcome, endedAt = turn.startedAt, startedAt, usage } = turn;
  const status: Status =
    outcome === undefined ? "canceled" : outcome === "completed" ? "succeeded" : outcome;
  const word = { succeeded: "Completed", crashed: "Crashed", canceled: "Canceled" }[
    status === "crashed" || status === "succeeded" ? status : "canceled"
  ];
  return (
    <div class="row-end">
      <StatusBadge status={status} word={outcome === undefined ? "Not ended" : word} quiet />
      <span class="muted small">
        after {formatDuration(endedAt - startedAt)}
        {usage.modelCalls === 0 ? "" : `, ${usageText(usage)}`}
      </span>
    </div>
  );
}

export function usageText(usage: Usage): string {
  return [
    plural(usage.modelCalls, "model call"),
    `${formatCount(usage.inputTokens + usage.outputTokens)} tokens`,
    ...(usage.cost > 0 ? [`${formatCost(usage.cost)} premium requests`] : []),
  ].join(", ");
}

function BlockRow({ block, opened }: { block: Block; opened: Opened }) {
  switch (block.kind) {
    case "reasoning":
      return <ReasoningRow block={block} opened={opened} />;
    case "message":
      return (
        <Entry icon="spark" block={block} class="row-message">
          <Markdown text={block.text} />
          {block.complete ? null : <Writing block={block} />}
        </Entry>
      );
    case "call":
      return <CallRow call={block} opened={opened} />;
    case "reply": {
      const { text, toolCalls } = block.reply;
      return (
        <Entry icon="spark" block={block} class="row-message">
          <p class="muted small">Sub-agent</p>
          <Markdown text={text} />
          {toolCalls.map(({ name, arguments: given }, index) => (
            <p key={index} class="small mono truncate">
              {name} {oneLine(argumentText(given))}
            </p>
          ))}
        </Entry>
      );
    }
    case "usage":
      return <UsageRow used={block.used} />;
    case "denial": {
      const { operation, target, reason } = block.denial;
      return (
        <Entry icon="shield" block={block} class="row-note" tone="warn">
          <p>
            Denied {operation} <code>{target}</code>
          </p>
          <p class="small">{reason}</p>
        </Entry>
      );
    }
    case "model-failure": {
      const { statusCode, message, modelId } = block.failure;
      return (
        <Entry icon="bolt" block={block} class="row-note" tone="fail">
          <p>
            Model call failed{statusCode === undefined ? "" : ` (${statusCode})`}
            {modelId === undefined ? "" : `: ${modelId}`}
          </p>
          {message === undefined ? null : <Cut text={message} label="the error" />}
        </Entry>
      );
    }
    case "agent-failure":
      return (
        <Entry icon="cross" block={block} class="row-note" tone="warn">
          <p>A tool call of a sub-agent failed</p>
          <Cut text={block.failure.error.message} label="the error" />
        </Entry>
      );
  }
}

function Entry({
  icon,
  block,
  tone,
  class: name,
  children,
}: {
  icon: IconName;
  block: Block;
  tone?: "warn" | "fail";
  class: string;
  children: ComponentChildren;
}) {
  return (
    <div class={`row-entry ${name}`} data-tone={tone}>
      <span class="row-icon">
        <Icon name={icon} size={14} />
      </span>
      <div class="row-body">{children}</div>
      <PlaceLink place={block} />
    </div>
  );
}

function Writing({ block }: { block: TextBlock }) {
  const { live } = useRunContext();
  return live && block.turn.endedAt === undefined ? (
    <span class="muted small writing">
      <Spinner size={12} /> writing
    </span>
  ) : (
    <span class="muted small">It was not completed.</span>
  );
}

function ReasoningRow({ block, opened }: { block: TextBlock; opened: Opened }) {
  const open = opened.isOpen(block, false);
  return (
    <div class="row-entry row-reasoning">
      <div class="row-body">
        <button
          type="button"
          class="row-toggle"
          aria-expanded={open}
          onClick={() => opened.toggle(block, !open)}
        >
          <Chevron />
          <Icon name="thought" size={14} />
          <span class="muted">Reasoning</span>
          {open ? null : <span class="muted truncate preview">{oneLine(block.text)}</span>}
        </button>
        {open ? (
          <div class="reasoning">
            <Plain text={block.text} />
            {block.complete ? null : <Writing block={block} />}
          </div>
        ) : null}
      </div>
      <PlaceLink place={block} />
    </div>
  );
}

function UsageRow({ used }: { used: ModelUsed }) {
  const { modelId, inputTokens, outputTokens, cacheReadTokens, reasoningTokens, cost, durationMs } =
    used;
  const title = `${cacheReadTokens.toLocaleString("en")} input tokens from the cache, ${reasoningTokens.toLocaleString("en")} output tokens of reasoning`;
  const words = [
    modelId,
    formatDuration(durationMs),
    `${formatCount(inputTokens)} in`,
    `${formatCount(outputTokens)} out`,
    ...(cost > 0 ? [`cost ${formatCost(cost)}`] : []),
    ...(used.subAgent ? ["sub-agent"] : []),
  ];
  return (
    <p class="row-usage small muted" title={title}>
      <span class="key key-model" aria-hidden="true" /> {words.join(" · ")}
      {used.finish === undefined ? null : (
        <span class="tag" data-tone="warn">
          {used.finish === "length" ? "cut off at the output limit" : "content filter"}
        </span>
      )}
    </p>
  );
}

function callStatus({ end, span }: CallBlock): Status {
  if (end === undefined) return span.end === undefined ? "running" : "canceled";
  if (end.succeeded) return "succeeded";
  return end.stopped === true ? "canceled" : "failed";
}

function CallRow({ call, opened }: { call: CallBlock; opened: Opened }) {
  const { live } = useRunContext();
  const open = opened.isOpen(call, false);
  const known = callStatus(call);
  const status = known === "running" && !live ? "canceled" : known;
  const { error } = call.end ?? {};
  const isDenied = error?.code === "denied" || error?.code === "rejected";
  return (
    <div class={`row-entry row-call ${call.parentCallId === undefined ? "" : "row-nested"}`}>
      <div class="row-body">
        <button
          type="button"
          class="row-toggle"
          aria-expanded={open}
          onClick={() => opened.toggle(call, !open)}
        >
          <Chevron />
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
        </button>
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
          <h5>Arguments</h5>
          <Cut text={given} label={`arguments of ${call.toolName}`} />
        </>
      )}
      {end === undefined && call.output !== "" ? (
        <>
          <h5>Output so far</h5>
          <Cut text={call.output} label={`output of ${call.toolName}`} atEnd />
        </>
      ) : null}
      {result === undefined ? null : (
        <>
          <h5>Result</h5>
          <Cut text={result} label={`result of ${call.toolName}`} />
        </>
      )}
      {end?.error === undefined ? null : (
        <>
          <h5>Error{end.error.code === undefined ? "" : ` (${end.error.code})`}</h5>
          <Cut text={end.error.message} label={`error of ${call.toolName}`} />
        </>
      )}
    </div>
  );
}

const CUT = 3000;

/** A text that may be very long, as it is. */
function Cut({ text, label, atEnd = false }: { text: string; label: string; atEnd?: boolean }) {
  const [all, setAll] = useState(false);
  if (text.length <= CUT * 1.2 || all) return <CodeBlock text={text} label={label} />;
  return (
    <>
      <CodeBlock text={atEnd ? text.slice(-CUT) : text.slice(0, CUT)} label={label} />
      <button type="button" class="text-button" onClick={() => setAll(true)}>
        Show all ({formatCount(text.length)} characters)
      </button>
    </>
  );
}

function DecisionRow({ decision }: { decision: DecisionItem }) {
  const { decision: made } = decision;
  const detail = made.kind === "session-crashed" ? made.crash.detail : undefined;
  return (
    <div class="row-decision">
      <DecisionMark decision={decision} />
      <span class="decision-category">{decision.category}</span>
      <span class="decision-message">
        {decision.text}
        {detail === undefined ? null : <Details text={detail} />}
      </span>
      <PlaceLink place={decision} />
    </div>
  );
}

function Details({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      {" "}
      <button type="button" class="text-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide details" : "Details"}
      </button>
      {open ? <Cut text={pretty(text)} label="details of the crash" /> : null}
    </>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
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

const LINE = 300;

function oneLine(text: string): string {
  return text.slice(0, LINE).replace(/\s+/g, " ");
}
