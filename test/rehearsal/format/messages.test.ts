/** The exact messages of the scripted model for a run that doesn't fit its script. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ask,
  assistant,
  label,
  play,
  prompt,
  system,
  tool,
  type Ask,
  type Message,
} from "../rig.ts";

const REVIEW =
  'a session of task "review" (workId 0, iteration 1, role task, model "gpt-test", retry 0, attempt 1)';
const hello = [system, prompt("Hello there")];
const HELLO = `${REVIEW} with the prompt "Hello there"`;
const at = (position: string): string => `(tests/a.rehearsal.yml:${position})`;

async function failure(
  sessions: string,
  messages: readonly Message[] = hello,
  options: Ask = {},
): Promise<string> {
  const { model } = play(sessions);
  await ask(model, messages, options);
  return model.failures().join("\n");
}

const selectors: readonly (readonly [rule: string, why: string])[] = [
  ["task: fix", 'it is for task "fix", not "review"'],
  ["workId: 2", "it is for workId 2, not 0"],
  ["subAgent: true", "it is for a sub-agent"],
  ["task: fix, iteration: 2", 'it is for task "fix", not "review"; it is for iteration 2, not 1'],
];

for (const [rule, why] of selectors) {
  test(`no rule: the nearest has ${rule}`, async () => {
    assert.equal(
      await failure(`  - { ${rule}, turns: [Hi] }`),
      `no rule expects ${HELLO}. The nearest rule is sessions[0] ${at("3:5")}: ${why}.`,
    );
  });
}

test("no rule: the nearest expects another prompt", async () => {
  const why = async (condition: string): Promise<string> => {
    const text = await failure(`  - turns: [{ prompt: ${condition}, text: Hi }]`);
    const start = `no rule expects ${HELLO}. The nearest rule is sessions[0] ${at("3:5")}: its first turn doesn't match: the prompt `;
    assert.ok(text.startsWith(start), text);
    return text.slice(start.length);
  };
  assert.equal(await why("Goodbye"), 'does not contain "Goodbye".');
  assert.equal(await why("{ contains: [Hello, Bye] }"), 'does not contain "Bye".');
  assert.equal(await why("{ excludes: there }"), 'contains "there", which it must not.');
  assert.equal(await why("{ equals: Hello }"), 'is not equal to "Hello".');
  assert.equal(await why('{ matches: "^there" }'), "does not match /^there/.");
});

test("no rule: the nearest is used up, and it is the one that differs least", async () => {
  const { model } = play(
    "  - { task: fix, turns: [A] }\n  - turns: [B]\n  - { iteration: 9, turns: [C] }",
  );
  await ask(model, hello, { sessionId: "1" });
  await ask(model, hello, { sessionId: "2" });
  assert.deepEqual(model.failures(), [
    `no rule expects ${HELLO}. The nearest rule is sessions[1] ${at("4:5")}: it is used up (repeat: 1).`,
  ]);
});

test("a later prompt does not match its turn", async () => {
  assert.equal(
    await failure("  - turns: [Hi, { prompt: more, text: Yes }]", [
      ...hello,
      assistant("Hi"),
      prompt("Less"),
    ]),
    `sessions[0].turns[1] ${at("3:17")} doesn't match: the prompt does not contain "more". It was ${REVIEW} with the prompt "Less".`,
  );
});

test("more prompts than turns", async () => {
  const log = [...hello, assistant("Hi"), prompt("More")];
  assert.equal(
    await failure("  - turns: [Hi]", log),
    `sessions[0] ${at("3:5")} has 1 turn, but its session got prompt number 2. It was ${REVIEW} with the prompt "More".`,
  );
});

test("more requests than replies", async () => {
  assert.equal(
    await failure("  - turns: [Hi]", [...hello, assistant("Hi")]),
    `sessions[0].turns[0] ${at("3:13")} has no reply left: it has 1 reply, but the session sent another request. It was ${HELLO}.`,
  );
});

test("tool results that do not fit", async () => {
  const text = await failure(
    "  - turns: [{ replies: [{ tools: [{ name: bash }] }, { text: Hi, toolResults: ok }] }]",
    [...hello, assistant(null), tool("not"), tool("found")],
  );
  assert.equal(
    text,
    `sessions[0].turns[0].replies[1] ${at("3:54")} doesn't match: the result of the tools does not contain "ok"; it is "not\\nfound". It was ${HELLO}.`,
  );
});

test("a tool that the session does not offer", async () => {
  assert.equal(
    await failure("  - turns: [{ tools: [{ name: bash }, { name: grep }] }]"),
    `sessions[0].turns[0] ${at("3:13")} calls the tool "grep", which this session of task "review" doesn't offer. It offers: bash, view, rg, glob, job_boolean_true, job_boolean_false, job_prepare_document, apply_patch. (To rehearse a mistake of the model, add "unknown: true" to the call.)`,
  );
  assert.match(
    await failure("  - turns: [{ tools: [{ name: bash }] }]", hello, { tools: [] }),
    /It offers: none\./,
  );
});

test("a request that is none for a chat completion", async () => {
  const wrong = async (options: Ask): Promise<string> => failure("  - turns: [Hi]", hello, options);
  const why = 'is not a chat completion; a rehearsal only supports the wire API "completions".';
  const url = "http://rehearsal.invalid/v1/responses";
  assert.equal(await wrong({ url, body: '{"input":"Hello"}' }), `POST /v1/responses ${why}`);
  assert.equal(await wrong({ body: "{" }), `POST /v1/chat/completions ${why}`);
  assert.equal(await wrong({ method: "GET" }), `GET /v1/chat/completions ${why}`);
  assert.equal(
    await failure("  - turns: [Hi]", [system]),
    "POST /v1/chat/completions has no user message.",
  );
});

test("the same failure is told once", async () => {
  const { model } = play("  []");
  await ask(model, hello);
  await ask(model, hello);
  assert.equal(model.failures().length, 1);
});

test("what was not used", async () => {
  const { model } = play(`
  - { task: fix, turns: [A] }
  - { repeat: 3, turns: [B] }
  - { task: fix, repeat: any, turns: [C] }`);
  await ask(model, hello, { sessionId: "1" });
  await ask(model, hello, { sessionId: "2", label: { ...label, iteration: 2 } });
  assert.deepEqual(model.unused(), [
    `sessions[0] ${at("4:5")} was never used: no session matched it.`,
    `sessions[1] ${at("5:5")} was used by 2 of 3 sessions.`,
    `sessions[2] ${at("6:5")} was never used: no session matched it.`,
  ]);
});

test("a reply after an answer that ends the turn", async () => {
  const { model } = play("  - turns: [{ replies: [Hi, Again] }]");
  await ask(model, hello);
  assert.deepEqual(model.unused(), [
    `sessions[0].turns[0].replies[1] ${at("3:29")} was never sent. A reply that calls no tool ends the turn.`,
  ]);
});
