/** The pages of a server. */
import type { PortalBoot } from "../data/boot.ts";
import { keptRun } from "../data/journal-source.ts";
import { api, type JournalSummary } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { Frame } from "../frame.tsx";
import { EmptyState, PageHeading } from "../parts/notes.tsx";
import { ComparePage } from "../report/compare-page.tsx";
import { JournalsPage } from "../report/journals-page.tsx";
import { route } from "../router.ts";
import { placeOf, type Route } from "../routes.ts";
import { HomePage } from "./home-page.tsx";
import { NewSessionPage } from "./new-session-page.tsx";
import { RunRoute } from "./run-route.tsx";
import { SessionPage } from "./session-page.tsx";

const JOURNALS_MS = 30_000;

export function PortalApp(_props: { boot: PortalBoot }) {
  const current = route.value;
  const [journals] = useApi(api.journals, JOURNALS_MS);
  const kept = journals.kind === "loaded" ? journals.value : [];
  const navigation = [
    { href: "#/", text: "Jobs", current: current.page === "home" },
    { href: "#/session", text: "Session", current: current.page === "session" },
    ...(kept.length > 0 || current.page === "journals"
      ? [{ href: "#/journals", text: "Journals", current: current.page === "journals" }]
      : []),
  ];
  return (
    <Frame navigation={navigation} place={placeOf(current)}>
      <Page route={current} journals={kept} />
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

export function UnknownPage() {
  return (
    <>
      <PageHeading>There is no such page</PageHeading>
      <EmptyState title="The address is not one of this page.">
        <a href="#/">Go to the start</a>
      </EmptyState>
    </>
  );
}
