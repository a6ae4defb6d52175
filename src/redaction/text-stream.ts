/**
 * The redaction of a text that comes in pieces. What comes out, joined, is the redaction of the pieces, joined:
 * which characters are masked depends on the text alone. Only what may be the beginning of a secret is held back, at
 * most as much as the longest form of a known secret or token.
 */
import { nothingBefore, united, type Before, type SecretSearch } from "./secret-search.ts";
import type { Span } from "./tokens.ts";
import { CONTEXT } from "./visible-text.ts";

export interface TextStream {
  /** Returns the text that can be passed on now: often all of it, sometimes nothing. */
  readonly push: (piece: string) => string;
  /** The rest. The stream is over. */
  readonly end: () => string;
}

export const MASK = "***";
/** A longer text that is held back is searched again at the end of a line, not for every character. */
const SHORT = 64;

/** `search`: the current one; another secret may become known in mid-stream. */
export function createTextStream(search: () => SecretSearch): TextStream {
  let held = "";
  /** How much has to be there before it is searched again. */
  let due = 0;
  let before: Before = nothingBefore;
  /** If what was passed on ends with a mask: how much of `held` the mask covers, too. */
  let covered: number | undefined;

  const pass = (isWhole: boolean): string => {
    const { spans, decided, last } = search().find(held, before, isWhole);
    const all = covered === undefined ? spans : united([{ from: 0, to: covered }, ...spans]);
    const passed = masked(held, all, decided, covered !== undefined);
    if (decided > 0) {
      const reached = all.findLast(({ from }) => from < decided)?.to ?? -1;
      covered = reached < decided ? undefined : reached - decided;
      before = { text: (before.text + held.slice(0, decided)).slice(-CONTEXT), last };
      held = held.slice(decided);
    }
    due = held.length < SHORT ? 0 : held.length + held.length / 8;
    return passed;
  };
  return {
    push(piece) {
      held += piece;
      return held.length < due && !piece.includes("\n") ? "" : pass(false);
    },
    end: () => pass(true),
  };
}

export function redactedText(text: string, search: SecretSearch): string {
  const { spans } = search.find(text, nothingBefore, true);
  return spans.length === 0 ? text : masked(text, spans, text.length, false);
}

/** The text up to `until`. `goesOn`: of a span at its beginning, the mask was printed before. */
function masked(text: string, spans: readonly Span[], until: number, goesOn: boolean): string {
  let result = "";
  let end = 0;
  for (const { from, to } of spans) {
    if (from >= until) break;
    result += text.slice(end, from) + (goesOn && from === 0 ? "" : MASK);
    end = Math.min(to, until);
  }
  return result + text.slice(end, until);
}
