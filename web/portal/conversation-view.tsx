/** The entries of a conversation, from top to bottom. */
import { memo } from "preact/compat";
import { CodeBlock } from "../parts/code-block.tsx";
import { Collapsible } from "../parts/collapsible.tsx";
import { plural } from "../parts/format.ts";
import { Icon, Spinner } from "../parts/icon.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { ErrorNote } from "../parts/notes.tsx";
import { StatusBadge, type Status } from "../parts/status.tsx";
import type { Entry, Streamed, ToolCall } from "./conversation.ts";
import { argumentText, parsed, summaryOf } from "../parts/tool-text.ts";

export function ConversationView({
  entries,
  working,
}: {
  entries: readonly Entry[];
  working: boolean;
}) {
  return (
    <>
      {entries.length === 0 ? null : (
        <ol class="stack" aria-label="Conversation">
          {entries.map((entry) => (
            <li key={entry.key} class="entry">
              <EntryView entry={entry} />
            </li>
          ))}
        </ol>
      )}
      {working ? (
        <p class="row working" data-tone="run">
          <Spinner size={14} /> Working…
        </p>
      ) : null}
    </>
  );
}

/** An entry object never changes, so only what is new is rendered. */
const EntryView = memo(({ entry }: { entry: Entry }) => {
  switch (entry.kind) {
    case "prompt":
      return <PromptView text={entry.text} by={entry.by} />;
    case "task":
      return (
        <p class="row muted">
          <Icon name="play" size={14} /> Task <strong>{entry.taskName}</strong> started
        </p>
      );
    case "reasoning":
      return <ReasoningView entry={entry} />;
    case "message":
      return <Markdown text={entry.text} />;
    case "tool":
      return <ToolView tool={entry} />;
    case "error":
      return <ErrorNote title="The session reported an error.">{entry.text}</ErrorNote>;
    case "dropped":
      return (
        <p class="muted small">
          {plural(entry.count, "response")} of the session can't be shown: the server keeps the last
          ones only.
        </p>
      );
  }
});

const LONG_PROMPT = 1_200;

function PromptView({ text, by }: { text: string; by: "you" | "task" }) {
  const who = by === "you" ? "You" : "Prompt of the task";
  return (
    <div class="prompt">
      <p class="row muted small">
        <Icon name={by === "you" ? "person" : "list"} size={14} /> {who}
      </p>
      {text.length <= LONG_PROMPT ? (
        <div class="pre">{text}</div>
      ) : (
        <>
          <div class="pre">{text.slice(0, LONG_PROMPT)}…</div>
          <Collapsible summary="The whole prompt">
            <CodeBlock text={text} label="prompt" />
          </Collapsible>
        </>
      )}
    </div>
  );
}

function ReasoningView({ entry: { text, done } }: { entry: Streamed }) {
  return (
    <Collapsible
      summary={
        <span class="row grow">
          {done ? <Icon name="thought" size={14} /> : <Spinner size={14} />}
          <span>{done ? "Reasoning" : "Reasoning…"}</span>
          {done ? <span class="muted small">{plural(wordsIn(text), "word")}</span> : null}
        </span>
      }
    >
      <div class="muted">
        <Markdown text={text} />
      </div>
    </Collapsible>
  );
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

const toolStatus: Readonly<Record<ToolCall["state"]["kind"], readonly [Status, string]>> = {
  running: ["running", "Running"],
  succeeded: ["succeeded", "Succeeded"],
  failed: ["failed", "Failed"],
  denied: ["failed", "Denied"],
};

function ToolView({ tool }: { tool: ToolCall }) {
  const [status, word] = toolStatus[tool.state.kind];
  const summary = summaryOf(parsed(tool.arguments));
  return (
    <Collapsible
      class={tool.nested ? "nested" : ""}
      summary={
        <span class="row grow">
          <Icon name={tool.state.kind === "denied" ? "shield" : "tool"} size={14} />
          <span class="mono strong">{tool.name}</span>
          <span class="grow mono small muted wide-only truncate">{summary}</span>
          <StatusBadge status={status} word={word} quiet />
        </span>
      }
    >
      <div class="stack">
        {tool.arguments === "" || tool.arguments === "{}" ? null : (
          <div>
            <p class="muted small">Arguments</p>
            <CodeBlock
              text={argumentText(parsed(tool.arguments))}
              label={`arguments of ${tool.name}`}
            />
          </div>
        )}
        {tool.state.kind === "failed" || tool.state.kind === "denied" ? (
          <ErrorNote title={tool.state.kind === "denied" ? "Denied." : undefined}>
            {tool.state.message}
          </ErrorNote>
        ) : null}
        {tool.output === "" ? (
          tool.state.kind === "succeeded" ? (
            <p class="muted small">The tool returned nothing.</p>
          ) : null
        ) : (
          <div>
            <p class="muted small">{tool.state.kind === "running" ? "Output" : "Result"}</p>
            <CodeBlock text={tool.output} label={`result of ${tool.name}`} />
          </div>
        )}
      </div>
    </Collapsible>
  );
}
