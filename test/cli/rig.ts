/** Entries and scripts of one task, for tests of the command line. */
import type { ScriptedCall } from "../rig/model-server.ts";

/** An entry whose only job, `job`, is the task `a`. */
export const entryOf = (more: object = {}, task: object = {}): string =>
  JSON.stringify({
    models: { driving: "gpt-5-mini" },
    tasks: { a: { model: { category: "driving" }, prompt: "Say A", ...task } },
    jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
    ...more,
  });

/** A rehearsal of `e.json` with one session, and one turn with these replies. */
export const scriptOf = (replies: readonly unknown[], more: object = {}): string =>
  JSON.stringify({ entry: "e.json", sessions: [{ turns: [{ replies }] }], ...more });

/** The model calls these tools. */
export const calls = (...tools: readonly object[]): object => ({ tools });

export const bash = (command: string): ScriptedCall => ({
  name: "bash",
  arguments: { command, description: "d" },
});
