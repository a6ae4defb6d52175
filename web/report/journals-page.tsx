/** The runs in the journals of a server that was started with `--journals`. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Answer, type JournalSummary } from "../data/api.ts";
import { ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { plural } from "../parts/format.ts";
import type { ListedRun } from "./run-list.ts";
import { RunsPage } from "./runs-page.tsx";

export function JournalsPage() {
  const [answer, setAnswer] = useState<Answer<readonly JournalSummary[]>>();
  const load = async () => setAnswer(await api.journals());
  useEffect(() => void load(), []);
  const runs = useMemo(() => (answer?.ok === true ? listedRuns(answer.value) : []), [answer]);
  if (answer === undefined)
    return (
      <>
        <PageHeading>Journals</PageHeading>
        <Loading what="the journals" />
      </>
    );
  if (!answer.ok)
    return (
      <>
        <PageHeading>Journals</PageHeading>
        <ErrorNote>{answer.reason}</ErrorNote>
      </>
    );
  return (
    <RunsPage
      heading="Journals"
      eyebrow={plural(answer.value.length, "file")}
      runs={runs}
      journals={answer.value.map(({ name, problems }) => ({
        name,
        problems: [],
        moreProblems: problems,
      }))}
    />
  );
}

/** A run that several journals contain is listed once, as the one of them that has most of it says. */
function listedRuns(journals: readonly JournalSummary[]): readonly ListedRun[] {
  const runs = new Map<string, ListedRun>();
  for (const { name, runs: found } of journals) {
    for (const run of found) {
      const known = runs.get(run.runId);
      if (known === undefined) runs.set(run.runId, { ...run, journals: [name] });
      else {
        const ended = known.endTime === undefined && run.endTime !== undefined;
        runs.set(run.runId, { ...(ended ? run : known), journals: [...known.journals, name] });
      }
    }
  }
  return [...runs.values()];
}
