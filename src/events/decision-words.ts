/** What turns and sessions are for, and other words that the texts of decisions share. */
import { endOf } from "./cut.ts";
import { nameOf, type TypeOf } from "./shape.ts";

const purposes = {
  availability: "availability check",
  prompt: "prompt",
  criteria: "criteria check",
} as const;
/** What a turn is for. */
export const purpose = nameOf(purposes);
export type Purpose = TypeOf<typeof purpose>;

export function purposeName(name: Purpose): string {
  return purposes[name];
}

const roles = { driving: "Driving session", task: "Task session", both: "Session" } as const;
/** `both`: the one session of a task that runs in a single model, or a borrowed one. */
export const role = nameOf(roles);
export type SessionRole = TypeOf<typeof role>;

export function roleName(name: SessionRole): string {
  return roles[name];
}

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
