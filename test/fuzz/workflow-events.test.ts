/** Any workflow with any results on the real engine: its events fit together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RunEventBody } from "../../src/events/event.ts";
import { sessionCrash } from "../rig/crashes.ts";
import { exited, playFlow } from "../rig/flow.ts";
import { holds } from "../rig/fuzz.ts";
import { prompts } from "../workflow/run/machine-rig.ts";
import { filesOf, load, workflowText } from "../workflow/rig.ts";
import { called, flowcharts } from "./workflows.ts";

const result = fc.record({
  text: fc.constantFrom("", "yes", "no", "```sh\nls\n```", "{{A}}"),
  exitCode: fc.constantFrom(0, 0, 1),
  fails: fc.constantFrom(false, false, false, true),
  cancels: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
});

function check(events: readonly RunEventBody[]): void {
  const open: string[] = [];
  const sessions = new Set<string>();
  let steps = 0;
  events.forEach((event, index) => {
    switch (event.type) {
      case "step.started":
        steps += 1;
        assert.equal(event.step, steps);
        assert.equal(event.depth, open.length);
        open.push(`${event.step} ${event.file} ${event.activity}`);
        break;
      case "step.ended":
        assert.equal(open.pop(), `${event.step} ${event.file} ${event.activity}`);
        break;
      case "session.started":
        assert.ok(!sessions.has(event.sessionId));
        sessions.add(event.sessionId);
        break;
      case "session.ended":
        assert.ok(sessions.delete(event.sessionId));
        break;
      case "work.ended":
        if (event.outcome.kind === "succeeded") assert.deepEqual(open, []);
        assert.equal(sessions.size, 0);
        break;
      case "run.ended":
        assert.equal(index, events.length - 1);
        break;
      default:
        break;
    }
  });
  assert.equal(events.at(-1)?.type, "run.ended");
}

test("the events of any workflow fit together, however it ends", async (t) => {
  const files = filesOf({ "b.wf.md": workflowText(called, prompts), "f.txt": "" });
  const ends = new Set<string>();
  await holds(
    t,
    fc.asyncProperty(
      flowcharts,
      fc.array(result, { minLength: 1, maxLength: 20 }),
      async (chart, results) => {
        if (load(workflowText(chart, prompts), { files }).kind === "rejected") return;
        const cancel = new AbortController();
        let taken = 0;
        const next = (): (typeof results)[number] => {
          const one = results[taken % results.length] ?? assert.fail();
          taken += 1;
          if (one.cancels) cancel.abort();
          return one;
        };
        const played = await playFlow(chart, {
          files: { "b.wf.md": called },
          texts: { "f.txt": "" },
          params: { A: "a" },
          limits: { activities: 40 },
          signal: cancel.signal,
          play: () => {
            const { fails, text } = next();
            return fails ? { crash: sessionCrash } : { text };
          },
          shell: () => {
            const { fails, exitCode, text } = next();
            return fails
              ? { kind: "failed", because: "denied", reason: "Denied.", runs: [] }
              : exited(exitCode, text);
          },
          ask: async () => {
            const { fails, text } = next();
            return fails ? { kind: "unanswered", reason: "Gone." } : { kind: "answered", text };
          },
        });
        check(played.events);
        assert.equal(played.scripts[0]?.closed, 1);
        ends.add(played.outcome.kind);
      },
    ),
    400,
  );
  assert.deepEqual([...ends].toSorted(), ["canceled", "failed", "succeeded"]);
});
