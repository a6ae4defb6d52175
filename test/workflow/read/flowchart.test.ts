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
  it("reads every kind of arrow, of any length", () => {
    for (const arrow of ["-->", "--->", "------>", "==>", "====>", "-.->", "-..->"]) {
      assert.deepEqual(edgesOf(`A ${arrow} B`), ["A>B"], arrow);
      assert.deepEqual(edgesOf(`A${arrow}B`), ["A>B"], arrow);
    }
  });

  it("reads labels between bars and inside of arrows", () => {
    assert.deepEqual(edgesOf("A -->|TRUE| B"), ["A>B:TRUE"]);
    assert.deepEqual(edgesOf("A --> |TRUE| B"), ["A>B:TRUE"]);
    assert.deepEqual(edgesOf('A -->|"a | b"| B'), ['A>B:"a | b"']);
    assert.deepEqual(edgesOf("A -- no --> B"), ["A>B:no"]);
    assert.deepEqual(edgesOf("A == no ==> B"), ["A>B:no"]);
    assert.deepEqual(edgesOf("A -. no .-> B"), ["A>B:no"]);
  });

  it("reads chains, groups, classes and several statements in a line", () => {
    assert.deepEqual(edgesOf("A --> B --> C"), ["A>B", "B>C"]);
    assert.deepEqual(edgesOf("A & B --> C"), ["A>C", "B>C"]);
    assert.deepEqual(edgesOf("A:::big --> B:::small"), ["A>B"]);
    assert.deepEqual(edgesOf("A --> B; B --> C;"), ["A>B", "B>C"]);
    assert.deepEqual(edgesOf("A e1@--> B"), ["A>B"]);
  });

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

  it("goes on with an arrow on the next line", () => {
    assert.deepEqual(edgesOf("A -->\n  B"), ["A>B"]);
    assert.deepEqual(edgesOf("A\n  --> B"), ["A>B"]);
    assert.deepEqual(edgesOf("A -->\n  |no|\n  B"), ["A>B:no"]);
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

  it("reads every shape", () => {
    const shapes = [
      "[x y]",
      "[[x y]]",
      "(x y)",
      "([x y])",
      "((x y))",
      "(((x y)))",
      "[(x y)]",
      "{x y}",
      "{{x y}}",
      "[/x y/]",
      "[\\x y\\]",
      "[/x y\\]",
      ">x y]",
      "(-x y-)",
      '["x y"]',
      '(["x y"])',
      '{ "x y" }',
      '["`x y`"]',
      '@{ shape: rect, label: "x y" }',
      "@{ label: 'x y' }",
      "@{label: x y}",
      '@{\n  shape: rect\n  label: "x y"\n}',
    ];
    for (const shape of shapes) {
      assert.equal(labelOf(`A${shape}`), "x y", shape);
      assert.deepEqual(faultsOf(`A${shape} --> B`), [], shape);
      assert.deepEqual(edgesOf(`A${shape} --> B`), ["A>B"], shape);
    }
  });

  it("reads brackets and quotes before arrows", () => {
    const commands = [
      "git log --oneline | head -3 > out.txt",
      "echo a --> b",
      "echo %% not a comment",
      "curl -H 'A: b' http://x",
      'echo "a ] b"',
      "echo '}'",
      "test [ -f x ] && echo (y)",
      "for i in $(ls); do echo $i; done",
      "awk '{ print $1 }'",
      "/usr/bin/env",
    ];
    for (const command of commands) {
      assert.equal(labelOf(`A[${command}] --> B`), command);
      assert.deepEqual(edgesOf(`A[${command}] --> B`), ["A>B"], command);
    }
  });

  it("shows the characters that Mermaid shows", () => {
    assert.equal(labelOf('A["say #quot;hi#quot; #35;1 #amp;"]'), 'say "hi" #1 &');
    assert.equal(labelOf('A["one<br/>two<br>three"]'), "one\ntwo\nthree");
    assert.equal(labelOf('A@{ label: "one\\ntwo \\"x\\"" }'), 'one\ntwo "x"');
    assert.equal(labelOf('A["one\ntwo"]'), "one\ntwo");
  });

  it("passes over what has no meaning for a run", () => {
    const text = `
      ---
      title: x
      ---
      %%{init: {"theme": "dark"}}%%
      %% a remark: A --> X
      accTitle: a title
      accDescr { several
        lines }
      flowchart LR
        subgraph one [The first]
          direction TB
          A --> B %% why
        end
        style A fill:#fff,stroke:#000
        classDef big font-size:2em;
        class A,B big
        linkStyle 0 stroke:red
        click A "https://example.org;x" "tip"
    `;
    const chart = parseFlowchart(text.replace("\n", "").replace(/^ {6}/gm, ""));
    // Mermaid wants the header before accTitle.
    assert.equal(chart.isFlowchart, false);
    const body = text.slice(text.indexOf("subgraph"));
    assert.deepEqual(edgesOf(body), ["A>B"]);
    assert.deepEqual(faultsOf(body), []);
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
    assert.deepEqual(one('START@{ shape: f-circ, label:"start"}'), { id: "START", kind: "start" });
    assert.deepEqual(one("SET_TESTING_RESULT[TESTING_RESULT=RESULT]"), {
      id: "SET_TESTING_RESULT",
      kind: "set",
      name: "TESTING_RESULT",
      value: "RESULT",
    });
    assert.deepEqual(one("ASSIGN_RESULT[Assign: User Task-Desc]"), {
      id: "ASSIGN_RESULT",
      kind: "assign",
      value: "User Task-Desc",
    });
    assert.deepEqual(one("PROMPT_ASK[Prompt: User Task-Desc]"), {
      id: "PROMPT_ASK",
      kind: "prompt",
      prompt: "User Task-Desc",
    });
    assert.deepEqual(one("EXECUTE_OUTPUT[Execute: ]"), { id: "EXECUTE_OUTPUT", kind: "execute" });
    assert.deepEqual(one("EXECUTE_OUTPUT[Execute: cd ~]"), {
      id: "EXECUTE_OUTPUT",
      kind: "execute",
      command: "cd ~",
    });
    assert.deepEqual(one("CALL_TESTING[[paperless-sprint1-testing.wf.md]]"), {
      id: "CALL_TESTING",
      kind: "call",
      path: "paperless-sprint1-testing.wf.md",
      target: "",
    });
    assert.deepEqual(one("SUCCESS@{ shape: stadium  }"), { id: "SUCCESS", kind: "success" });
    assert.deepEqual(one("SUCCESS([ SUCCESS ])"), { id: "SUCCESS", kind: "success" });
    assert.deepEqual(one("FAILED@{ shape: stadium  }"), { id: "FAILED", kind: "failed" });
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

  it("check with either branch", () => {
    const { activities, said } = readFlow(`${header}
      CHECK_RESULT_SUCCESS{RESULT == 'SUCCESS'}
      CHECK_RESULT_SUCCESS --> |TRUE| SUCCESS@{ shape: stadium  }
      CHECK_RESULT_SUCCESS --> |FALSE| FAILED@{ shape: stadium  }
      style SUCCESS stroke:#A0A0A0,stroke-width:1px,fill:#ffffff`);
    assert.deepEqual(said, []);
    assert.deepEqual(activities[0], {
      id: "CHECK_RESULT_SUCCESS",
      kind: "check",
      check: { left: "RESULT", operator: "eq", right: "'SUCCESS'" },
      next: "SUCCESS",
      other: "FAILED",
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

  it("handle the ends, also as the document misspells it", () => {
    const failed = readFlow(`${header}ON_FAILED@{ shape: stadium } --> PROMPT_A[Prompt: User A]`);
    assert.deepEqual(failed.activities[0], {
      id: "ON_FAILED",
      kind: "on",
      event: "failed",
      next: "PROMPT_A",
    });
    const succeeded = readFlow(
      `${header}ON_SUCCES@{ shape: stadium } --> PROMPT_A[Prompt: User A]`,
    );
    assert.deepEqual(succeeded.activities[0], {
      id: "ON_SUCCES",
      kind: "on",
      event: "success",
      next: "PROMPT_A",
    });
    assert.match(succeeded.said.join(), /warning: ON_SUCCES is read as ON_SUCCESS/);
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

  it("are no remarks: those have another id, and no arrows", () => {
    assert.deepEqual(one("NOTE@{ shape: comment, label: x }"), undefined);
    assert.deepEqual(one("START --- NOTE[remember]"), { id: "START", kind: "start" });
    assert.match(readFlow(`${header}START --> NOTE[x]`).said.join(), /Unknown activity type: NOTE/);
    for (const remark of [
      'START_COMMENT@{ shape: comment, label: "no parameters" }',
      "START --- START_NOTE[x]",
      "SET_NOTE@{ shape: brace, label: x }",
    ]) {
      const { activities, said } = readFlow(`${header}START\n${remark}`);
      assert.deepEqual([activities, said], [[{ id: "START", kind: "start" }], []], remark);
    }
  });

  it("name a prompt by its heading, in which a line break is a space", () => {
    assert.deepEqual(one('PROMPT_A["Prompt:<br/>User Long<br/>Title"]'), {
      id: "PROMPT_A",
      kind: "prompt",
      prompt: "User Long Title",
    });
    assert.deepEqual(one('ASSIGN_A["Assign: User  A"]'), {
      id: "ASSIGN_A",
      kind: "assign",
      value: "User A",
    });
    assert.deepEqual(one("ASSIGN_A[Assign: 'a<br/>b']"), {
      id: "ASSIGN_A",
      kind: "assign",
      value: "'a\nb'",
    });
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
      /"two words" is not a param/,
    );
    assert.match(readFlow(`${header}PARAMS["A, A=1"]`).said.join(), /A is declared twice/);
  });
});
