/** The runs in the journals of a server that was started with `--journals`. */
import type { RunEvent } from "../../src/events/event.ts";
import { api, apiPath } from "./api.ts";
import { serverRun, type RunListener, type RunSource } from "./run-source.ts";

/** A run of this server: while it is known, from its stream; afterwards from the journal that contains it. */
export function keptRun(runId: string): RunSource {
  return {
    runId,
    subscribe(listener) {
      const stop = new AbortController();
      let leave = (): void => stop.abort();
      const choose = async (): Promise<void> => {
        // Asked first: a browser reports a stream that is refused as an error of the page.
        const answer = await api.runStatus(runId);
        if (stop.signal.aborted) return;
        if (!answer.ok && answer.error === "JobNotFound")
          await readFromJournal(runId, listener, answer.reason, stop.signal);
        else leave = serverRun(runId).subscribe(listener);
      };
      void choose();
      return () => leave();
    },
  };
}

async function readFromJournal(
  runId: string,
  listener: RunListener,
  otherwise: string,
  signal: AbortSignal,
): Promise<void> {
  const answer = await api.journals();
  if (signal.aborted) return;
  const journal = answer.ok
    ? answer.value.find(({ runs }) => runs.some((run) => run.runId === runId))
    : undefined;
  if (journal === undefined) return listener.failed(otherwise);
  try {
    const response = await fetch(apiPath`copilot/journal/${journal.name}`, {
      cache: "no-store",
      signal,
    });
    if (!response.ok || response.body === null) return listener.failed(otherwise);
    await readLines(response.body, (lines) => {
      const events = lines
        .map((line): RunEvent => JSON.parse(line))
        .filter((event) => event.runId === runId);
      if (events.length > 0) listener.events(events);
    });
  } catch {
    if (!signal.aborted) listener.failed(`The journal ${journal.name} can't be read.`);
    return;
  }
  if (!signal.aborted) listener.ended();
}

async function readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (lines: readonly string[]) => void,
): Promise<void> {
  let rest = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    take(lines);
  }
}
