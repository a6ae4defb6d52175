/** Turns of phrase that the texts of decisions share. */
import { endOf } from "./cut.ts";
import type { Purpose, SessionRole } from "./decision-shapes.ts";

export type { Purpose, SessionRole };

/** Empty if there is only one attempt. */
export function attemptOf({ attempt, attempts }: { attempt: number; attempts: number }): string {
  return attempts === 1 ? "" : `, attempt ${attempt} of ${attempts}`;
}

export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** With a full stop, unless it ends with a mark already. */
export function sentence(text: string): string {
  return /[.!?]["')]?$/.test(text) ? text : `${text}.`;
}

export function times(count: number): string {
  return count === 1 ? "once" : `${count} times in a row`;
}

export function purposeName(purpose: Purpose): string {
  switch (purpose) {
    case "availability":
      return "availability check";
    case "prompt":
      return "prompt";
    case "criteria":
      return "criteria check";
  }
}

export function roleName(role: SessionRole): string {
  switch (role) {
    case "driving":
      return "Driving session";
    case "task":
      return "Task session";
    case "both":
      return "Session";
  }
}

const OUTPUT_CHARACTERS = 300;
const OUTPUT_LINES = 3;

/** A reason with the last lines of an output, which usually say what failed, unless it contains them already. */
export function withOutput(reason: string, output: string): string {
  const lines = endOf(output.trimEnd(), OUTPUT_CHARACTERS)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-OUTPUT_LINES);
  const end = lines.join("\n");
  if (end === "" || lines.every((line) => reason.includes(line))) return reason;
  return `${sentence(reason)} The end of its output: ${end}`;
}
