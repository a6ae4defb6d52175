import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import type { RunEvent } from "../../../src/events/event.ts";
import { parseJournal } from "../../../src/journal/read.ts";
import {
  playFlow,
  restoreFrom,
  stepsOf,
  type FlowPlayed,
  type FlowSetup,
} from "../../rig/flow-journal.ts";
import { nightly } from "../../rig/nightly.ts";
import { filesOf, loaded, workflowText } from "../rig.ts";

const prompts =
  "## System\n\nYou are {{WHO}}\n\n## User A\n\na {{RESULT}}\n\n## User B\n\nb {{A}} {{EXIT_CODE}}\n\n## Assistant X\n\nx";
const child = workflowText(
  "START --> SET_D[D={{A}}!] --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> EXECUTE_C[Execute: echo {{D}}]",
  prompts,
);
const failing = workflowText(
  "START --> PROMPT_A[Prompt: User A] --> CHECK_F{RESULT == never}",
  prompts,
);
const looping = workflowText(
  "START --> EXECUTE_A[Execute: a] --> SET_A[A={{A}}x] --> CHECK_A{A == xxxx}\nCHECK_A -->|no| EXECUTE_A\nCHECK_A -->|yes| SUCCESS",
);
const files = filesOf({ "b.wf.md": child, "f.wf.md": failing, "l.wf.md": looping });

function digest(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 8);
}

/** Every answer depends on all that came before: what is lost or doubled changes the end. */
const world = {
  variables: { WHO: "me" },
  userInput: "go",
  limits: { activityHits: 5 },
  model: (conversation: readonly string[]) => `${digest(conversation)}\n\n\`\`\`sh\necho 1\n\`\`\``,
  person: (question: string) => `answer to ${digest([question])}`,
  shell: (
    script: { readonly code: string },
    state: Parameters<NonNullable<FlowSetup["shell"]>>[1],
  ) => {
    const runs = String(Number(state.variables["RUNS"] ?? "0") + 1);
    return {
      run: { output: `${runs}: ${digest([script.code])}`, exitCode: Number(runs) % 2 },
      state: { ...state, workingDirectory: `/${runs}`, variables: { RUNS: runs } },
    };
  },
};

const flows: Readonly<Record<string, string>> = {
  "of 20 activities": `START --> SET_N[N=x] --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> EXECUTE_A[Execute: ] --> SET_A[A={{RESULT}}] --> ASK_A[Ask: who?] --> PROMPT_B[Prompt: User B] --> CALL_B[[b.wf.md]] --> PROMPT_X[Prompt: Assistant X] --> EXECUTE_B[Execute: run {{A}}] --> CHECK_A{N == xxx}
CHECK_A -->|no| SET_M[N={{N}}x] --> PROMPT_A
CHECK_A -->|yes| ASSIGN_R[Assign: '{{RESULT}} and {{D}}'] --> SUCCESS`,
  "with a handler of its failure": `START --> PROMPT_A[Prompt: User A] --> CALL_F[[f.wf.md]]
ON_FAILED --> EXECUTE_R[Execute: report] --> ASK_A[Ask: really?] --> SUCCESS`,
  "with an edge for its failure": `START --> CALL_F[[f.wf.md]]
CALL_F -->|no| SET_A[A={{RESULT}}] --> PROMPT_B[Prompt: User B] --> FAILED`,
  "with a handler of its success": `START --> EXECUTE_A[Execute: a]
ON_SUCCESS --> PROMPT_A[Prompt: User A] --> EXECUTE_B[Execute: b]`,
};

function setupOf(flowchart: string): FlowSetup {
  return { ...world, workflow: loaded(workflowText(flowchart, prompts), { files }) };
}

function eventsOf(lines: readonly string[], rest = ""): readonly RunEvent[] {
  const { events, problems } = parseJournal(lines.join("") + rest);
  assert.deepEqual(
    problems.filter(({ kind }) => kind !== "torn"),
    [],
  );
  return events;
}

/** The steps as they were, whichever run did them. */
function pathOf(lines: readonly string[]): readonly unknown[] {
  return stepsOf(eventsOf(lines)).map(({ restored: _restored, ...step }) => ({ ...step, at: 0 }));
}

/** Kills the run after a line of its journal, and resumes it. */
async function resumed(
  setup: FlowSetup,
  full: FlowPlayed,
  kept: number,
  what: string,
): Promise<FlowPlayed> {
  const lines = full.journal.slice(0, kept);
  const torn = full.journal[kept]?.slice(0, kept % 2 === 0 ? 0 : 40) ?? "";
  const found = restoreFrom(setup, eventsOf(lines, torn));
  assert.deepEqual([found.refusal, found.isIncomplete], [undefined, false], what);
  const wasExecuting = lines.at(-1)?.includes('"input":{"kind":"execute"');
  assert.equal(found.command !== undefined, wasExecuting, what);
  return playFlow({ ...setup, past: found.past });
}

function isTheSame(before: FlowPlayed, kept: number, after: FlowPlayed, what: string): void {
  assert.deepEqual(after.outcome, before.outcome, what);
  assert.deepEqual(after.result, before.result, what);
  // Only the step under way asks again.
  const step = before.journal.findLastIndex(
    (line, index) => index < kept && line.includes('"type":"step.'),
  );
  assert.deepEqual(after.asked, before.asked.slice(before.marks[step] ?? 0), what);
  assert.deepEqual(pathOf(after.journal), pathOf(before.journal), what);
}

describe("a run that is killed and resumed", () => {
  for (const [name, flowchart] of Object.entries(flows)) {
    it(`ends as it would have ended, wherever it is killed: one ${name}`, async () => {
      const setup = setupOf(flowchart);
      const full = await playFlow(setup);
      const first = full.journal.findIndex((line) => line.includes('"type":"run.started"')) + 1;
      const end = full.journal.findIndex((line) => line.includes('"type":"work.ended"'));
      assert.ok(first > 0 && end > first + 10);
      for (let kept = first; kept <= end; kept += nightly ? 1 : 5) {
        const what = `killed after line ${kept}: ${full.journal[kept - 1]?.slice(0, 300)}`;
        const again = await resumed(setup, full, kept, what);
        isTheSame(full, kept, again, what);
        // The resumed run is killed, too.
        const ends = again.journal.findIndex((line) => line.includes('"type":"work.ended"'));
        const second = first + ((kept * 7) % (ends - first));
        const more = `${what}\nthen after line ${second}: ${again.journal[second - 1]?.slice(0, 300)}`;
        const left = again.journal.slice(second);
        if (left.some((line) => /"type":"step.ended".*"restored":true/.test(line))) {
          assert.ok(
            restoreFrom(setup, eventsOf(again.journal.slice(0, second))).isIncomplete,
            more,
          );
        } else isTheSame(again, second, await resumed(setup, again, second, more), more);
      }
      const { past } = restoreFrom(setup, eventsOf(full.journal));
      assert.deepEqual(past.underWay, []);
    });
  }
});

/** The journal of a run, and what can be made of it with other settings. */
async function ofFailed(
  flowchart: string,
  first: Partial<FlowSetup>,
  then: Partial<FlowSetup> = {},
): Promise<{
  readonly found: ReturnType<typeof restoreFrom>;
  readonly again: () => Promise<FlowPlayed>;
}> {
  const setup = { ...setupOf(flowchart), ...first };
  const { journal, outcome } = await playFlow(setup);
  assert.equal(outcome.kind, "failed");
  const found = restoreFrom({ ...setup, ...then }, eventsOf(journal));
  return {
    found,
    again: () => {
      assert.equal(found.refusal, undefined);
      return playFlow({ ...setup, ...then, past: found.past });
    },
  };
}

describe("a run that failed", () => {
  it("goes on at a question, with the answers that it lacked or with all of them", async () => {
    const flowchart = `START --> ASK_A[Ask: what?] --> SET_B[B={{B}}{{RESULT}}] --> CHECK_A{B == onetwo}
CHECK_A -->|no| ASK_A`;
    const variables = { B: "" };
    const first = { variables, answers: { ASK_A: ["one"] }, person: () => undefined };
    for (const answers of [["two"], ["one", "two"]]) {
      const { again } = await ofFailed(flowchart, first, { answers: { ASK_A: answers } });
      assert.equal((await again()).outcome.kind, "succeeded", answers.join());
    }
    const { again } = await ofFailed(flowchart, first);
    assert.match(JSON.stringify((await again()).outcome), /Nobody answers/);
  });

  it("asks again where the given answers end, though a person answered after them", async () => {
    const flowchart = `START --> ASK_A[Ask: what?] --> SET_B[B={{B}}{{RESULT}}] --> CHECK_A{B == onepq}
CHECK_A -->|no| ASK_A`;
    const person = (answer: string) => {
      const left = [answer];
      return () => left.shift();
    };
    const first = { variables: { B: "" }, answers: { ASK_A: ["one"] } };
    const { again } = await ofFailed(
      flowchart,
      { ...first, person: person("p") },
      { ...first, person: person("q") },
    );
    assert.equal((await again()).outcome.kind, "succeeded");
  });

  it("goes on at the prompt that crashed, in a called file too", async () => {
    const crashes = { model: () => undefined };
    const flowchart =
      "START --> EXECUTE_A[Execute: a] --> CALL_F[[f.wf.md]]\nCALL_F --> SET_A[A=a]";
    const { again } = await ofFailed(flowchart, crashes, { model: () => "never" });
    const { outcome, asked } = await again();
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(asked, ["prompt a $ a\n1: 0eb5b8d6"]);
  });

  it("goes on where a limit ended it, if the limit is higher", async () => {
    const flowchart = "START --> CALL_L[[l.wf.md]]\nCALL_L --> SUCCESS";
    const first = { limits: { activityHits: 3 }, variables: { A: "" } };
    const { again } = await ofFailed(flowchart, first, { limits: { activityHits: 4 } });
    const { outcome, asked } = await again();
    assert.deepEqual([outcome.kind, asked], ["succeeded", ["execute a"]]);
  });

  it("has ended if the workflow itself says so, or has handled the failure", async () => {
    const ended = /^The run has ended: FAILED\. There is nothing to resume\.$/;
    const crashes = { model: () => undefined };
    for (const flowchart of [
      "START --> FAILED",
      "START --> CHECK_A{RESULT == x}",
      "START --> PROMPT_A[Prompt: User A]\nON_FAILED --> SET_A[A=a]",
      "START --> PROMPT_A[Prompt: User A] --> SUCCESS\nPROMPT_A -->|no| FAILED",
    ]) {
      const { found } = await ofFailed(flowchart, crashes);
      const { refusal = "", past } = found;
      if (past.underWay.length > 0) assert.match(refusal, ended, flowchart);
    }
  });

  it("repeats commands that had begun only if asked to, and those that were denied at once", async () => {
    const flowchart = "START --> EXECUTE_A[Execute: a]";
    const fails = (because: "denied" | "limit"): Partial<FlowSetup> => ({
      shell: () => ({ failed: { reason: "Not done.", because } }),
    });
    const late = await ofFailed(flowchart, fails("limit"));
    assert.deepEqual(late.found.command, { name: "EXECUTE_A", failed: "Not done." });
    assert.equal((await ofFailed(flowchart, fails("denied"))).found.command, undefined);
  });
});

describe("a journal that does not hold all", () => {
  const flowchart = "START --> PROMPT_A[Prompt: User A] --> EXECUTE_A[Execute: a] --> SUCCESS";

  it("is refused if an answer was too long for an event, and only then", async () => {
    for (const [length, refused] of [
      [900_000, false],
      [1_100_000, true],
    ] as const) {
      const setup = { ...setupOf(flowchart), model: () => "x".repeat(length) };
      const { journal } = await playFlow(setup);
      const asked = journal.findIndex((line) => /"step.ended".*"activity":"PROMPT_A"/.test(line));
      const found = restoreFrom(setup, eventsOf(journal.slice(0, asked + 1)));
      assert.equal(found.refusal !== undefined, refused);
    }
  });

  it("is used if an answer only looks as if a secret had been masked", async () => {
    const setup = { ...setupOf(flowchart), model: () => "***\n\n… (3 characters omitted)" };
    const { journal } = await playFlow(setup);
    const asked = journal.findIndex((line) => /"step.ended".*"activity":"PROMPT_A"/.test(line));
    assert.equal(restoreFrom(setup, eventsOf(journal.slice(0, asked + 1))).refusal, undefined);
  });

  it("hides secrets in variables of any name", async () => {
    const text = "START --> SET_A[kind={{S}}] --> SET_B[role={{S}}] --> SET_C[detail={{S}}]";
    const secrets = ["a-very-secret-text"];
    const setup = {
      ...setupOf(text),
      secrets,
      variables: { S: "a-very-secret-text", type: "a-very-secret-text" },
    };
    const { journal, outcome } = await playFlow(setup);
    assert.equal(outcome.kind, "succeeded");
    assert.ok(!journal.join("").includes("a-very-secret-text"));
  });
});
