import * as fc from "fast-check";

/** Printable ASCII comes first, so that counter-examples shrink to it. */
const pointOf = (index: number): number =>
  index < 95 ? index + 32 : index < 127 ? index - 95 : index;

const unit = fc
  .integer({ min: 0, max: 0x10ffff })
  .map((index) => String.fromCodePoint(pointOf(index)));

/** Any code points, halves of pairs too. The unit `binary` of fast-check does the same after two seconds of CPU, for a table of all. */
export function anyText(
  sizes: Pick<fc.StringConstraints, "minLength" | "maxLength"> = {},
): fc.Arbitrary<string> {
  return fc.string({ ...sizes, unit });
}
