/** The pages of a server. */
import { useState } from "preact/hooks";
import type { PortalBoot } from "../data/boot.ts";
import { keptRun } from "../data/journal-source.ts";
import { api, type JournalSummary } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { Frame } from "../frame.tsx";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, PageHeading } from "../parts/notes.tsx";
import { ComparePage } from "../report/compare-page.tsx";
import { JournalsPage } from "../report/journals-page.tsx";
import { route } from "../router.ts";
import { placeOf, type Route } from "../routes.ts";
import { HomePage } from "./home-page.tsx";
import { Rehearsal } from "./rehearsal.tsx";
import { NewSessionPage } from "./new-session-page.tsx";
import { RunRoute } from "./run-route.tsx";
import { SessionPage } from "./session-page.tsx";
import { StopServer } from "./stop-dialog.tsx";

const JOURNALS_MS = 30_000;

export function PortalApp({ boot }: { boot: PortalBoot }) {
  const [isStopped, setStopped] = useState(false);
  // The portal is unmounted, because it would go on polling the server.
  return isStopped ? <StoppedPage /> : <Portal boot={boot} onStopped={() => setStopped(true)} />;
}

function Portal({ boot, onStopped }: { boot: PortalBoot; onStopped: () => void }) {
  const [isStopping, setStopping] = useState(false);
  const current = route.value;
  const [journals] = useApi(api.journals, JOURNALS_MS);
  const kept = journals.kind === "loaded" ? journals.value : [];
  const navigation = [
    { href: "#/", text: "Jobs", current: current.page === "home" },
    { href: "#/session", text: "Session", current: current.page === "session" },
    ...(boot.journals || current.page === "journals"
      ? [{ href: "#/journals", text: "Journals", current: current.page === "journals" }]
      : []),
  ];
  return (
    <Frame
      navigation={navigation}
      place={placeOf(current)}
      actions={
        <button
          type="button"
          class="button button-icon"
          aria-label="Stop the server"
          title="Stop the server"
          onClick={() => setStopping(true)}
        >
          <Icon name="power" />
        </button>
      }
    >
      <Rehearsal.Provider value={boot.rehearsal}>
        <Page route={current} journals={kept} />
      </Rehearsal.Provider>
      {isStopping ? <StopServer onStopped={onStopped} onClose={() => setStopping(false)} /> : null}
    </Frame>
  );
}

function Page({ route: current, journals }: { route: Route; journals: readonly JournalSummary[] }) {
  switch (current.page) {
    case "run":
      return <RunRoute key={current.runId} runId={current.runId} part={current.part} />;
    case "compare":
      return <ComparePage key={placeOf(current)} runIds={current.runIds} sourceOf={keptRun} />;
    case "home":
      return <HomePage journals={journals} />;
    case "session":
      return current.sessionId === undefined ? (
        <NewSessionPage />
      ) : (
        <SessionPage key={current.sessionId} sessionId={current.sessionId} />
      );
    case "journals":
      return <JournalsPage />;
    case "unknown":
      return <UnknownPage />;
  }
}

function StoppedPage() {
  return (
    <Frame navigation={[]} place="stopped">
      <PageHeading>The server has stopped</PageHeading>
      <EmptyState icon="power" title="You can close this page.">
        <code>agent-jobs serve</code> starts a server again.
      </EmptyState>
    </Frame>
  );
}

export function UnknownPage() {
  return (
    <>
      <PageHeading>Page not found</PageHeading>
      <EmptyState title="Nothing is at this address.">
        <a href="#/">Go to the start</a>
      </EmptyState>
    </>
  );
}
