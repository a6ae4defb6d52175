import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, assistant, label, play, prompt, request, system, tool } from "../rig.ts";

const at = (line: string): string => `(tests/a.rehearsal.yml:${line})`;
const rejected = { status: 400, end: "status" } as const;
const hello = [system, prompt("Hello there")];

test("an answer streams in a few deltas, with its usage", async () => {
  const { model } = play(`
  - turns:
      - { reasoning: Hm, text: Hello to you, usage: { input: 10, output: 5 } }`);
  const { deltas, text, reasoning, usage, finish, end } = await ask(model, hello);
  assert.deepEqual(
    { deltas, text, reasoning, finish, end },
    {
      deltas: 3,
      text: "Hello to you",
      reasoning: "Hm",
      finish: "stop",
      end: "done",
    },
  );
  assert.deepEqual(usage, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("tools are called with their arguments, each under an id of its own", async () => {
  const { model } = play(`
  - turns:
      - replies:
          - tools:
              - { name: bash, arguments: { command: git log } }
              - { name: apply_patch, arguments: "*** Begin Patch" }
              - { name: view }
          - tools: [{ name: bash, arguments: '{"comm' }]
          - text: Read it
            toolResults: { contains: [one, two], excludes: earlier }`);
  const first = await ask(model, hello);
  assert.deepEqual(
    first.tools.map(({ name, input }) => [name, input]),
    [
      ["bash", '{"command":"git log"}'],
      ["apply_patch", "*** Begin Patch"],
      ["view", "{}"],
    ],
  );
  assert.equal(first.finish, "tool_calls");
  const second = await ask(model, [...hello, assistant(null), tool("earlier"), tool("b")]);
  assert.deepEqual(
    second.tools.map(({ input }) => input),
    ['{"comm'],
  );
  assert.equal(new Set([...first.tools, ...second.tools].map(({ id }) => id)).size, 4);
  const log = [
    ...hello,
    assistant(null),
    tool("earlier"),
    assistant(null),
    tool("one"),
    tool("two"),
  ];
  assert.equal((await ask(model, log)).text, "Read it");
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("after tools without a further reply the model is done", async () => {
  const { model } = play("  - turns: [{ tools: [{ name: bash }] }]");
  await ask(model, hello);
  assert.deepEqual(model.unused(), []);
  assert.equal((await ask(model, [...hello, assistant(null), tool("")])).text, "Done.");
  const refused = await ask(model, [
    ...hello,
    assistant(null),
    tool(""),
    assistant("Done."),
    tool(""),
  ]);
  assert.equal(refused.status, 400);
});

test("a session's prompts are its turns, whatever the runtime says in between", async () => {
  const { model } = play("  - turns: [One, Two]");
  assert.equal((await ask(model, [system, prompt("a")])).text, "One");
  const notice = { role: "user", content: "A picture that view has read" } as const;
  const log = [system, prompt("a"), notice, assistant("One"), prompt("b")];
  assert.equal((await ask(model, log)).text, "Two");
});

test("the prompt is compared without what the runtime puts around it", async () => {
  const { model } = play('  - turns: [{ prompt: { equals: "Hello there  " }, text: Hi }]');
  assert.equal((await ask(model, hello)).text, "Hi");
  const { model: parts } = play("  - turns: [{ prompt: { equals: Hello there }, text: Hi }]");
  const content = [
    { type: "text", text: "Hello " },
    { type: "text", text: "there" },
  ];
  assert.equal((await ask(parts, [system, { role: "user", content }])).text, "Hi");
});

test("the first rule that fits plays a session to its end", async () => {
  const { model } = play(`
  - { task: other, turns: [No], optional: true }
  - { task: review, role: driving, turns: [Driving] }
  - { task: review, attempt: 2, turns: [Again] }
  - { task: review, iteration: 2, turns: [Second] }
  - { task: review, retry: 1, turns: [Retried] }
  - { task: review, model: big, turns: [Big] }
  - { task: review, workId: 3, turns: [Elsewhere] }
  - { turns: [First, Then] }`);
  let session = 0;
  const said = async (change: Partial<typeof label>): Promise<string> => {
    session += 1;
    const answer = await ask(model, hello, {
      sessionId: `s${session}`,
      label: { ...label, ...change },
    });
    return answer.text;
  };
  assert.deepEqual(
    [
      await said({}),
      await said({ workId: 3 }),
      await said({ modelId: "big" }),
      await said({ retry: 1 }),
      await said({ iteration: 2 }),
      await said({ attempt: 2 }),
      await said({ role: "both" }),
    ],
    ["First", "Elsewhere", "Big", "Retried", "Second", "Again", "Driving"],
  );
  const log = [...hello, assistant("First"), prompt("Go on")];
  assert.equal((await ask(model, log, { sessionId: "s1" })).text, "Then");
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("a rule is also chosen by the prompt of its first turn", async () => {
  const { model } = play(`
  - { repeat: any, turns: [{ prompt: done, text: Yes }] }
  - { repeat: any, turns: [{ prompt: ready, text: No }] }`);
  const said: string[] = [];
  for (const [index, text] of ["Are you ready?", "Is it done?", "Ready? ready!"].entries()) {
    said.push((await ask(model, [system, prompt(text)], { sessionId: `${index}` })).text);
  }
  assert.deepEqual(said, ["No", "Yes", "No"]);
});

test("a repeated request gets the same answer", async () => {
  const { model } = play("  - turns: [One, Two]");
  assert.equal((await ask(model, hello)).text, "One");
  assert.equal((await ask(model, hello)).text, "One");
  assert.deepEqual(model.unused(), [
    `sessions[0].turns[1] ${at("3:18")} was never played: the session sent no further prompt.`,
  ]);
});

test("an error without times is final, and tells the runtime so", async () => {
  const { model } = play(
    "  - turns: [{ error: { status: 429, message: Slow down, headers: { retry-after: '3' } } }]",
  );
  for (let n = 0; n < 3; n += 1) {
    const { status, text, headers } = await ask(model, hello);
    assert.deepEqual(
      [status, text, headers.get("retry-after"), headers.get("x-should-retry")],
      [429, "Slow down", "3", "false"],
    );
  }
  const { model: plain } = play("  - turns: [{ error: 503 }]");
  assert.equal((await ask(plain, hello)).text, "The rehearsal answers with status 503.");
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("an error with times passes, and the runtime may repeat the request", async () => {
  const { model } = play(
    "  - turns: [{ replies: [{ error: 503, times: 2 }, { cut: true, times: 1 }, Hi] }]",
  );
  const first = await ask(model, hello);
  assert.deepEqual([first.status, first.headers.get("x-should-retry")], [503, null]);
  assert.deepEqual(model.unused(), [
    `sessions[0].turns[0].replies[0] ${at("3:25")} was sent 1 of 2 times.`,
    `sessions[0].turns[0].replies[1] ${at("3:51")} was never sent.`,
    `sessions[0].turns[0].replies[2] ${at("3:76")} was never sent.`,
  ]);
  assert.equal((await ask(model, hello)).status, 503);
  assert.equal((await ask(model, hello)).end, "cut");
  assert.equal((await ask(model, hello)).text, "Hi");
  assert.deepEqual(model.unused(), []);
});

test("a cut stream breaks after its text", async () => {
  const { model } = play("  - turns: [{ text: Half an ans, cut: true }]");
  for (let n = 0; n < 2; n += 1) {
    const { text, end, finish } = await ask(model, hello);
    assert.deepEqual([text, end, finish], ["Half an ans", "cut", undefined]);
  }
});

test("a hang sends its text and then nothing, until the request is given up", async () => {
  const { model } = play("  - turns: [{ text: So far, hang: true }]");
  const controller = new AbortController();
  let over = false;
  const answer = ask(model, hello, { signal: controller.signal }).then((received) => {
    over = true;
    return received;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(over, false);
  controller.abort();
  const { text, end } = await answer;
  assert.deepEqual([text, end], ["So far", "cut"]);
});

test("die kills the runtime and never answers", async () => {
  const { model } = play("  - turns: [{ die: true }]");
  let killed = 0;
  const controller = new AbortController();
  const killRuntime = (): void => {
    killed += 1;
    controller.abort();
  };
  await assert.rejects(ask(model, hello, { killRuntime, signal: controller.signal }), /aborted/);
  assert.equal(killed, 1);
  assert.deepEqual(model.unused(), []);
});

test("a delay is slept before the reply", async () => {
  const { model, slept } = play("  - turns: [{ text: Hi, delay: 250 }]");
  await ask(model, hello);
  assert.deepEqual(slept, [250]);
});

test("${workingDirectory} is filled in, in JSON too", async () => {
  const { model } = play(`
  - turns:
      - prompt: in \${workingDirectory}/a
        replies:
          - text: Look at \${workingDirectory}, or $\${workingDirectory}
            tools:
              - { name: view, arguments: { path: "\${workingDirectory}/b" } }
              - { name: apply_patch, arguments: "+ \${workingDirectory}" }`);
  const { text, tools } = await ask(model, [system, prompt("We are in /repo/a now")]);
  assert.equal(text, "Look at /repo, or ${workingDirectory}");
  assert.deepEqual(
    tools.map(({ input }) => input),
    ['{"path":"/repo/b"}', "+ /repo"],
  );
});

test("sub-agents are played by rules of their own, each conversation by one", async () => {
  const { model } = play(`
  - turns: [Root]
  - { task: review, subAgent: true, turns: [{ prompt: north, text: N }] }
  - { task: review, subAgent: true, turns: [{ prompt: south, text: S }] }`);
  const said = async (text: string, subAgent: boolean): Promise<string> =>
    (await ask(model, [system, prompt(text)], { subAgent })).text;
  assert.equal(await said("Go", false), "Root");
  assert.equal(await said("Go south", true), "S");
  assert.equal(await said("Go north", true), "N");
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("a session of no task is played by a rule that asks for none", async () => {
  const { model } = play("  - { model: gpt-test, turns: [Hi] }");
  assert.equal((await ask(model, hello, { label: undefined })).text, "Hi");
});

test("an optional rule may stay unused", async () => {
  const { model } = play(
    "  - { optional: true, turns: [One, Two] }\n  - { task: b, optional: true, turns: [x] }",
  );
  await ask(model, hello);
  assert.deepEqual(model.unused(), []);
});

test("a refusal is a 400, and the run's failure says the same", async () => {
  const { model } = play("  []");
  const answer = await ask(model, hello);
  const [failure, ...others] = model.failures();
  assert.deepEqual({ status: answer.status, end: answer.end }, rejected);
  assert.equal(answer.text, `Rehearsal: ${failure}`);
  assert.deepEqual(others, []);
});

test("no delta ends in half a character", async () => {
  for (const text of ["🎭", "🎭🎭🎭🎭", "a🎭b🎭", "🎭a🎭🎭b"]) {
    const { model } = play(`  - turns: [{ text: "${text}" }]`);
    const response = await model.send(request(hello));
    const body = await response.text();
    assert.doesNotMatch(body, /\\ud/i);
    assert.equal((await ask(model, hello)).text, text);
  }
});

test("the line break at the end of a YAML block is not meant", async () => {
  const { model } = play(`
  - turns:
      - prompt: |
          Hello there
        text: Hi`);
  assert.equal((await ask(model, [system, prompt("Hello there, friend")])).text, "Hi");
});
