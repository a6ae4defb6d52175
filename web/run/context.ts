/** What the parts of the run page have in common. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Place } from "../model/model.ts";
import { partOf } from "../model/places.ts";
import { runHref, type RunPart } from "../routes.ts";

export interface RunContext {
  readonly runId: string;
  /** Whether events may still come. */
  readonly live: boolean;
  /** Follows a link. */
  readonly open: (part: RunPart) => void;
  /** What the reader searches for. */
  readonly query: string;
}

export const RunContext = createContext<RunContext>({
  runId: "",
  live: false,
  open: () => {},
  query: "",
});

export function useRunContext(): RunContext {
  return useContext(RunContext);
}

export function placeHref(runId: string, place: Place): string {
  return runHref(runId, partOf(place));
}
