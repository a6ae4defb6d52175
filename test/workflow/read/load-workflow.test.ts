import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeWorkflow } from "../../../src/workflow/describe.ts";
import { filesOf, load, loaded, said, workflowText } from "../rig.ts";

const ask = "## User Ask\n\nHello";
const line = (text: string): readonly string[] =>
  said(text).map((one) => one.replace("a.wf.md:", ""));

describe("a workflow file", () => {
  it("has a title, a description, a graph and prompts", () => {
    const text = `# Lesson 1

What it is for.

# Workflow of the lesson

\`\`\`mermaid
flowchart TD
    START@{ shape: f-circ, label:"start"} --> PROMPT_SYSTEM
    PROMPT_SYSTEM[Prompt: System] --> PROMPT_ASK
    PROMPT_ASK[Prompt: User Ask] --> SUCCESS
    SUCCESS@{ shape: stadium  }
\`\`\`

# Prompts of the lesson

## System

You are helpful.

## User Ask

What is the answer?

### With details

1. one

## Assistant Example

Forty-two.

# Notes

## User Other

no prompt
`;
    const workflow = loaded(text);
    const file = workflow.files[workflow.main];
    assert.ok(file !== undefined);
    assert.deepEqual(
      [file.title, file.description, file.start],
      ["Lesson 1", "What it is for.", "START"],
    );
    assert.deepEqual(
      [...file.prompts].map(([id, { role, text: prompt }]) => [id, role, prompt]),
      [
        ["System", "system", "You are helpful."],
        ["User Ask", "user", "What is the answer?\n\n### With details\n\n1. one"],
        ["Assistant Example", "assistant", "Forty-two."],
      ],
    );
    assert.deepEqual(file.activities.get("PROMPT_ASK")?.at, { line: 11, column: 5 });
    assert.deepEqual(said(text), []);
  });

  it("reads several flowcharts as one, and those in lists", () => {
    const text =
      "# Workflow\n\n```mermaid\ngraph LR\nSTART --> SET_A\n```\n\n- and\n\n  ```mermaid\n  flowchart TD\n  SET_A[A=1] --> FAILED\n  ```\n";
    const workflow = loaded(text);
    assert.deepEqual(workflow.files[workflow.main]?.activities.get("SET_A"), {
      id: "SET_A",
      at: { line: 12, column: 3 },
      label: "A=1",
      kind: "set",
      name: "A",
      value: "1",
      next: "FAILED",
    });
  });
});

describe("problems of a workflow", () => {
  it("are errors if it can't run as it is written", () => {
    const errors: Readonly<Record<string, string>> = {
      "SET_A[A=1] --> SUCCESS": "5:1: The flowchart has no START. (such as START --> SET_A)",
      "START --> START_2": "5:11: There is already a START: START.",
      "START --> PROMPT_A[Prompt: User Aks]":
        '5:11: There is no prompt "User Aks". (did you mean "User Ask"?)',
      "START --> PROMPT_A": "5:11: PROMPT_A needs the name of a prompt, such as User Ask.",
      "START --> PROMT_A[x]": '5:11: Unknown activity type: PROMT_A. (did you mean "PROMPT_A"?)',
      "START --> A[Execute: ls]": '5:11: Unknown activity type: A. (did you mean "EXECUTE_A"?)',
      "START --> ON_ERROR": "5:11: Unknown handler: ON_ERROR. (there are ON_SUCCESS and ON_FAILED)",
      "START --> SET_A[A=1]\nSTART --> SUCCESS":
        "6:7: START already has a next activity: SET_A. (an activity has one of each)",
      "START --> CHECK_A{RESULT == a}\nCHECK_A -->|no| SUCCESS\nCHECK_A -->|else| FAILED":
        "7:9: CHECK_A already has a no-edge: SUCCESS. (an activity has one of each)",
      "START -->|TREU| SUCCESS":
        '5:7: The label "TREU" is neither yes nor no. (did you mean "TRUE"?)',
      "START --> SET_A[A]": "5:17: SET_A needs an assignment, such as NAME=value.",
      "START --> SET_A[a b=1]": '5:17: Invalid variable name "a b".',
      "START --> ASSIGN_A[Assign: some text]":
        '5:11: There is no prompt "some text". (put a constant in quotes)',
      "START --> CHECK_A{RESULT is a}":
        '5:26: Unknown operator "is". (the operators are ==, !=, CONTAINS, MATCHES, gt, ge, lt and le)',
      "START --> CALL_A[[b.wf.md]]": `5:11: There is no file "b.wf.md".`,
      "START --> CALL_A[[../../etc/passwd]]": `5:11: "../../etc/passwd" is outside of the folder of the workflow.`,
      "START --> SET_A[A=file:../../etc/passwd]": `5:11: "../../etc/passwd" is outside of the folder of the workflow.`,
      "START --> subs\nsubgraph subs\nSET_A[A=1]\nend":
        "5:11: subs is a subgraph. An edge must lead to an activity.",
    };
    for (const [flowchart, expected] of Object.entries(errors)) {
      const result = load(workflowText(flowchart, ask), { files: filesOf({}) });
      assert.equal(result.kind, "rejected", flowchart);
      const [first = ""] = said(workflowText(flowchart, ask), { files: filesOf({}) });
      assert.ok(
        `${first} (`.startsWith(`a.wf.md:${expected} (`) ||
          first === `a.wf.md:${expected}` ||
          first.startsWith(`a.wf.md:${expected} (`),
        `${flowchart}: ${first}`,
      );
    }
  });

  it("are warnings if it runs, but probably not as intended", () => {
    const warnings: Readonly<Record<string, string>> = {
      "START --> SUCCESS\nSET_A[A=1] --> FAILED": "6:1: warning: SET_A can't be reached.",
      "START --> CHECK_A{RESULT == a}":
        "5:11: warning: This CHECK has no edge for the case that it doesn't hold. The workflow then fails. (add an edge --> |FALSE| …)",
      "START --> SET_A[A=say {{RESULTS}} and {{RESULTS}}]":
        '5:11: warning: {{RESULTS}} has no value: there is no such variable, parameter or prompt. It stays as it is. (did you mean "RESULT"?)',
      "START --> EXECUTE_A[ls]":
        "5:11: warning: EXECUTE_A can't run: the permissions allow no command. (add permissions to the front matter, or run with --permissions workspace)",
      "START --> SUCCESS --> FAILED":
        "5:19: warning: SUCCESS ends the workflow. This edge is never taken.",
      "START --> CALL_A[[b.wf.md]]\nCALL_A --> SUCCESS\nCALL_A -->|OK| SUCCESS":
        "7:8: warning: There is already an edge from CALL_A to SUCCESS.",
      "START --> SUCCESS\nSTART -->|no| FAILED":
        "5:1: warning: START never fails. Its no-edge is never taken.",
      "PARAMS[A=1] --> START --> SUCCESS": "5:1: warning: Edges of PARAMS have no meaning.",
      "START --> SET_A[A=User Aks] --> PROMPT_A[Prompt: User Ask]":
        '5:11: warning: There is no prompt "User Aks". The variable gets this text itself. (did you mean "User Ask"?)',
      "START --> ASSIGN_A[Assign: NAME]":
        '5:11: warning: There is no variable or prompt "NAME". Without it, ASSIGN fails.',
      "START --> SET_A[STATUS=x]": "5:17: warning: STATUS is set by the run. This has no effect.",
    };
    const files = filesOf({ "b.wf.md": workflowText("START --> SUCCESS") });
    for (const [flowchart, expected] of Object.entries(warnings)) {
      const text = workflowText(flowchart, flowchart.includes("User Ask") ? ask : "");
      assert.equal(load(text, { files }).kind, "loaded", flowchart);
      assert.deepEqual(said(text, { files }), [`a.wf.md:${expected}`], flowchart);
    }
  });

  it("are warnings if agents are given tools that don't exist", () => {
    const text = workflowText("START --> PROMPT_A['Hi']");
    assert.deepEqual(said(`---\nagentTools: [view, grpe]\n---\n${text}`), [
      'a.wf.md:2:20: warning: agentTools[1]: There is no tool "grpe". (did you mean "grep"?)',
    ]);
  });

  it("are found in sections and prompts", () => {
    assert.match(line("text").join(), /^1:1: There is no section `# Workflow`/);
    assert.match(
      line("# workflow\n").join(),
      /^1:1: There is no section `# Workflow`. \(write # Workflow\)/,
    );
    assert.deepEqual(line("\n# Workflow\n\nnothing"), [
      "2:1: This section has no flowchart. (put it into a code fence with the tag mermaid)",
    ]);
    assert.deepEqual(line("# Workflow\n```mermaid\ngraph TD\nSTART\n# Prompts\n"), [
      "2:1: This code fence is never closed. (end the flowchart with ```)",
    ]);
    const twice = workflowText("START --> PROMPT_A[Prompt: User Ask]", `${ask}\n\n${ask}`);
    assert.match(line(twice).join(), /^14:1: There is already a prompt "User Ask", at a.wf.md:10/);
    const other = workflowText(
      "START --> PROMPT_A[Prompt: User Ask]",
      `${ask}\n\n## user More\n\nx`,
    );
    assert.deepEqual(line(other), [
      '14:1: warning: "## user More" does not start a prompt. It belongs to the text above. (did you mean "User"?)',
    ]);
    const open = workflowText("START --> PROMPT_A[Prompt: User Ask]", `${ask}\n\n\`\`\`\nx`);
    assert.match(line(open).join(), /^14:1: warning: This code fence is never closed/);
    const html = workflowText(
      "START --> PROMPT_A[Prompt: User Ask]",
      `${ask}\n\n<b>\n</b>\n## User B\n# Prompts\n# x\n\n<!--\n## User C\n-->\n\n<!--\n## User D\n`,
    );
    assert.deepEqual(
      line(html).map((one) => one.replace(/ belongs .*/, "")),
      ['16:1: warning: "## User B"', '17:1: warning: "# Prompts"', '25:1: warning: "## User D"'],
    );
    const empty = workflowText("START --> PROMPT_A[Prompt: User Ask]", "## User Ask\n");
    assert.deepEqual(line(empty), ['10:1: warning: The prompt "User Ask" is empty.']);
    const unknown = workflowText(
      "START --> PROMPT_A[Prompt: User Ask]",
      `${ask}\n{{REPO}} {{USER_INPUT}}`,
    );
    assert.match(line(unknown).join(), /^13:1: warning: \{\{REPO\}\} has no value/);
  });

  it("are judged by the permissions that a run has", () => {
    const text = workflowText("START --> EXECUTE_A[ls] --> EXECUTE_B");
    const of = (permissions: object | string, extra = ""): readonly string[] =>
      said(`---\npermissions: ${JSON.stringify(permissions)}\n---\n${text}${extra}`);
    assert.deepEqual(of("workspace"), []);
    assert.deepEqual(of({ shell: ["ls"] }), []);
    assert.deepEqual(of({ shell: ["git *"] }), [
      'a.wf.md:8:11: EXECUTE_A can\'t run: "ls" matches no pattern of permissions.shell. Allowed: "git *".',
    ]);
    assert.match(
      of({ preset: "workspace", shell: ["!ls"] }).join(),
      /EXECUTE_A can't run: "ls" is denied/,
    );
    const constant = (command: string): readonly string[] =>
      said(workflowText(`START --> EXECUTE_A["${command}"]`), {
        permissions: { shell: ["cat *"] },
      });
    assert.match(constant("cat $(ls)").join(), /EXECUTE_A can't run: .* checked/);
    // These are known when it runs.
    for (const command of ["cat /a", "{{RESULT}}"])
      assert.deepEqual(constant(command), [], command);
    assert.deepEqual(of({ shell: ["!git *"] }), [
      "a.wf.md:8:11: EXECUTE_A can't run: the permissions allow no command. (add permissions.shell to the front matter)",
    ]);
    assert.deepEqual(said(text, { permissions: "workspace" }), []);
    assert.match(
      said(text, { permissions: "read-only" }).join(),
      /^a.wf.md:5:11: EXECUTE_A can't run/,
    );
  });
});

describe("front matter", () => {
  const text = workflowText("START --> SUCCESS");
  const settings = (yaml: string): unknown =>
    JSON.parse(JSON.stringify(loaded(`---\n${yaml}\n---\n${text}`).settings));

  it("holds what Markdown has no place for", () => {
    assert.deepEqual(
      settings(
        "model: gpt-5\nmodels: { driving: small }\npermissions: { shell: [git *] }\nagentTools: [view, grep]\nlimits: { jobMinutes: 5, activityHits: 10, cost: 1.5 }\nanswers: { ASK_NAME: Bob, ASK_AGE: ['1', '2'] }",
      ),
      {
        model: { id: "gpt-5" },
        models: { driving: "small" },
        permissions: { shell: ["git *"] },
        agentTools: ["view", "grep"],
        limits: { jobMinutes: 5, activityHits: 10, cost: 1.5 },
        answers: { ASK_NAME: ["Bob"], ASK_AGE: ["1", "2"] },
      },
    );
    assert.deepEqual(settings("model: small\nmodels: { small: gpt-5-mini }"), {
      model: { category: "small" },
      models: { small: "gpt-5-mini" },
    });
    assert.deepEqual(settings("model: { id: x }"), { model: { id: "x" } });
    assert.deepEqual(settings("# nothing"), {});
    assert.deepEqual(loaded(text).settings, {});
  });

  it("is checked, at its lines", () => {
    const problems = (yaml: string): readonly string[] => said(`---\n${yaml}\n---\n${text}`);
    assert.match(problems("modell: x").join(), /^a.wf.md:2:\d+: modell: .*did you mean "model"/);
    assert.match(
      problems("\nlimits: { activityHits: 0 }").join(),
      /^a.wf.md:3:\d+: limits.activityHits: /,
    );
    assert.match(
      problems("model: { category: no }\nmodels: { on: x }").join(),
      /^a.wf.md:2:\d+: There is no model category "no"/,
    );
    assert.match(
      problems("permissions: { read: ['{1..3}'] }").join(),
      /^a.wf.md:2:\d+: permissions.read\[0\]: /,
    );
    assert.match(problems("a: [").join(), /^a.wf.md:\d+:\d+: Not valid YAML/);
    assert.match(problems("- a").join(), /^a.wf.md:2:\d+: /);
  });

  it("begins with the first line, and is closed", () => {
    assert.deepEqual(loaded(`\n---\nmodel: x\n---\n${text}`).settings, {});
    assert.deepEqual(loaded(`---\nmodel: x\n\n${text}`).settings, {});
  });
});

describe("the paths of a workflow", () => {
  it("are warnings if prompts are never sent", () => {
    const system = "PROMPT_S[Prompt: System]";
    const unasked = /^5:11: warning: PROMPT_S starts an agent that is never asked/;
    const prompts = `## System\n\nYou.\n\n${ask}`;
    const of = (flowchart: string): string =>
      said(workflowText(flowchart, prompts), {
        permissions: "workspace",
        files: filesOf({ "b.wf.md": workflowText("START --> PROMPT_B['Hi']") }),
      })
        .map((one) => one.replace("a.wf.md:", ""))
        .join("\n");
    for (const flowchart of [
      `START --> ${system}`,
      `START --> ${system} --> EXECUTE_A[ls] --> SUCCESS`,
    ])
      assert.match(of(flowchart), unasked, flowchart);
    for (const flowchart of [
      `START --> ${system} --> EXECUTE_A[ls] --> PROMPT_A[Prompt: User Ask]`,
      `START --> ${system} --> EXECUTE_A[ls]\nON_FAILED --> PROMPT_A['Hi']`,
      `START --> ${system} --> SUCCESS\nON_SUCCESS --> PROMPT_A['Hi']`,
      `START --> ${system} --> CALL_B[[b.wf.md]]`,
      `START --> ASSIGN_A[Assign: User Ask] --> ASK_A --> SET_A[A=System]`,
    ])
      assert.equal(of(flowchart), "", flowchart);
    assert.equal(
      of("START --> SUCCESS"),
      '10:1: warning: The prompt "System" is never sent: the flowchart has no PROMPT. (such as PROMPT_1[Prompt: System])',
    );
  });
});

const chart = `    START@{ shape: f-circ, label:"start"} --> CHECK_A
    PARAMS@{ shape: comment, label: "REPO_URL, \\nUSER_NAME='a, b'"}
    CHECK_A{RESULT == "x"} --> |TRUE| EXECUTE_A
    CHECK_A --> |FALSE| ASK_A[/Ask: who?/]
    EXECUTE_A["Execute: echo #quot;a#quot; | cat<br/>ls"] --> SUCCESS
    EXECUTE_A --> |error| FAILED
    ON_FAILED --> CALL_A[[b.wf.md]]`;

describe("the description of a workflow", () => {
  it("says what a run needs", () => {
    const files = filesOf({ "b.wf.md": workflowText("START --> ASK_B") });
    const text = `---\nmodel: small\nmodels: { small: gpt-5-mini }\npermissions: workspace\n---\n# A title\n${workflowText(chart)}`;
    assert.deepEqual(describeWorkflow(loaded(text, { files })), {
      title: "A title",
      parameters: [{ name: "REPO_URL" }, { name: "USER_NAME", default: "a, b" }],
      activities: 10,
      asks: ["ASK_A", "ASK_B"],
      models: ["gpt-5-mini"],
      files: ["b.wf.md"],
    });
  });
});
