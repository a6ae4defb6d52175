/** The ways back to the sessions that are open. */
import { useState } from "preact/hooks";
import { api, type SessionListItem } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { Icon } from "../parts/icon.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { hrefOf } from "../routes.ts";
import { StopSession } from "./stop-dialog.tsx";

const SESSIONS_MS = 5_000;

export function OpenSessions() {
  const [sessions, reload] = useApi(api.sessions, SESSIONS_MS);
  const [stopping, setStopping] = useState<SessionListItem>();
  const announce = useAnnounce();
  const open =
    sessions.kind === "loaded"
      ? sessions.value.filter(({ endTime }) => endTime === undefined).toReversed()
      : [];
  return (
    <>
      {open.length === 0 ? null : (
        <section class="earlier" aria-labelledby="open-sessions">
          <div class="section-heading row">
            <h2 id="open-sessions">Open sessions</h2>
          </div>
          <ul class="list card">
            {open.map((session) => (
              <li key={session.sessionId} class="recent-item row">
                <SessionRow session={session} onStop={() => setStopping(session)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {stopping === undefined ? null : (
        <StopSession
          sessionId={stopping.sessionId}
          onStopped={() => {
            announce("Stopped the session.");
            reload();
          }}
          onClose={() => setStopping(undefined)}
        />
      )}
    </>
  );
}

function SessionRow({ session, onStop }: { session: SessionListItem; onStop: () => void }) {
  const { sessionId, modelId, workingDirectory, startTime, prompts } = session;
  const title = prompts[0]?.text ?? modelId;
  return (
    <>
      <a class="recent-link lines grow" href={hrefOf({ page: "session", sessionId })}>
        <span class="strong truncate">{title.slice(0, LONGEST_TITLE)}</span>
        <span class="row muted small">
          {prompts.length === 0 ? null : <span>{modelId}</span>}
          <span class="mono truncate">{workingDirectory}</span>
        </span>
      </a>
      <span class="muted small">
        <RelativeTime at={Date.parse(startTime)} />
      </span>
      <button
        type="button"
        class="button button-icon button-small recent-action"
        aria-label={`Stop the session with ${modelId}`}
        title="Stop"
        onClick={onStop}
      >
        <Icon name="stop" />
      </button>
    </>
  );
}

/** The row shows less; the rest would only make the page larger. */
const LONGEST_TITLE = 200;
