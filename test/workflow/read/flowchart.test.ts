import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseFlowchart } from "../../../src/workflow/read/flowchart.ts";
import { readFlow } from "../rig.ts";

const header = "flowchart TD\n";
const edgesOf = (text: string): readonly string[] =>
  parseFlowchart(header + text).edges.map(
    ({ from, to, label }) => `${from}>${to}${label === "" ? "" : `:${label}`}`,
  );
const faultsOf = (text: string): readonly string[] =>
  parseFlowchart(header + text).faults.map(
    ({ offset, reason }) => `${offset - header.length} ${reason}`,
  );
const labelOf = (text: string): string | undefined =>
  parseFlowchart(header + text)
    .nodes.values()
    .next().value?.label?.text;

describe("the grammar of flowcharts", () => {
  it("takes the id of an edge for no node", () => {
    const nodesOf = (text: string): readonly string[] => [
      ...parseFlowchart(header + text).nodes.keys(),
    ];
    assert.deepEqual(nodesOf("A e1@--> B\ne1@{ animate: true }"), ["A", "B"]);
    assert.deepEqual(nodesOf("A e1@--> B --> e1"), ["A", "B", "e1"]);
  });

  it("says what an arrow is if an editor has made another sign of it", () => {
    for (const arrow of ["—>", "–->", "-–>", "→", "−−>"]) {
      const [fault] = parseFlowchart(`${header}A ${arrow} B`).faults;
      assert.equal(fault?.hint, "write -->", arrow);
    }
    assert.equal(parseFlowchart(`${header}A B`).faults[0]?.hint, undefined);
  });

  it("takes links without an arrow head as attachments", () => {
    for (const link of ["---", "-.-", "===", "~~~"]) {
      const chart = parseFlowchart(`${header}A ${link} B`);
      assert.deepEqual(
        [chart.edges, [...chart.attached], chart.faults],
        [[], ["A", "B"], []],
        link,
      );
    }
  });

  it("reads brackets and quotes before arrows", () => {
    const commands = ["echo %% not a comment", 'echo "a ] b"', "echo '}'", "/usr/bin/env"];
    for (const command of commands) {
      assert.equal(labelOf(`A[${command}] --> B`), command);
      assert.deepEqual(edgesOf(`A[${command}] --> B`), ["A>B"], command);
    }
  });

  it("shows the characters that Mermaid shows", () => {
    assert.equal(labelOf('A["say #quot;hi#quot; #35;1 #amp;"]'), 'say "hi" #1 &');
    assert.equal(labelOf('A["one<br/>two<br>three"]'), "one\ntwo\nthree");
    assert.equal(labelOf('A[x]@{ label: "one" }'), "one");
    assert.equal(
      labelOf("A@{\n  label: |\n    one\n\n      two\n  shape: rect\n}"),
      "one\n\n  two",
    );
    assert.equal(labelOf("A:::c@{ label: >-\n   one\n   two\n}"), "one two");
    assert.equal(labelOf('A@{ label: "one\\ntwo \\"x\\"" }'), 'one\ntwo "x"');
    assert.equal(labelOf('A["one\ntwo"]'), "one\ntwo");
  });

  it("accepts every header, and tells other diagrams apart", () => {
    for (const first of [
      "flowchart",
      "flowchart LR",
      "graph TD",
      "graph TD;",
      "flowchart-elk TB",
    ]) {
      const chart = parseFlowchart(`${first}\nA --> B`);
      assert.deepEqual([chart.isFlowchart, chart.edges.length, chart.faults], [true, 1, []], first);
    }
    for (const other of ["sequenceDiagram\nA->>B: x", "graphics", "", "%% nothing"]) {
      assert.equal(parseFlowchart(other).isFlowchart, false, other);
    }
  });

  it("reports what it can't read at its place, and reads on with the next line", () => {
    const cases: readonly (readonly [string, string])[] = [
      ["A[x --> B", '1 The bracket "[" is never closed.'],
      ["A --> ", "6 Expected the id of an activity, found the end of the flowchart."],
      ["--> B", '0 Expected the id of an activity, found "--".'],
      ["A -- x B", "2 This edge has no end."],
      ["A -->|x B", '5 The label "|" is never closed.'],
      ["A <--> B", "2 An edge must lead in one direction, with an arrow head."],
      ["A --x B", "2 An edge must lead in one direction, with an arrow head."],
      ["A o--o B", "2 An edge must lead in one direction, with an arrow head."],
      ["A B", '2 Expected an edge or the end of the line, found "B".'],
      ["A@{ label }", '4 Expected a property, found "label".'],
      ['A@{ label: "x', '1 The bracket "@{" is never closed.'],
      ["end", "0 There is no subgraph to end here."],
      ["subgraph x", "0 This subgraph has no `end`."],
    ];
    for (const [text, fault] of cases) {
      assert.deepEqual(faultsOf(text), [fault], text);
      if (!text.startsWith("subgraph") && !/-->\s*$/.test(text)) {
        assert.ok(edgesOf(`${text}\nY --> Z`).includes("Y>Z"), text);
      }
    }
  });

  it("is read in one pass, however many edges a group of nodes would have", () => {
    const many = Array.from({ length: 2_000 }, (_, index) => `A${index}`).join(" & ");
    assert.equal(edgesOf(`${many} --> ${many}`).length, 2_001);
  });
});

describe("activities", () => {
  const one = (line: string): unknown => {
    const { activities, said } = readFlow(`${header}${line}`);
    assert.deepEqual(said, [], line);
    return activities[0];
  };

  it("have their kind from the beginning of the id", () => {
    assert.deepEqual(one("SUCCESS([ SUCCESS ])"), { id: "SUCCESS", kind: "success" });
    assert.deepEqual(one("FAILED_CLONE"), { id: "FAILED_CLONE", kind: "failed" });
    assert.deepEqual(one('ASK_INFOS@{ shape: manual-input, label: "Ask:" }'), {
      id: "ASK_INFOS",
      kind: "ask",
    });
    assert.deepEqual(one("ASK_NAME[Ask: What is your name?]"), {
      id: "ASK_NAME",
      kind: "ask",
      question: "What is your name?",
    });
  });

  it("go on with yes, and to the other side with no, in any case", () => {
    for (const yes of ["", "|YES|", "|true|", "|Ok|", "|SUCCESS|", '|"yes"|']) {
      const { activities } = readFlow(`${header}EXECUTE_A -->${yes} SUCCESS`);
      assert.deepEqual(activities[0], { id: "EXECUTE_A", kind: "execute", next: "SUCCESS" }, yes);
    }
    for (const no of ["NO", "false", "Error", "FAILED", "else", "FAIL", "OTHER"]) {
      const { activities } = readFlow(`${header}EXECUTE_A -->|${no}| FAILED`);
      assert.deepEqual(activities[0], { id: "EXECUTE_A", kind: "execute", other: "FAILED" }, no);
    }
  });

  it("have captions for readers only", () => {
    assert.deepEqual(one("SET_X[Set: A=b:c=d]"), {
      id: "SET_X",
      kind: "set",
      name: "A",
      value: "b:c=d",
    });
    assert.deepEqual(one("EXECUTE_X[Execute: echo check: it]"), {
      id: "EXECUTE_X",
      kind: "execute",
      command: "echo check: it",
    });
    const { activities, said } = readFlow(`${header}PROMPT_X[Execute: User A]`);
    assert.deepEqual(activities[0], { id: "PROMPT_X", kind: "prompt", prompt: "User A" });
    assert.deepEqual(said, [
      "a.wf.md:5:10: warning: The caption Execute: doesn't match PROMPT_X. The id counts.",
    ]);
  });

  it("have the last of several labels", () => {
    const { activities, said } = readFlow(`${header}
      START --> PROMPT_A[Prompt: User A]
      PROMPT_A --> SUCCESS
      PROMPT_A[Prompt: User A]`);
    assert.deepEqual(
      [activities[1], said],
      [{ id: "PROMPT_A", kind: "prompt", prompt: "User A", next: "SUCCESS" }, []],
    );
    const changed = readFlow(`${header}PROMPT_A[Prompt: User A]\nPROMPT_A[Prompt: User B]`);
    assert.deepEqual(changed.activities[0], { id: "PROMPT_A", kind: "prompt", prompt: "User B" });
    assert.match(changed.said.join(), /:6:10: warning: PROMPT_A already has another label/);
  });

  it("have parameters beside them", () => {
    const parametersOf = (label: string): readonly unknown[] => {
      const { parameters, said } = readFlow(`${header}PARAMS@{ shape: comment, label: "${label}"}`);
      assert.deepEqual(said, [], label);
      return parameters;
    };
    assert.deepEqual(parametersOf("REPO_URL, \\nUSER_NAME"), [
      { name: "REPO_URL" },
      { name: "USER_NAME" },
    ]);
    assert.deepEqual(parametersOf("REPO_URL, USER_NAME=guest"), [
      { name: "REPO_URL" },
      { name: "USER_NAME", default: "guest" },
    ]);
    assert.deepEqual(parametersOf("A='x, y', B=what is it?<br/>C=, D=https://x.org/?a=b"), [
      { name: "A", default: "x, y" },
      { name: "B", default: "what is it?" },
      { name: "C", default: "" },
      { name: "D", default: "https://x.org/?a=b" },
    ]);
    assert.deepEqual(parametersOf("A='it's"), [{ name: "A", default: "'it's" }]);
    assert.match(
      readFlow(`${header}PARAMS["A, two words"]`).said.join(),
      /Invalid parameter "two words"/,
    );
    assert.match(readFlow(`${header}PARAMS["A, A=1"]`).said.join(), /A is declared twice/);
  });
});
