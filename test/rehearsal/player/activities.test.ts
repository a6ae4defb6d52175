/** Rules for the activities of workflows, with requests as the runtime sends them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { holds } from "../../rig/fuzz.ts";
import * as fc from "fast-check";
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

const at = (line: string): string => `(tests/a.rehearsal.yml:${line})`;

/** A run of a workflow: each prompt goes to the end of a session, with everything before it. */
class Agent {
  readonly #model: ReturnType<typeof play>["model"];
  readonly #work: Partial<typeof label>;
  readonly #log: Message[] = [system];
  readonly #hits = new Map<string, number>();
  readonly #options: Ask;

  constructor(model: Agent["model"], work: Partial<typeof label> = {}, options: Ask = {}) {
    this.#model = model;
    this.#work = work;
    this.#options = options;
  }

  get model(): ReturnType<typeof play>["model"] {
    return this.#model;
  }

  async prompt(id: string, text = id, file = "flow.wf.md"): Promise<string> {
    const hit = (this.#hits.get(`${file}#${id}`) ?? 0) + 1;
    this.#hits.set(`${file}#${id}`, hit);
    this.#log.push(prompt(text));
    const answer = await this.again({ id, file, hit });
    this.#log.push(assistant(answer));
    return answer;
  }

  async again(activity: NonNullable<typeof label.activity>, text?: string): Promise<string> {
    if (text !== undefined) this.#log.push(prompt(text));
    const answer = await ask(this.#model, this.#log, {
      sessionId: "agent",
      label: { ...label, taskId: "flow.wf.md", ...this.#work, activity },
      ...this.#options,
    });
    return answer.status === 200 ? answer.text : `${answer.status}: ${answer.text}`;
  }
}

async function answers(agent: Agent, ...ids: readonly string[]): Promise<string[]> {
  const said: string[] = [];
  for (const id of ids) said.push(await agent.prompt(id));
  return said;
}

test("the turns of an activity are played as often as repeat says", async () => {
  const { model } = play(`
  - { activity: PROMPT_A, repeat: 2, turns: [One, Two] }
  - { activity: PROMPT_A, turns: [Last] }
  - { activity: PROMPT_B, repeat: any, turns: [B] }`);
  const a = Array.from({ length: 5 }, () => "PROMPT_A");
  const said = await answers(new Agent(model), ...a, "PROMPT_B", "PROMPT_B", "PROMPT_B");
  assert.deepEqual(said, ["One", "Two", "One", "Two", "Last", "B", "B", "B"]);
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("a repeated request of an activity's prompt gets the same answer", async () => {
  const { model } = play("  - { activity: PROMPT_A, turns: [One, Two] }");
  const agent = new Agent(model);
  const activity = { id: "PROMPT_A", file: "flow.wf.md", hit: 1 };
  assert.equal(await agent.again(activity, "a"), "One");
  assert.equal(await agent.again(activity), "One");
  assert.deepEqual(model.unused(), [
    `sessions[0].turns[1] ${at("3:40")} was never played: PROMPT_A sent no further prompt.`,
  ]);
});

test("replies with tools stay within the prompt of the activity", async () => {
  const { model } = play(`
  - { activity: PROMPT_A, turns: [{ replies: [{ tools: [{ name: bash }] }, Done] }, Two] }`);
  const activity = { id: "PROMPT_A", file: "flow.wf.md", hit: 1 };
  const options = { label: { ...label, activity } };
  const log = [system, prompt("a")];
  const { tools } = await ask(model, log, options);
  const more = [...log, assistant(null), tool("")];
  const rest = await ask(model, more, options);
  assert.deepEqual([tools[0]?.name, rest.text], ["bash", "Done"]);
});

test("hit selects a run of the activity, file one of several files", async () => {
  const { model } = play(`
  - { activity: PROMPT_A, hit: 2, turns: [Second] }
  - { activity: sub/b.wf.md#PROMPT_A, turns: [Called] }
  - { activity: PROMPT_A, turns: [First, Third] }`);
  const agent = new Agent(model);
  const said = [
    await agent.prompt("PROMPT_A"),
    await agent.prompt("PROMPT_A", "a", "x/sub/b.wf.md"),
    await agent.prompt("PROMPT_A"),
    await agent.prompt("PROMPT_A"),
  ];
  assert.deepEqual(said, ["First", "Called", "Second", "Third"]);
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("the prompt of the next turn decides between rules of one activity", async () => {
  const { model } = play(`
  - { activity: PROMPT_A, repeat: any, turns: [{ prompt: red, text: R }] }
  - { activity: PROMPT_A, repeat: any, turns: [{ prompt: blue, text: B }] }`);
  const agent = new Agent(model);
  const said: string[] = [];
  for (const text of ["blue", "red", "blue"]) said.push(await agent.prompt("PROMPT_A", text));
  assert.deepEqual(said, ["B", "R", "B"]);
});

test("each run of the workflow begins with the first turn", async () => {
  const { model } = play("  - { activity: PROMPT_A, repeat: 3, turns: [One, Two] }");
  const first = new Agent(model, { workId: 0 }, { sessionId: "1" });
  const beside = new Agent(model, { workId: 1 }, { sessionId: "2" });
  const later = new Agent(model, { workId: 0, iteration: 2 }, { sessionId: "3" });
  const said: string[] = [];
  for (const agent of [first, beside, beside, later, first, later]) {
    said.push(await agent.prompt("PROMPT_A"));
  }
  assert.deepEqual(said, ["One", "One", "Two", "One", "Two", "Two"]);
  assert.deepEqual([model.failures(), model.unused()], [[], []]);
});

test("a rule without an activity plays the session from its first prompt to its end", async () => {
  const { model } = play("  - turns: [One, Two]\n  - { activity: B, optional: true, turns: [No] }");
  assert.deepEqual(await answers(new Agent(model), "A", "B"), ["One", "Two"]);
  const { model: mixed } = play(`
  - { activity: A, turns: [Alpha] }
  - turns: [{ prompt: B, text: Then }, End]`);
  assert.deepEqual(await answers(new Agent(mixed), "A", "B", "A"), ["Alpha", "Then", "End"]);
  assert.deepEqual([mixed.failures(), mixed.unused()], [[], []]);
});

test("what the session was given as its history is no prompt of it", async () => {
  const turns = "  - turns: [{ prompt: { equals: A }, text: One }, Two]";
  const history = [prompt("An earlier prompt"), assistant("An earlier answer")];
  const { model } = play(turns);
  assert.deepEqual(await answers(new Agent(model, {}, { history }), "A", "B"), ["One", "Two"]);
  // Where the runtime adds no time to prompts.
  const untimed = [{ role: "user", content: "Plain" }, assistant("Set by the workflow")] as const;
  const log = [system, { role: "user", content: "A" }] as const;
  assert.equal((await ask(play(turns).model, log, { history: untimed })).text, "One");
});

test("a sub-agent of an activity is played by its own rule", async () => {
  const { model } = play(`
  - { activity: A, turns: [Root] }
  - { activity: A, hit: 1, subAgent: true, turns: [S1] }
  - { activity: A, hit: 2, subAgent: true, turns: [S2] }`);
  const activity = { id: "A", file: "flow.wf.md", hit: 1 };
  const said = async (subAgent: boolean, hit: number): Promise<string> => {
    const options = { subAgent, label: { ...label, activity: { ...activity, hit } } };
    return (await ask(model, [system, prompt("same")], options)).text;
  };
  assert.deepEqual(
    [await said(false, 1), await said(true, 1), await said(true, 2)],
    ["Root", "S1", "S2"],
  );
});

test("messages name the activity", async () => {
  const failure = async (rules: string, ids: readonly string[]): Promise<string | undefined> => {
    const { model } = play(rules);
    await answers(new Agent(model), ...ids);
    return model.failures()[0];
  };
  const asked = (id: string, hit: number): string =>
    `no rule expects ${id} (file "flow.wf.md", hit ${hit}) in a session of task "flow.wf.md" (workId 0, iteration 1, role task, model "gpt-test", retry 0, attempt 1) with the prompt "${id}". The nearest rule is sessions[0] ${at("3:5")}: `;
  assert.equal(
    await failure("  - { activity: B, turns: [x] }", ["A"]),
    `${asked("A", 1)}it is for the activity B, not flow.wf.md#A.`,
  );
  assert.equal(
    await failure("  - { activity: A, hit: 2, turns: [x] }", ["A"]),
    `${asked("A", 1)}it is for hit 2, not 1.`,
  );
  assert.equal(
    await failure("  - { activity: A, turns: [x, { prompt: y, text: z }] }", ["A", "A"]),
    `${asked("A", 2)}its turn 2 doesn't match: the prompt does not contain "y".`,
  );
});

test("what an activity did not use", async () => {
  const { model } = play(`
  - { activity: A, repeat: 2, turns: [a] }
  - { activity: b.wf.md#B, turns: [b] }
  - { activity: C, optional: true, turns: [c] }`);
  await answers(new Agent(model), "A");
  assert.deepEqual(model.unused(), [
    `sessions[0] ${at("4:5")} was played 1 of 2 times by A.`,
    `sessions[1] ${at("5:5")} was never used: no prompt of b.wf.md#B matched it.`,
  ]);
});

test("a prompt of no activity is not for a rule that has one", async () => {
  const { model } = play("  - { activity: A, turns: [a] }");
  const { text } = await ask(model, [system, prompt("x")]);
  assert.match(text, /it is for the activity A, this prompt has none/);
});

test("however activities take turns in sessions, each gets its own answers in order", async (t) => {
  const order = fc.array(fc.tuple(fc.constantFrom("A", "B", "C"), fc.nat(2)), { maxLength: 12 });
  await holds(
    t,
    fc.asyncProperty(order, async (prompts) => {
      const texts = new Map<string, string[]>();
      for (const [id] of prompts) {
        const own = texts.get(id) ?? [];
        texts.set(id, [...own, `${id}${own.length + 1}`]);
      }
      const rules = [...texts].map(
        ([id, own]) => `  - { activity: ${id}, turns: [${own.join(", ")}] }`,
      );
      const { model } = play(rules.join("\n") || "  []");
      const said: string[] = [];
      const logs = [[system], [system], [system]];
      const hits = new Map<string, number>();
      for (const [id, session] of prompts) {
        const hit = (hits.get(id) ?? 0) + 1;
        hits.set(id, hit);
        const log = logs[session] ?? [];
        log.push(prompt(id));
        const activity = { id, file: "flow.wf.md", hit };
        const { text } = await ask(model, log, {
          sessionId: `${session}`,
          label: { ...label, activity },
        });
        log.push(assistant(text));
        said.push(`${id}${hit}` === text ? "right" : text);
      }
      assert.deepEqual([...new Set(said)], prompts.length === 0 ? [] : ["right"]);
      assert.deepEqual([model.failures(), model.unused()], [[], []]);
    }),
    100,
  );
});
