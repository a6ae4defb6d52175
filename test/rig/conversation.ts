import type { PreviousFinding } from "../../src/events/output-shapes.ts";

export function previousFinding(id: string, more: Partial<PreviousFinding> = {}): PreviousFinding {
  return {
    id,
    key: `key-of-${id}`,
    severity: "error",
    rule: "errors",
    path: "src/a.ts",
    line: 2,
    text: `${id} is wrong.`,
    thread: "open",
    replies: [],
    ...more,
  };
}
