/** A workflow played to its end: what it asks is answered by a script, in the order in which it asks. */
import assert from "node:assert/strict";
import type { EffectResult } from "../../../src/events/flow.ts";
import type { Workflow } from "../../../src/workflow/model.ts";
import { Machine } from "../../../src/workflow/run/machine.ts";
import type { MachineOptions } from "../../../src/workflow/kinds/kind.ts";
import { bindParameters } from "../../../src/workflow/parameters.ts";
import type { Effect, FlowEvent, WorkflowState } from "../../../src/workflow/run/state.ts";
import { loaded, workflowText } from "../rig.ts";

export type Done = Extract<Effect, { kind: "done" }>;
/** A text answers a prompt or a question, or is the output of a command that succeeded. */
export type Answer = string | EffectResult;

export interface Played {
  readonly done: Done;
  /** The questions and commands of the run, in short. */
  readonly asked: readonly string[];
  readonly events: readonly FlowEvent[];
  /** The activities that ran, in order. */
  readonly path: string;
  readonly state: WorkflowState;
}

export interface PlayOptions extends MachineOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly load?: Parameters<typeof loaded>[1];
  readonly prompts?: string;
  readonly userInput?: string;
}

/** Prompts that the flowcharts of the tests use. */
export const prompts = `## System

You.

## User A

a {{RESULT}}

## User B

b

## Assistant X

x
`;

export function play(
  flowchart: string,
  answers: readonly Answer[] = [],
  options: PlayOptions = {},
): Played {
  const text = workflowText(flowchart, options.prompts ?? prompts);
  return playWorkflow(loaded(text, options.load), answers, options);
}

export function playWorkflow(
  workflow: Workflow,
  answers: readonly Answer[],
  options: PlayOptions = {},
): Played {
  const bound = bindParameters(workflow, options.params ?? {});
  assert.ok(bound.kind === "bound");
  const machine = new Machine(workflow, options, bound.variables, options.userInput);
  const { state } = machine;
  let result: EffectResult = { kind: "passed" };
  const rest = [...answers];
  const asked: string[] = [];
  const events: FlowEvent[] = [];
  for (let steps = 0; steps < 100_000; steps++) {
    const step = machine.step(result);
    events.push(...step.events);
    const { effect } = step;
    if (effect.kind === "done") {
      assert.deepEqual(rest, [], "answers are left");
      const path = events
        .flatMap((one) => (one.type === "step.started" ? [one.activity] : []))
        .join(" ");
      return { done: effect, asked, events, path, state };
    }
    if (effect.kind === "pass") result = { kind: "passed" };
    else {
      asked.push(textOf(effect));
      const answer = rest.shift();
      assert.ok(answer !== undefined, `no answer for ${textOf(effect)}`);
      result = typeof answer === "string" ? resultOf(effect, answer) : answer;
    }
  }
  return assert.fail("no end");
}

function textOf(effect: Exclude<Effect, { kind: "pass" | "done" }>): string {
  switch (effect.kind) {
    case "prompt":
      return `${effect.agent}: ${effect.text}`;
    case "ask":
      return `${effect.activity}#${effect.times}: ${effect.question}`;
    case "execute":
      return effect.scripts.map(({ tag, code }) => `${tag}: ${code}`).join("; ");
    case "read":
      return `${effect.path} from ${effect.from}`;
  }
}

function resultOf({ kind, ...effect }: Effect, text: string): EffectResult {
  if (kind === "read") return { kind, text };
  if (kind !== "execute" || !("scripts" in effect)) return { kind: "answered", text };
  const runs = effect.scripts.map(({ code }) => ({ code, output: text, exitCode: 0 }));
  return { kind: "executed", runs };
}

export function executed(exitCode: number, output = ""): EffectResult {
  return { kind: "executed", runs: [{ code: "x", output, exitCode }] };
}
