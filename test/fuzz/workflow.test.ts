/** Whatever is in a workflow file: it is read or refused, with places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { operators, parseCheck } from "../../src/workflow/kinds/check.ts";
import { parseFlowchart } from "../../src/workflow/read/flowchart.ts";
import { parseParameters } from "../../src/workflow/parameters.ts";
import { holds } from "../rig/fuzz.ts";
import { filesOf, load } from "../workflow/rig.ts";

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 10 }),
  fc.constantFrom(
    "RESULT == 'SUCCESS'",
    "X=1",
    "User Ask",
    "git log --oneline | head -3 > /dev/null",
    "echo \"[a]\" && echo '}'",
    "a --> b",
    "<br/>",
    "#quot;",
    "`code`",
    "Prompt: x",
    "\\n",
    "{{RESULT}}",
  ),
);
const ids = ["START", "PROMPT_A", "CHECK_A", "EXECUTE_A", "ASK_A", "CALL_A", "SET_A", "ASSIGN_A"];
const token = fc.constantFrom(
  ..."[]{}()<>|\"'`@&:;,-=.~x o\n\\#%\t".split(""),
  ...ids,
  ..."--> --- -.-> ==> @{ subgraph end %% %%{ ``` {{ }} e1@ —> |no| <!--\n ~~~ ---\n".split(" "),
  "\n# Prompts\n",
  "\n## User A\n",
  '\n!INCLUDE "b.md"\n',
  '\n!INCLUDE "a.wf.md"\n',
  "<details>\n",
  "START_X@{ shape: comment }",
);
const tokens = fc.array(token, { maxLength: 60 }).map((parts) => parts.join(""));

/** A text as a label that shows it. */
function escaped(label: string): string {
  return label
    .replace(/^`|`$|["#]|<(?=br)|[^\P{Cc}\n]|^\s|\s$/giu, (sign) => `#${sign.charCodeAt(0)};`)
    .replaceAll("\n", "<br/>");
}

test("a label is the text that it shows", async (t) => {
  await holds(
    t,
    fc.property(text, (label) => {
      const { nodes, faults } = parseFlowchart(`graph TD\nA["${escaped(label)}"] --> B`);
      assert.deepEqual([nodes.get("A")?.label?.text ?? "", faults], [label.trim(), []]);
    }),
    2_000,
  );
});

test("any sequence of the signs of a flowchart is read, with faults at places that exist", async (t) => {
  await holds(
    t,
    fc.property(tokens, (some) => {
      const chart = `flowchart TD\n${some}`;
      for (const { offset } of parseFlowchart(chart).faults)
        assert.ok(offset >= 0 && offset <= chart.length, `${offset}`);
    }),
    5_000,
  );
});

test("any file is loaded or refused, with a line for every problem", async (t) => {
  const files = filesOf({ "b.md": '# B\n!INCLUDE "b.md"\n', "a.wf.md": "# Prompts\n" });
  await holds(
    t,
    fc.property(tokens, tokens, tokens, (before, chart, prompts) => {
      const source = `${before}\n# Workflow\n\`\`\`mermaid\ngraph TD\n${chart}\n\`\`\`\n# Prompts\n${prompts}`;
      const result = load(source, { files });
      const lines = source.split("\n").length;
      for (const { line, column, reason } of result.kind === "loaded"
        ? result.warnings
        : result.diagnostics) {
        assert.ok(line !== undefined && line >= 1 && line <= lines + 3, `${line}: ${reason}`);
        assert.ok(column !== undefined && column >= 1, `${column}: ${reason}`);
      }
    }),
    2_000,
  );
});

test("any expression of CHECK is read or refused at a place, and has a value", async (t) => {
  const part = fc.constantFrom(
    ..."== != MATCHES contains gt <= ' \" a (a+)+$ \n 1e9".split(" "),
    " ",
  );
  const expression = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 12 }).map((all) => all.join(" ")),
  );
  await holds(
    t,
    fc.property(expression, fc.string(), fc.string(), (source, left, right) => {
      const read = parseCheck(source, (offset) => {
        assert.ok(offset >= 0 && offset <= source.length);
      });
      if (read === undefined) return;
      const { operator } = read;
      const value = operators[operator](left, right);
      const again = operators[operator](left, right);
      assert.deepEqual(value, again);
    }),
    5_000,
  );
});

test("any list of parameters is read, with faults at places", async (t) => {
  const part = fc.constantFrom("A", "B=", "=", ",", "'", '"', " ", "\n", "\\n", "\\", "1", "x y");
  const list = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 15 }).map((all) => all.join("")),
  );
  await holds(
    t,
    fc.property(list, (source) => {
      parseParameters(source, (offset) => {
        assert.ok(offset >= 0 && offset <= source.length);
      });
    }),
    5_000,
  );
});
