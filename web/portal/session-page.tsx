/** A conversation with a model, in which tasks of the entry can run too. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Confirm } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, ErrorNote, PageHeading } from "../parts/notes.tsx";
import { StatusBadge } from "../parts/status.tsx";
import { Composer } from "./composer.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { TaskPanel } from "./task-panel.tsx";
import { useSession, type OpenSession } from "./use-session.ts";

export function SessionPage({ sessionId }: { sessionId: string }) {
  const session = useSession(sessionId);
  const { conversation, state, memory, problem } = session;
  const [stopping, setStopping] = useState(false);
  const isOpen = state.kind === "open";
  const end = useFollowEnd(conversation.entries);
  return (
    <>
      <PageHeading
        eyebrow={
          <>
            <a href="#/session">Session</a> <span class="mono">{sessionId}</span>
            {memory.workingDirectory === undefined ? null : (
              <>
                {" "}
                in <span class="mono">{memory.workingDirectory}</span>
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
        {memory.modelId ?? "Session"}
      </PageHeading>
      <div class="session">
        <div class="session-main">
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
      {stopping ? <StopSession session={session} onClose={() => setStopping(false)} /> : null}
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
  if (state.kind === "ended") return <p class="session-end">The session has ended.</p>;
  if (state.connection === "lost") return <ErrorNote>Connection lost. Reconnecting…</ErrorNote>;
  return null;
}

function StopSession({ session, onClose }: { session: OpenSession; onClose: () => void }) {
  const [reason, setReason] = useState<string>();
  const [busy, setBusy] = useState(false);
  const stop = async () => {
    setBusy(true);
    const answer = await session.stop();
    setBusy(false);
    if (answer.ok) onClose();
    else setReason(answer.reason);
  };
  return (
    <Confirm
      title="Stop this session?"
      action="Stop the session"
      dismiss="Keep it open"
      busy={busy}
      onConfirm={() => void stop()}
      onClose={onClose}
    >
      <p>The model forgets the conversation. A session can't be continued after that.</p>
      {reason === undefined ? null : <ErrorNote>{reason}</ErrorNote>}
    </Confirm>
  );
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
