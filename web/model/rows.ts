/** One iteration as a flat list of rows, as a virtual list needs it. */
import type {
  Block,
  DecisionItem,
  DocumentModel,
  ActionModel,
  IterationModel,
  Place,
  SessionModel,
  StepModel,
  TurnModel,
} from "./model.ts";
import type { FlowPlace } from "./places.ts";

export type Row = { readonly key: string } &
  /** `first`: not a continuation after a turn of another session. */
  (
    | { readonly kind: "session"; readonly session: SessionModel; readonly first: boolean }
    | { readonly kind: "end"; readonly turn: TurnModel }
    | { readonly kind: "place"; readonly place: RowPlace }
  );

type RowPlace = TurnModel | Block | DecisionItem | StepModel | DocumentModel | ActionModel;

export interface RowFilter {
  /** Rows of one sending of the task's prompt. Undefined: of all. */
  readonly sending?: number | undefined;
  /** Rows of one activity of a workflow. Undefined: of all. */
  readonly activity?: FlowPlace | undefined;
  readonly isClosed?: (session: SessionModel) => boolean;
}

/**
 * In the order in which things happened. Turns of a session that follow one another are below one row of their
 * session, and only there if it is not closed.
 */
export function rowsOf(
  iteration: IterationModel,
  { sending, activity, isClosed = () => false }: RowFilter = {},
): readonly Row[] {
  const rows: Row[] = [];
  const seen = new Set<SessionModel>();
  let current: SessionModel | undefined;
  const add = (place: RowPlace, key: string): void => void rows.push({ kind: "place", place, key });
  for (const entry of iteration.entries) {
    const step = entry.kind === "step" ? entry : "step" in entry ? entry.step : undefined;
    const isOf = step?.file === activity?.file && step?.activity === activity?.activity;
    if (activity !== undefined && !isOf) continue;
    const { kind, number } = entry;
    if (kind !== "step" && sending !== undefined && entry.sending !== sending) continue;
    if (kind !== "turn") {
      add(entry, `${kind}${number}`);
      // Other rows belong to the turn above, so its session goes on below them.
      if (kind === "step") current = undefined;
      continue;
    }
    const { session } = entry;
    if (session !== current)
      rows.push({ kind: "session", session, first: !seen.has(session), key: `session${number}` });
    seen.add(session);
    current = session;
    if (isClosed(session)) continue;
    add(entry, `turn${number}`);
    for (const block of entry.blocks)
      if (isShown(block)) add(block, `turn${number}-${block.number}`);
    if (entry.endedAt !== undefined) rows.push({ kind: "end", turn: entry, key: `end${number}` });
  }
  return rows;
}

/** A text that was announced and stayed empty is nothing to see. */
function isShown(block: Block): boolean {
  return !(block.kind === "message" || block.kind === "reasoning") || block.text.trim() !== "";
}

/** The index of the row of a place; -1: there is none, for instance because its session is closed. */
export function rowOf(rows: readonly Row[], place: Place): number {
  return rows.findIndex((row) => row.kind === "place" && row.place === place);
}
