/** How the rows of a work look: sessions, turns, and what happened in them. */
import { useState } from "preact/hooks";
import type { AnswerFinish, ModelUsed } from "../../src/events/session-activity.ts";
import type { Usage } from "../../src/events/view.ts";
import type { Block, DecisionItem, SessionModel, TextBlock, TurnModel } from "../model/model.ts";
import { roleName } from "../../src/events/decision.ts";
import { usageOf } from "../model/contents.ts";
import { turnTitle } from "../model/places.ts";
import type { Row } from "../model/rows.ts";
import { argumentText } from "../model/search.ts";
import { formatCost, formatCount, formatDuration, formatExact, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { looks, StatusBadge, type Status } from "../parts/status.tsx";
import { ClockTime } from "../parts/time.tsx";
import { ActionRow, DocumentRow } from "./action-rows.tsx";
import { CallRow } from "./call-row.tsx";
import { CategoryLabel, DecisionMark } from "./decisions.tsx";
import { PlaceLink } from "./place-link.tsx";
import { StepRow } from "./step-row.tsx";
import { Heading, Cut, Entry, oneLine, Plain, Prose, Writing, type Opened } from "./row-parts.tsx";

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
    case "step":
      return <StepRow step={row.step} opened={opened} />;
    case "document":
      return <DocumentRow document={row.document} opened={opened} />;
    case "action":
      return <ActionRow action={row.action} opened={opened} />;
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
        <span class="muted small mono truncate session-id">{sessionId}</span>
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
      <div class="row-heading">
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
            <Plain text={open ? prompt : prompt.slice(0, LONG_PROMPT)} />
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
    <div class="row-end">
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
    ...(usage.cost > 0 ? [`${formatCost(usage.cost)} premium requests`] : []),
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

/** A document of the action protocol as the model wrote it. Its own row says what is in it. */
function AnswerRow({ block, opened }: { block: TextBlock; opened: Opened }) {
  const open = opened.isOpen(block, false);
  return (
    <div class="row-entry row-reasoning">
      <div class="row-body">
        <Heading thing={block} opened={opened} isOpen={open}>
          <Icon name="spark" size={14} />
          <span class="muted">Answer</span>
          {open ? null : <span class="muted mono truncate preview">{oneLine(block.text)}</span>}
        </Heading>
        {open ? (
          <div class="call-details">
            <Cut text={pretty(block.text)} label="the answer" />
          </div>
        ) : null}
        {block.complete ? null : <Writing block={block} />}
      </div>
      <PlaceLink place={block} />
    </div>
  );
}

function ReasoningRow({ block, opened }: { block: TextBlock; opened: Opened }) {
  const open = opened.isOpen(block, false);
  return (
    <div class="row-entry row-reasoning">
      <div class="row-body">
        <Heading thing={block} opened={opened} isOpen={open}>
          <Icon name="thought" size={14} />
          <span class="muted">Reasoning</span>
          {open ? null : <span class="muted truncate preview">{oneLine(block.text)}</span>}
        </Heading>
        {open ? (
          <div class="reasoning">
            <Prose text={block.text} />
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
  const title = `${formatExact(cacheReadTokens)} input tokens from the cache, ${formatExact(reasoningTokens)} output tokens of reasoning`;
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
    <div class="row-decision">
      <DecisionMark decision={decision} />
      <CategoryLabel decision={decision} />
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
