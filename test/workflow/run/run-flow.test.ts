/** A workflow asks models, people and the shell. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { SESSION_CRASH_PREFIX } from "../../../src/engine/send-prompt.ts";
import type { StepEnded } from "../../../src/events/event.ts";
import { sessionCrash } from "../../rig/crashes.ts";
import type { Act, Turn } from "../../rig/fake-sessions.ts";
import { exited, playFlow, type FlowPlayed } from "../../rig/flow.ts";

const sessions = ({ events }: FlowPlayed): readonly string[] =>
  events.flatMap((event) =>
    event.type === "session.started" || event.type === "session.ended"
      ? [`${event.type.slice(8)} ${event.sessionId}`]
      : [],
  );
const endOf = ({ steps }: FlowPlayed, activity: string): StepEnded => {
  const found = steps.findLast(
    (one): one is StepEnded => one.type === "step.ended" && one.activity === activity,
  );
  return found ?? assert.fail(`${activity} has not ended`);
};

describe("the prompts of a workflow", () => {
  it("are one conversation, in one session, until a System prompt starts another", async () => {
    const played = await playFlow(
      "START --> PROMPT_1[Prompt: User B] --> PROMPT_2[Prompt: User A] --> PROMPT_S[Prompt: System] --> PROMPT_3[Prompt: User B]",
    );
    assert.deepEqual(played.outcome, { kind: "succeeded" });
    assert.deepEqual(
      played.sessions.turns.map(({ sessionId, prompt }) => `${sessionId}: ${prompt}`),
      ["s1: b", "s1: a answer to b", "s2: b"],
    );
    assert.deepEqual(sessions(played), ["started s1", "ended s1", "started s2", "ended s2"]);
    assert.deepEqual(
      played.sessions.opened.map(({ systemPrompt, history, availableTools }) => [
        systemPrompt,
        history,
        availableTools,
      ]),
      [
        [undefined, undefined, []],
        [{ mode: "replace", text: "You." }, undefined, []],
      ],
    );
  });

  it("are labeled with their activity, its file and its hit", async () => {
    const played = await playFlow(
      "START --> PROMPT_A[Prompt: User B] --> CHECK_A{N == 1}\nCHECK_A -->|no| SET_N[N=1] --> CALL_B[[b.wf.md]] --> PROMPT_A",
      { files: { "b.wf.md": "START --> PROMPT_A[Prompt: User B]" } },
    );
    assert.deepEqual(
      played.sessions.turns.map(({ label }) => label.activity),
      [
        { id: "PROMPT_A", file: "a.wf.md", hit: 1 },
        { id: "PROMPT_A", file: "b.wf.md", hit: 1 },
        { id: "PROMPT_A", file: "a.wf.md", hit: 2 },
      ],
    );
  });

  it("have an answer of the workflow in between: a new session is given the conversation", async () => {
    const played = await playFlow(
      "START --> PROMPT_S[Prompt: System] --> PROMPT_1[Prompt: User B] --> PROMPT_X[Prompt: Assistant X] --> PROMPT_2[Prompt: User A]",
    );
    assert.deepEqual(played.sessions.prompts, ["b", "a x"]);
    assert.deepEqual(played.sessions.opened[1]?.history, [
      { role: "user", text: "b" },
      { role: "assistant", text: "answer to b" },
      { role: "assistant", text: "x" },
    ]);
    assert.deepEqual(played.sessions.opened[1]?.systemPrompt, { mode: "replace", text: "You." });
    assert.deepEqual(sessions(played), ["started s1", "ended s1", "started s2", "ended s2"]);
  });

  it("go on in the conversation of the caller, which a System prompt of a called file leaves alone", async () => {
    const played = await playFlow(
      "START --> PROMPT_1[Prompt: User B] --> CALL_B[[b.wf.md]] --> CALL_C[[c.wf.md]] --> PROMPT_3[Prompt: User B]",
      {
        files: {
          "b.wf.md": "START --> PROMPT_2[Prompt: User B]",
          "c.wf.md": "START --> PROMPT_S[Prompt: System] --> PROMPT_2[Prompt: User B]",
        },
      },
    );
    assert.deepEqual(
      played.sessions.turns.map(({ sessionId }) => sessionId),
      ["s1", "s1", "s2", "s1"],
    );
    assert.equal(played.sessions.closed.length, 2);
  });

  it("are sent again after a crash, in a session that is given the conversation", async () => {
    let crashed = false;
    const play = ({ prompt }: Turn): Act => {
      if (prompt !== "a first" || crashed) return { text: "first" };
      crashed = true;
      return { crash: sessionCrash };
    };
    const played = await playFlow(
      "START --> PROMPT_S[Prompt: System] --> PROMPT_1[Prompt: User B] --> PROMPT_2[Prompt: User A]",
      { play },
    );
    assert.deepEqual(played.outcome, { kind: "succeeded" });
    assert.deepEqual(played.sessions.prompts, ["b", "a first", `${SESSION_CRASH_PREFIX}a first`]);
    assert.deepEqual(played.sessions.opened[1]?.history, [
      { role: "user", text: "b" },
      { role: "assistant", text: "first" },
    ]);
    assert.equal(played.sessions.opened[1]?.label?.attempt, 2);
  });

  it("fail if the answer is cut, and what was cut is no part of the conversation", async () => {
    const play = ({ prompt }: Turn): Act => ({
      text: "t",
      ...(prompt === "b" ? { cut: true } : {}),
    });
    const played = await playFlow(
      "START --> PROMPT_1[Prompt: User B] -->|no| PROMPT_X[Prompt: Assistant X] --> PROMPT_Y[Prompt: Assistant X] --> PROMPT_2[Prompt: User A]",
      { play },
    );
    assert.match(endOf(played, "PROMPT_1").reason ?? "", /output limit/);
    assert.deepEqual(played.outcome, { kind: "succeeded" });
    assert.deepEqual(played.sessions.opened[1]?.history, [
      { role: "assistant", text: "x" },
      { role: "assistant", text: "x" },
    ]);
  });

  it("may have an empty answer", async () => {
    const played = await playFlow(
      "START --> PROMPT_1[Prompt: User B] --> CHECK_A{RESULT == ''} --> SUCCESS",
      { play: () => ({}) },
    );
    assert.deepEqual([played.outcome.kind, played.result?.result], ["succeeded", ""]);
  });
});

describe("EXECUTE", () => {
  it("takes the other edge for an exit code, or leaves it to the model", async () => {
    const chart = "START --> EXECUTE_A[x] --> SUCCESS";
    const shell = () => exited(3, "no");
    const goesOn = await playFlow(chart, { shell });
    assert.equal(goesOn.outcome.kind, "succeeded");
    assert.equal(goesOn.result?.variables["EXIT_CODE"], "3");
    assert.deepEqual(
      [endOf(goesOn, "EXECUTE_A").succeeded, endOf(goesOn, "EXECUTE_A").reason],
      [true, "The exit code is 3."],
    );
    const other = await playFlow(`${chart}\nEXECUTE_A -->|no| FAILED`, { shell });
    assert.ok(other.end?.kind === "failed");
    // The exit code is the answer.
    assert.deepEqual(
      [other.end.reason, other.end.unanswered],
      ["The workflow reached FAILED.", undefined],
    );
  });

  it("is denied as a failure without an answer, which doesn't touch RESULT", async () => {
    const reason = "The permissions don't allow x: no pattern.";
    const shell = () => ({ kind: "failed", because: "denied", reason, runs: [] }) as const;
    const chart = "START --> SET_A[RESULT=kept] --> EXECUTE_A[x] --> SUCCESS";
    for (const rest of ["", "\nEXECUTE_A -->|no| FAILED", "\nON_FAILED --> SET_B[B=1]"]) {
      const denied = await playFlow(chart + rest, { shell });
      assert.ok(denied.end?.kind === "failed", rest);
      assert.deepEqual([denied.end.reason, denied.end.unanswered], [reason, true], rest);
      assert.equal(denied.result?.result, "kept");
      assert.equal(denied.result?.variables["EXIT_CODE"], "126");
      assert.ok(denied.decisions.includes(`[OPERATION] EXECUTE_A: ${reason}`));
    }
    const recovered = await playFlow(
      `${chart}\nEXECUTE_A -->|no| CHECK_A{RESULT == other} --> SUCCESS`,
      { shell },
    );
    // Something was judged after it.
    assert.ok(recovered.end?.kind === "failed" && !recovered.end.unanswered);
  });

  it("passes on what scripts print while they run", async () => {
    const played = await playFlow("START --> EXECUTE_A[x]", {
      shell: (_scripts, { onOutput }) => {
        onOutput?.({ script: 0, text: "one" });
        return exited(0, "one");
      },
    });
    const types = played.events.map(({ type }) => type);
    assert.deepEqual(types.slice(-6, -3), ["step.started", "step.output", "step.ended"]);
  });
});

test("the user input is the first RESULT", async () => {
  const chart = "START --> PROMPT_A['{{USER_INPUT}}/{{RESULT}}']";
  const played = await playFlow(chart, { userInput: "hello" });
  assert.deepEqual(played.sessions.prompts, ["hello/hello"]);
});

describe("ASK", () => {
  it("takes the answers in order, then asks a person", async () => {
    const asked: number[] = [];
    const played = await playFlow(
      "START --> ASK_A[What?] --> SET_B[B={{B}}{{RESULT}}] --> CHECK_A{B == onetwoanswer 2}\nCHECK_A -->|no| ASK_A\nPARAMS[\"B=''\"]",
      {
        answers: { ASK_A: ["one", "two"] },
        ask: async ({ times }) => {
          asked.push(times);
          return { kind: "answered", text: `answer ${times}` };
        },
      },
    );
    assert.deepEqual([played.outcome.kind, asked], ["succeeded", [2]]);
  });

  it("fails without an answer, and says how to give one", async () => {
    const chart = "START --> ASK_A[What?]";
    const played = await playFlow(chart);
    assert.ok(played.end?.kind === "failed" && played.end.unanswered);
    assert.match(played.end.reason, /ASK_A has no answer.*--answer ASK_A=/);
    const other = await playFlow(`${chart} -->|no| SUCCESS`);
    assert.equal(other.outcome.kind, "succeeded");
  });

  it("fails if the host can't ask, and ends with the run if the host never does", async () => {
    const thrown = await playFlow("START --> ASK_A[What?]", {
      ask: () => {
        throw new Error("no terminal");
      },
    });
    assert.match(thrown.end?.kind === "failed" ? thrown.end.reason : "", /ASK_A.*no terminal/);
    const late = await playFlow("START --> ASK_A[What?]", {
      limits: { jobMinutes: 1 },
      ask: () => new Promise(() => {}),
    });
    assert.deepEqual([late.outcome.kind, late.clock.now()], ["failed", 62_000]);
  });
});
