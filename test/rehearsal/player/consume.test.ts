/** A script is consumed exactly: random scripts, a client that asks for all of it, or stops early. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { loadScript, renderRehearsal } from "../../../src/rehearsal/format/script.ts";
import { ScriptedModel } from "../../../src/rehearsal/player/scripted-model.ts";
import type { RehearsalFile, ReplyFields } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import type { Reply, Rule } from "../../../src/rehearsal/format/script.ts";
import { ask, assistant, prompt, system, tool, type Message, type Received } from "../rig.ts";
import { rounds } from "../../rig/nightly.ts";

const passing: fc.Arbitrary<ReplyFields> = fc.record({
  times: fc.integer({ min: 1, max: 3 }),
  error: fc.constantFrom(500, 503, 429),
});
const cutting: fc.Arbitrary<ReplyFields> = fc.record({
  times: fc.integer({ min: 1, max: 3 }),
  cut: fc.constant(true as const),
});
const calling: fc.Arbitrary<ReplyFields> = fc.record({
  text: fc.string(),
  tools: fc.constant([{ name: "bash", arguments: { command: "ls" } }]),
});
const replies = fc
  .tuple(fc.array(fc.oneof(passing, cutting, calling), { maxLength: 5 }), fc.string())
  .map(([before, text]): ReplyFields[] => [...before, { text }]);
const rules = fc.array(
  fc.record({
    repeat: fc.integer({ min: 1, max: 3 }),
    turns: fc.array(
      replies.map((list) => ({ replies: list })),
      { minLength: 1, maxLength: 3 },
    ),
  }),
  { minLength: 1, maxLength: 3 },
);

interface Played {
  readonly model: ScriptedModel;
  readonly rules: readonly Rule[];
}

function start(sessions: RehearsalFile["sessions"]): Played {
  const text = renderRehearsal({ entry: "a.yml", sessions }, "json");
  const loaded = loadScript(text, "a.json");
  if (loaded.kind === "rejected") assert.fail(text);
  const clock = { sleep: () => Promise.resolve() };
  const model = new ScriptedModel(loaded.script, { clock, workingDirectory: "/repo" });
  return { model, rules: loaded.script.rules };
}

/** Asks until `budget` requests were answered; tells what came against what the script says. */
async function consume({ model, rules }: Played, budget: number): Promise<number> {
  let left = budget;
  for (const [index, rule] of rules.entries()) {
    for (let session = 0; session < Number(rule.repeat ?? 1); session += 1) {
      const log: Message[] = [system];
      for (const turn of rule.turns) {
        log.push(prompt("Go on"));
        for (const reply of turn.replies) {
          for (let time = 0; time < timesOf(reply); time += 1) {
            if (left === 0) return 0;
            left -= 1;
            compare(await ask(model, log, { sessionId: `${index} ${session}` }), reply);
          }
          if (reply.kind !== "answer") continue;
          log.push(assistant(reply.text ?? ""));
          for (const { name } of reply.tools) log.push(tool(name));
        }
      }
    }
  }
  return left;
}

function timesOf({ times = 1 }: Reply): number {
  return times;
}

function compare(received: Received, { kind, error, text: said = "" }: Reply): void {
  const status = typeof error === "object" ? error.status : error;
  const expected = kind === "error" ? status : kind === "answer" ? said : kind;
  const { end, text } = received;
  assert.equal(end === "status" ? received.status : end === "cut" ? "cut" : text, expected);
}

test("a client that asks for all of a script gets all of it, in order", async () => {
  await fc.assert(
    fc.asyncProperty(rules, async (sessions) => {
      const played = start(sessions);
      await consume(played, Number.POSITIVE_INFINITY);
      assert.deepEqual([played.model.failures(), played.model.unused()], [[], []]);
    }),
    { includeErrorInReport: true, ...rounds(200) },
  );
});

test("a client that stops early leaves something unused, and one that goes on is refused", async () => {
  await fc.assert(
    fc.asyncProperty(rules, fc.integer({ min: 0, max: 20 }), async (several, budget) => {
      // Another session of a rule may have used what this one leaves out.
      const sessions = several.map(({ turns }) => ({ turns }));
      const played = start(sessions);
      const left = await consume(played, budget);
      const all = 1_000 - (await consume(start(sessions), 1_000));
      assert.equal(played.model.unused().length > 0, budget < all);
      assert.deepEqual(played.model.failures(), []);
      if (left === 0) return;
      await ask(played.model, [system, prompt("One more")], { sessionId: "more" });
      assert.equal(played.model.failures().length, 1);
    }),
    { includeErrorInReport: true, ...rounds(200) },
  );
});
