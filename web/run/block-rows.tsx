/** How the rows of a work look: sessions, turns, and what happened in them. */
import { useState } from "preact/hooks";
import type { AnswerFinish, ModelUsed } from "../../src/events/session-activity.ts";
import type { Usage } from "../../src/events/view.ts";
import { costText, costWords } from "../../src/text/numbers.ts";
import type {
  Block,
  CallBlock,
  DecisionItem,
  SessionModel,
  TextBlock,
  TurnModel,
} from "../model/model.ts";
import { roleName } from "../../src/events/decision.ts";
import { usageOf } from "../model/contents.ts";
import { stateOf, turnTitle } from "../model/places.ts";
import type { Row } from "../model/rows.ts";
import { formatCount, formatDuration, formatExact, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { looks, StatusBadge, StatusMark, type Status } from "../parts/status.tsx";
import { ClockTime } from "../parts/time.tsx";
import { ActionRow, DocumentRow } from "./action-rows.tsx";
import { useRunContext } from "./context.ts";
import { CategoryLabel, DecisionMark } from "./decisions.tsx";
import {
  PlaceLink,
  Heading,
  Cut,
  Detail,
  Entry,
  FoldRow,
  Prose,
  Writing,
  type Opened,
} from "./row-parts.tsx";
import { StepRow } from "./step-row.tsx";
import { argumentText, oneLine, parsed, summaryOf } from "../parts/tool-text.ts";

export function RowView({ row, opened }: { row: Row; opened: Opened }) {
  if (row.kind === "session")
    return <SessionRow session={row.session} first={row.first} opened={opened} />;
  if (row.kind === "end") return <EndRow turn={row.turn} />;
  const { place } = row;
  switch (place.kind) {
    case "turn":
      return <TurnRow turn={place} opened={opened} />;
    case "decision":
      return <DecisionRow decision={place} />;
    case "step":
      return <StepRow step={place} opened={opened} />;
    case "document":
      return <DocumentRow document={place} opened={opened} />;
    case "action":
      return <ActionRow action={place} opened={opened} />;
    default:
      return <BlockRow block={place} opened={opened} />;
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
  const { role, modelId, attempt, sessionId, endedAt, task } = session;
  return (
    <div class="row-session">
      <Heading thing={session} opened={opened} isOpen={open}>
        <Icon name={role === "driving" ? "gavel" : "chat"} size={14} />
        <strong>{roleName(role)}</strong>
        {task === undefined ? null : <span class="tag">task {task}</span>}
        {first ? null : <span class="muted">continued</span>}
        {modelId === "" ? null : <span class="tag">{modelId}</span>}
        {attempt > 1 ? <span class="tag">attempt {attempt}</span> : null}
        <span class="muted small mono truncate push wide-only">{sessionId}</span>
        {endedAt === undefined ? <span class="muted small">open</span> : null}
      </Heading>
    </div>
  );
}

const LONG_PROMPT = 600;
const MAX_PLAIN = 50_000;

function TurnRow({ turn, opened }: { turn: TurnModel; opened: Opened }) {
  const prompt = turn.start?.prompt;
  const isLong = prompt !== undefined && prompt.length > LONG_PROMPT;
  const open = opened.isOpen(turn, !isLong);
  return (
    <div class="row-turn">
      <div class="row">
        <Icon name="person" size={14} />
        <h3>{turnTitle(turn)}</h3>
        {turn.start === undefined ? null : <span class="muted small">{turn.start.modelId}</span>}
        <span class="muted small">
          <ClockTime at={turn.at} />
        </span>
        <PlaceLink place={turn} />
      </div>
      {prompt === undefined ? (
        <p class="muted">The journal lacks the start of this turn.</p>
      ) : (
        <div class="prompt">
          {open && prompt.length > MAX_PLAIN ? (
            <Cut text={prompt} label="prompt" />
          ) : (
            <div class="pre">{open ? prompt : prompt.slice(0, LONG_PROMPT)}</div>
          )}
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

function EndRow({ turn }: { turn: TurnModel }) {
  const { outcome, endedAt = turn.at, at } = turn;
  const usage = usageOf([turn]);
  const status: Status =
    outcome === undefined ? "incomplete" : outcome === "completed" ? "succeeded" : outcome;
  return (
    <div class="row wrap row-line">
      <StatusBadge
        status={status}
        word={outcome === "completed" ? "Completed" : looks[status].word}
        quiet
      />
      <span class="muted small">
        after {formatDuration(endedAt - at)}
        {usage.modelCalls === 0 ? "" : `, ${usageText(usage)}`}
      </span>
    </div>
  );
}

export function usageText(usage: Usage): string {
  return [
    plural(usage.modelCalls, "model call"),
    `${formatCount(usage.inputTokens + usage.outputTokens)} tokens`,
    ...costWords(usage),
  ].join(", ");
}

function BlockRow({ block, opened }: { block: Block; opened: Opened }) {
  switch (block.kind) {
    case "reasoning":
      return <ReasoningRow block={block} opened={opened} />;
    case "message":
      return block.turn.isProtocol ? (
        <AnswerRow block={block} opened={opened} />
      ) : (
        <Entry icon="spark" block={block} class="row-message">
          <Prose text={block.text} />
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
          <Prose text={text} />
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
        <Entry icon="shield" block={block} class="note" tone="warn">
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
        <Entry icon="bolt" block={block} class="note" tone="fail">
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
        <Entry icon="cross" block={block} class="note" tone="warn">
          <p>A tool call of a sub-agent failed</p>
          <Cut text={block.failure.error.message} label="the error" />
        </Entry>
      );
  }
}

/** A tool call: its name and the most telling argument, and if it is open, all of it. */
function CallRow({ call, opened }: { call: CallBlock; opened: Opened }) {
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

/** A document of the action protocol as the model wrote it. Its own row says what is in it. */
function AnswerRow({ block, opened }: { block: TextBlock; opened: Opened }) {
  return (
    <FoldRow
      place={block}
      opened={opened}
      heading={(isOpen) => (
        <>
          <Icon name="spark" size={14} />
          <span class="muted">Answer</span>
          {isOpen ? null : <span class="muted mono truncate grow">{oneLine(block.text)}</span>}
        </>
      )}
      details={() => <Cut text={argumentText(parsed(block.text))} label="the answer" />}
    >
      {block.complete ? null : <Writing block={block} />}
    </FoldRow>
  );
}

function ReasoningRow({ block, opened }: { block: TextBlock; opened: Opened }) {
  return (
    <FoldRow
      place={block}
      opened={opened}
      heading={(isOpen) => (
        <>
          <Icon name="thought" size={14} />
          <span class="muted">Reasoning</span>
          {isOpen ? null : <span class="muted truncate grow">{oneLine(block.text)}</span>}
        </>
      )}
      details={() => (
        <div class="muted">
          <Prose text={block.text} />
          {block.complete ? null : <Writing block={block} />}
        </div>
      )}
    />
  );
}

function UsageRow({ used }: { used: ModelUsed }) {
  const { modelId, inputTokens, outputTokens, cacheReadTokens, reasoningTokens, cost, durationMs } =
    used;
  const title = `${formatExact(cacheReadTokens)} input tokens from the cache, ${formatExact(reasoningTokens)} output tokens of reasoning`;
  const words = [
    modelId,
    formatDuration(durationMs),
    `${formatCount(inputTokens)} in`,
    `${formatCount(outputTokens)} out`,
    ...(cost !== undefined && cost > 0 ? [costText(cost)] : []),
    ...(used.subAgent ? ["sub-agent"] : []),
  ];
  return (
    <p class="row wrap row-line small muted" title={title}>
      {words.join(" · ")}
      {used.finish === undefined ? null : (
        <span class="tag" data-tone="warn">
          {finishText[used.finish]}
        </span>
      )}
    </p>
  );
}

const finishText = {
  length: "cut off at the output limit",
  content_filter: "content filter",
  error: "broken off",
} satisfies Record<AnswerFinish, string>;

function DecisionRow({ decision }: { decision: DecisionItem }) {
  const { decision: made } = decision;
  const detail = made.kind === "session-crashed" ? made.crash.detail : undefined;
  return (
    <div class="row-entry row-decision row-line">
      <DecisionMark decision={decision} />
      <CategoryLabel decision={decision} />
      <span class="grow">
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
      {open ? <Cut text={argumentText(parsed(text))} label="details of the crash" /> : null}
    </>
  );
}
