/**
 * Values in a command that an author wrote. A value is one word, or a part of one, whatever it contains: also where the
 * author has put quotes around its `{{NAME}}`.
 */
import { placeholders, shellQuoted } from "./value.ts";

/** What a shell takes the place of a value for. */
type Place = "bare" | "single" | "double" | "unclear";

/** Inserts a value at the `{{NAME}}` with this offset. */
export type Insert = (value: string, offset: number) => string;

/** `unclear`: where no quotes are safe. */
export type CommandReading =
  | { readonly kind: "read"; readonly insert: Insert }
  | { readonly kind: "unclear"; readonly reason: string };

export function readCommand(command: string): CommandReading {
  const places = placesOf(command);
  for (const { name, offset } of placeholders(command)) {
    if (places[offset] !== "unclear") continue;
    const reason = `{{${name}}} is where no quotes are safe: in an expansion, in arithmetic or [[ ]], in a comment or here-document, or behind a backslash. Put it into a plain word.`;
    return { kind: "unclear", reason };
  }
  return { kind: "read", insert: (value, offset) => inserted(value, places[offset]) };
}

function inserted(value: string, place: Place | undefined): string {
  const word = shellQuoted(value);
  if (place === "double") return `"${word}"`;
  return place === "single" ? `'${word}'` : word;
}

/** Of each character. What is not understood makes the rest unclear: parts of a shell's grammar have no simple end. */
function placesOf(command: string): readonly Place[] {
  const places: Place[] = [];
  let place: Place = "bare";
  for (let at = 0; at < command.length; at += 1) {
    const char = command.charAt(at);
    places.push(place);
    if (place === "single") {
      if (char === "'") place = "bare";
    } else if (place !== "unclear") {
      if (char === "\\") {
        places.push("unclear");
        at += 1;
      } else if (char === '"') place = place === "double" ? "bare" : "double";
      else if (char === "'" && place === "bare") place = "single";
      else if (beginsUnclear(command, at, place)) place = "unclear";
    }
  }
  return places;
}

const inDouble = /[`]|\$[({[]/y;
// Arithmetic, also in a subscript and in `[[ a -eq b ]]`, runs what is in a value, however it is quoted.
const inBare = /[`]|\$['"{[]|\(\(|\[\[|(?<=\w)\[|(?<!<)<<(?!<)|(?<![^\s;&|()])#/y;

function beginsUnclear(command: string, at: number, place: "bare" | "double"): boolean {
  const pattern = place === "bare" ? inBare : inDouble;
  pattern.lastIndex = at;
  return pattern.test(command);
}
