/** One iteration of a work as a flat list of rows, as a virtual list needs it. */
import type {
  ActionModel,
  Block,
  DecisionItem,
  DocumentModel,
  IterationModel,
  Place,
  SessionModel,
  StepModel,
  TurnModel,
} from "./model.ts";
import type { FlowPlace } from "./places.ts";

export type Row =
  /** `first`: not a continuation after a turn of another session. */
  | {
      readonly kind: "session";
      readonly session: SessionModel;
      readonly first: boolean;
      readonly turn: TurnModel;
      readonly key: string;
    }
  | { readonly kind: "turn"; readonly turn: TurnModel; readonly key: string }
  | { readonly kind: "block"; readonly block: Block; readonly key: string }
  | { readonly kind: "end"; readonly turn: TurnModel; readonly key: string }
  | { readonly kind: "decision"; readonly decision: DecisionItem; readonly key: string }
  | { readonly kind: "step"; readonly step: StepModel; readonly key: string }
  | { readonly kind: "document"; readonly document: DocumentModel; readonly key: string }
  | { readonly kind: "action"; readonly action: ActionModel; readonly key: string };

/**
 * In the order in which things happened. Turns of a session that follow one another are below one row of their
 * session, and only there if it is not closed.
 */
export function rowsOf(
  iteration: IterationModel,
  /** Undefined: all. */
  sending: number | undefined,
  isClosed: (session: SessionModel) => boolean,
  /** Undefined: all. */
  activity?: FlowPlace,
): readonly Row[] {
  const rows: Row[] = [];
  const seen = new Set<SessionModel>();
  let current: SessionModel | undefined;
  let turns = 0;
  for (const entry of iteration.entries) {
    if (entry.kind === "turn") turns += 1;
    if (entry.kind === "document" || entry.kind === "action") {
      // A workflow has none. They belong to the turn above, so its session goes on below them.
      if (activity !== undefined) continue;
      if (sending !== undefined && entry.sending !== sending) continue;
      rows.push(
        entry.kind === "document"
          ? { kind: "document", document: entry, key: `o${entry.number}` }
          : { kind: "action", action: entry, key: `a${entry.number}` },
      );
      continue;
    }
    const step = entry.kind === "step" ? entry : entry.step;
    if (activity !== undefined && !(step !== undefined && isOf(step, activity))) continue;
    if (entry.kind === "step") {
      rows.push({ kind: "step", step: entry, key: `p${entry.number}` });
      current = undefined;
      continue;
    }
    if (sending !== undefined && entry.sending !== sending) continue;
    if (entry.kind === "decision") {
      rows.push({ kind: "decision", decision: entry, key: `d${entry.number}` });
      continue;
    }
    const { session } = entry;
    if (session !== current) {
      rows.push({
        kind: "session",
        session,
        first: !seen.has(session),
        turn: entry,
        key: `s${turns}`,
      });
      seen.add(session);
      current = session;
    }
    if (isClosed(session)) continue;
    rows.push({ kind: "turn", turn: entry, key: `t${turns}` });
    for (const block of entry.blocks) {
      if (isShown(block)) rows.push({ kind: "block", block, key: `t${turns}-${block.number}` });
    }
    if (entry.endedAt !== undefined) rows.push({ kind: "end", turn: entry, key: `e${turns}` });
  }
  return rows;
}

function isOf(step: StepModel, { file, activity }: FlowPlace): boolean {
  return step.file === file && step.activity === activity;
}

/** A text that was announced and stayed empty is nothing to see. */
function isShown(block: Block): boolean {
  return !(block.kind === "message" || block.kind === "reasoning") || block.text.trim() !== "";
}

/** The row of a place, or the one that it is closed in; -1: there is none. */
export function rowOf(rows: readonly Row[], place: Exclude<Place, IterationModel>): number {
  return rows.findIndex((row) => {
    switch (row.kind) {
      case "session":
        return false;
      case "turn":
        return row.turn === place;
      case "block":
        return row.block === place;
      case "end":
        return false;
      case "decision":
        return row.decision === place;
      case "step":
        return row.step === place;
      case "document":
        return row.document === place;
      case "action":
        return row.action === place;
    }
  });
}
