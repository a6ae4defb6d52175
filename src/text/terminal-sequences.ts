/** Colors, moves of the cursor, titles. They never go over the end of a line. */
const body = String.raw`[^\n\r\x07\x1b\x90-\x9f\\]{0,2000}`;
const escapeEnd = String.raw`\x1b+\\+`;

/** What is left behind a removal holds no beginning of a sequence, so no second removal finds more. */
export const terminalSequence = [
  String.raw`(?:\x1b+\[|\x9b)(?:[0-?]*[ -\/]*[@-~])?`,
  String.raw`\x1b+[\]PX^_]${body}(?:\x07|\x9c|\\+u0007|${escapeEnd})`,
  String.raw`[\x90\x98\x9d-\x9f](?:${body}(?:\x07|\x9c|${escapeEnd}))?`,
  String.raw`\x1b+(?:[!-\/]*[0-~])?`,
].join("|");

/** At the end of a text that goes on. */
export const unfinishedSequence = [
  String.raw`(?:\x1b+\[|\x9b)[0-?]*[ -\/]*$`,
  String.raw`(?:\x1b+[\]PX^_]|[\x90\x98\x9d-\x9f])${body}(?:\x1b+\\*|\\+(?:u0{0,3})?)?$`,
  String.raw`\x1b+[!-\/]*$`,
].join("|");

const sequences = new RegExp(terminalSequence, "g");

export function withoutSequences(text: string): string {
  return text.replace(sequences, "");
}
