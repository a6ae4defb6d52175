/**
 * A text as its reader sees it: without control characters, invisible ones and the sequences by which a terminal is
 * told to color it, and with the lines of base64 and hex joined, which programs break after 60 to 76 characters. A
 * secret with some of that between its characters is one in plain for whoever shows or decodes the text.
 */
import { terminalSequence, unfinishedSequence } from "../text/harmless-text.ts";

interface VisibleText {
  readonly text: string;
  /** Where a character of it is in the original. */
  readonly origin: (at: number) => number;
  /** Where in it two lines are joined. */
  readonly joints: readonly number[];
}

const character = String.raw`[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\xad\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]`;
/** Behind so many characters, the end of a line may be one of base64. As JSON spells it, too. */
const LINE = 48;
const line = String.raw`[\w+/-]{${LINE}}`;
const lineEnd = String.raw`(?:\r|\\{1,4}r)?(?:\n|\\{1,4}n)`;
const joint = String.raw`${lineEnd}(?=[\w+/=-])(?<=${line}${lineEnd})`;

const hiddenCharacter = new RegExp(character);
const hiddenJoint = new RegExp(joint);
const hidden = new RegExp(`(?:${terminalSequence}|${character})+|(${joint})`, "g");
const openSequence = new RegExp(unfinishedSequence);
const openLine = new RegExp(String.raw`${line}((?:\r|\\{1,4}r?)(?:\n|\\{1,4}n?)?|\n|\\{1,4}n?)$`);

/** So many characters before a text must be known. */
export const CONTEXT = 64;
const LONGEST_SEQUENCE = 2_100;

/** Undefined: nothing is hidden. `before`: the last characters of what precedes the text. */
export function visibleText(text: string, before: string): VisibleText | undefined {
  const whole = before + text;
  if (!hiddenCharacter.test(text) && (whole.length <= LINE || !hiddenJoint.test(whole)))
    return undefined;
  /** Where each piece that is seen begins, in the visible text and in the original. */
  const starts: number[] = [];
  const origins: number[] = [];
  const joints: number[] = [];
  let seen = "";
  let end = before.length;
  const piece = (to: number): void => {
    if (end >= to) return;
    starts.push(seen.length);
    origins.push(end - before.length);
    seen += whole.slice(end, to);
  };
  hidden.lastIndex = before.length;
  for (let match = hidden.exec(whole); match !== null; match = hidden.exec(whole)) {
    piece(match.index);
    end = hidden.lastIndex;
    if (match[1] !== undefined) joints.push(seen.length);
  }
  piece(whole.length);
  return { text: seen, origin: (at) => originOf(at, starts, origins), joints };
}

/** Where something at the end of a text begins of which what follows decides whether it is hidden. */
export function unfinishedFrom(text: string, before: string): number {
  const end = before + text.slice(-LONGEST_SEQUENCE);
  const sequence = openSequence.exec(end)?.[0].length ?? 0;
  const mayEndLine = "\r\n\\rn".includes(end.at(-1) ?? " ");
  const lineEnd = mayEndLine ? (openLine.exec(end.slice(-CONTEXT))?.[1]?.length ?? 0) : 0;
  return Math.max(0, text.length - Math.max(sequence, lineEnd));
}

function originOf(at: number, starts: readonly number[], origins: readonly number[]): number {
  let low = 0;
  for (let high = starts.length; high - low > 1;) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return (origins[low] ?? 0) + at - (starts[low] ?? 0);
}

/** How many numbers of an ascending list are at most `most`. */
export function countUpTo(most: number, list: readonly number[]): number {
  let low = 0;
  for (let high = list.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? 0) <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}
