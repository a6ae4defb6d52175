/** Reading a workflow in time that grows no faster than its text. */
import { test } from "node:test";
import { load, workflowText } from "../workflow/rig.ts";
import { filesOf } from "../workflow/rig.ts";
import { linearInTime } from "../rig/growth.ts";

const sizes = [500, 8_000] as const;
const lines = (make: (index: number) => string, size: number): string =>
  Array.from({ length: size }, (_, index) => make(index)).join("\n");
const files = filesOf({ "b.wf.md": workflowText("START --> SUCCESS"), "b.md": "text" });

const inputs: Readonly<Record<string, (size: number) => string>> = {
  "a chain of prompts": (size) =>
    workflowText(
      `START --> PROMPT_0\n${lines((one) => `PROMPT_${one}[Prompt: User ${one}] --> PROMPT_${one + 1}`, size)}\nPROMPT_${size}[Prompt: User 0]`,
      lines((one) => `## User ${one}\n\n{{RESULT}}\n`, size),
    ),
  "unknown activities": (size) => workflowText(lines((one) => `X${one} --> Y${one}`, size)),
  "unclosed edges": (size) => workflowText("A -- x\n".repeat(size)),
  groups: (size) => workflowText(`START --> ${"A & ".repeat(size)}A --> ${"B & ".repeat(size)}B`),
  "nested brackets": (size) => workflowText(`A${"[".repeat(size)}${"]".repeat(size)}`),
  parameters: (size) => workflowText(`PARAMS["${lines((one) => `A${one}=1,`, size)}"]`),
  "nodes of parameters": (size) => workflowText(lines((one) => `PARAMS_${one}["A${one}"]`, size)),
  calls: (size) => workflowText(lines((one) => `CALL_${one}[[b.wf.md]]`, size)),
  includes: (size) => `# Prompts\n## User A\n${'!INCLUDE "b.md"\n'.repeat(size)}`,
  sections: (size) => "# Workflow\n# Prompts\n".repeat(size),
  "prompts of one name": (size) => `# Prompts\n${"## User A\n".repeat(size)}`,
  headings: (size) => `# Prompts\n${"## Usr A\n".repeat(size)}`,
  "empty lines": (size) => `# Prompts\n## User A\n${"\n".repeat(size * 10)}x\n`,
  fences: (size) => `# Workflow\n${"```mermaid\ngraph TD\n```\n".repeat(size)}`,
  lists: (size) => "- item\n".repeat(size),
  braces: (size) => `# Prompts\n## User A\n${"{{".repeat(size * 10)}`,
  "an expression": (size) => workflowText(`START --> CHECK_A{${"a ".repeat(size)}}`),
};

for (const [name, make] of Object.entries(inputs)) {
  test(`${name} are read in linear time`, () => {
    linearInTime({ name, make, run: (text) => load(text, { files }), sizes });
  });
}
