/** A run in the portal: its page, and what can be done with it. */
import { useMemo, useState } from "preact/hooks";
import { api } from "../data/api.ts";
import { keptRun, type RunSource } from "../data/run-source.ts";
import type { RunPart } from "../routes.ts";
import type { RunActions } from "../run/context.ts";
import { RunPage } from "../run/run-page.tsx";
import { StartDialog, type StartRequest } from "./start-dialog.tsx";
import { StopRun } from "./stop-dialog.tsx";

type Asked =
  | { readonly what: "stop"; readonly jobName: string }
  | { readonly what: "start"; readonly request: StartRequest };

export function RunRoute({ runId, part }: { runId: string; part: RunPart }) {
  const source = useMemo(() => keptRun(runId), [runId]);
  const [asked, setAsked] = useState<Asked>();
  const actions = useMemo(
    (): RunActions => ({
      stop: async () => {
        const { jobName } = await startOf(source);
        setAsked({ what: "stop", jobName });
      },
      startAgain: async () => {
        const run = await startOf(source);
        setAsked({ what: "start", request: { jobName: run.jobName, again: run } });
      },
      answer: async (question, text) => {
        const answer = await api.answer(runId, question, text);
        return answer.ok ? undefined : answer.reason;
      },
    }),
    [source, runId],
  );
  const onClose = () => setAsked(undefined);
  return (
    <>
      <RunPage source={source} route={part} actions={actions} />
      {asked?.what === "stop" ? (
        <StopRun runId={runId} jobName={asked.jobName} onClose={onClose} />
      ) : null}
      {asked?.what === "start" ? <StartDialog request={asked.request} onClose={onClose} /> : null}
    </>
  );
}

interface Start {
  readonly jobName: string;
  readonly workingDirectory: string;
  readonly userInput: string;
  readonly params?: Readonly<Record<string, string>>;
}

/** The inputs of a run: as the server knows them, else as its first event says, else a rejection. */
async function startOf(source: RunSource): Promise<Start> {
  const runs = await api.runs();
  const known = runs.ok ? runs.value.find(({ jobId }) => jobId === source.runId) : undefined;
  return known ?? firstEvent(source);
}

function firstEvent(source: RunSource): Promise<Start> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(reason));
    const close = source.subscribe({
      events: ([first]) => {
        close();
        if (first?.type === "run.started")
          resolve(first.work.kind === "Flow" ? { ...first, params: first.work.params } : first);
        else fail("The start of this run is not known.");
      },
      ended: () => fail("There are no events of this run."),
      failed: fail,
    });
  });
}
