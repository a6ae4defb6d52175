import { useEffect, useRef } from "preact/hooks";
import type { RunListItem, RunStatus } from "../data/api.ts";
import { useAnnounce } from "../parts/announcer.tsx";

/** Announces the end of every run that was seen running, and every question. */
export function useRunAnnouncements(runs: readonly RunListItem[] | undefined): void {
  const announce = useAnnounce();
  const before = useRef(new Map<string, RunStatus>());
  const asked = useRef(new Set<string>());
  useEffect(() => {
    if (runs === undefined) return;
    const open = runs.flatMap(({ jobId, jobName, questions = [] }) =>
      questions.map(({ id }) => ({ key: `${jobId} ${id}`, jobName })),
    );
    for (const { key, jobName } of open)
      if (!asked.current.has(key)) announce(`${jobName} waits for an answer.`);
    asked.current = new Set(open.map(({ key }) => key));
    for (const { jobId, jobName, status } of runs)
      if (before.current.get(jobId) === "Running" && status !== "Running")
        announce(`${jobName} ${status.toLowerCase()}.`);
    before.current = new Map(runs.map(({ jobId, status }) => [jobId, status]));
  }, [runs]);
}
