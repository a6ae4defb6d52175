/** The ways back to the sessions that are open. */
import { useState } from "preact/hooks";
import { api, type SessionListItem } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { hrefOf } from "../routes.ts";
import { RecentItem } from "./recent-runs.tsx";
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
              <RecentItem
                key={session.sessionId}
                href={hrefOf({ page: "session", sessionId: session.sessionId })}
                name={(session.prompts[0]?.text ?? session.modelId).slice(0, LONGEST_TITLE)}
                facts={
                  <>
                    {session.prompts.length === 0 ? null : <span>{session.modelId}</span>}
                    <span class="mono truncate">{session.workingDirectory}</span>
                  </>
                }
                time={<RelativeTime at={Date.parse(session.startTime)} />}
                action={{
                  icon: "stop",
                  title: `Stop the session with ${session.modelId}`,
                  onClick: () => setStopping(session),
                }}
              />
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

/** The row shows less; the rest would only make the page larger. */
const LONGEST_TITLE = 200;
