import { useEffect, useRef } from "preact/hooks";
import type { RunListItem, RunStatus } from "../data/api.ts";
import { useAnnounce } from "../parts/announcer.tsx";

/** Announces the end of every run that was seen running. */
export function useRunAnnouncements(runs: readonly RunListItem[] | undefined): void {
  const announce = useAnnounce();
  const before = useRef(new Map<string, RunStatus>());
  useEffect(() => {
    if (runs === undefined) return;
    for (const { jobId, jobName, status } of runs)
      if (before.current.get(jobId) === "Running" && status !== "Running")
        announce(`${jobName} ${status.toLowerCase()}.`);
    before.current = new Map(runs.map(({ jobId, status }) => [jobId, status]));
  }, [runs]);
}
