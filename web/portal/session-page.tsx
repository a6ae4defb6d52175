/** A conversation with a model, in which tasks of the entry can run too. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, ErrorNote, PageHeading } from "../parts/notes.tsx";
import { StatusBadge } from "../parts/status.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { StopSession } from "./stop-dialog.tsx";
import { TaskPanel } from "./task-panel.tsx";
import { useSession, type OpenSession } from "./use-session.ts";

export function SessionPage({ sessionId }: { sessionId: string }) {
  const session = useSession(sessionId);
  const { conversation, state, known, problem } = session;
  const [stopping, setStopping] = useState(false);
  const isOpen = state.kind === "open";
  const end = useFollowEnd(conversation.entries);
  return (
    <>
      <PageHeading
        eyebrow={
          <>
            <a href="#/session">Session</a> <span class="mono">{sessionId}</span>
            {known === undefined ? null : (
              <>
                {" "}
                in <span class="mono">{known.workingDirectory}</span>
              </>
            )}
          </>
        }
        actions={
          <>
            <span aria-live="polite">
              <SessionBadge session={session} />
            </span>
            {isOpen ? (
              <button type="button" class="button button-danger" onClick={() => setStopping(true)}>
                <Icon name="stop" size={14} /> Stop the session
              </button>
            ) : (
              <a class="button" href="#/session">
                New session
              </a>
            )}
          </>
        }
      >
        {known?.modelId ?? "Session"}
      </PageHeading>
      <div class="session">
        <div class="session-main column">
          {conversation.entries.length === 0 && isOpen ? (
            <EmptyState icon="chat" title="The session is ready.">
              Send a prompt, or run a task of the entry.
            </EmptyState>
          ) : null}
          <ConversationView
            entries={conversation.entries}
            working={conversation.working && isOpen}
          />
          <SessionNotes session={session} />
          <div ref={end} class="conversation-end" />
          {isOpen ? (
            <Composer
              working={conversation.working}
              problem={problem?.reason}
              onSend={session.send}
            />
          ) : null}
        </div>
        <aside class="session-side" aria-label="Tasks in this session">
          <TaskPanel session={session} />
        </aside>
      </div>
      {stopping ? <StopSession sessionId={sessionId} onClose={() => setStopping(false)} /> : null}
    </>
  );
}

function SessionBadge({ session: { conversation, state } }: { session: OpenSession }) {
  if (state.kind !== "open") return <StatusBadge status="canceled" word="Ended" />;
  return conversation.working ? (
    <StatusBadge status="running" word="Working" />
  ) : (
    <StatusBadge status="succeeded" word="Ready" />
  );
}

function SessionNotes({ session: { state } }: { session: OpenSession }) {
  if (state.kind === "failed") return <ErrorNote>{state.reason}</ErrorNote>;
  if (state.kind === "ended") return <p class="session-end muted">The session has ended.</p>;
  if (state.connection === "lost") return <ErrorNote>Connection lost. Reconnecting…</ErrorNote>;
  return null;
}

/** How far the end may be below the window to count as in view: the field for prompts is in front of it. */
const NEAR_END = 160;

/** Keeps the end of the conversation in view while it grows, unless the reader scrolled away from it. */
function useFollowEnd(entries: readonly unknown[]) {
  const end = useRef<HTMLDivElement>(null);
  const isNear = useRef(true);
  useEffect(() => {
    const look = () => {
      const top = end.current?.getBoundingClientRect().top ?? 0;
      isNear.current = top < innerHeight + NEAR_END;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    if (isNear.current) end.current?.scrollIntoView({ block: "end" });
  }, [entries]);
  return end;
}

/** Where prompts are written. */
function Composer({
  working,
  problem,
  onSend,
}: {
  working: boolean;
  problem: string | undefined;
  onSend: (prompt: string) => Promise<boolean>;
}) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const canSend = !working && !busy && text.trim() !== "";
  const send = async () => {
    if (!canSend) return;
    setBusy(true);
    if (await onSend(text)) setText("");
    setBusy(false);
  };
  return (
    <form
      class="composer stack"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {problem === undefined ? null : <ErrorNote>{problem}</ErrorNote>}
      <div class="composer-box">
        <label class="hidden-text" for="prompt">
          Prompt
        </label>
        <textarea
          id="prompt"
          rows={2}
          placeholder={working ? "The model is working…" : "Write a prompt"}
          value={text}
          aria-describedby="prompt-hint"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void send();
          }}
        />
        <div class="row between composer-foot">
          <span id="prompt-hint" class="muted small">
            Enter or Ctrl+Enter sends, Shift+Enter starts a new line.
          </span>
          <button type="submit" class="button button-primary" disabled={!canSend}>
            <Icon name="spark" size={14} /> Send
          </button>
        </div>
      </div>
    </form>
  );
}
