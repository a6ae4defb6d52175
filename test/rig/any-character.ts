/**
 * For `fc.string`: the same texts as its own unit "binary", which begins with a map of all characters and takes two
 * seconds for it in each process.
 */
import * as fc from "fast-check";

/** Halves of pairs are no characters. */
const [firstHalf, halves, all] = [0xd800, 0x800, 0x110000];

export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: all - halves - 1 }).map(
  (index) => String.fromCodePoint(index < firstHalf ? index : index + halves),
  (text) => {
    const code = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error("not one");
    if (code >= firstHalf && code < firstHalf + halves) throw new Error("half of a pair");
    return code < firstHalf ? code : code - halves;
  },
);
