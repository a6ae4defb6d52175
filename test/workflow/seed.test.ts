/**
 * The document of the format, snippet by snippet: each flowchart as it stands there, in a file with a frame of ours
 * around it (a second flowchart that leads to it), and what the document says about it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activityLine } from "./read/outline.ts";
import { playWorkflow, type Answer, type Played, type PlayOptions } from "./run/machine-rig.ts";
import { filesOf, load, loaded, workflowText } from "./rig.ts";

const prompts = `## System

You help.

## User Task-Desc

Do it.

## Assistant Example

Done before.
`;

/** The frame, then the snippet: two flowcharts are one graph. */
function whole(snippet: string, frame: string): string {
  const fence = "```";
  return `# Title\n\n# Workflow\n\n${fence}mermaid\nflowchart TD\n${frame}\n${fence}\n\n${fence}mermaid\n${snippet}\n${fence}\n\n# Prompts\n\n${prompts}`;
}

function run(
  snippet: string,
  frame: string,
  answers: readonly Answer[] = [],
  options: PlayOptions = {},
): Played {
  const workflow = loaded(whole(snippet, frame), options.load);
  return playWorkflow(workflow, answers, options);
}

/** What is said about the file, and the activity of that id. */
function read(snippet: string, frame: string, id: string): readonly unknown[] {
  const files = filesOf({ "paperless-sprint1-testing.wf.md": workflowText("START --> SUCCESS") });
  const result = load(whole(snippet, frame), { files, permissions: "workspace" });
  assert.ok(result.kind === "loaded");
  const { files: all, main } = result.workflow;
  const activity = all[main]?.activities[id];
  const line = activity === undefined ? undefined : activityLine(activity);
  // The prompts of the frame are for those snippets that send them.
  const reasons = result.warnings.map(({ reason }) => reason);
  return [line, reasons.filter((reason) => !/is never sent/.test(reason))];
}

const status = ({ done }: Played): string => done.status;

describe("START", () => {
  const snippet = `    flowchart TD
        START@{ shape: f-circ, label:"start"}`;

  it("is the starting point of every workflow", () => {
    assert.deepEqual(read(snippet, "START --> SUCCESS", "START"), ["START > SUCCESS", []]);
    const { path, done } = run(snippet, "START --> SET_A[A=STATUS]");
    assert.deepEqual([path, done.variables["A"]], ["START SET_A", "DOING"]);
    assert.equal(status(run(snippet, "")), "SUCCESS");
  });

  it("must be in the flowchart", () => {
    assert.equal(load(workflowText("SET_A[A=1] --> SUCCESS")).kind, "rejected");
  });
});

describe("SET", () => {
  const snippet = `    flowchart TD
        SET_TESTING_RESULT[TESTING_RESULT=RESULT]`;

  it("sets a variable to a variable, a prompt or a constant", () => {
    const frame = "START --> ASSIGN_A[Assign: 'ten'] --> SET_TESTING_RESULT";
    assert.deepEqual(read(snippet, frame, "SET_TESTING_RESULT"), [
      "SET_TESTING_RESULT TESTING_RESULT=RESULT",
      [],
    ]);
    assert.equal(run(snippet, frame).done.variables["TESTING_RESULT"], "ten");
    const others = `SET_TESTING_RESULT --> SET_P[P=User Task-Desc] --> SET_C[C='RESULT']`;
    const { variables } = run(snippet, `${frame}\n${others}`).done;
    assert.deepEqual([variables["P"], variables["C"]], ["Do it.", "RESULT"]);
  });
});

describe("ASSIGN", () => {
  const snippet = `    flowchart TD
        ASSIGN_RESULT[Assign: User Task-Desc]`;

  it("assigns a prompt, a variable or a constant to RESULT", () => {
    const frame = "START --> SET_WHAT[WHAT='it'] --> ASSIGN_RESULT";
    assert.deepEqual(read(snippet, frame, "ASSIGN_RESULT"), ["ASSIGN_RESULT User Task-Desc", []]);
    assert.equal(run(snippet, frame).done.result, "Do it.");
    assert.equal(run(snippet, `${frame} --> ASSIGN_B[Assign: WHAT]`).done.result, "it");
    assert.equal(run(snippet, `${frame} --> ASSIGN_B[Assign: 'WHAT']`).done.result, "WHAT");
  });
});

describe("CHECK", () => {
  const snippet = `    flowchart TD
        CHECK_RESULT_SUCCESS{RESULT == 'SUCCESS'}

        CHECK_RESULT_SUCCESS --> |TRUE| SUCCESS@{ shape: stadium  }
        CHECK_RESULT_SUCCESS --> |FALSE| FAILED@{ shape: stadium  }

        style SUCCESS stroke:#A0A0A0,stroke-width:1px,fill:#ffffff
        style FAILED stroke:#A0A0A0,stroke-width:1px,fill:#ffffff`;
  const frame = "START --> ASK_A --> CHECK_RESULT_SUCCESS";

  it("goes on where its expression says", () => {
    assert.deepEqual(read(snippet, frame, "CHECK_RESULT_SUCCESS"), [
      "CHECK_RESULT_SUCCESS RESULT eq 'SUCCESS' > SUCCESS / FAILED",
      [],
    ]);
    const yes = run(snippet, frame, ["SUCCESS"]);
    assert.deepEqual(
      [status(yes), yes.path],
      ["SUCCESS", "START ASK_A CHECK_RESULT_SUCCESS SUCCESS"],
    );
    const no = run(snippet, frame, ["no"]);
    assert.deepEqual([status(no), no.path], ["FAILED", "START ASK_A CHECK_RESULT_SUCCESS FAILED"]);
  });

  it("has these operations, with a space before and after", () => {
    const holds = (expression: string, result: string): boolean =>
      status(run("flowchart TD", `START --> ASK_A --> CHECK_A{${expression}}`, [result])) ===
      "SUCCESS";
    const cases: readonly (readonly [expression: string, yes: string, no: string])[] = [
      ["RESULT == 'a'", "a", "b"],
      ["RESULT eq 'a'", "a", "b"],
      ["RESULT != 'a'", "b", "a"],
      ["RESULT ne 'a'", "b", "a"],
      ["RESULT CONTAINS 'a'", "cat", "dog"],
      ["RESULT MATCHES '^[a-c]+$'", "abc", "abd"],
      ["RESULT gt 9", "10", "9"],
      ["RESULT ge 9", "9", "8"],
      ["RESULT lt 10", "9", "10"],
      ["RESULT le 10", "10", "11"],
    ];
    for (const [expression, yes, no] of cases) {
      assert.deepEqual([holds(expression, yes), holds(expression, no)], [true, false], expression);
    }
    for (const glued of ["RESULT=='a'", "RESULT !='a'", "RESULT== 'a'"]) {
      assert.equal(load(workflowText(`START --> CHECK_A{${glued}}`)).kind, "rejected", glued);
    }
  });
});

describe("PROMPT", () => {
  const snippet = `    flowchart TD
        PROMPT_ASK[Prompt: User Task-Desc]`;

  it("sends a system, user or assistant prompt, and RESULT is the answer", () => {
    const frame =
      "START --> PROMPT_S[Prompt: System] --> PROMPT_E[Prompt: Assistant Example] --> PROMPT_ASK";
    assert.deepEqual(read(snippet, frame, "PROMPT_ASK"), ["PROMPT_ASK User Task-Desc", []]);
    const { asked, done, state } = run(snippet, frame, ["the answer"]);
    assert.deepEqual([asked, done.result], [["0: Do it."], "the answer"]);
    assert.deepEqual(state.agents["0"], {
      system: "You help.",
      messages: [
        { role: "assistant", text: "Done before." },
        { role: "user", text: "Do it." },
        { role: "assistant", text: "the answer" },
      ],
    });
  });
});

describe("EXECUTE", () => {
  const fences = "First\n```bash\ncd ~\nls\n```\nthen\n```sh\npwd\n```\n```\nls -l\n```\n";

  it("runs the commands in the code blocks of RESULT", () => {
    const snippet = `    flowchart TD
        EXECUTE_OUTPUT[Execute: ]`;
    const frame = "START --> ASK_A --> EXECUTE_OUTPUT";
    assert.deepEqual(read(snippet, frame, "EXECUTE_OUTPUT"), ["EXECUTE_OUTPUT", []]);
    const { asked, done } = run(snippet, frame, [fences, "out"]);
    assert.equal(asked[1], "bash: cd ~\nls; sh: pwd; bash: ls -l");
    assert.equal(done.result, "$ cd ~\nls\nout\n$ pwd\nout\n$ ls -l\nout");
  });

  it("runs a command of its own instead", () => {
    const snippet = `    flowchart TD
        EXECUTE_OUTPUT[Execute: cd ~]`;
    const frame = "START --> ASK_A --> EXECUTE_OUTPUT";
    assert.deepEqual(read(snippet, frame, "EXECUTE_OUTPUT"), ["EXECUTE_OUTPUT cd ~", []]);
    assert.equal(run(snippet, frame, [fences, ""]).asked[1], "sh: cd ~");
  });
});

describe("CALL", () => {
  const snippet = `    flowchart TD
        CALL_TESTING[[paperless-sprint1-testing.wf.md]]`;
  const frame = "START --> CALL_TESTING --> SUCCESS";
  const calling = (child: string): Played =>
    run(snippet, frame, [], {
      load: { files: filesOf({ "paperless-sprint1-testing.wf.md": workflowText(child) }) },
    });

  it("runs a sub-workflow by its file", () => {
    assert.deepEqual(read(snippet, frame, "CALL_TESTING"), [
      "CALL_TESTING paperless-sprint1-testing.wf.md > SUCCESS",
      [],
    ]);
    const { path, done } = calling("START --> ASSIGN_A[Assign: 'tested']");
    assert.deepEqual(
      [path, done.status, done.result],
      ["START CALL_TESTING START ASSIGN_A SUCCESS", "SUCCESS", "tested"],
    );
    assert.equal(status(calling("START --> FAILED")), "FAILED");
  });
});

describe("SUCCESS and FAILED", () => {
  const success = `    flowchart TD
        SUCCESS@{ shape: stadium  }`;
  const failed = `    flowchart TD
        FAILED@{ shape: stadium  }`;

  it("are the ends of every workflow", () => {
    assert.deepEqual(read(success, "START --> SUCCESS", "SUCCESS"), ["SUCCESS", []]);
    assert.deepEqual(read(failed, "START --> FAILED", "FAILED"), ["FAILED", []]);
    assert.equal(status(run(success, "START --> SUCCESS")), "SUCCESS");
    assert.equal(status(run(failed, "START --> FAILED")), "FAILED");
  });
});

describe("ON_…", () => {
  it("ON_SUCCESS, which the document spells ON_SUCCES, follows a success", () => {
    const snippet = `    flowchart TD
            ON_SUCCES@{ shape: stadium } --> PROMPT_SUCCESS_REPORT
            style PROMPT_SUCCESS_REPORT stroke:#A0A0A0,stroke-width:1px,fill:#ffffff`;
    const frame = "START --> SUCCESS\nPROMPT_SUCCESS_REPORT[Prompt: User Task-Desc]";
    const [line, warnings] = read(snippet, frame, "ON_SUCCES");
    assert.equal(line, "ON_SUCCES when success > PROMPT_SUCCESS_REPORT");
    assert.match(String(warnings), /^ON_SUCCES is read as ON_SUCCESS\.$/);
    for (const text of [snippet, snippet.replace("ON_SUCCES@", "ON_SUCCESS@")]) {
      const { path, done } = run(text, frame, ["report"]);
      assert.match(path, /^START SUCCESS ON_SUCCESS? PROMPT_SUCCESS_REPORT$/);
      assert.deepEqual([done.status, done.result], ["SUCCESS", "report"]);
      const implicit = run(text, frame.replace(" --> SUCCESS", ""), ["report"]);
      assert.match(implicit.path, /^START ON_SUCCESS? PROMPT_SUCCESS_REPORT$/);
    }
  });

  it("ON_FAILED follows a failure or an error", () => {
    const snippet = `    flowchart TD
            ON_FAILED@{ shape: stadium } --> PROMPT_FAILED_REPORT
            style PROMPT_FAILED_REPORT stroke:#A0A0A0,stroke-width:1px,fill:#ffffff`;
    const report = "PROMPT_FAILED_REPORT[Prompt: User Task-Desc]";
    const frame = `START --> FAILED\n${report}`;
    assert.deepEqual(read(snippet, frame, "ON_FAILED"), [
      "ON_FAILED when failed > PROMPT_FAILED_REPORT",
      [],
    ]);
    const reached = run(snippet, frame, ["report"]);
    assert.equal(reached.path, "START FAILED ON_FAILED PROMPT_FAILED_REPORT");
    assert.deepEqual([reached.done.status, reached.done.result], ["FAILED", "report"]);
    const error = run(snippet, `START --> ASK_A\n${report}`, [
      { kind: "failed", reason: "no answer" },
      "report",
    ]);
    assert.equal(error.path, "START ASK_A ON_FAILED PROMPT_FAILED_REPORT");
    assert.equal(error.done.status, "FAILED");
  });
});

describe("the sample “Check toolchain”", () => {
  const sample = `flowchart TD
    START@{ shape: f-circ, label:"start"} --> PROMPT_SYSTEM
    PARAMS@{ shape: comment, label: "REPO_URL, \\nUSER_NAME"}

    PROMPT_SYSTEM[Prompt: System] --> CALL_CHECK_TOOLS
    CALL_CHECK_TOOLS[[check-tools.md]] --> PROMPT_TESTGIT
    PROMPT_TESTGIT[Prompt: User GetSubmission] --> EXECUTE_OUTPUT
    EXECUTE_OUTPUT[Execute: ] --> PROMPT_CMDRESULTS

    PROMPT_CMDRESULTS[Prompt: User CommandResults] --> CHECK_RESULT_SUCCESS{RESULT == SUCCESS}
    CHECK_RESULT_SUCCESS --> |TRUE| SUCCESS
    CHECK_RESULT_SUCCESS --> |FALSE| CHECK_RESULT_FAILED{RESULT == FAILED} 

    CHECK_RESULT_FAILED --> |TRUE| FAILED
    CHECK_RESULT_FAILED --> |FALSE| PROMPT_IMPROVE

    PROMPT_IMPROVE[Prompt: User Improve] --> EXECUTE_OUTPUT
    
    SUCCESS@{ shape: stadium  }
    FAILED@{ shape: stadium }

    style PROMPT_SYSTEM stroke:#000,stroke-width:4px,fill:#80a0ff`;
  const text = `# Workflow\n\n\`\`\`mermaid\n${sample}\n\`\`\`\n\n# Prompts\n
## System\n\nShell only.\n
## User GetSubmission\n\nClone {{REPO_URL}} for {{USER_NAME}}.\n
## User CommandResults\n\nSeen: {{RESULT}}\n
## User Improve\n\nAgain.\n`;
  const params = { REPO_URL: "x.git", USER_NAME: "me" };
  const play = (answers: readonly Answer[], tools = "START --> SUCCESS"): Played =>
    playWorkflow(
      loaded(text, { files: filesOf({ "check-tools.md": workflowText(tools) }) }),
      answers,
      { params },
    );
  const command = "```sh\ngit clone\n```";
  const begin = "START PROMPT_SYSTEM CALL_CHECK_TOOLS START SUCCESS PROMPT_TESTGIT";
  const round = "EXECUTE_OUTPUT PROMPT_CMDRESULTS CHECK_RESULT_SUCCESS";

  it("is read without a word", () => {
    const files = filesOf({ "check-tools.md": workflowText("START --> SUCCESS") });
    const result = load(text, { files, permissions: "workspace" });
    assert.ok(result.kind === "loaded");
    assert.deepEqual(result.warnings, []);
    const main = result.workflow.files[result.workflow.main];
    assert.deepEqual(
      main?.parameters.map(({ name }) => name),
      ["REPO_URL", "USER_NAME"],
    );
    assert.deepEqual(Object.values(main?.activities ?? {}).map(activityLine), [
      "START > PROMPT_SYSTEM",
      "PROMPT_SYSTEM System > CALL_CHECK_TOOLS",
      "CALL_CHECK_TOOLS check-tools.md > PROMPT_TESTGIT",
      "PROMPT_TESTGIT User GetSubmission > EXECUTE_OUTPUT",
      "EXECUTE_OUTPUT > PROMPT_CMDRESULTS",
      "PROMPT_CMDRESULTS User CommandResults > CHECK_RESULT_SUCCESS",
      "CHECK_RESULT_SUCCESS RESULT eq SUCCESS > SUCCESS / CHECK_RESULT_FAILED",
      "SUCCESS",
      "CHECK_RESULT_FAILED RESULT eq FAILED > FAILED / PROMPT_IMPROVE",
      "FAILED",
      "PROMPT_IMPROVE User Improve > EXECUTE_OUTPUT",
    ]);
  });

  it("succeeds if the model says so in its first line", () => {
    const { done, asked, path } = play([command, "cloned", "SUCCESS\nit is there"]);
    assert.equal(path, `${begin} ${round} SUCCESS`);
    assert.deepEqual([done.status, done.result], ["SUCCESS", "SUCCESS\nit is there"]);
    assert.deepEqual(asked, [
      "0: Clone x.git for me.",
      "sh: git clone",
      "0: Seen: $ git clone\ncloned",
    ]);
  });

  it("improves the commands otherwise", () => {
    const { done, path } = play([command, "?", "CONTINUE", command, "cloned", "SUCCESS"]);
    assert.equal(path, `${begin} ${round} CHECK_RESULT_FAILED PROMPT_IMPROVE ${round} SUCCESS`);
    assert.equal(done.status, "SUCCESS");
  });

  it("ends after three rounds", () => {
    const once = [command, "?", "CONTINUE"];
    const { done } = play([...once, ...once, ...once, command]);
    assert.equal(done.status, "FAILED");
    assert.match(
      done.failure?.reason ?? "",
      /^Exceeded limits\.activityHits of activity "EXECUTE_OUTPUT" of \S+ \(3 runs/,
    );
  });
});

describe("variables", () => {
  const value = (name: string, frame: string, options: PlayOptions = {}): string | undefined =>
    run("flowchart TD", `${frame} --> SET_V[V={{${name}}}]`, [], options).done.variables["V"];

  it("are first those of the run, then parameters, then the environment", () => {
    const environment = { STATUS: "env", RESULT: "env", CONTENT: "env", WHO: "env", HOME: "env" };
    const options = { environment, params: { WHO: "param", RESULT: "param" } };
    const frame = "START --> ASSIGN_R[Assign: 'r']";
    assert.equal(value("STATUS", frame, options), "DOING");
    assert.equal(value("RESULT", frame, options), "r");
    assert.equal(value("CONTENT", frame, options), "r");
    assert.equal(value("WHO", frame, options), "param");
    assert.equal(value("HOME", frame, options), "env");
    // Unlike there, only names that the caller allows.
    assert.equal(value("PATH", frame, options), "{{PATH}}");
  });
});
