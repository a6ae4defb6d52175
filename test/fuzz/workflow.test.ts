/** Whatever is in a workflow file: it is read or refused, with places, and what is printed is read as the same. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { escapeFlowText, printFlow } from "../../src/reports/flow-chart.ts";
import { evaluateCheck, parseCheck } from "../../src/workflow/check.ts";
import { parseFlowchart } from "../../src/workflow/read/flowchart.ts";
import { parseParameters } from "../../src/workflow/parameters.ts";
import { flowFileOf } from "../../src/workflow/describe.ts";
import { holds } from "../rig/fuzz.ts";
import { filesOf, load, readFlow } from "../workflow/rig.ts";

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
/** As it is written. */
const raw = fc.oneof(
  text.map((label) => escapeFlowText(label).replaceAll("\\", "\\\\")),
  fc
    .array(
      fc.constantFrom(
        "#35;",
        "quot;",
        "#96;",
        "#60;",
        "br>",
        "<br>",
        "#32;",
        "a",
        "#39;",
        "X=",
        "#10;",
        "#13;",
        "#34;",
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map((parts) => parts.join("")),
);
const ids = ["START", "PROMPT_A", "CHECK_A", "EXECUTE_A", "ASK_A", "CALL_A", "SET_A", "ASSIGN_A"];
const id = fc.constantFrom(...ids, "SUCCESS", "FAILED", "ON_FAILED", "PARAMS", "NOTE", "end");
const bracket = fc.constantFrom(
  ["[", "]"],
  ["[[", "]]"],
  ["(", ")"],
  ["([", "])"],
  ["((", "))"],
  ["{", "}"],
  ["{{", "}}"],
  ["[/", "/]"],
  [">", "]"],
  ["@{ shape: x, label: ", " }"],
);
const node = fc.tuple(id, fc.option(fc.tuple(bracket, raw))).map(([name, shape]) => {
  if (shape === null) return name;
  const [[open, close], label] = shape;
  return `${name}${open}"${label}"${close}`;
});
const arrow = fc.constantFrom(
  "-->",
  "---",
  "e1@-->",
  "-->\n|no|",
  "==>",
  "-.->",
  "-->|TRUE|",
  "-->|no|",
  "-- ok -->",
);
const statement = fc.oneof(
  fc.tuple(node, arrow, node).map((parts) => parts.join(" ")),
  fc.tuple(node, arrow, node, arrow, node).map((parts) => parts.join(" ")),
  node,
  fc.constantFrom(
    "style A fill:#fff",
    "%% remark",
    "subgraph x",
    "end",
    "direction LR",
    "",
    "START_X@{ shape: comment }",
  ),
);
const flowchart = fc
  .array(statement, { maxLength: 20 })
  .map((lines) => `flowchart TD\n${lines.join("\n")}\n`);

const token = fc.constantFrom(
  ..."[]{}()<>|\"'`@&:;,-=.~x o\n\\#%".split(""),
  ...ids,
  "-->",
  "---",
  "-.->",
  "==>",
  "@{",
  "subgraph",
  "end",
  "%%",
  "%%{",
  "```",
  "\n# Prompts\n",
  "\n## User A\n",
  '\n!INCLUDE "b.md"\n',
  '\n!INCLUDE "a.wf.md"\n',
  "---\n",
  "{{",
  "}}",
  "e1@",
  "—>",
  "|no|",
  "<details>\n",
  "<!--\n",
  "~~~",
  "\t",
  "START_X@{ shape: comment }",
);
const tokens = fc.array(token, { maxLength: 60 }).map((parts) => parts.join(""));

test("a flowchart that is printed is read as the same activities", async (t) => {
  await holds(
    t,
    fc.property(flowchart, (chart) => {
      const first = readFlow(chart);
      const again = readFlow(printFlow(flowFileOf(first.file)));
      assert.deepEqual(again.said, []);
      assert.deepEqual(again.activities, first.activities);
      assert.deepEqual(again.parameters, first.parameters);
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
    "==",
    "!=",
    "MATCHES",
    "contains",
    "gt",
    "<=",
    "'",
    '"',
    " ",
    "a",
    "(a+)+$",
    "\n",
    "1e9",
  );
  const expression = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 12 }).map((all) => all.join(" ")),
  );
  await holds(
    t,
    fc.property(expression, fc.string(), fc.string(), (source, left, right) => {
      const read = parseCheck(source);
      if (read.kind === "fault") {
        assert.ok(read.fault.offset >= 0 && read.fault.offset <= source.length);
        return;
      }
      const { operator } = read.check;
      const value = evaluateCheck(operator, left, right);
      const again = evaluateCheck(operator, left, right);
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
      for (const { offset } of parseParameters(source).faults)
        assert.ok(offset >= 0 && offset <= source.length);
    }),
    5_000,
  );
});
