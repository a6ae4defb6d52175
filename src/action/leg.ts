/**
 * The key of a leg tells the legs of a matrix apart: in the names of artifacts, in journals and in the markers of
 * comments. It is the same in every attempt of a workflow run, and in later runs with the same configuration.
 */
import { createHash } from "node:crypto";
import { oneLine } from "../text/harmless-text.ts";
import { isRecord } from "../text/guards.ts";
import type { Environment, Inputs } from "./inputs.ts";

/** Inputs that configure a leg. The user input is a text of the event, so a later run of the same leg has another. */
const telling = [
  "workingDirectory",
  "models",
  "permissions",
  "inputs",
  "params",
] as const satisfies readonly (keyof Inputs)[];

export function legOf(environment: Environment, inputs: Inputs): string {
  const { mode, shard, leg = "null", provider } = inputs;
  const matrix = matrixIn(leg);
  if (matrix === undefined) return digestOf([leg]);
  // The parts of a job are one leg, wherever they run.
  const isPart = mode !== "run" || shard !== undefined;
  const place = [matrix, environment["RUNNER_OS"], environment["RUNNER_ARCH"]];
  const server = [provider?.type, provider?.baseUrl, provider?.wireApi];
  // The base commit differs between runs. The key must not, or later runs don't find the comment.
  const base = inputs.base?.replaceAll(/\b[0-9a-f]{40,64}\b/g, "");
  return digestOf([isPart ? [] : place, telling.map((name) => inputs[name]), base, server]);
}

const MAX_NAME = 100;

/** The display name of a leg: the values of its matrix, as in the names of jobs on GitHub. Undefined outside of a matrix. */
export function legNameOf({ leg = "null" }: Pick<Inputs, "leg">): string | undefined {
  const values = Object.values(matrixIn(leg) ?? { leg }).map((value) =>
    typeof value === "string" ? value : JSON.stringify(value),
  );
  return values.length === 0 ? undefined : oneLine(values.join(", "), MAX_NAME);
}

/** Reads `toJSON(matrix)`, which is `null` outside of a matrix. Undefined: the user has named the leg. */
function matrixIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value === null ? {} : isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function digestOf(values: unknown): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 12);
}
