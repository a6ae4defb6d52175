/** Files that are made to do harm: an answer at a place, soon, and no throw. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { playWorkflow } from "../run/machine-rig.ts";
import { nightly } from "../../rig/nightly.ts";
import { filesOf, load, loaded, said, workflowText } from "../rig.ts";

describe("bad input", () => {
  const many = (one: string, count = nightly ? 30_000 : 10_000): string => one.repeat(count);

  it("is refused at a place", () => {
    const cases: Readonly<Record<string, readonly [text: string | Uint8Array, expected: RegExp]>> =
      {
        nothing: ["", /The file is empty/],
        "too large": [many("x\n", 5_500_000), /has 11\.0 MB/],
        NUL: ["# A\n\n# Work\0flow", /^a\.wf\.md:3:7: The file is binary\./],
        "no UTF-8": [new Uint8Array([0x23, 0x20, 0xff]), /not UTF-8 text/],
        "nested brackets": [
          workflowText(`A${many("[")}${many("]")}`),
          /^a\.wf\.md:3:1: The flowchart has no START/,
        ],
        braces: [workflowText(`START --> SET_A[A=${many("{{")}]`, ""), /^$/],
        "open fence": [
          "# Workflow\n```mermaid\ngraph TD\nSTART",
          /^a\.wf\.md:2:1: This code fence/,
        ],
        fences: [many("```mermaid\n"), /no section/],
        edges: [workflowText(many("SET_A[A=1] --> ")), /^a\.wf\.md:5:\d+: Expected the id/],
        groups: [
          workflowText(`START --> ${many("A & ")}A`),
          /^a\.wf\.md:5:11: Unknown activity type: A/,
        ],
        "quotes in quotes": [many(">"), /no section/],
        "lists in lists": [many("- "), /no section/],
        "a long expression": [
          workflowText(`START --> CHECK_A{${many("a ")}}`),
          /^a\.wf\.md:5:21: Unknown operator "a"/,
        ],
        "__proto__ in the front matter": [
          `---\n__proto__: { model: x }\n---\n${workflowText("START")}`,
          /^a\.wf\.md:2:12: __proto__: Unknown field/,
        ],
        "an expression that backtracks for ever": [
          workflowText(`START --> CHECK_A{'${many("a", 1_000)}!' MATCHES '(a+)+$'} -->|no| FAILED`),
          /^$/,
        ],
        "an expression without end": [
          workflowText("START --> CHECK_A{RESULT MATCHES '(a'}"),
          /^a\.wf\.md:5:/,
        ],
        "deep subgraphs": [workflowText(`${many("subgraph x\n")}START${many("\nend")}`), /^$/],
        "subgraphs without end": [
          workflowText(many("subgraph x\n")),
          /^a\.wf\.md:5:1: This subgraph/,
        ],
        remarks: [workflowText(`START\n${many("START_X --- START_Y\n")}`), /^$/],
        "ids of edges": [workflowText(`START${many(" e@--> START")}`), /already an edge/],
        bars: [workflowText(`START -->${many("\n")}|`), /^a\.wf\.md:\d+:1: The label "\|"/],
        "open comments": [
          `<!--\n${many("## User A\n")}`,
          /"## User A" belongs to the HTML|no section/,
        ],
        tags: [
          workflowText("START", many("<a>\n## User A\n")),
          /^a\.wf\.md:11:1: warning: "## User A" belongs/,
        ],
        headings: [
          many("# Workflow\n# Prompts\n## User a\n"),
          /^a\.wf\.md:1:1: This section has no flowchart/,
        ],
      };
    for (const [name, [text, expected]] of Object.entries(cases)) {
      assert.match(said(text)[0] ?? "", expected, name);
    }
  });

  it("names nothing that objects have anyway", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
    for (const name of names) {
      const flow = `START --> SET_${name}[${name}='v'] --> CHECK_${name}{${name} == 'v'} --> ASK_${name} --> PROMPT_${name}[Prompt: User ${name}]\nPARAMS["${name}=p"]`;
      const text = workflowText(flow, `## User ${name}\n\n{{${name}}} {{toLocaleString}}\n`);
      const { done, asked, events } = playWorkflow(loaded(text), ["a", "b"], {
        environment: { ENV: "e" },
      });
      assert.deepEqual([done.status, asked[1]], ["SUCCESS", "0: v {{toLocaleString}}"], name);
      assert.deepEqual(
        [Object.hasOwn(done.variables, name), Object.getPrototypeOf(done.variables)],
        [true, Object.prototype],
      );
      assert.equal(events.filter(({ type }) => type === "decision").length, 1);
      const calls = workflowText(`START --> CALL_A[[${name}]]`);
      assert.match(said(calls, { files: filesOf({}) }).join(), /There is no file/);
    }
    assert.equal("model" in {}, false);
  });

  it("may be a graph of a hundred thousand nodes", () => {
    const length = nightly ? 100_000 : 15_000;
    const chain = Array.from({ length }, (_, at) => `SET_${at}[A=${at}] --> SET_${at + 1}`);
    const result = load(workflowText(`START --> SET_0\n${chain.join("\n")}\nSET_${length}[A=1]`));
    assert.ok(result.kind === "loaded");
    const main = result.workflow.files[result.workflow.main];
    assert.equal(main?.activities.size, length + 2);
    assert.deepEqual(result.warnings, []);
  });
});
