import assert from "node:assert/strict";
import { it } from "node:test";
import type { SessionEvent } from "@github/copilot-sdk";
import type { RunEvent } from "../../src/events/event.ts";
import { eventCheck } from "../../src/events/event.ts";
import { Translator } from "../../src/sessions/translate.ts";
import { TurnState } from "../../src/sessions/turn-state.ts";
import { event } from "./events.ts";

const work = { workId: 0, taskId: "t", iteration: 1 };
const stamp = { runId: "r", at: 0 };

/** Model servers report anything, and JSON turns what is not finite into null. */
const reported: readonly unknown[] = [NaN, Infinity, -Infinity, null, undefined, -1, 1.5, 1e300];

for (const value of reported) {
  it(`${String(value)} instead of a number of tokens or a status leaves events that a journal can be read from`, () => {
    const names = "inputTokens outputTokens cacheReadTokens reasoningTokens cost duration".split(
      " ",
    );
    const numbers = Object.fromEntries(names.map((name) => [name, value]));
    const used = event("assistant.usage", { model: "m", ...numbers });
    const failed = event("model.call_failure", { model: "m", statusCode: value });
    for (const activity of translate(used, failed)) {
      if (activity.kind === "model.used") {
        // A recording keeps them, and a rehearsal accepts only whole numbers.
        assert.ok(Number.isSafeInteger(activity.inputTokens) && activity.inputTokens >= 0);
        assert.ok(Number.isSafeInteger(activity.outputTokens) && activity.outputTokens >= 0);
      }
      assertReadable({ ...stamp, type: "activity", sessionId: "s", turnId: "1", work, activity });
    }
    const state = new TurnState({ modelId: "m", baseUrl: undefined });
    state.accept(failed);
    state.accept(event("session.error", { errorType: "query", message: "No.", statusCode: value }));
    const { phase } = state;
    assert.ok(phase.at === "failed");
    const attempt = { purpose: "prompt", attempt: 1, attempts: 5 } as const;
    const decision = { kind: "session-crashed", ...attempt, crash: phase.crash } as const;
    assertReadable({ ...stamp, type: "decision", work, decision });
  });
}

function translate(...events: readonly SessionEvent[]): ReturnType<Translator["translate"]> {
  const translator = new Translator();
  return events.flatMap((one) => translator.translate(one));
}

function assertReadable(written: RunEvent): void {
  const read: unknown = JSON.parse(JSON.stringify(written));
  assert.equal(eventCheck.fault(read), "", JSON.stringify(written));
}
