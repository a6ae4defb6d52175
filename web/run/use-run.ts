/** The model of a run as a component sees it: it renders again when events have come, but not for each of them. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunSource } from "../data/run-source.ts";
import { applyToModel, createRunModel, type RunModel } from "../model/run-model.ts";

/** Whether there may be more events. */
export type Feed =
  /** The events up to now are being read, from a file or from the server. */
  | { readonly kind: "reading" }
  /** They come as they happen. */
  | { readonly kind: "open"; readonly connection: "open" | "lost" }
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly reason: string };

export interface Run {
  /** Changed in place; `version` says when. */
  readonly model: RunModel;
  readonly version: number;
  readonly feed: Feed;
}

const BETWEEN_RENDERS_MS = 100;

export function useRun(source: RunSource): Run {
  const [run, setRun] = useState<Run>(() => ({
    model: createRunModel(),
    version: 0,
    feed: { kind: "reading" },
  }));
  const { runId } = source;
  const latest = useRef(source);
  latest.current = source;
  useEffect(() => {
    const model = createRunModel();
    let feed: Feed = { kind: "reading" };
    let version = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (): void => {
      timer = undefined;
      version += 1;
      setRun({ model, version, feed });
    };
    const end = (how: Feed): void => {
      feed = how;
      clearTimeout(timer);
      show();
    };
    show();
    const unsubscribe = latest.current.subscribe({
      events: (batch) => {
        for (const event of batch) applyToModel(model, event);
        timer ??= setTimeout(show, BETWEEN_RENDERS_MS);
      },
      connection: (connection) => {
        feed = { kind: "open", connection };
        timer ??= setTimeout(show, BETWEEN_RENDERS_MS);
      },
      ended: () => end({ kind: "ended" }),
      failed: (reason) => end({ kind: "failed", reason }),
    });
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [runId]);
  return run;
}
