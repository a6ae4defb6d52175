/** Which calls make a rehearsal red, whatever order they end in, whoever has made them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionActivity } from "../../../src/events/session-activity.ts";
import { ToolCalls } from "../../../src/rehearsal/player/matching.ts";

const scripted = {
  succeeds: {},
  fails: { fails: "no such" },
  "fails somehow": { unknown: true },
  "is denied": { denied: true },
} as const;

const failed = (message: string, code: string) => ({ error: { message, code } });
const endings = {
  succeeded: {},
  "failed so": failed("There is no such file.", "failure"),
  "failed otherwise": failed("The disk is full.", "failure"),
  "was denied": failed("The user rejected it. Denied: shell of x: no.", "denied"),
  "was stopped": failed("The turn ended before the tool did.", "unfinished"),
  "was never heard of": undefined,
} as const;

const green: Readonly<Record<keyof typeof scripted, readonly (keyof typeof endings)[]>> = {
  succeeds: ["succeeded", "was stopped", "was never heard of"],
  fails: ["failed so"],
  "fails somehow": ["failed so", "failed otherwise", "was denied"],
  "is denied": ["was denied"],
};

for (const subAgent of [false, true])
  test(`every call of ${subAgent ? "a sub-agent" : "a session"} is judged by itself, by its id`, () => {
    const calls = new ToolCalls((template) => template);
    const told: SessionActivity[] = [];
    const red: string[] = [];
    for (const [wanted, fields] of Object.entries(scripted))
      for (const [happened, ending] of Object.entries(endings)) {
        const id = `${wanted}, ${happened}`;
        calls.given(id, { name: "bash", ...fields, place: id });
        const isGreen = Object.entries(green).some(
          ([of, all]) => of === wanted && all.some((one) => one === happened),
        );
        if (!isGreen) red.push(id);
        if (ending === undefined) continue;
        told.unshift(
          subAgent && "error" in ending
            ? { kind: "sub-agent.tool.failed", toolCallId: id, error: ending.error }
            : {
                kind: "tool.ended",
                toolCallId: id,
                succeeded: ending === endings.succeeded,
                ...ending,
              },
        );
      }
    for (const activity of told) calls.observe(activity);
    const found = calls.failures().map((text) => text.replace(/:.*$/s, ""));
    assert.deepEqual(found, red);
  });
