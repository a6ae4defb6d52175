/** The pages of a server. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { PortalBoot } from "../../src/reports/html/boot.ts";
import { api, type JournalPage, type JournalSummary } from "../data/api.ts";
import { useApi, type Loaded } from "../data/use-api.ts";
import { Frame } from "../frame.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { IconButton } from "../parts/icon.tsx";
import { EmptyState, ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import type { ListedRun } from "../report/run-list.ts";
import { RunsPage } from "../report/runs-page.tsx";
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
  const [journals, reloadJournals] = useApi(api.journals, JOURNALS_MS);
  useEffect(() => {
    if (current.page === "journals") reloadJournals();
  }, [current.page]);
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
        <IconButton icon="power" label="Stop the server" onClick={() => setStopping(true)} />
      }
    >
      <Rehearsal.Provider value={boot.rehearsal}>
        <Page route={current} journals={journals} />
      </Rehearsal.Provider>
      {isStopping ? <StopServer onStopped={onStopped} onClose={() => setStopping(false)} /> : null}
    </Frame>
  );
}

function Page({ route: current, journals }: { route: Route; journals: Loaded<JournalPage> }) {
  switch (current.page) {
    case "run":
      return <RunRoute key={current.runId} runId={current.runId} part={current.part} />;
    case "home":
      return <HomePage journals={journals.kind === "loaded" ? journals.value.journals : []} />;
    case "session":
      return current.sessionId === undefined ? (
        <NewSessionPage />
      ) : (
        <SessionPage key={current.sessionId} sessionId={current.sessionId} />
      );
    case "journals":
      return <JournalsPage journals={journals} />;
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

/** The runs in the journals of a server that was started with `--journals`. */
function JournalsPage({ journals }: { journals: Loaded<JournalPage> }) {
  const [older, setOlder] = useState<readonly JournalPage[]>([]);
  const [problem, setProblem] = useState("");
  const latest = journals.kind === "loaded" ? journals.value : undefined;
  const listed = useMemo(() => together([...(latest ? [latest] : []), ...older]), [latest, older]);
  const runs = useMemo(() => listedRuns(listed), [listed]);
  const next = (older.at(-1) ?? latest)?.next;
  const showOlder = async () => {
    const answer = await api.olderJournals(next ?? "");
    setProblem(answer.ok ? "" : answer.reason);
    // New journals push older ones off the first page, and the loaded older pages don't contain those.
    const before = older.length === 0 && latest ? [latest] : older;
    if (answer.ok) setOlder([...before, answer.value]);
  };
  if (journals.kind !== "loaded")
    return (
      <>
        <PageHeading>Journals</PageHeading>
        {journals.kind === "loading" ? (
          <Loading what="the journals" />
        ) : (
          <ErrorNote>{journals.error.reason}</ErrorNote>
        )}
      </>
    );
  return (
    <RunsPage
      heading="Journals"
      eyebrow={plural(journals.value.total, "file")}
      runs={runs}
      more={
        <>
          {problem === "" ? null : <ErrorNote>{problem}</ErrorNote>}
          {next === undefined ? null : (
            <button type="button" class="button show-more" onClick={() => void showOlder()}>
              Read older journals ({formatCount(journals.value.total - listed.length)} more)
            </button>
          )}
        </>
      }
      journals={listed.map(({ name, problems }) => ({
        name,
        problems: [],
        moreProblems: problems,
      }))}
    />
  );
}

/** A journal that has grown moves to the first page, so it may be on two pages. */
function together(pages: readonly JournalPage[]): readonly JournalSummary[] {
  const journals = new Map<string, JournalSummary>();
  for (const one of pages.flatMap((page) => page.journals))
    if (!journals.has(one.name)) journals.set(one.name, one);
  return [...journals.values()];
}

/** A run that several journals contain is listed once, preferably from a journal that has its end. */
function listedRuns(journals: readonly JournalSummary[]): readonly ListedRun[] {
  const runs = new Map<string, ListedRun>();
  for (const { name, runs: found } of journals) {
    for (const run of found) {
      const known = runs.get(run.runId) ?? { ...run, journals: [] };
      const best = known.endTime === undefined ? run : known;
      runs.set(run.runId, { ...best, journals: [...known.journals, name] });
    }
  }
  return [...runs.values()];
}
