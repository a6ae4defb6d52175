/** The pages of a report: everything is in the file. */
import { useMemo } from "preact/hooks";
import type { ReportBoot } from "../../src/reports/html/boot.ts";
import { embeddedRun } from "../data/run-source.ts";
import { Frame } from "../frame.tsx";
import { ClockTime } from "../parts/time.tsx";
import { EmptyState, PageHeading } from "../parts/notes.tsx";
import { route } from "../router.ts";
import { placeOf, type Route } from "../routes.ts";
import { RunPage } from "../run/run-page.tsx";
import type { ListedRun } from "./run-list.ts";
import { Problems, RunsPage } from "./runs-page.tsx";

export function ReportApp({ boot }: { boot: ReportBoot }) {
  const current = route.value;
  const navigation =
    boot.runs.length === 1 ? [] : [{ href: "#/", text: "Runs", current: current.page === "home" }];
  return (
    <Frame navigation={navigation} place={placeOf(current)}>
      <Page boot={boot} route={current} />
    </Frame>
  );
}

function Page({ boot, route: current }: { boot: ReportBoot; route: Route }) {
  const runs = useMemo(() => listedRuns(boot), [boot]);
  const [only, ...others] = boot.runs;
  switch (current.page) {
    case "home":
      if (only !== undefined && others.length === 0)
        return (
          <>
            <Problems journals={boot.journals} />
            <Run key={only.runId} runId={only.runId} part={overview} />
          </>
        );
      return (
        <RunsPage
          heading="Runs"
          eyebrow={
            <>
              Report of {boot.createdAt.slice(0, 10)}, <ClockTime at={Date.parse(boot.createdAt)} />
            </>
          }
          runs={runs}
          journals={boot.journals}
        />
      );
    case "run":
      if (!boot.runs.some(({ runId }) => runId === current.runId))
        return <NotHere what="This run" />;
      return <Run key={current.runId} runId={current.runId} part={current.part} />;
    case "session":
    case "journals":
    case "unknown":
      return <NotHere what="This page" />;
  }
}

type RunPart = Extract<Route, { page: "run" }>["part"];

const overview: RunPart = { kind: "overview" };

function Run({ runId, part }: { runId: string; part: RunPart }) {
  const source = useMemo(() => embeddedRun(runId), [runId]);
  return <RunPage source={source} route={part} />;
}

function NotHere({ what }: { what: string }) {
  return (
    <>
      <PageHeading>Not in this report</PageHeading>
      <EmptyState title={`${what} is not in this report.`}>
        <a href="#/">Go to the start</a>
      </EmptyState>
    </>
  );
}

function listedRuns({ runs, journals }: ReportBoot): readonly ListedRun[] {
  return runs.map((run) => ({
    ...run,
    journals: run.journals.map((index) => journals[index]?.name ?? ""),
  }));
}
