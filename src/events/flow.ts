/** The parts of events that describe a Markdown workflow. Reporters know activities by these tables only. */
import * as is from "../document/describe.ts";
import type { TypeOf } from "../document/describe.ts";

const flowNode = is.record({
  id: is.text,
  kind: is.words(
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
  label: is.text,
  line: is.natural,
  /** Where it goes on; without it, the workflow succeeds. */
  next: is.optional(is.text),
  /** Where it goes on after a failure; without it, the workflow fails. */
  other: is.optional(is.text),
  calls: is.optional(is.text),
});
export type FlowNode = TypeOf<typeof flowNode>;
export type ActivityKind = FlowNode["kind"];

const flowFile = is.record({
  /** The name that diagnostics use. */
  file: is.text,
  title: is.optional(is.text),
  parameters: is.list(is.record({ name: is.text, default: is.optional(is.text) })),
  activities: is.list(flowNode),
});

export const flowChart = is.record({
  main: is.text,
  /** SHA-256 of what the workflow does, in hex; the same wherever it is, and whatever its front matter says. */
  fingerprint: is.optional(is.text),
  files: is.dictionary(flowFile),
});
export type FlowChart = TypeOf<typeof flowChart>;

const script = is.record({
  /** The tag of the code fence, in lower case; `sh` for the command of an activity. */
  tag: is.text,
  code: is.text,
});
export type Script = TypeOf<typeof script>;

export const input = is.tagged("kind", {
  prompt: { agent: is.count, text: is.text },
  ask: { question: is.text, times: is.count },
  execute: { scripts: is.list(script) },
});
export type StepInput = TypeOf<typeof input>;

const scriptRun = is.record({
  code: is.text,
  /** stdout and stderr, as they came; both ends if it was too long. */
  output: is.text,
  outputCharacters: is.optional(is.count),
  /** The whole output, as bytes, while the run lasts. */
  outputFile: is.optional(is.text),
  /** 128 and the number of the signal, if one has ended the script. */
  exitCode: is.count,
  timedOut: is.optional(is.flag),
});
export type ScriptRun = TypeOf<typeof scriptRun>;

export const effect = is.tagged("kind", {
  passed: {},
  answered: { text: is.text },
  executed: { runs: is.list(scriptRun) },
  read: { text: is.text },
  /** The activity has failed; the workflow may go on. `runs`: the scripts that had begun. */
  failed: { reason: is.text, runs: is.optional(is.list(scriptRun)) },
  /** The run is over: a limit of the whole, or a cancellation. No handler runs. */
  stopped: { reason: is.text },
});
export type EffectResult = TypeOf<typeof effect>;

export interface StepPart {
  readonly title: string;
  readonly text: string;
  /** The tag of a code fence. Absent: plain text. */
  readonly language?: string;
}

/** What a step asks for, as titled texts. */
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
