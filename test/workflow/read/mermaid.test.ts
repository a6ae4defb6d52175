/** Mermaid itself is the judge of what is a flowchart, and of what it means. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import { flowPathChart, printFlow } from "../../../src/reports/flow-chart.ts";
import { buildStory, node } from "../../rig/flow-events.ts";
import { holds } from "../../rig/fuzz.ts";
import { readByMermaid, readByUs } from "./mermaid-rig.ts";

test("Mermaid reads the path of a run, with all its nodes and arrows", async () => {
  const { flow } = buildStory().finish().view.works.get(0) ?? {};
  assert.ok(flow !== undefined);
  const arrows = await readByMermaid(flowPathChart(flow) ?? "");
  assert.equal(arrows?.length, 12);
  assert.ok(arrows.includes("n1 arrow_point n2 ×2"), arrows.join("; "));
  assert.ok(arrows.includes("n2 arrow_point n1 FAILED"));
});

const accepted = [
  "A-->B",
  "A ---> B ------> C ====> D",
  "A -.-> B",
  "A -..-> B",
  "A[x].->B; B ..-> C",
  "A ==> B",
  "A -- no --> B",
  "A -. no .-> B",
  "A == no ==> B",
  "A -->|no| B",
  "A --> |no| B",
  "A & B --> C",
  "A:::c --> B",
  "A e1@--> B\ne1@{ animate: true }",
  "A-->B; B-->C",
  "A;B;C",
  "A -->\nB",
  "A -->\n|no| B",
  "A\n--> B",
  "A([x]) --> B[[x]] --> C[(x)] --> D((x)) --> E(((x)))",
  "A{x} --> B{{x}} --> C>x] --> D[/x/] --> E[\\x\\] --> F[/x\\] --> G[\\x/]",
  'A["x (y) [z] {a} | --> b"] --> B',
  'A["`md **x**`"] --> B["x\ny"]',
  "A[x\ny] --> B[a: b; c > d & e]",
  'A@{ shape: manual-input, label: "Ask:"} --> B@{ shape: stadium }',
  "A@{\n  shape: rect\n  label: 'x'\n}",
  "A[text]@{ shape: stadium } --> B",
  'A[text]@{ label: "other" } --> B',
  "A:::one@{ shape: stadium } --> B[text]:::one",
  "A@{\n  label: |\n    one\n    two\n  shape: rect\n} --> B",
  "A@{\n  label: >-\n    one\n    two\n}",
  "subgraph one [Title]\ndirection LR\nA --> B\nend\nstyle A fill:#fff,stroke:#000",
  "classDef x fill:#f00\nclass A x\nA --> B",
  'A --> B\nclick A href "https://x.org" "tip" _blank',
  "%% remark\n%%{init: {}}%%\nA --> B",
  "accTitle: t\naccDescr {\n x\n}\nA --> B",
  "A-b --> C.d --> 1",
  "Ä_Ö --> ü",
];

describe("a flowchart that Mermaid shows", () => {
  it("is read with the same edges", async () => {
    for (const body of accepted) {
      const text = `flowchart TD\n${body}\n`;
      const expected = await readByMermaid(text);
      assert.ok(expected !== undefined, body);
      assert.deepEqual(readByUs(text), expected, body);
    }
  });

  it("is refused if its edges lead in no direction", async () => {
    for (const body of ["A --x B", "A --o B", "A <--> B", "A x--x B"]) {
      const text = `flowchart TD\n${body}\n`;
      assert.ok((await readByMermaid(text)) !== undefined, body);
      assert.equal(readByUs(text), undefined, body);
    }
  });
});

test("a flowchart that is printed is shown by Mermaid, whatever its texts are", async () => {
  const texts = ["a [b", "x --> y", "#1; #quot;", "`x`", "%% x", "a\nb", "<br/>", "end", "it's |"];
  const activities = texts.map((label, index) =>
    node(`EXECUTE_${index}`, label, { next: `EXECUTE_${index + 1}` }),
  );
  const last = node(`EXECUTE_${texts.length}`, "\\");
  const file = { file: "a.wf.md", parameters: [], activities: [...activities, last] };
  const printed = printFlow({ main: "a.wf.md", files: { "a.wf.md": file } });
  assert.equal((await readByMermaid(printed))?.length, texts.length, printed);
});

test("any sequence of its signs that Mermaid shows is read with the same edges", async (t) => {
  const token = fc.constantFrom(
    ..."A B C [ ] [[ ]] ( ) { } & ; | | --> -.-> ==> -- .-> -. x y".split(" "),
    " ",
    "\n",
    "-->|no|",
    "A[x]",
    "B{y}",
    'C["z ]"]',
    ":::c",
    "%% r\n",
    "subgraph s\n",
    "end\n",
  );
  const text = fc
    .array(token, { maxLength: 12 })
    .map((parts) => `flowchart TD\n${parts.join("")}\n`);
  let shown = 0;
  await holds(
    t,
    fc.asyncProperty(text, async (chart) => {
      const expected = await readByMermaid(chart);
      // Edges that lead to several nodes are one and a fault for us, and none of a subgraph are.
      if (expected === undefined || /&|subgraph/.test(chart)) return;
      shown += 1;
      const isDirected = expected.every((edge) => / arrow_(?:point|open) /.test(edge));
      const arrows = expected.filter((edge) => edge.includes(" arrow_point "));
      assert.deepEqual(readByUs(chart), isDirected ? arrows : undefined);
    }),
    500,
  );
  assert.ok(shown > 4, `${shown} were shown`);
});
