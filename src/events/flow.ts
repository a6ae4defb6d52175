/** What events say of a Markdown workflow. The reporters know activities by these tables only. */
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
  type TypeOf,
} from "./shape.ts";

const flowNode = record({
  id: text,
  kind: words(
    "start",
    "set",
    "assign",
    "check",
    "prompt",
    "ask",
    "execute",
    "call",
    "success",
    "failed",
    "on",
  ),
  /** The text of the node, without its caption. */
  label: text,
  line: natural,
  /** Where it goes on; without it, the workflow succeeds. */
  next: optional(text),
  /** Where it goes on after a failure; without it, the workflow fails. */
  other: optional(text),
  calls: optional(text),
});
export type FlowNode = TypeOf<typeof flowNode>;
export type ActivityKind = FlowNode["kind"];

const flowFile = record({
  /** As diagnostics name it. */
  file: text,
  title: optional(text),
  parameters: list(record({ name: text, default: optional(text) })),
  activities: list(flowNode),
});

export const flowChart = record({
  main: text,
  /** SHA-256 of what the workflow does, in hex; the same wherever it is, and whatever its front matter says. */
  fingerprint: optional(text),
  files: dictionary(flowFile),
});
export type FlowChart = TypeOf<typeof flowChart>;

const script = record({
  /** The tag of the code fence, in lower case; `sh` for the command of an activity. */
  tag: text,
  code: text,
});
export type Script = TypeOf<typeof script>;

export const input = tagged("kind", {
  prompt: { agent: count, text },
  ask: { question: text, times: count },
  execute: { scripts: list(script) },
});
export type StepInput = TypeOf<typeof input>;

const scriptRun = record({
  code: text,
  /** stdout and stderr, as they came; both ends if it was too long. */
  output: text,
  outputCharacters: optional(count),
  /** The whole output, as bytes, while the run lasts. */
  outputFile: optional(text),
  /** 128 and the number of the signal, if one has ended the script. */
  exitCode: count,
  timedOut: optional(flag),
});
export type ScriptRun = TypeOf<typeof scriptRun>;

export const effect = tagged("kind", {
  passed: {},
  answered: { text },
  executed: { runs: list(scriptRun) },
  read: { text },
  /** The activity has failed; the workflow may go on. `runs`: the scripts that had begun. */
  failed: { reason: text, runs: optional(list(scriptRun)) },
  /** The run is over: a limit of the whole, or a cancellation. No handler runs. */
  stopped: { reason: text },
});
export type EffectResult = TypeOf<typeof effect>;

export interface StepPart {
  readonly title: string;
  readonly text: string;
  /** The tag of a code fence. Absent: plain text. */
  readonly language?: string;
}

export function inputParts(asked: StepInput): readonly StepPart[] {
  switch (asked.kind) {
    case "prompt":
      return [{ title: "Prompt", text: asked.text }];
    case "ask":
      return [{ title: "Question", text: asked.question }];
    case "execute":
      return asked.scripts.map(({ tag, code }, index) => ({
        title: `Script${numberOf(index, asked.scripts)}`,
        text: code,
        language: tag,
      }));
  }
}

export function effectParts(result: EffectResult): readonly StepPart[] {
  switch (result.kind) {
    case "answered":
      return [{ title: "Answer", text: result.text }];
    case "read":
      return [{ title: "File", text: result.text }];
    case "executed":
      return result.runs.map(({ output, exitCode, timedOut }, index) => {
        const late = timedOut === true ? ", ended for its time" : "";
        const title = `Output${numberOf(index, result.runs)}, exit code ${exitCode}${late}`;
        return { title, text: output };
      });
    case "passed":
    case "failed":
    case "stopped":
      return [];
  }
}

function numberOf(index: number, all: readonly unknown[]): string {
  return all.length > 1 ? ` ${index + 1}` : "";
}
