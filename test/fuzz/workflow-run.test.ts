/** Any workflow with any answers: it ends, and the same answers make the same run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Machine } from "../../src/workflow/run/machine.ts";
import type { EffectResult } from "../../src/events/flow.ts";
import type { Effect, Step } from "../../src/workflow/run/state.ts";
import { holds } from "../rig/fuzz.ts";
import { prompts } from "../workflow/run/machine-rig.ts";
import { called, flowcharts } from "./workflows.ts";
import { filesOf, load, workflowText } from "../workflow/rig.ts";

const text = fc.constantFrom("", "yes", "no", "aaaa!", "```sh\nls\n```", "{{A}}", "FAILED\nx");
const answer = fc.record({
  text,
  exitCode: fc.constantFrom(0, 0, 1),
  fails: fc.constantFrom(false, false, false, true),
  stops: fc.integer({ min: 0, max: 60 }).map((one) => one === 0),
  timedOut: fc.constantFrom(false, false, true),
});
type Scripted = typeof answer extends fc.Arbitrary<infer T> ? T : never;

function resultOf(effect: Effect, given: Scripted): EffectResult {
  if (given.stops) return { kind: "stopped", reason: "stopped" };
  switch (effect.kind) {
    case "pass":
    case "done":
      return { kind: "passed" };
    case "execute": {
      if (given.fails) return { kind: "failed", reason: "denied" };
      const { exitCode, timedOut } = given;
      const runs = effect.scripts.map(({ code }) => ({
        code,
        output: given.text,
        exitCode,
        timedOut,
      }));
      return { kind: "executed", runs };
    }
    case "read":
      return given.fails ? { kind: "failed", reason: "gone" } : { kind: "read", text: given.text };
    case "prompt":
    case "ask":
      if (given.fails) return { kind: "failed", reason: "crashed" };
      return { kind: "answered", text: given.text };
  }
}

test("any workflow ends, and in the same way with the same answers", async (t) => {
  const files = filesOf({
    "b.wf.md": workflowText(called, prompts),
    "f.txt": "",
  });
  let ended = 0;
  await holds(
    t,
    fc.property(flowcharts, fc.array(answer, { minLength: 1, maxLength: 30 }), (chart, answers) => {
      const result = load(workflowText(chart, prompts), { files });
      if (result.kind === "rejected") return;
      const options = { limits: { activities: 80, outputCharacters: 100 } };
      const begin = (): Machine => new Machine(result.workflow, options, { A: "a" });
      const machine = begin();
      const results: EffectResult[] = [];
      const played: Step[] = [];
      let next: EffectResult = { kind: "passed" };
      for (let steps = 0; steps < 500; steps++) {
        const step = machine.step(next);
        results.push(next);
        played.push(step);
        if (step.effect.kind === "done") break;
        next = resultOf(step.effect, answers[steps % answers.length] ?? assert.fail());
      }
      assert.equal(played.at(-1)?.effect.kind, "done");
      ended += 1;
      const again = begin();
      assert.deepEqual(
        results.map((one) => again.step(one)),
        played,
      );
      assert.deepEqual(again.state, machine.state);
    }),
    300,
  );
  assert.ok(ended > 5, `${ended} workflows ran`);
});
