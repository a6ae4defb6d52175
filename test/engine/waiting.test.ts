import assert from "node:assert/strict";
import { test } from "node:test";
import { play, ref } from "../rig/engine.ts";
import type { Act } from "../rig/fake-sessions.ts";

const second = 1_000;
const noUsage = {
  subAgent: false,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  reasoningTokens: 0,
  cost: 0,
  durationMs: 0,
};
const refusal = {
  kind: "model.failed",
  statusCode: 429,
  message: "slow down",
  subAgent: false,
} as const;
const answer = { kind: "model.used", modelId: "m", ...noUsage } as const;
const error = /The last error was: the model server answered 429: "slow down"\. Wait until/;

/** Two tasks side by side, in a minute. */
async function side(limit: "jobMinutes" | "taskMinutes", slow: Act, quick: Act): Promise<string[]> {
  const { events } = await play({
    tasks: {
      slow: { model: { category: "work" }, prompt: ["go"] },
      quick: { model: { category: "work" }, prompt: ["go"] },
    },
    work: { kind: "Par", works: [ref("slow"), ref("quick")] },
    limits: { [limit]: 1 },
    play: ({ label }) => (label.taskId === "slow" ? slow : quick),
  });
  return events.flatMap((event) =>
    event.type === "work.ended" || event.type === "run.ended" ? [JSON.stringify(event)] : [],
  );
}

test("the limit that ends a silence after an error names the error, unless a model has answered since", async () => {
  for (const answered of [false, true]) {
    const { outcome } = await play({
      tasks: { t: { model: { category: "work" }, prompt: ["go"] } },
      limits: { jobMinutes: 1 },
      play: () => ({ takes: 120 * second, acts: [refusal, ...(answered ? [answer] : [])] }),
    });
    const reason = "reason" in outcome ? outcome.reason : "";
    assert.match(reason, /jobMinutes/);
    assert.equal(error.test(reason), !answered, reason);
  }
});

const quoted = /The last error was: the model server answered 429/;

test("the limit of a task names an error of that task, not of its neighbor in a Par", async () => {
  const hang = { hang: true } as const;
  const failing = { takes: 120 * second, acts: [{ ...refusal, statusCode: 503 }] };
  const ends = await side("taskMinutes", hang, failing);
  const reason = (task: string): string =>
    ends.find((one) => one.includes(`"taskId":"${task}"`)) ?? "";
  assert.doesNotMatch(reason("slow"), quoted);
  assert.match(reason("quick"), /The last error was: the model server answered 503/);
});

test("the limit of a job names an error although a neighbor was answered since", async () => {
  const failing = { takes: 120 * second, acts: [refusal] };
  const ends = await side("jobMinutes", failing, { takes: 10 * second, acts: [answer] });
  assert.match(ends.at(-1) ?? "", quoted);
});

test("the limit that ends the wait for a server that is down names the server", async () => {
  for (const limit of ["jobMinutes", "taskMinutes"] as const) {
    const { outcome } = await play({
      tasks: { t: { model: { category: "work" }, prompt: ["go"] } },
      limits: { [limit]: 1 },
      awaited: () => "the model server http://127.0.0.1:9",
      play: () => ({ hang: true }),
    });
    const reason = "reason" in outcome ? outcome.reason : "";
    assert.match(reason, /The last error was: can't connect to the model server http:\S+:9$/);
  }
});
