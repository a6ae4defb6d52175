/** What a run says while nobody answers where its models are, and when a limit ends the wait. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { play, ref } from "../rig/engine.ts";

const server = "the model server http://127.0.0.1:9";
const awaited = (): string => server;
const refused = { cause: "unreachable", message: "No connection." } as const;
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

test("a further attempt says whom it waits for, and its number", async () => {
  let down = true;
  const { decisions, outcome } = await play({
    tasks: { t: { model: { category: "work" }, prompt: ["go"] } },
    awaited: () => (down ? server : undefined),
    play: ({ label }) => {
      if (label.attempt === 1) return { crash: refused, takes: second };
      down = false;
      return label.attempt === 2 ? { crash: refused, takes: second } : {};
    },
  });
  assert.equal(outcome.kind, "succeeded");
  const waits = decisions.filter((text) => /waiting for/i.test(text));
  assert.equal(waits.length, 1, decisions.join("\n"));
  assert.match(
    waits[0] ?? "",
    /aiting for the model server http:\/\/127\.0\.0\.1:9, attempt 2 of 5/,
  );
});

test("the limit that ends the wait says whom was waited for, and in which attempt", async () => {
  for (const limit of ["jobMinutes", "taskMinutes"] as const) {
    const { outcome, events } = await play({
      tasks: { t: { model: { category: "work" }, prompt: ["go"] } },
      limits: { [limit]: 1 },
      awaited,
      play: ({ label }) =>
        label.attempt === 1 ? { crash: refused, takes: 20 * second } : { hang: true },
    });
    const said = JSON.stringify([outcome, events.at(-1)]);
    assert.match(said, new RegExp(`limits\\.${limit}\\b.*waiting for ${server}, attempt 2 of 5`));
  }
});

test("the limit that ends a silence after an error names the error, unless a model has answered since", async () => {
  for (const answered of [false, true]) {
    const { outcome } = await play({
      tasks: { t: { model: { category: "work" }, prompt: ["go"] } },
      limits: { jobMinutes: 1 },
      play: () => ({
        takes: 120 * second,
        acts: [
          { kind: "model.failed", statusCode: 429, message: "slow down", subAgent: false },
          ...(answered ? [{ kind: "model.used", modelId: "m", ...noUsage } as const] : []),
        ],
      }),
    });
    const error = /The last error was: the model server answered 429: "slow down"\. Wait until/;
    const reason = "reason" in outcome ? outcome.reason : "";
    assert.match(reason, /jobMinutes/);
    assert.equal(error.test(reason), !answered, reason);
  }
});

test("the limit of a task names the attempt of that task, not of its neighbor in a Par", async () => {
  const { events } = await play({
    tasks: {
      slow: { model: { category: "work" }, prompt: ["go"] },
      quick: { model: { category: "work" }, prompt: ["go"] },
    },
    work: { kind: "Par", works: [ref("slow"), ref("quick")] },
    limits: { taskMinutes: 1 },
    awaited,
    play: ({ label }) => {
      if (label.taskId === "slow") return { hang: true };
      return label.attempt < 3 ? { crash: refused, takes: 5 * second } : { hang: true };
    },
  });
  const reasons = Object.fromEntries(
    events.flatMap((event) =>
      event.type === "work.ended" ? [[event.work.taskId, JSON.stringify(event.outcome)]] : [],
    ),
  );
  assert.match(reasons["slow"] ?? "", /attempt 1 of 5/);
  assert.match(reasons["quick"] ?? "", /attempt 3 of 5/);
});
