/** What is true of each kind of activity, whoever asks: what its node says, what it reads, what becomes of RESULT. */
import type { Comparison } from "./check.ts";
import type { Activity } from "./model.ts";
import { isQuoted, roleOf } from "./value.ts";

export interface Facts {
  /** The text of its node, without a caption. Empty for the start and the ends. */
  readonly label: string;
  readonly uses: readonly Use[];
  /** After it succeeds. */
  readonly result: "kept" | "set" | "emptied";
  /** Whether it goes to ON_FAILED where it has no no-edge. */
  readonly canFail: boolean;
}

export interface Use {
  readonly text: string;
  /**
   * `text`: names in double braces are replaced. `assigned`: the value of a variable. `value`, `prompt`: must exist.
   * `compared`: the left side of a check, `operand` its right one. `command`: a template for a shell.
   */
  readonly as: "text" | "assigned" | "value" | "prompt" | "compared" | "operand" | "command";
}

const RESULT: Use = { as: "value", text: "RESULT" };
const nothing: Facts = { label: "", uses: [], result: "kept", canFail: false };

export function factsOf(activity: Activity): Facts {
  switch (activity.kind) {
    case "start":
    case "on":
    case "success":
    case "failed":
      return nothing;
    case "set": {
      const { name, value } = activity;
      const result = isResult(name) ? "set" : "kept";
      return {
        ...nothing,
        label: `${name}=${value}`,
        uses: [{ as: "assigned", text: value }],
        result,
      };
    }
    case "assign": {
      const { value } = activity;
      const as = value.includes("{{") ? "text" : "value";
      return { ...nothing, label: value, uses: [{ as, text: value }], result: "set" };
    }
    case "check": {
      const { left, operator, right } = activity.check;
      const uses = [
        { as: "compared", text: left },
        { as: "operand", text: right },
      ] as const;
      return { ...nothing, label: `${left} ${signs[operator]} ${right}`, uses, canFail: true };
    }
    case "prompt": {
      const { prompt } = activity;
      const result = roleOf(prompt) === "system" ? "emptied" : "set";
      return { ...nothing, label: prompt, uses: [{ as: "prompt", text: prompt }], result };
    }
    case "ask": {
      const { question } = activity;
      const uses: readonly Use[] =
        question === undefined ? [RESULT] : [{ as: "text", text: question }];
      return { ...nothing, label: question ?? "", uses, result: "set" };
    }
    case "execute": {
      const { command } = activity;
      const uses: readonly Use[] =
        command === undefined ? [RESULT] : [{ as: "command", text: command }];
      return { label: command ?? "", uses, result: "set", canFail: true };
    }
    case "call": {
      const { path } = activity;
      const label = isQuoted(path) ? `"${path}"` : path;
      return { label, uses: [], result: "set", canFail: true };
    }
  }
}

const signs: Readonly<Record<Comparison, string>> = {
  eq: "==",
  ne: "!=",
  contains: "CONTAINS",
  matches: "MATCHES",
  gt: "gt",
  ge: "ge",
  lt: "lt",
  le: "le",
};

export function isResult(name: string): boolean {
  return name === "RESULT" || name === "CONTENT";
}
