/** A workflow as a leaf of a job, beside tasks. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Work } from "../../src/entry/model.ts";
import { sessionCrash } from "../rig/crashes.ts";
import { ref, type Setup } from "../rig/engine.ts";
import { exited, playFlow, type FlowPlayed } from "../rig/flow.ts";

const flow = (file: string, params?: Record<string, string>): Work => ({
  kind: "Flow",
  file,
  ...(params === undefined ? {} : { params }),
});
const tasks: Setup["tasks"] = {
  before: { model: { category: "driving" }, prompt: "Before" },
  after: { model: { category: "driving" }, prompt: "After" },
  picky: {
    model: { category: "driving" },
    prompt: "Picky",
    availability: { previousTasks: ["before"] },
  },
};
const ask = "START --> PROMPT_A['Ask {{NAME}}']\nPARAMS[NAME=nobody]";
/** Its exit code is the answer. */
const judge = "START --> EXECUTE_A[x] --> SUCCESS\nEXECUTE_A -->|no| FAILED";

const reports = ({ events }: FlowPlayed): readonly unknown[] =>
  events.flatMap((one) =>
    one.type === "work.ended" && one.report !== undefined ? [one.report] : [],
  );

describe("a workflow in a job", () => {
  it("runs between tasks, and its RESULT is the report of its work", async () => {
    const played = await playFlow(ask, {
      tasks,
      work: { kind: "Seq", works: [ref("before"), flow("a.wf.md"), ref("after")] },
    });
    assert.deepEqual(played.outcome, { kind: "succeeded" });
    assert.deepEqual(played.sessions.prompts, ["Before", "Ask nobody", "After"]);
    assert.deepEqual(played.ended, ["before:succeeded", "a.wf.md:succeeded", "after:succeeded"]);
    assert.deepEqual(reports(played), ["answer to Ask nobody"]);
    assert.deepEqual(
      played.events.flatMap((one) =>
        one.type === "work.started" ? [[one.work.workId, one.work.taskId, one.modelId]] : [],
      ),
      [
        [0, "before", "driver"],
        [1, "a.wf.md", "m"],
        [2, "after", "driver"],
      ],
    );
  });

  it("gets parameters with the variables of prompts, which may say the same workflow twice", async () => {
    const played = await playFlow(ask, {
      tasks,
      userInput: "Ada {{NAME}}",
      entry: { promptVariables: { who: ["Grace"] } },
      work: {
        kind: "Seq",
        works: [
          flow("a.wf.md", { NAME: "$user-input" }),
          flow("a.wf.md", { NAME: "$who on $task-model" }),
        ],
      },
      models: { driving: "driver" },
    });
    assert.deepEqual(played.sessions.prompts, ["Ask Ada {{NAME}}", "Ask Grace on m"]);
    const started = played.events[0];
    assert.ok(started?.type === "run.started" && started.work.kind === "Seq");
    assert.deepEqual(
      started.work.works.map(
        (leaf) => leaf.kind === "Flow" && [leaf.workIdInJob, leaf.params, leaf.modelId],
      ),
      [
        [0, { NAME: "Ada {{NAME}}" }, "m"],
        [1, { NAME: "Grace on m" }, "m"],
      ],
    );
  });

  it("runs side by side with another, each with a shell and an agent of its own", async () => {
    const played = await playFlow(`${ask}\nPROMPT_A --> EXECUTE_A[x]`, {
      work: {
        kind: "Par",
        works: [flow("a.wf.md", { NAME: "1" }), flow("a.wf.md", { NAME: "2" })],
      },
      play: () => ({ takes: 10, text: "t" }),
    });
    assert.deepEqual(played.outcome, { kind: "succeeded" });
    assert.equal(played.sessions.busiest, 2);
    assert.deepEqual([played.sessions.opened.length, played.scripts.length], [2, 2]);
    const steps = played.steps.filter(({ type }) => type === "step.started");
    for (const id of [0, 1]) {
      const own = steps.filter(({ work }) => work.workId === id);
      assert.deepEqual(
        own.map(({ step }) => step),
        [1, 2, 3],
      );
    }
  });

  it("is fresh in each iteration of a loop", async () => {
    const played = await playFlow(
      `${ask}\nPROMPT_A --> SET_N[N=1] --> CHECK_A{NAME == changed} -->|no| SET_X[NAME=changed]`,
      {
        work: { kind: "Loop", body: flow("a.wf.md"), atMost: 4 },
      },
    );
    assert.deepEqual(played.outcome, { kind: "succeeded" });
    assert.deepEqual(played.sessions.prompts, Array(4).fill("Ask nobody"));
    assert.equal(played.sessions.opened.length, 4);
    assert.deepEqual([...new Set(played.steps.map(({ work }) => work.iteration))], [1, 2, 3, 4]);
    assert.equal(Math.max(...played.steps.map(({ step }) => step)), 5);
  });

  it("answers a condition with SUCCESS or FAILED", async () => {
    const work: Work = {
      kind: "Alt",
      condition: flow("a.wf.md"),
      trueWork: ref("before"),
      falseWork: ref("after"),
    };
    for (const [code, prompt] of [
      [0, "Before"],
      [1, "After"],
    ] as const) {
      const played = await playFlow(judge, { tasks, work, shell: () => exited(code) });
      assert.deepEqual([played.outcome.kind, played.sessions.prompts], ["succeeded", [prompt]]);
    }
  });

  it("doesn't answer a condition with a limit, a crash, a denial or a missing answer", async () => {
    const work: Work = { kind: "Alt", condition: flow("a.wf.md"), falseWork: ref("after") };
    const charts = {
      limit: "START --> SET_A[A=1] --> SET_A",
      crash: "START --> PROMPT_A[Prompt: User B]",
      denial: judge,
      answer: "START --> ASK_A",
    };
    for (const [name, chart] of Object.entries(charts)) {
      for (const handler of ["", "\nON_FAILED --> SET_B[B=1]"]) {
        const played = await playFlow(chart + handler, {
          tasks,
          work,
          play: () => ({ crash: sessionCrash }),
          shell: () => ({ kind: "failed", because: "denied", reason: "Denied", runs: [] }),
        });
        assert.equal(played.outcome.kind, "failed", name);
        assert.match(
          played.outcome.reason,
          /^a condition did not answer: workflow "a\.wf\.md" failed: /,
          name,
        );
        assert.ok(!played.sessions.prompts.includes("After"));
        const ended = played.events.find((one) => one.type === "work.ended");
        assert.ok(ended?.outcome.kind === "failed" && ended.outcome.unanswered === true, name);
      }
    }
  });

  it("counts as the previous task of the one after it", async () => {
    const played = await playFlow(ask, {
      tasks,
      work: { kind: "Seq", works: [ref("before"), flow("a.wf.md"), ref("picky")] },
    });
    assert.equal(played.outcome.kind, "failed");
    assert.match(played.outcome.reason, /the previous task was "a\.wf\.md"/);
  });

  it("ends with the job, whose crash of a task stops it at once", async () => {
    const played = await playFlow(
      "START --> PROMPT_A[Prompt: User B] --> PROMPT_B[Prompt: User B]",
      {
        tasks,
        work: { kind: "Par", works: [ref("before"), flow("a.wf.md")] },
        play: ({ prompt }) => (prompt === "b" ? { hang: true } : { crash: sessionCrash }),
      },
    );
    assert.equal(played.outcome.kind, "failed");
    assert.match(played.outcome.reason, /task "before" crashed/);
    assert.equal(played.end?.kind, "canceled");
    assert.deepEqual(
      played.steps
        .filter(({ activity }) => activity.startsWith("PROMPT"))
        .map(({ type, activity }) => `${type} ${activity}`),
      ["step.started PROMPT_A"],
    );
    assert.equal(played.scripts[0]?.closed, 1);
  });

  it("is stopped alone, as failed", async () => {
    const stops: ((reason: string) => void)[] = [];
    const played = await playFlow("START --> PROMPT_A[Prompt: User B]", {
      play: () => {
        queueMicrotask(() => stops[0]?.("enough"));
        return { hang: true };
      },
      onWork: (_work, stop) => void stops.push(stop),
    });
    assert.ok(played.end?.kind === "failed");
    assert.deepEqual([played.end.reason, played.end.unanswered], ["enough", true]);
  });

  it("reports its end as that of a workflow", async () => {
    const played = await playFlow("START");
    assert.ok(played.decisions.includes("[TASK SUCCEEDED] Workflow succeeded"));
  });
});
