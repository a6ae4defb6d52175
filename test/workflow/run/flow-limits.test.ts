/** Every limit of a workflow: exceeding it is a decision that names its place and its source, and the run fails. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Limits } from "../../../src/entry/model.ts";
import type { ExceededLimit, LimitScope } from "../../../src/events/exceeded-limit.ts";
import { modelUsed } from "../../rig/fake-sessions.ts";
import { playFlow, type FlowPlayed, type FlowSetup, type Shell } from "../../rig/flow.ts";

type Exceeded = ExceededLimit & { readonly scope: LimitScope };

const exceededOf = ({ events }: FlowPlayed): readonly Exceeded[] =>
  events.flatMap((event) =>
    event.type === "decision" && event.decision.kind === "limit-exceeded" ? [event.decision] : [],
  );

const activity = (id: string, file = "a.wf.md"): LimitScope => ({
  kind: "activity",
  file,
  activity: id,
});

const tooLong: Shell = () => ({
  kind: "failed",
  because: "limit",
  limit: "commandMinutes",
  reason: "Exceeded limits.commandMinutes",
  runs: [{ code: "x", output: "", outputCharacters: 0, outputFile: "/o", exitCode: 124 }],
});
const used = (tokens: number, cost = 0) => ({ acts: [modelUsed(tokens, false, cost)], text: "t" });
const rounds = "START --> PROMPT_A[Prompt: User B] --> PROMPT_B[Prompt: User B]";

const cases: Readonly<Record<string, readonly [chart: string, Limits, LimitScope, FlowSetup?]>> = {
  activityHits: ["START --> SET_A[A=1] --> SET_A", { activityHits: 2 }, activity("SET_A")],
  activities: ["START --> SET_A[A=1] --> SET_A", { activities: 2 }, activity("SET_A")],
  "activityHits in a called file": [
    "START --> CALL_B[[b.wf.md]]",
    { activityHits: 2 },
    activity("SET_A", "b.wf.md"),
    { files: { "b.wf.md": "START --> SET_A[A=1] --> SET_A" } },
  ],
  promptCharacters: ["START --> PROMPT_A['abc']", { promptCharacters: 2 }, activity("PROMPT_A")],
  outputCharacters: [
    "START --> EXECUTE_A[x]",
    { outputCharacters: 2 },
    activity("EXECUTE_A"),
    {
      shell: () => ({
        kind: "executed",
        runs: [{ code: "x", output: "abc", outputCharacters: 3, outputFile: "/o", exitCode: 0 }],
      }),
    },
  ],
  callDepth: [
    "START --> CALL_B[[b.wf.md]]",
    { callDepth: 1 },
    activity("CALL_C", "b.wf.md"),
    { files: { "b.wf.md": "START --> CALL_C[[c.wf.md]]", "c.wf.md": "START" } },
  ],
  commandMinutes: [
    "START --> EXECUTE_A[x]",
    { commandMinutes: 7 },
    activity("EXECUTE_A"),
    { shell: tooLong },
  ],
  modelCalls: [
    "START --> PROMPT_A[Prompt: User B]",
    { modelCalls: 1 },
    activity("PROMPT_A"),
    { play: () => ({ acts: [modelUsed(1), modelUsed(1), modelUsed(1)], takes: 10, text: "t" }) },
  ],
  idleMinutes: [
    "START --> PROMPT_A[Prompt: User B]",
    { idleMinutes: 7 },
    { kind: "turn", of: 'activity "PROMPT_A"' },
    {
      play: () => ({
        crash: { cause: "deadline", limit: "idleMinutes", value: 7, message: "too quiet" },
      }),
    },
  ],
  jobMinutes: [rounds, { jobMinutes: 1 }, { kind: "job" }, { play: () => ({ hang: true }) }],
  tokens: [rounds, { tokens: 10 }, { kind: "job" }, { play: () => used(11) }],
  cost: [rounds, { cost: 2 }, { kind: "job" }, { play: () => used(1, 3) }],
};

describe("a limit of a workflow", () => {
  for (const [title, [chart, limits, scope, setup]] of Object.entries(cases)) {
    const [name = ""] = title.split(" ");
    const place = scope.kind === "activity" ? `${scope.activity} of ${scope.file}` : scope.kind;
    it(`${name} fails the run, with a decision for ${place}`, async () => {
      const played = await playFlow(chart, { ...setup, limits });
      assert.equal(played.outcome.kind, "failed");
      const [exceeded, ...others] = exceededOf(played);
      if (scope.kind !== "turn") assert.deepEqual(others, []);
      assert.ok(exceeded !== undefined);
      const { limit, setBy } = exceeded;
      assert.deepEqual([limit, exceeded.scope], [name, scope]);
      assert.equal(setBy, `limits.${name} of the entry`);
      assert.ok(
        played.end?.kind === "canceled" || (played.end?.kind === "failed" && played.end.unanswered),
      );
      if (scope.kind === "activity" && !name.startsWith("command")) {
        assert.ok(played.end.kind === "failed");
        assert.match(
          played.end.reason,
          new RegExp(
            `limits\\.${name} of activity "${scope.activity}" .*set by limits\\.${name} of the entry`,
          ),
        );
      }
    });
  }

  for (const name of ["jobMinutes", "tokens", "cost"] as const) {
    it(`${name} of its front matter bounds the workflow alone`, async () => {
      const played = await playFlow(rounds, {
        ownLimits: { [name]: 1 },
        play: () => (name === "jobMinutes" ? { hang: true } : used(2, 2)),
      });
      assert.deepEqual(
        exceededOf(played).map(({ scope, setBy }) => [scope, setBy]),
        [[{ kind: "workflow", file: "a.wf.md" }, `limits.${name} of a.wf.md`]],
      );
      assert.ok(played.end?.kind === "failed" && played.end.unanswered);
      assert.match(
        played.outcome.kind === "failed" ? played.outcome.reason : "",
        new RegExp(`limits\\.${name} \\(1 `),
      );
    });
  }

  it("names MAX_ACTIVITY_HITS if that is what counts", async () => {
    const played = await playFlow(
      "START --> PROMPT_A[Prompt: User B] --> PROMPT_A\nPARAMS[MAX_ACTIVITY_HITS=1]",
    );
    assert.equal(played.sessions.turns.length, 1);
    assert.match(played.decisions.join("\n"), /\(1 run\), set by MAX_ACTIVITY_HITS/);
  });

  it("names the last error of the model server, whether it ends a prompt or the workflow", async () => {
    const refused = { kind: "model.failed", statusCode: 503, message: "slow down" } as const;
    const acts = [refused, refused].map((act) => ({ ...act, subAgent: false }));
    for (const setup of [
      { limits: { modelCalls: 1 }, play: () => ({ acts, takes: 1 }) },
      { ownLimits: { jobMinutes: 1 }, play: () => ({ acts, takes: 120_000 }) },
    ]) {
      const { outcome } = await playFlow(rounds, setup);
      assert.match(
        outcome.kind === "failed" ? outcome.reason : "",
        /limits\.(modelCalls|jobMinutes).*The last error was: the model server answered 503: "slow down"/,
      );
    }
  });

  it("modelCalls counts anew for each prompt, whose session doesn't go on after it", async () => {
    const limits = { modelCalls: 2 };
    const play = () => ({ acts: [modelUsed(1), modelUsed(1)], text: "t" });
    const fine = await playFlow(rounds, { limits, play });
    assert.equal(fine.outcome.kind, "succeeded");
    let turns = 0;
    const spent = await playFlow(
      "START --> PROMPT_A[Prompt: User B] -->|no| PROMPT_B[Prompt: User B]",
      {
        limits,
        play: () =>
          (turns += 1) === 1
            ? { acts: [modelUsed(1), modelUsed(1), modelUsed(1)], takes: 1 }
            : { text: "t" },
      },
    );
    assert.equal(spent.outcome.kind, "succeeded");
    assert.deepEqual(
      spent.sessions.turns.map(({ sessionId }) => sessionId),
      ["s1", "s2"],
    );
    assert.equal(spent.sessions.opened[1]?.history, undefined);
  });
});
