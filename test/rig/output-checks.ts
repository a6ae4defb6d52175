import type { OutputChecks } from "../../src/engine/ports.ts";

const messageIn = (value: unknown): string => String(Object(value).message);

/** Takes whatever comes, but for messages that begin with "no"; the message says which it was. */
export const outputChecks: OutputChecks = {
  finding: (value, task) =>
    Promise.resolve(
      messageIn(value).startsWith("no")
        ? { kind: "refused", reason: "No." }
        : {
            kind: "accepted",
            value: {
              path: "a.ts",
              line: 1,
              severity: "warning",
              rule: task,
              message: messageIn(value),
              task,
              fingerprint: messageIn(value),
            },
          },
    ),
  proposal: (value) =>
    Promise.resolve({ kind: "accepted", value: { kind: "comment", body: String(value) } }),
};
