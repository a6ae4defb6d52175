import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { generateChartNodes } from "../../src/entry/chart.ts";
import { escapeLabel, type NodeStatus, renderMermaid } from "../../src/entry/mermaid.ts";
import type { Work } from "../../src/entry/model.ts";
import { assignWorkId } from "../../src/entry/work.ts";
import { task } from "./rig.ts";
import { anyCharacter } from "../rig/any-character.ts";

const chart = (work: Work, options = {}): string =>
  renderMermaid(generateChartNodes(assignWorkId(work)), options);

/** Decodes an escaped label as Mermaid does. */
function shown(label: string): string {
  return label
    .replaceAll("<br/>", "\n")
    .replace(/#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

describe("renderMermaid", () => {
  it("writes a flowchart", () => {
    const work: Work = {
      kind: "Seq",
      works: [
        {
          kind: "Par",
          works: [task("a"), { kind: "Ref", taskId: "b", modelOverride: { id: "gpt-5" } }],
        },
        { kind: "Alt", condition: task("ok?"), falseWork: task("fix") },
      ],
    };
    assert.equal(
      chart(work),
      `flowchart TD
  n0(["start"])
  n1[["in parallel"]]
  n2["a #35;0"]
  n3["b (gpt-5) #35;1"]
  n4[["all done"]]
  n5{{"ok? #35;2"}}
  n6{"which?"}
  n7["fix #35;3"]
  n8(["end"])
  n0 --> n1
  n1 --> n2
  n1 --> n3
  n2 --> n4
  n3 --> n4
  n4 --> n5
  n5 --> n6
  n6 -->|"succeeded"| n8
  n6 -->|"failed"| n7
  n7 --> n8
`,
    );
  });

  it("runs from left to right where a Par is too wide for a page", () => {
    const par = (count: number): Work => ({
      kind: "Par",
      works: Array.from({ length: count }, (_, index) => task(`t${index}`)),
    });
    assert.match(chart(par(6)), /^flowchart TD\n/);
    assert.match(chart(par(7)), /^flowchart LR\n/);
    assert.match(chart(par(4), { sideBySide: 3 }), /^flowchart LR\n/);
  });

  it("colors tasks by their status and adds details", () => {
    const statuses: readonly (NodeStatus | undefined)[] = [
      "succeeded",
      "failed",
      "succeeded",
      undefined,
    ];
    const text = chart(
      { kind: "Seq", works: ["a", "b", "c", "d"].map(task) },
      {
        statusOf: (id: number) => statuses[id],
        detailOf: (id: number) => (id === 1 ? "2 attempts, 31 s" : undefined),
      },
    );
    assert.match(text, /^ {2}n2\["b #35;1<br\/>2 attempts, 31 s"\]$/m);
    assert.match(text, /^ {2}class n1,n3 succeeded$/m);
    assert.match(text, /^ {2}class n2 failed$/m);
    assert.equal(text.match(/classDef/g)?.length, 2);
    assert.doesNotMatch(text, /class .*n4/);
  });

  it("gives every status its own background, border and text color", () => {
    const statuses: readonly NodeStatus[] = [
      "pending",
      "running",
      "succeeded",
      "failed",
      "retried",
      "skipped",
      "canceled",
    ];
    const text = chart(
      { kind: "Seq", works: statuses.map(task) },
      { statusOf: (id: number) => statuses[id] },
    );
    for (const status of statuses) {
      const style = new RegExp(
        `classDef ${status} fill:(#\\w{6}),stroke:#\\w{6},color:(#\\w{6})`,
      ).exec(text);
      assert.ok(contrast(style?.[1] ?? "", style?.[2] ?? "") >= 4.5, status);
    }
  });
});

/** The contrast ratio of WCAG 2; text is legible from 4.5. */
function contrast(a: string, b: string): number {
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5]
      .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

describe("escapeLabel", () => {
  it("makes entities of quotes, brackets, backticks, HTML and entities themselves", () => {
    assert.equal(escapeLabel('a"b'), "a#34;b");
    assert.equal(escapeLabel("`x`"), "#96;x#96;");
    assert.equal(
      escapeLabel("[a]{b}<i>|&amp;#35;"),
      "#91;a#93;#123;b#125;#60;i#62;#124;#38;amp#59;#35;35#59;",
    );
    assert.equal(escapeLabel("%%{init: 1}"), "#37;#37;#123;init#58; 1#125;");
  });

  it("leaves no Markdown, which Mermaid would read as such", () => {
    assert.equal(escapeLabel("1. a"), "1#46; a");
    assert.equal(escapeLabel("1) a"), "1#41; a");
    assert.equal(escapeLabel("- a *b* _c_"), "#45; a #42;b#42; #95;c#95;");
    assert.equal(escapeLabel("my-task_2.b (fast)"), "my-task_2.b (fast)");
  });

  it("breaks lines, drops control characters and never is empty", () => {
    assert.equal(escapeLabel("a\r\nb\rc\nd\te\u0007"), "a<br/>b<br/>c<br/>d e");
    assert.equal(escapeLabel(" "), " ");
  });

  it("loses nothing, and lets no syntax through", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const escaped = escapeLabel(text);
        const expected = text
          .replace(/\r\n?/g, "\n")
          .replace(/[^\P{Cc}\n]/gu, " ")
          .trim();
        assert.equal(shown(escaped), expected === "" ? " " : expected);
        assert.doesNotMatch(escaped.replaceAll("<br/>", ""), /["`<>[\]{}|&%\n\\]|#(?!\d+;)/);
      }),
    );
  });
});
