/** Keeps the process running while needed, and cleans up when it exits. */
import { isRecord } from "../text/guards.ts";

/** It keeps the process running until `unref` is called. */
export interface Handle {
  ref(): unknown;
  unref(): unknown;
}

export function isHandle(value: unknown): value is Handle {
  return isRecord(value) && "ref" in value && "unref" in value;
}

/** All share one listener of the process, because Node warns about more than ten. */
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
