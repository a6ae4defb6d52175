/** The JSON of the steps of a workflow, and of its flowcharts in the plan of a run. */
import type { FlowChart, FlowFile, FlowNode, FlowNodeKind } from "./plan.ts";
import {
  count,
  dictionary,
  flag,
  list,
  natural,
  optional,
  record,
  tagged,
  text,
  words,
  yes,
  type Fields,
  type Shape,
} from "./shape.ts";
import type {
  EffectResult,
  Script,
  ScriptRun,
  ShellState,
  StepEnded,
  StepInput,
  StepPrinted,
  StepStarted,
} from "./step.ts";

const script = record<Script>({ tag: text, code: text });

const input = tagged<StepInput, "kind">("kind", {
  prompt: { agent: count, text },
  ask: { question: text, times: count },
  execute: { scripts: list(script) },
});

const scriptRun = record<ScriptRun>({
  code: text,
  output: text,
  outputCharacters: optional(count),
  outputFile: optional(text),
  stdout: optional(text),
  stderr: optional(text),
  exitCode: count,
  timedOut: optional(flag),
});

const effect = tagged<EffectResult, "kind">("kind", {
  passed: {},
  answered: { text },
  executed: { runs: list(scriptRun) },
  read: { text },
  failed: { reason: text, runs: optional(list(scriptRun)) },
  stopped: { reason: text },
});

const shell = record<ShellState>({
  workingDirectory: text,
  variables: dictionary(text),
  removed: list(text),
  functions: text,
});

type Of<Event> = Fields<Omit<Event, "type" | "work">>;

const step = { step: natural, file: text, activity: text };

export const stepStarted: Of<StepStarted> = {
  ...step,
  hit: natural,
  depth: count,
  input: optional(input),
  restored: optional(yes),
};

export const stepPrinted: Of<StepPrinted> = { step: natural, script: count, text };

export const stepEnded: Of<StepEnded> = {
  ...step,
  succeeded: flag,
  reason: optional(text),
  to: optional(text),
  result: optional(text),
  variables: optional(dictionary(text)),
  effects: optional(list(effect)),
  shell: optional(shell),
  characters: optional(count),
  restored: optional(yes),
};

const node = record<FlowNode>({
  id: text,
  kind: words<FlowNodeKind>({
    start: true,
    set: true,
    assign: true,
    check: true,
    prompt: true,
    ask: true,
    execute: true,
    call: true,
    success: true,
    failed: true,
    on: true,
  }),
  label: text,
  line: natural,
  next: optional(text),
  other: optional(text),
  calls: optional(text),
});

export const flowChart: Shape<FlowChart> = record<FlowChart>({
  main: text,
  fingerprint: optional(text),
  files: dictionary(
    record<FlowFile>({
      file: text,
      title: optional(text),
      parameters: list(
        record<FlowFile["parameters"][number]>({ name: text, default: optional(text) }),
      ),
      activities: list(node),
    }),
  ),
});
