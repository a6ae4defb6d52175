/**
 * What this tab knows of a session and its feed doesn't: the reader's prompts and tasks, and how it was started. Kept
 * by the browser until the tab is closed, so that a reload loses nothing.
 */
import type { Note } from "./conversation.ts";

export interface SessionMemory {
  readonly modelId?: string;
  readonly workingDirectory?: string;
  readonly notes: readonly Note[];
}

const keyOf = (sessionId: string): string => `agent-jobs-session-${sessionId}`;

export function recall(sessionId: string): SessionMemory {
  try {
    const text = sessionStorage.getItem(keyOf(sessionId));
    if (text === null) return { notes: [] };
    const memory: SessionMemory = JSON.parse(text);
    return memory;
  } catch {
    return { notes: [] };
  }
}

export function remember(sessionId: string, memory: SessionMemory): void {
  try {
    sessionStorage.setItem(keyOf(sessionId), JSON.stringify(memory));
  } catch {
    // No room, or not allowed: lost with a reload.
  }
}
