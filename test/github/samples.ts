/** Runs as GitHub would show them: told in a few lines each, folded into a view. */
import type { MadeDecision } from "../../src/events/decision.ts";
import type { RunEvent, RunEventBody, RunOutcome, WorkOutcome } from "../../src/events/event.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import type { RunView } from "../../src/events/view.ts";
import type { PlannedTree } from "../../src/events/plan.ts";
import { planned, plannedTasks, ref } from "../rig/plan.ts";
import { chartWithDetails } from "../../src/github/summary.ts";
import { viewOf as fold } from "../rig/tell.ts";

const START = Date.UTC(2026, 2, 1, 6, 30);

export interface Sample {
  readonly events: readonly RunEvent[];
  readonly chart: (view: RunView) => string;
}

/** Tells a run of a tree, or of tasks one after the other on a model; the clock moves by what is said. */
export class Telling {
  readonly events: RunEvent[] = [];
  #at = START;
  readonly #tasks: readonly string[];

  constructor(
    jobName: string,
    tasks: readonly string[],
    work: PlannedTree | string = "gpt-5.4-mini",
  ) {
    this.#tasks = tasks;
    this.say({
      type: "run.started",
      jobName,
      entryFile: "/ws/.github/agent-jobs/review.yml",
      workingDirectory: "/ws",
      ...(typeof work === "string"
        ? plannedTasks(tasks.map((taskId) => [taskId, work]))
        : planned(work)),
    });
  }

  say(body: RunEventBody): this {
    this.events.push({ at: this.#at, runId: "run", ...body });
    return this;
  }

  wait(seconds: number): this {
    this.#at += seconds * 1000;
    return this;
  }

  ref(workId: number, run = 1): { workId: number; taskId: string; iteration: number } {
    return { workId, taskId: this.#tasks[workId] ?? "?", iteration: run };
  }

  start(workId: number, run = 1): this {
    const work = this.ref(workId, run);
    return this.say({ type: "work.started", work, modelId: "gpt-5.4-mini" }).say({
      type: "session.started",
      work,
      sessionId: `s${workId}`,
      modelId: "gpt-5.4-mini",
      role: "both",
      retry: 0,
      attempt: 1,
    });
  }

  decide(workId: number | null, decision: MadeDecision): this {
    const work = workId === null ? null : this.ref(workId);
    return this.say({ type: "decision", work, decision });
  }

  act(workId: number, activity: SessionActivity): this {
    return this.say({
      type: "activity",
      work: this.ref(workId),
      sessionId: `s${workId}`,
      turnId: "turn-1",
      activity,
    });
  }

  #begin(workId: number, attempt: number): this {
    const of = { work: this.ref(workId), sessionId: `s${workId}`, turnId: "turn-1" };
    const given = { modelId: "gpt-5.4-mini", retry: 0, attempt, prompt: "Do your part." };
    return this.say({ type: "turn.started", ...of, purpose: "prompt", ...given });
  }

  #end(workId: number, outcome: "completed" | "crashed"): this {
    const of = { work: this.ref(workId), sessionId: `s${workId}`, turnId: "turn-1" };
    return this.say({ type: "turn.ended", ...of, purpose: "prompt", outcome });
  }

  /** A turn of the task's prompt that says something. */
  turn(workId: number, text: string, seconds = 20): this {
    return this.#begin(workId, 1)
      .wait(seconds)
      .act(workId, {
        kind: "model.used",
        modelId: "gpt-5.4-mini",
        inputTokens: 14_350,
        outputTokens: 820,
        cacheReadTokens: 9000,
        reasoningTokens: 120,
        cost: 0.33,
        durationMs: 9000,
        subAgent: false,
      })
      .act(workId, { kind: "message.ended", messageId: "m", text })
      .#end(workId, "completed");
  }

  crash(workId: number, message: string, attempt: number): this {
    return this.#begin(workId, attempt)
      .wait(11)
      .#end(workId, "crashed")
      .decide(workId, {
        kind: "session-crashed",
        purpose: "prompt",
        attempt,
        attempts: 5,
        crash: { cause: "overloaded", message, status: 502, detail: '{"stack":"at …"}' },
      });
  }

  deny(workId: number, operation: string, target: string, reason: string): this {
    return this.act(workId, { kind: "permission.denied", operation, target, reason });
  }

  end(workId: number, outcome: WorkOutcome, run = 1): this {
    if (outcome.kind === "succeeded") this.decide(workId, { kind: "task-succeeded" });
    if (outcome.kind === "failed") {
      this.decide(workId, { kind: "task-failed", reason: outcome.reason });
    }
    return this.say({ type: "work.ended", work: this.ref(workId, run), outcome });
  }

  over(outcome: RunOutcome): this {
    return this.say({ type: "run.ended", outcome });
  }
}

const succeeded = { kind: "succeeded" } as const;

const reviewTasks = ["gather", "review-correctness", "review-tests", "review-docs", "merge"];
const reviewWork: PlannedTree = {
  kind: "Seq",
  works: [
    ref(0, "gather"),
    {
      kind: "Par",
      works: [ref(1, "review-correctness"), ref(2, "review-tests"), ref(3, "review-docs")],
    },
    ref(4, "merge"),
  ],
};

const report = `# Review of 4f2a91c

The commit moves the retry loop into \`attempt.ts\`.

1. **Correctness**: the deadline is armed after the first await, so a turn that never starts is never stopped.
2. **Tests**: no test plays a turn that never starts.

\`\`\`ts
const disarm = stopAfter(clock, scope, minutes(limits.taskMinutes), reason);
\`\`\`

Overall: fix the first point before merging.`;

export function success(): Sample {
  const telling = new Telling("review", reviewTasks, reviewWork)
    .start(0)
    .turn(0, "The commit touches src/engine/attempt.ts and its test.", 12)
    .end(0, succeeded);
  for (const id of [1, 2, 3]) telling.start(id);
  for (const id of [1, 2, 3]) {
    telling
      .turn(id, `Nothing to complain about in part ${id}.`, 14)
      .decide(id, {
        kind: "criteria-passed",
        field: "condition",
        content: "Did you read the files?",
        reason: "all three files were read",
      })
      .end(id, succeeded);
  }
  telling.start(4).turn(4, report, 9).end(4, succeeded).over(succeeded);
  return { events: telling.events, chart: chartWithDetails };
}

export function failure(): Sample {
  const telling = new Telling("review", reviewTasks, reviewWork)
    .start(0)
    .crash(0, "502 Bad Gateway from the model server", 1)
    .decide(0, {
      kind: "further-attempt",
      purpose: "prompt",
      attempt: 2,
      attempts: 5,
      modelId: "gpt-5.4-mini",
    })
    .turn(0, "The commit touches src/engine/attempt.ts.", 12)
    .end(0, succeeded)
    .start(1)
    .start(2)
    .start(3)
    .deny(1, "shell", "npm publish --tag next", "not allowed by `shell: [npm test]`")
    .deny(1, "shell", "npm publish --tag next", "not allowed by `shell: [npm test]`")
    .deny(2, "write", "/etc/hosts", "outside the working directory; `write` allows src/**")
    .turn(2, "All good.", 14)
    .end(2, succeeded);
  const reason = "no file was read before the verdict";
  for (const retry of [1, 2]) {
    telling.turn(1, "Looks good to me.", 21).decide(1, {
      kind: "criteria-failed",
      field: "condition",
      content: "Did you read the files?",
      reason,
    });
    if (retry === 1) telling.decide(1, { kind: "criteria-retry", retry, of: 1, reason });
  }
  telling
    .decide(1, { kind: "retries-exhausted", retries: 1, reason })
    .end(1, { kind: "failed", reason: `criteria not met: ${reason}` });
  for (const attempt of [1, 2, 3]) telling.crash(3, "503 Service Unavailable", attempt);
  const crash = { cause: "session-error", message: "503 Service Unavailable" } as const;
  telling
    .decide(3, { kind: "attempts-exhausted", purpose: "prompt", attempts: 3 })
    .decide(3, { kind: "task-failed", reason: `crashed: ${crash.message}` })
    .say({
      type: "work.ended",
      work: telling.ref(3),
      outcome: { kind: "crashed", crash },
    })
    .over({ kind: "failed", reason: 'task "review-docs" crashed: 503 Service Unavailable' });
  return { events: telling.events, chart: chartWithDetails };
}

/** The process is told to end while two works run. */
export function canceled(): Sample {
  const telling = new Telling("review", reviewTasks, reviewWork)
    .start(0)
    .turn(0, "The commit touches src/engine/attempt.ts.", 12)
    .end(0, succeeded)
    .start(1)
    .start(2)
    .turn(1, "I have read two of three files.", 31);
  return { events: telling.events, chart: chartWithDetails };
}

/** `count` works at once, every seventh of which fails. */
export function huge(count = 50): Sample {
  const tasks = Array.from({ length: count }, (_, index) => `check-module-${index}`);
  const works = tasks.map((taskId, id) => ref(id, taskId));
  const telling = new Telling("nightly", tasks, { kind: "Par", works });
  for (const id of tasks.keys()) telling.start(id);
  for (const id of tasks.keys()) {
    telling.turn(id, `Module ${id}: ${report}`, 3);
    for (let step = 0; step < 12; step += 1) {
      telling.decide(id, { kind: "note", text: `Step ${step} of module ${id} was looked at.` });
    }
    telling.end(
      id,
      id % 7 === 3 ? { kind: "failed", reason: `module ${id} is broken` } : succeeded,
    );
  }
  telling.over({ kind: "failed", reason: `${Math.ceil((count - 3) / 7)} modules are broken` });
  return { events: telling.events, chart: chartWithDetails };
}

export function viewOf(sample: Pick<Sample, "events">): RunView {
  return fold(sample.events);
}
