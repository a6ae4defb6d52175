import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { play, prompts, type Answer, type Played, type PlayOptions } from "./machine-rig.ts";
import { filesOf, workflowText } from "../rig.ts";

const outcome = ({ done, path }: Played): readonly unknown[] => [done.status, path];

describe("the ends of a workflow", () => {
  it("are SUCCESS where nothing follows, and FAILED where nothing handles a failure", () => {
    assert.deepEqual(outcome(play("START")), ["SUCCESS", "START"]);
    assert.deepEqual(outcome(play("START --> SUCCESS")), ["SUCCESS", "START SUCCESS"]);
    assert.deepEqual(outcome(play("START --> FAILED")), ["FAILED", "START FAILED"]);
    assert.equal(play("START --> FAILED_X").done.failure?.reason, "The workflow reached FAILED_X.");
    assert.deepEqual(outcome(play("START --> CHECK_A{STATUS == x}")), ["FAILED", "START CHECK_A"]);
  });

  it("are no answer after a crash, unless something was decided since", () => {
    const crash = { kind: "failed", reason: "crashed" } as const;
    const ask = "START --> PROMPT_A[Prompt: User B] --> SUCCESS\nPROMPT_A -->|no|";
    assert.deepEqual(play(`${ask} FAILED`, [crash]).done.failure, {
      reason: "crashed",
      unanswered: true,
    });
    assert.deepEqual(play(`${ask} CHECK_A{STATUS == DOING} --> FAILED`, [crash]).done.failure, {
      reason: "The workflow reached FAILED.",
    });
  });

  it("are followed by ON_SUCCESS once, whichever way they are reached", () => {
    for (const start of ["START", "START --> SUCCESS"]) {
      const { done, path } = play(`${start}\nON_SUCCESS --> SET_A[A={{STATUS}}] --> SUCCESS`);
      assert.deepEqual([done.status, done.variables["A"]], ["SUCCESS", "SUCCESS"]);
      assert.equal(path, `${start.replace(" -->", "")} ON_SUCCESS SET_A SUCCESS`);
    }
  });

  it("are followed by ON_FAILED once, and stay FAILED", () => {
    const flow = "ON_FAILED --> SET_A[A={{STATUS}}]";
    const { done, path } = play(`START --> CHECK_A{STATUS == x}\n${flow}`);
    assert.deepEqual([done.status, path], ["FAILED", "START CHECK_A ON_FAILED SET_A"]);
    assert.deepEqual(
      [done.variables["A"], done.failure?.reason],
      ["FAILED", "The check CHECK_A doesn't hold."],
    );
    const again = play(`START --> FAILED\n${flow} --> FAILED`);
    assert.deepEqual(outcome(again), ["FAILED", "START FAILED ON_FAILED SET_A FAILED"]);
    const within = play("START --> FAILED\nON_FAILED --> CHECK_A{STATUS == x}");
    assert.deepEqual(outcome(within), ["FAILED", "START FAILED ON_FAILED CHECK_A"]);
  });

  it("recover from a failure with an explicit SUCCESS", () => {
    const recovered = play("START --> FAILED\nON_FAILED --> SET_A[A=1] --> SUCCESS");
    assert.deepEqual(outcome(recovered), ["SUCCESS", "START FAILED ON_FAILED SET_A SUCCESS"]);
    assert.equal(recovered.done.failure?.reason, undefined);
    const both = play("START --> FAILED\nON_FAILED --> SUCCESS\nON_SUCCESS --> SET_B[B=1]");
    assert.deepEqual(outcome(both), ["SUCCESS", "START FAILED ON_FAILED SUCCESS ON_SUCCESS SET_B"]);
    const back = play(
      "START --> ASK_A --> CHECK_A{RESULT == y}\nCHECK_A --> SET_A[A=1]\nON_FAILED --> ASK_A",
      ["n", "y"],
    );
    assert.deepEqual(outcome(back), [
      "FAILED",
      "START ASK_A CHECK_A ON_FAILED ASK_A CHECK_A SET_A",
    ]);
  });

  it("may fail while they are handled", () => {
    const { done, path } = play("START\nON_SUCCESS --> FAILED\nON_FAILED --> SET_A[A=1]");
    assert.deepEqual([done.status, path], ["FAILED", "START ON_SUCCESS FAILED ON_FAILED SET_A"]);
  });
});

describe("hits", () => {
  const loop = "START --> SET_A[A=1] --> SET_A";

  it("are three for each activity, unless a limit, a parameter or a variable says otherwise", () => {
    const count = (options: PlayOptions, flow = loop): number =>
      play(flow, [], options)
        .path.split(" ")
        .filter((id) => id === "SET_A").length;
    assert.equal(count({}), 3);
    assert.equal(count({ limits: { activityHits: 5 } }), 5);
    assert.equal(count({ params: { MAX_ACTIVITY_HITS: "7" } }), 7);
    assert.equal(count({ limits: { activityHits: 5 }, params: { MAX_ACTIVITY_HITS: "x" } }), 5);
    assert.equal(count({}, `PARAMS["MAX_ACTIVITY_HITS=4"]\n${loop}`), 4);
    assert.equal(count({}, "START --> SET_M[MAX_ACTIVITY_HITS=2] --> SET_A[A=1] --> SET_A"), 2);
  });

  it("don't count activities that only mark a place", () => {
    const { path, events } = play("START --> SET_A[A=1] --> START");
    assert.equal(path, "START SET_A START SET_A START SET_A START");
    assert.match(JSON.stringify(events.at(-1)), /"limit-exceeded".*"activity":"SET_A"/);
  });
});

describe("CALL", () => {
  const called = (
    flow: string,
    children: Readonly<Record<string, string>>,
    answers: readonly Answer[] = [],
  ): Played => {
    const files = filesOf(
      Object.fromEntries(
        Object.entries(children).map(([name, child]) => [name, workflowText(child, prompts)]),
      ),
    );
    return play(flow, answers, { load: { files } });
  };

  it("gives RESULT and variables, and takes them back", () => {
    const { done, path } = called(
      "START --> SET_A[A=1] --> ASSIGN_A[Assign: 'r'] --> CALL_B[[b.wf.md]] --> SET_C[C={{A}} {{B}} {{RESULT}} {{STATUS}}]",
      {
        "b.wf.md":
          "PARAMS[\"A=x, B=y\"]\nSTART --> SET_D[A={{A}}{{B}}{{RESULT}}] --> ASSIGN_E[Assign: 'e']",
      },
    );
    assert.equal(path, "START SET_A ASSIGN_A CALL_B START SET_D ASSIGN_E SET_C");
    assert.equal(done.variables["C"], "1yr y e SUCCESS");
  });

  it("lets the caller's edges decide about a failure", () => {
    const child = { "b.wf.md": "START --> FAILED" };
    const failed = called("START --> CALL_B[[b.wf.md]] --> SUCCESS", child);
    assert.deepEqual(
      [failed.done.status, failed.done.failure?.reason],
      ["FAILED", "The workflow reached FAILED."],
    );
    const handled = called(
      "START --> CALL_B[[b.wf.md]] --> SUCCESS\nCALL_B -->|FAILED| CHECK_A{STATUS == FAILED}",
      child,
    );
    assert.deepEqual(outcome(handled), ["SUCCESS", "START CALL_B START FAILED CHECK_A"]);
    const recovered = called("START --> CALL_B[[b.wf.md]] --> SET_A[A=1]", {
      "b.wf.md": "START --> FAILED\nON_FAILED --> SUCCESS",
    });
    assert.equal(recovered.done.status, "SUCCESS");
    const above = called("START --> CALL_B[[b.wf.md]]\nON_FAILED --> SET_A[A=1]", child);
    assert.deepEqual(outcome(above), ["FAILED", "START CALL_B START FAILED ON_FAILED SET_A"]);
  });

  it("keeps the agent that the called file has started to itself", () => {
    const { asked } = called(
      "START --> CALL_B[[b.wf.md]] --> PROMPT_C[Prompt: User B]",
      { "b.wf.md": "START --> PROMPT_A[Prompt: User B]" },
      ["1", "2"],
    );
    assert.deepEqual(asked, ["0: b", "1: b"]);
  });

  it("counts the hits of each run of a file alone", () => {
    const { done, path } = called(
      "START --> CALL_B[[b.wf.md]] --> CALL_C[[b.wf.md]] --> SET_A[M={{MAX_ACTIVITY_HITS}}] --> SET_L[L=1] --> SET_L",
      {
        "b.wf.md":
          'PARAMS["MAX_ACTIVITY_HITS=5"]\nSTART --> ASK_A --> CHECK_A{RESULT == stop}\nCHECK_A -->|no| ASK_A',
      },
      ["1", "2", "3", "4", "stop", "1", "2", "3", "4", "stop"],
    );
    assert.equal(path.split(" ").filter((id) => id === "ASK_A").length, 10);
    // The setting of the called file is its own.
    assert.equal(done.variables["M"], "{{MAX_ACTIVITY_HITS}}");
    assert.equal(path.split(" ").filter((id) => id === "SET_L").length, 3);
  });

  it("fails without a parameter that the file needs", () => {
    const child = { "b.wf.md": 'PARAMS["NEEDED"]\nSTART' };
    const { done } = called("START --> CALL_B[[b.wf.md]]", child);
    assert.deepEqual(
      [done.status, done.failure?.reason],
      ["FAILED", "b.wf.md needs the parameter NEEDED."],
    );
    assert.equal(
      called("START --> SET_A[NEEDED=1] --> CALL_B[[b.wf.md]]", child).done.status,
      "SUCCESS",
    );
  });

  it("reads defaults that are files relative to the called file", () => {
    const { asked, done } = called(
      "START --> SET_A[A=file:own] --> CALL_B[[sub/b.wf.md]]",
      {
        own: "",
        "sub/b.wf.md": 'PARAMS["A=x, B=file:b.txt"]\nSTART --> SET_C[C={{A}}{{B}}]',
        "sub/b.txt": "",
      },
      ["own", "text"],
    );
    assert.deepEqual(asked, ["own from a.wf.md", "b.txt from sub/b.wf.md"]);
    assert.equal(done.variables["C"], "owntext");
  });
});
