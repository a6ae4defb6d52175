/** What keeps this process from its end, and what happens at its end. */
import { isRecord } from "../text/guards.ts";

/** It keeps the process from its end until it is told not to. */
export interface Handle {
  ref(): unknown;
  unref(): unknown;
}

export function isHandle(value: unknown): value is Handle {
  return isRecord(value) && "ref" in value && "unref" in value;
}

/** One listener of the process for all, because Node warns of more than ten. */
const listeners = new Set<() => void>();

const end = (): void => {
  for (const listener of listeners) listener();
};

/** Calls the listener when the process ends by itself, by `process.exit`, or by an error that nobody caught. */
export function atExit(listener: () => void): () => void {
  if (listeners.size === 0) process.on("exit", end);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) process.off("exit", end);
  };
}
