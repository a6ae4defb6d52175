/** Which calls make a rehearsal red, against a table in words; whatever order they end in, whatever their names are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { SessionActivity } from "../../../src/events/session-activity.ts";
import type { ToolField } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { ToolCalls } from "../../../src/rehearsal/player/tool-calls.ts";
import { rounds } from "../../rig/nightly.ts";

const scripted = {
  succeeds: {},
  fails: { fails: "no such" },
  "fails somehow": { unknown: true },
  denied: { denied: true },
} as const satisfies Readonly<Record<string, Partial<ToolField>>>;

const failed = (message: string, code: string) => ({ error: { message, code } });
const happened = {
  succeeded: {},
  "failed so": failed("There is no such file.", "failure"),
  "failed otherwise": failed("The disk is full.", "failure"),
  "was denied": failed("The user rejected it. Denied: shell of x: no.", "denied"),
  "was stopped": failed("The turn ended before the tool did.", "unfinished"),
  "was never heard of": undefined,
} as const;

type Scripted = keyof typeof scripted;
type Happened = keyof typeof happened;

const green: Readonly<Record<Scripted, readonly Happened[]>> = {
  succeeds: ["succeeded", "was stopped", "was never heard of"],
  fails: ["failed so"],
  "fails somehow": ["failed so", "failed otherwise", "was denied"],
  denied: ["was denied"],
};

test("every call is judged by itself, by its id", () => {
  const call = fc.record({
    scripted: fc.constantFrom(...Object.keys(scripted).filter(isScripted)),
    happened: fc.constantFrom(...Object.keys(happened).filter(isHappened)),
    subAgent: fc.boolean(),
    order: fc.double({ noNaN: true, min: 0, max: 1 }),
  });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 12 }), (list) => {
      const calls = new ToolCalls((template) => template);
      const all = list.map((one, index) => ({ ...one, id: `c${index}`, place: `tools[${index}]` }));
      for (const one of all) {
        calls.given(one.id, { name: "bash", ...scripted[one.scripted], place: one.place });
      }
      for (const { id, happened: what, subAgent } of all.toSorted((a, b) => a.order - b.order)) {
        const ending = happened[what];
        if (ending === undefined) continue;
        const activity: SessionActivity =
          subAgent && "error" in ending
            ? { kind: "sub-agent.tool.failed", toolCallId: id, error: ending.error }
            : { kind: "tool.ended", toolCallId: id, succeeded: what === "succeeded", ...ending };
        calls.observe(activity);
      }
      const red = all.filter((one) => !green[one.scripted].includes(one.happened));
      assert.deepEqual(
        calls.failures().map((text) => text.replace(/:.*$/s, "")),
        red.map(({ place }) => place),
      );
    }),
    rounds(500),
  );
});

function isScripted(name: string): name is Scripted {
  return name in scripted;
}

function isHappened(name: string): name is Happened {
  return name in happened;
}
