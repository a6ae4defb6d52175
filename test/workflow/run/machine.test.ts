import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bindParameters } from "../../../src/workflow/parameters.ts";
import { executed, play } from "./machine-rig.ts";
import { filesOf, loaded, workflowText } from "../rig.ts";

describe("variables", () => {
  it("are set to constants, to the value of a name, or to the text itself", () => {
    const { done } = play(
      `START --> SET_A[A='it is'] --> SET_B[B=A] --> SET_C[C=x=y: z] --> SET_D[D={{A}} {{B}}!] --> SET_E[E=User B]
       SET_E --> SET_F[F=] --> SET_G[RESULT=A] --> SET_H[H=CONTENT] --> SET_I[I=STATUS]`,
    );
    assert.deepEqual(done, {
      kind: "done",
      status: "SUCCESS",
      result: "it is",
      variables: {
        A: "it is",
        B: "it is",
        C: "x=y: z",
        D: "it is it is!",
        E: "b",
        F: "",
        H: "it is",
        I: "DOING",
      },
    });
  });

  it("are inserted as they are, in one pass", () => {
    const { done } = play(
      "START --> PROMPT_A[Prompt: User B] --> SET_B[SECRET=s] --> SET_C[C=RESULT] --> SET_D[D={{C}} {{RESULT}}] --> ASSIGN_E[Assign: D]",
      ["{{SECRET}}"],
    );
    assert.equal(done.variables["C"], "{{SECRET}}");
    assert.equal(done.result, "{{SECRET}} {{SECRET}}");
  });

  it("are reported once if they have no value, and stay as they are", () => {
    const { done, events } = play("START --> SET_A[A={{NO}} {{NO}}] --> SET_B[B={{NO}}]");
    assert.deepEqual([done.variables["A"], done.variables["B"]], ["{{NO}} {{NO}}", "{{NO}}"]);
    assert.deepEqual(
      events.filter(({ type }) => type === "decision"),
      [{ type: "decision", decision: { kind: "name-missing", name: "NO", activity: "SET_A" } }],
    );
  });
});

describe("parameters", () => {
  const workflow = loaded(workflowText('PARAMS["A, B=b"]\nSTART --> SET_X[X={{A}}{{B}}]'));

  it("are given, or have a default", () => {
    const bound = bindParameters(workflow, { A: "1" });
    assert.deepEqual(bound, { kind: "bound", variables: { A: "1", B: "b" }, warnings: [] });
  });

  it("are missing if they have neither", () => {
    const bound = bindParameters(workflow, {});
    assert.deepEqual(bound, {
      kind: "incomplete",
      diagnostics: [
        {
          file: "a.wf.md",
          line: 5,
          column: 9,
          codePath: "",
          reason: "The parameter A has no value.",
          hint: "give it with --param A=…",
        },
      ],
    });
  });

  it("are reported if the workflow doesn't declare them, and can be used", () => {
    const bound = bindParameters(workflow, { A: "1", BB: "2", OTHER: "3" });
    assert.ok(bound.kind === "bound");
    assert.deepEqual(
      bound.warnings.map(({ reason, hint, severity }) => [reason, hint, severity]),
      [
        ['The workflow has no parameter "BB".', 'did you mean "B"?', "warning"],
        ['The workflow has no parameter "OTHER".', undefined, "warning"],
      ],
    );
    assert.equal(bound.variables["OTHER"], "3");
  });

  it("are read before START if they are files", () => {
    const { done, asked } = play(
      'PARAMS["A=file:a.txt, B=x"]\nSTART --> SET_X[X=[{{A}}] {{B}}]',
      ["{{B}}", "from b"],
      { params: { B: "file:b.txt" }, load: { files: filesOf({ "a.txt": "" }) } },
    );
    assert.deepEqual(asked, ["a.txt from a.wf.md", "b.txt from a.wf.md"]);
    assert.equal(done.variables["X"], "[{{B}}] from b");
  });

  it("are no files if it is the input of the run that says so", () => {
    const { done, asked } = play("START --> SET_X[X=A]", [], {
      userInput: "file:secret.txt",
      params: { A: "file:secret.txt", B: "file:secret.txt, too", USER_INPUT: "file:secret.txt" },
    });
    assert.deepEqual(asked, []);
    assert.equal(done.variables["X"], "file:secret.txt");
  });
});

describe("ASSIGN", () => {
  it("fails without a value", () => {
    const { done } = play("START --> ASSIGN_A[Assign: NOTHING]");
    assert.deepEqual([done.status, done.failure?.reason], ["FAILED", '"NOTHING" has no value.']);
    const handled = play(
      "START --> ASSIGN_A[Assign: NOTHING] --> FAILED\nASSIGN_A -->|no| SUCCESS",
    );
    assert.equal(handled.done.status, "SUCCESS");
  });

  it("reads a file, in which names have values", () => {
    const load = { files: filesOf({ "a.txt": "" }) };
    const { done, asked } = play("START --> ASSIGN_A[Assign: file:a.txt]", ["I am {{STATUS}}"], {
      load,
    });
    assert.deepEqual([asked, done.result], [["a.txt from a.wf.md"], "I am DOING"]);
    const failed = play(
      "START --> ASSIGN_A[Assign: file:a.txt]",
      [{ kind: "failed", reason: "Gone." }],
      { load },
    );
    assert.deepEqual([failed.done.status, failed.done.failure?.reason], ["FAILED", "Gone."]);
  });
});

describe("CHECK", () => {
  it("doesn't hold if its left side has no value", () => {
    const check = "START --> CHECK_A{NOTHING == x} -->|no| SUCCESS";
    assert.equal(play(check).done.status, "SUCCESS");
  });

  it("doesn't hold if its expression can't be matched", () => {
    const { done, events } = play("START --> CHECK_A{STATUS MATCHES P}", [], {
      params: { P: "(" },
    });
    assert.equal(done.status, "FAILED");
    assert.match(JSON.stringify(events), /not a valid regular expression/);
  });
});

describe("PROMPT", () => {
  it("starts an agent without a system prompt if there is none, and another one with the next System", () => {
    const { asked, state } = play(
      "START --> PROMPT_A[Prompt: User A] --> PROMPT_S[Prompt: System] --> PROMPT_C[Prompt: User A]",
      ["one", "two"],
    );
    // System empties RESULT.
    assert.deepEqual(asked, ["0: a ", "1: a "]);
    assert.deepEqual(Object.keys(state.agents), ["1"]);
  });

  it("sends constants, variables and files as well", () => {
    const { asked } = play(
      "START --> PROMPT_A[Prompt: 'say {{X}}'] --> PROMPT_B[Prompt: X] --> PROMPT_C[Prompt: file:p.md]",
      ["", "", "it is {{X}}", ""],
      { params: { X: "{{Y}}" }, load: { files: filesOf({ "p.md": "" }), environment: ["X"] } },
    );
    assert.deepEqual(asked, ["0: say {{Y}}", "0: {{Y}}", "p.md from a.wf.md", "0: it is {{Y}}"]);
  });

  it("fails as the session does, without a message in the conversation", () => {
    const failed = { kind: "failed", reason: "The session crashed." } as const;
    const { done, state } = play("START --> PROMPT_A[Prompt: User A]", [failed]);
    assert.deepEqual(
      [done.status, done.failure?.reason, state.agents[0]],
      ["FAILED", failed.reason, { messages: [] }],
    );
    const handled = play("START --> PROMPT_A[Prompt: User A] -->|ERROR| SUCCESS", [failed]);
    assert.equal(handled.done.status, "SUCCESS");
  });

  it("fails if it is empty", () => {
    assert.equal(
      play("START --> PROMPT_A[Prompt: X]", [], {
        params: { X: " " },
        load: { environment: ["X"] },
      }).done.failure?.reason,
      "The prompt is empty.",
    );
  });
});

describe("ASK", () => {
  it("asks RESULT, or its own question, and counts its answers", () => {
    const { done, asked } = play(
      "START --> PROMPT_A[Prompt: User B] --> ASK_A --> ASK_B[Ask: really {{RESULT}}?] --> CHECK_A{RESULT == yes}\nCHECK_A -->|no| ASK_A",
      ["Who?", "me", "no", "you", "yes"],
    );
    assert.deepEqual(asked.slice(1), [
      "ASK_A#0: Who?",
      "ASK_B#0: really me?",
      "ASK_A#1: no",
      "ASK_B#1: really you?",
    ]);
    assert.equal(done.result, "yes");
  });
});

describe("EXECUTE", () => {
  it("runs its command, with values as single words", () => {
    const { done, asked } = play("START --> EXECUTE_A[Execute: ls -l {{DIR}} {{NO}}]", ["a\nb\n"], {
      params: { DIR: "a b'; rm -rf /" },
    });
    assert.deepEqual(asked, ["sh: ls -l 'a b'\\''; rm -rf /' {{NO}}"]);
    assert.equal(done.result, "$ ls -l 'a b'\\''; rm -rf /' {{NO}}\na\nb");
    assert.equal(done.variables["EXIT_CODE"], "0");
  });

  it("runs the code fences of RESULT", () => {
    const answer =
      "Do:\n\n```bash\ncd x\nls\n```\n\n```\nno tag\n```\n\n- then\n\n  ```Shell title\n  pwd\n  ```\n\n```sh\n\n```\n";
    const { done, asked } = play("START --> PROMPT_A[Prompt: User A] --> EXECUTE_A", [
      answer,
      "out",
    ]);
    assert.equal(asked[1], "bash: cd x\nls; bash: no tag; shell: pwd");
    assert.equal(done.result, "$ cd x\nls\nout\n$ no tag\nout\n$ pwd\nout");
  });

  it("fails without an answer to a condition if there is nothing to run, and reports it", () => {
    const { done, events } = play("START --> PROMPT_A[Prompt: User A] --> EXECUTE_A", ["no code"]);
    const reason = "Nothing was run: RESULT has no code fence with commands.";
    assert.deepEqual(
      [done.status, done.result, done.failure],
      ["FAILED", reason, { reason, unanswered: true }],
    );
    assert.deepEqual(
      events.filter(({ type }) => type === "decision"),
      [{ type: "decision", decision: { kind: "script-skipped", activity: "EXECUTE_A", reason } }],
    );
  });

  it("fails when a text that grows is too long", () => {
    const doubled = Array.from({ length: 15 }, (_, step) => ` --> SET_B${step}["A={{A}}{{A}}"]`);
    const { done } = play(`START --> SET_A["A=${"x".repeat(1_000)}"]${doubled.join("")}`, []);
    assert.deepEqual([done.status, done.failure?.reason], ["FAILED", "The text is too long."]);
  });

  it("has the last exit code that isn't 0", () => {
    const runs = [1, 2, 0].map((exitCode) => ({ code: "x", output: "", exitCode }));
    const { done } = play("START --> EXECUTE_A[x]", [{ kind: "executed", runs }]);
    assert.equal(done.variables["EXIT_CODE"], "2");
  });

  it("fails when it prints too much or is denied", () => {
    const much = play("START --> EXECUTE_A[x]", [executed(0, "0123456789")], {
      limits: { outputCharacters: 8 },
    });
    assert.deepEqual(
      [much.done.status, much.done.result],
      ["FAILED", "$ x\n\n[6 characters left out]\n6789"],
    );
    assert.match(much.done.failure?.reason ?? "", /^Exceeded limits\.outputCharacters of .*\(8 /);
    const denied = play("START --> EXECUTE_A[x] --> EXECUTE_B[y] -->|no| SUCCESS", [
      executed(0),
      { kind: "failed", reason: "Denied." },
    ]);
    assert.deepEqual([denied.done.status, denied.done.variables["EXIT_CODE"]], ["SUCCESS", "126"]);
  });

  it("runs fences of other tags for which there is an executor", () => {
    const { asked } = play(
      "START --> PROMPT_A[Prompt: User A] --> EXECUTE_A",
      ["```python\n1\n```", ""],
      { tags: ["sh", "python"] },
    );
    assert.equal(asked[1], "python: 1");
  });
});

it("a run of 10,000 activities keeps a small state, however many agents it starts", () => {
  const { state, done } = play(
    "START --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> SET_A[A={{RESULT}}] --> CHECK_A{A == stop}\nCHECK_A -->|no| PROMPT_S",
    Array.from({ length: 2_500 }, () => "more"),
    { limits: { activities: 10_000, activityHits: 10_000 } },
  );
  assert.match(done.failure?.reason ?? "", /limits\.activities/);
  assert.deepEqual([state.activities, state.nextAgent], [10_000, 2_500]);
  assert.ok(JSON.stringify(state).length < 2_000);
});

describe("a step", () => {
  it("ends the run at once when it is stopped, without handlers", () => {
    const { done, path } = play("START --> ASK_A --> SUCCESS\nON_FAILED --> ASK_B", [
      { kind: "stopped", reason: "Canceled." },
    ]);
    assert.deepEqual(
      [done.status, done.failure?.reason, path],
      ["FAILED", "Canceled.", "START ASK_A"],
    );
  });
});
