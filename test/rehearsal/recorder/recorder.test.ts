import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Crash } from "../../../src/events/crash.ts";
import type { MadeDecision, Purpose } from "../../../src/events/decision.ts";
import type { RunEventBody, RunOutcome, WorkOutcome } from "../../../src/events/event.ts";
import type { SessionActivity } from "../../../src/events/session-activity.ts";
import { loadScript, renderRehearsal } from "../../../src/rehearsal/format/load-script.ts";
import { Recorder, type RecorderOptions } from "../../../src/rehearsal/recorder/recorder.ts";
import type { RehearsalFile } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { fillIn, takeOut } from "../../../src/rehearsal/format/text-condition.ts";
import { answered } from "../../rig/crashes.ts";
import { plannedTasks } from "../../rig/plan.ts";
import { rounds } from "../../rig/nightly.ts";

const work = { workId: 0, taskId: "review", iteration: 1 };
const options = { entry: "a.yml", job: "job" };

/** A run of one work in one session, as the engine reports it. */
class Run {
  readonly recorder: Recorder;
  #at = 0;

  constructor(changes: Partial<RecorderOptions> = {}) {
    this.recorder = new Recorder({ ...options, ...changes });
    const plan = plannedTasks([["review", "m"]]);
    this.tell({ type: "run.started", jobName: "job", workingDirectory: "/home/me/repo", ...plan });
    this.tell({ type: "work.started", work, modelId: "m" });
  }

  tell(event: RunEventBody): this {
    this.#at += 1;
    this.recorder.report({ at: this.#at, runId: "run", ...event });
    return this;
  }

  session(sessionId: string, attempt = 1): this {
    return this.tell({
      type: "session.started",
      work,
      sessionId,
      modelId: "m",
      role: "both",
      retry: 0,
      attempt,
    });
  }

  turn(sessionId: string, prompt: string, purpose: Purpose = "prompt"): this {
    const of = { work, sessionId, turnId: "turn-1", modelId: "m", purpose, retry: 0, attempt: 1 };
    return this.tell({ type: "turn.started", ...of, prompt });
  }

  act(sessionId: string, activity: SessionActivity): this {
    return this.tell({ type: "activity", work, sessionId, turnId: "turn-1", activity });
  }

  reply(text: string, ...tools: readonly (readonly [string, unknown])[]): this {
    const toolCalls = tools.map(([name, args], at) => ({ id: `${at}`, name, arguments: args }));
    return this.act("s", { kind: "model.replied", text, toolCalls, subAgent: false });
  }

  subAgentReply(text: string, ...names: readonly string[]): this {
    const toolCalls = names.map((name, at) => ({ id: `sub ${at}`, name, arguments: {} }));
    return this.act("s", { kind: "model.replied", text, toolCalls, subAgent: true });
  }

  used(inputTokens: number, outputTokens: number): this {
    const rest = { cacheReadTokens: 0, reasoningTokens: 0, cost: 0, durationMs: 0 };
    const tokens = { inputTokens, outputTokens, ...rest };
    return this.act("s", { kind: "model.used", modelId: "m", subAgent: false, ...tokens });
  }

  ended(outcome: "completed" | "crashed" = "completed"): this {
    return this.tell({
      type: "turn.ended",
      work,
      sessionId: "s",
      turnId: "turn-1",
      purpose: "prompt",
      outcome,
    });
  }

  decide(decision: MadeDecision): this {
    return this.tell({ type: "decision", work, decision });
  }

  crashed(crash: Crash, attempt = 1): this {
    return this.decide({
      kind: "session-crashed",
      purpose: "prompt",
      attempt,
      attempts: 5,
      crash,
    });
  }

  over(outcome: WorkOutcome & RunOutcome = { kind: "succeeded" }): RehearsalFile {
    this.tell({ type: "work.ended", work, outcome });
    this.tell({ type: "run.ended", outcome });
    return this.recorder.toRehearsal();
  }
}

const rule = (...turns: RehearsalFile["sessions"][number]["turns"]): unknown => ({
  task: "review",
  workId: 0,
  turns,
});

test("a recording says what was run and how it ended", () => {
  const run = new Run({
    userInput: "u",
    workingDirectory: "..",
    models: { a: "b" },
    permissions: "all",
  });
  const recording = run.session("s").turn("s", "Do it").reply("Done").ended().over();
  assert.deepEqual(recording, {
    ...options,
    userInput: "u",
    workingDirectory: "..",
    models: { a: "b" },
    permissions: "all",
    sessions: [rule({ prompt: "Do it", text: "Done" })],
    expect: {
      result: "succeeded",
      works: [{ task: "review", workId: 0, outcome: "succeeded" }],
    },
  });
});

test("answers are kept with reasoning, tools and tokens; the working directory becomes portable", () => {
  const run = new Run().session("s").turn("s", "Look into /home/me/repo\n\nand tell\n");
  run.used(7, 3);
  run.act("s", {
    kind: "model.replied",
    text: "",
    reasoning: "see /home/me/repo/a",
    toolCalls: [
      { name: "view", arguments: { path: "/home/me/repo/a", deep: [{ other: "/home/me/repo2" }] } },
      { name: "apply_patch", arguments: "*** /home/me/repo/b" },
    ],
    subAgent: false,
  });
  assert.deepEqual(run.reply("${workingDirectory}").ended().over().sessions, [
    rule({
      prompt: { contains: ["Look into ${workingDirectory}", "and tell"] },
      replies: [
        {
          reasoning: "see ${workingDirectory}/a",
          tools: [
            {
              name: "view",
              arguments: { path: "${workingDirectory}/a", deep: [{ other: "/home/me/repo2" }] },
            },
            { name: "apply_patch", arguments: "*** ${workingDirectory}/b" },
          ],
          usage: { input: 7, output: 3 },
        },
        { text: "$${workingDirectory}" },
      ],
    }),
  ]);
});

test("tokens are those of the calls that led to the answer", () => {
  const run = new Run().session("s").turn("s", "A").used(1, 2).used(3, 4).reply("a").reply("b");
  run.used(5, 6).ended().turn("s", "B").reply("c").ended();
  assert.deepEqual(run.over().sessions, [
    rule(
      { prompt: "A", replies: [{ text: "a", usage: { input: 4, output: 6 } }, { text: "b" }] },
      { prompt: "B", text: "c" },
    ),
  ]);
});

test("what stood in place of a secret is not expected of a prompt", () => {
  const run = new Run().session("s").turn("s", "Use *** as the key\nDo it\n***");
  assert.deepEqual(run.reply("ok").ended().over().sessions, [
    rule({ prompt: { contains: ["Use ", " as the key"] }, text: "ok" }),
  ]);
  const nothing = new Run().session("s").turn("s", "***").reply("ok").ended().over();
  assert.deepEqual(nothing.sessions, [rule({ text: "ok" })]);
});

const message = "boom";
const silence: Crash = { cause: "deadline", limit: "idleMinutes", message };
const crashes: readonly (readonly [string, Crash, unknown])[] = [
  ["a status", answered(503), { error: { status: 503, message: "boom" } }],
  ["no credentials", { cause: "auth", message }, { error: { status: 401, message: "boom" } }],
  ["a strange status", answered(302), { error: { status: 400, message: "boom" } }],
  ["a defect", { cause: "internal", message }, { error: { status: 408, message: "boom" } }],
  ["an empty answer", { cause: "empty-answer", message }, { text: "" }],
];

for (const [what, crash, reply] of crashes) {
  test(`a crash by ${what} is played as ${JSON.stringify(reply)}`, () => {
    const run = new Run().session("s").turn("s", "Do it").ended("crashed").crashed(crash);
    assert.deepEqual(run.over().sessions, [rule({ prompt: "Do it", ...Object(reply) })]);
  });
}

test("a session that could not start crashes on its first prompt", () => {
  const run = new Run()
    .crashed({ cause: "start-failed", message })
    .session("s", 2)
    .turn("s", "Do it");
  assert.deepEqual(run.reply("ok").ended().over().sessions, [
    { task: "review", workId: 0, turns: [{ error: { status: 408, message: "boom" } }] },
    { task: "review", workId: 0, attempt: 2, turns: [{ prompt: "Do it", text: "ok" }] },
  ]);
});

test("a session that could not start for a criteria retry is found again", () => {
  const run = new Run().session("s").turn("s", "Do it").reply("no").ended();
  run.decide({ kind: "criteria-retry", retry: 1, of: 1, reason: "" });
  const [, failed] = run.crashed({ cause: "start-failed", message }).over().sessions;
  assert.equal(failed?.retry, 1);
});

test("a hang is replayed quickly, but outlasts a limit that was crossed", () => {
  const hung = (): Run =>
    new Run({ limits: { parallel: 2 } })
      .session("s")
      .turn("s", "Do it")
      .ended("crashed")
      .crashed(silence);
  assert.deepEqual(hung().over().limits, { parallel: 2, idleMinutes: 0.1 });
  const crossed: MadeDecision = {
    kind: "limit-exceeded",
    limit: "taskMinutes",
    value: 30,
    scope: { kind: "task", taskId: "review" },
  };
  assert.deepEqual(hung().decide(crossed).over().limits, {
    parallel: 2,
    turnMinutes: 31,
    idleMinutes: 31,
  });
  assert.deepEqual(new Run({ limits: { parallel: 2 } }).over().limits, { parallel: 2 });
});

test("a call that failed or was denied says so, by its id, newest first", () => {
  const run = new Run().session("s").turn("s", "Do it");
  const ended = (toolCallId: string, message: string, code?: string): void => {
    const error = { message, ...(code === undefined ? {} : { code }) };
    run.act("s", { kind: "tool.ended", toolCallId, succeeded: false, error });
  };
  run.reply("", ["a", {}], ["b", {}], ["c", {}]);
  ended("2", "Denied: because", "denied");
  ended("0", "\n  Not in /home/me/repo/x, *** it is so ***!\nmore");
  run.act("s", { kind: "tool.ended", toolCallId: "1", succeeded: true });
  run.reply("", ["d", {}], ["e", {}], ["f", { x: 1 }]);
  ended("1", "The turn ended before the tool did.", "unfinished");
  ended("0", "", "failure");
  run.subAgentReply("", "g", "h");
  run.act("s", { kind: "sub-agent.tool.failed", toolCallId: "sub 1", error: { message: "No" } });
  const [first, sub] = run.reply("ok").ended().over().sessions;
  const [one, two] = Object(first?.turns[0]).replies;
  const named = (name: string, ending: object = {}): unknown => ({
    name,
    arguments: {},
    ...ending,
  });
  assert.deepEqual(one.tools, [
    named("a", { fails: "Not in ${workingDirectory}/x," }),
    named("b"),
    named("c", { denied: true }),
  ]);
  assert.deepEqual(two.tools, [
    named("d", { fails: "" }),
    named("e"),
    { name: "f", arguments: { x: 1 } },
  ]);
  assert.deepEqual(Object(sub?.turns[0]).replies[0].tools, [
    named("g"),
    named("h", { fails: "No" }),
  ]);
});

test("sub-agents get rules of their own, one for each conversation", () => {
  const run = new Run().session("s").turn("s", "Do it").reply("", ["task", {}]);
  run.subAgentReply("", "view").subAgentReply("N").subAgentReply("S").reply("ok").ended();
  const [, ...others] = run.over().sessions;
  const common = { task: "review", workId: 0, subAgent: true };
  assert.deepEqual(others, [
    {
      ...common,
      turns: [{ replies: [{ tools: [{ name: "view", arguments: {} }] }, { text: "N" }] }],
    },
    { ...common, turns: [{ replies: [{ text: "S" }] }] },
  ]);
});

test("works of a loop are expected run by run, where they differ", () => {
  const run = new Run().tell({ type: "work.ended", work, outcome: { kind: "failed", reason: "" } });
  const recording = run.over();
  assert.deepEqual(recording.expect?.works, [
    { task: "review", workId: 0, outcome: ["failed", "succeeded"] },
  ]);
});

function filled(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown) =>
    typeof value === "string" ? fillIn(value, { workingDirectory: "/home/me/repo" }) : value,
  );
}

test("whatever text a recording holds, it is read back as it was", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", minLength: 1 }).filter((one) => !one.includes("\0")),
    fc.constantFrom(
      "a: b",
      "- a",
      "\tx\n\n y \n",
      "# c",
      "'\"",
      "---\n...",
      "null",
      "1e3",
      "${workingDirectory}",
    ),
  );
  fc.assert(
    fc.property(text, text, fc.constantFrom("yaml", "json"), (said, argument, format) => {
      const run = new Run({ userInput: argument }).session("s").turn("s", said);
      run
        .reply("", ["bash", { command: argument, list: [argument] }])
        .reply(said)
        .ended();
      const recording = run.over();
      const rendered = renderRehearsal(recording, format);
      const loaded = loadScript(rendered, `a.${format}`);
      assert.equal(loaded.kind, "loaded", rendered);
      if (loaded.kind !== "loaded") return;
      assert.equal(loaded.script.userInput, argument);
      const [tools, answer] = loaded.script.rules[0]?.turns[0].replies ?? [];
      assert.equal(fillIn(answer?.text ?? "", { workingDirectory: "/home/me/repo" }), said);
      const given = JSON.stringify({ command: argument, list: [argument] });
      assert.equal(JSON.stringify(filled(JSON.stringify(tools?.tools[0]?.arguments))), given);
    }),
    rounds(500),
  );
});

test("taking a path out of a text and filling it in again changes nothing", () => {
  const part = fc.constantFrom(
    "/a/b",
    "${workingDirectory}",
    "${changeDiff}",
    "/t/c.diff",
    "$",
    "/",
    "c",
    " ",
    "{workingDirectory}",
  );
  fc.assert(
    fc.property(fc.array(part), fc.constantFrom("/a/b", "/", "", "c"), (parts, directory) => {
      const text = parts.join("");
      const places = { workingDirectory: directory, changeDiff: "/t/c.diff" };
      assert.equal(fillIn(takeOut(text, places), places), text);
    }),
    rounds(2000),
  );
});
