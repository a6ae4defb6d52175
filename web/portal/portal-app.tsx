/** The pages of a server. */
import type { PortalBoot } from "../data/boot.ts";
import { serverRun } from "../data/run-source.ts";
import { Frame } from "../frame.tsx";
import { EmptyState, PageHeading } from "../parts/notes.tsx";
import { ComparePage } from "../report/compare-page.tsx";
import { route } from "../router.ts";
import { placeOf, type Route } from "../routes.ts";
import { RunPage } from "../run/run-page.tsx";

export function PortalApp(_props: { boot: PortalBoot }) {
  const current = route.value;
  const navigation = [
    { href: "#/", text: "Jobs", current: current.page === "home" },
    { href: "#/session", text: "Session", current: current.page === "session" },
    { href: "#/journals", text: "Journals", current: current.page === "journals" },
  ];
  return (
    <Frame navigation={navigation} place={placeOf(current)}>
      <Page route={current} />
    </Frame>
  );
}

function Page({ route: current }: { route: Route }) {
  switch (current.page) {
    case "run":
      return <RunPage key={current.runId} source={serverRun(current.runId)} route={current.part} />;
    case "compare":
      return <ComparePage sources={current.runIds.map(serverRun)} />;
    case "home":
      return <PageHeading>Jobs</PageHeading>;
    case "session":
      return <PageHeading>Session</PageHeading>;
    case "journals":
      return <PageHeading>Journals</PageHeading>;
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
