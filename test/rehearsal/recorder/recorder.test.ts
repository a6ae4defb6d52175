import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Crash } from "../../../src/events/crash.ts";
import type { MadeDecision } from "../../../src/events/decision.ts";
import { loadScript, renderRehearsal } from "../../../src/rehearsal/format/script.ts";
import type { RecorderOptions } from "../../../src/rehearsal/recorder/recorder.ts";
import type { RehearsalFile } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { fillIn, takeOut } from "../../../src/rehearsal/format/names.ts";
import { anyCharacter } from "../../rig/any-character.ts";
import { answered } from "../../rig/crashes.ts";
import { modelUsed } from "../../rig/fake-sessions.ts";
import { rounds } from "../../rig/nightly.ts";
import { Told } from "../told.ts";

const options = { entry: "a.yml", job: "job" };

/** A run of one work in the session s. */
class Run extends Told {
  readonly #changes: Partial<RecorderOptions>;

  constructor(changes: Partial<RecorderOptions> = {}) {
    super(["review"]);
    this.#changes = changes;
    this.begin();
  }

  calls(text: string, ...tools: readonly (readonly [string, unknown])[]): this {
    const toolCalls = tools.map(([name, args], at) => ({ id: `${at}`, name, arguments: args }));
    return this.act("s", { kind: "model.replied", text, toolCalls, subAgent: false });
  }

  subAgentCalls(text: string, ...names: readonly string[]): this {
    const toolCalls = names.map((name, at) => ({ id: `sub ${at}`, name, arguments: {} }));
    return this.act("s", { kind: "model.replied", text, toolCalls, subAgent: true });
  }

  used(inputTokens: number, outputTokens: number): this {
    return this.act("s", { ...modelUsed(inputTokens), outputTokens });
  }

  file(): RehearsalFile {
    return this.end()
      .over()
      .recorded({ ...options, ...this.#changes });
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
  const recording = run.session("s").turn("s", "Do it").calls("Done").ended("s").file();
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
  const run = new Run().session("s").turn("s", "Look into /repo\n\nand tell\n");
  run.used(7, 3);
  run.act("s", {
    kind: "model.replied",
    text: "",
    reasoning: "see /repo/a",
    toolCalls: [
      { name: "view", arguments: { path: "/repo/a", deep: [{ other: "/repo2" }] } },
      { name: "apply_patch", arguments: "*** /repo/b" },
    ],
    subAgent: false,
  });
  assert.deepEqual(run.calls("${workingDirectory}").ended("s").file().sessions, [
    rule({
      prompt: { contains: ["Look into ${workingDirectory}", "and tell"] },
      replies: [
        {
          reasoning: "see ${workingDirectory}/a",
          tools: [
            {
              name: "view",
              arguments: { path: "${workingDirectory}/a", deep: [{ other: "/repo2" }] },
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
  const run = new Run().session("s").turn("s", "A").used(1, 2).used(3, 4).calls("a").calls("b");
  run.used(5, 6).ended("s").turn("s", "B").calls("c").ended("s");
  assert.deepEqual(run.file().sessions, [
    rule(
      { prompt: "A", replies: [{ text: "a", usage: { input: 4, output: 6 } }, { text: "b" }] },
      { prompt: "B", text: "c" },
    ),
  ]);
});

test("what stood in place of a secret is not expected of a prompt", () => {
  const run = new Run().session("s").turn("s", "Use *** as the key\nDo it\n***");
  assert.deepEqual(run.calls("ok").ended("s").file().sessions, [
    rule({ prompt: { contains: ["Use ", " as the key"] }, text: "ok" }),
  ]);
  const nothing = new Run().session("s").turn("s", "***").calls("ok").ended("s").file();
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
    const run = new Run().session("s").turn("s", "Do it").ended("s", "crashed").crashed(crash);
    assert.deepEqual(run.file().sessions, [rule({ prompt: "Do it", ...Object(reply) })]);
  });
}

test("a session that could not start crashes on its first prompt", () => {
  const run = new Run()
    .crashed({ cause: "start-failed", message })
    .session("s", 2)
    .turn("s", "Do it");
  assert.deepEqual(run.calls("ok").ended("s").file().sessions, [
    { task: "review", workId: 0, turns: [{ error: { status: 408, message: "boom" } }] },
    { task: "review", workId: 0, attempt: 2, turns: [{ prompt: "Do it", text: "ok" }] },
  ]);
});

test("a session that could not start for a criteria retry is found again", () => {
  const run = new Run().session("s").turn("s", "Do it").calls("no").ended("s");
  run.decide({ kind: "criteria-retry", retry: 1, of: 1, reason: "" });
  const [, failed] = run.crashed({ cause: "start-failed", message }).file().sessions;
  assert.equal(failed?.retry, 1);
});

test("a hang is replayed quickly, but outlasts a limit that was crossed", () => {
  const hung = (): Run =>
    new Run({ limits: { parallel: 2 } })
      .session("s")
      .turn("s", "Do it")
      .ended("s", "crashed")
      .crashed(silence);
  assert.deepEqual(hung().file().limits, { parallel: 2, idleMinutes: 0.1 });
  const crossed: MadeDecision = {
    kind: "limit-exceeded",
    limit: "taskMinutes",
    value: 30,
    scope: { kind: "task", taskId: "review" },
  };
  assert.deepEqual(hung().decide(crossed).file().limits, {
    parallel: 2,
    turnMinutes: 31,
    idleMinutes: 31,
  });
  assert.deepEqual(new Run({ limits: { parallel: 2 } }).file().limits, { parallel: 2 });
});

test("a call that failed or was denied says so, by its id, newest first", () => {
  const run = new Run().session("s").turn("s", "Do it");
  const ended = (toolCallId: string, message: string, code?: string): void => {
    const error = { message, ...(code === undefined ? {} : { code }) };
    run.act("s", { kind: "tool.ended", toolCallId, succeeded: false, error });
  };
  run.calls("", ["a", {}], ["b", {}], ["c", {}]);
  ended("2", "Denied: because", "denied");
  ended("0", "\n  Not in /repo/x, *** it is so ***!\nmore");
  run.act("s", { kind: "tool.ended", toolCallId: "1", succeeded: true });
  run.calls("", ["d", {}], ["e", {}], ["f", { x: 1 }]);
  ended("1", "The turn ended before the tool did.", "unfinished");
  ended("0", "", "failure");
  run.subAgentCalls("", "g", "h");
  run.act("s", { kind: "sub-agent.tool.failed", toolCallId: "sub 1", error: { message: "No" } });
  const [first, sub] = run.calls("ok").ended("s").file().sessions;
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
  const run = new Run().session("s").turn("s", "Do it").calls("", ["task", {}]);
  run.subAgentCalls("", "view").subAgentCalls("N").subAgentCalls("S").calls("ok").ended("s");
  const [, ...others] = run.file().sessions;
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
  const run = new Run().end({ kind: "failed", reason: "" });
  const recording = run.file();
  assert.deepEqual(recording.expect?.works, [
    { task: "review", workId: 0, outcome: ["failed", "succeeded"] },
  ]);
});

function filled(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown) =>
    typeof value === "string" ? fillIn(value, { workingDirectory: "/repo" }) : value,
  );
}

test("whatever text a recording holds, it is read back as it was", () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 1 }).filter((one) => !one.includes("\0")),
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
        .calls("", ["bash", { command: argument, list: [argument] }])
        .calls(said)
        .ended("s");
      const recording = run.file();
      const rendered = renderRehearsal(recording, format);
      const loaded = loadScript(rendered, `a.${format}`);
      assert.equal(loaded.kind, "loaded", rendered);
      if (loaded.kind !== "loaded") return;
      assert.equal(fillIn(loaded.script.userInput ?? "", { workingDirectory: "" }), argument);
      const [tools, answer] = loaded.script.rules[0]?.turns[0]?.replies ?? [];
      assert.equal(fillIn(answer?.text ?? "", { workingDirectory: "/repo" }), said);
      const given = JSON.stringify({ command: argument, list: [argument] });
      assert.equal(JSON.stringify(filled(JSON.stringify(tools?.tools[0]?.arguments))), given);
    }),
    rounds(500, 10),
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
    rounds(2000, 10),
  );
});
