/** A run in the portal: its page, and what can be done with it. */
import { useMemo, useState } from "preact/hooks";
import { api, type RunListItem } from "../data/api.ts";
import { serverRun } from "../data/run-source.ts";
import type { RunPart } from "../routes.ts";
import { RunPage, type RunActions } from "../run/run-page.tsx";
import { StartDialog } from "./start-dialog.tsx";
import { StopDialog } from "./stop-dialog.tsx";

interface Asked {
  readonly what: "stop" | "start";
  readonly run: RunListItem;
}

export function RunRoute({ runId, part }: { runId: string; part: RunPart }) {
  const source = useMemo(() => serverRun(runId), [runId]);
  const [asked, setAsked] = useState<Asked>();
  const actions = useMemo((): RunActions => {
    const ask = async (what: Asked["what"]) => {
      const answer = await api.runStatus(runId);
      if (answer.ok) setAsked({ what, run: answer.value });
    };
    return { stop: () => ask("stop"), startAgain: () => ask("start") };
  }, [runId]);
  const onClose = () => setAsked(undefined);
  return (
    <>
      <RunPage source={source} route={part} actions={actions} />
      {asked?.what === "stop" ? (
        <StopDialog
          jobName={asked.run.jobName}
          onStop={() => api.stopJob(runId)}
          onClose={onClose}
        />
      ) : null}
      {asked?.what === "start" ? (
        <StartDialog request={{ jobName: asked.run.jobName, again: runId }} onClose={onClose} />
      ) : null}
    </>
  );
}
