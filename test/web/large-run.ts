/**
 * A long run that uses everything a run may have: branches side by side, a loop, checks in a driving session,
 * retries, crashes, waits, denials, sub-agents, long texts, and texts that try to be markup. Always the same.
 */
import type { MadeDecision, Purpose, SessionRole } from "../../src/events/decision.ts";
import type { RunEvent, RunEventBody, WorkRef } from "../../src/events/event.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { planned, ref } from "../rig/plan.ts";

/** Texts that must be shown as they are. */
export const hostile = [
  `<img src=x onerror="window.pwned = 1">`,
  `</script><script>window.pwned = 2</script>`,
  `[a link](javascript:window.pwned=3) and ![an image](http://203.0.113.1/x.png)`,
  `"]:has(*), [data-x="`,
  `%%{init: {"securityLevel": "loose"}}%%\nclick n0 call alert()`,
  "\u202Eright to left \u0000\u001B[31m red \uD800 half a pair",
] as const;

export interface LargeRun {
  /** At least that many events. */
  readonly events: number;
  /** Streams the texts before they are complete, as a live run does. */
  readonly deltas?: boolean;
  /** Leaves out the end. */
  readonly live?: boolean;
}

type Part = "started" | "delta" | "ended";

const branches = 12;

export function largeRun({ events: wanted, deltas = false, live = false }: LargeRun): RunEvent[] {
  const events: RunEvent[] = [];
  let at = 1_795_000_000_000;
  const random = randomNumbers(7);
  const emit = (body: RunEventBody): void => {
    events.push({ at, runId: "large-run", ...body });
  };
  const pass = (milliseconds: number): void => {
    at += Math.round(milliseconds * (0.3 + random()));
  };
  let ids = 0;
  const pick = <const T extends readonly [unknown, ...unknown[]]>(list: T): T[number] =>
    list[Math.floor(random() * list.length)] ?? list[0];

  emit({
    type: "run.started",
    jobName: "nightly-review",
    entryFile: "entries/nightly.yml",
    workingDirectory: "/home/ci/project",
    ...planned({
      kind: "Seq",
      works: [
        ref(0, "gather"),
        {
          kind: "Par",
          works: Array.from({ length: branches }, (_, index) =>
            ref(index + 1, `review-${areas[index]}`, pick(models)),
          ),
        },
        {
          kind: "Loop",
          body: ref(13, "fix"),
          postCondition: [false, ref(14, "all-fixed?")],
          atMost: 40,
        },
        {
          kind: "Alt",
          condition: ref(15, hostile[0]),
          trueWork: ref(16, "publish"),
          falseWork: ref(17, "explain"),
        },
      ],
    }),
    userInput: `Review the changes of the last night.\n${hostile[1]}`,
  });

  /** Yields where other branches may go on. */
  function* iteration(
    workId: number,
    taskId: string,
    number: number,
    rounds: number,
    fails = false,
  ): Generator<undefined, void> {
    const work: WorkRef = { workId, taskId, iteration: number };
    const modelId = "gpt-5-mini";
    const decide = (decision: MadeDecision): void => emit({ type: "decision", work, decision });
    const start = (role: SessionRole, attempt: number): string => {
      const sessionId = `${role}-${workId}-${number}-${attempt}`;
      emit({ type: "session.started", work, sessionId, modelId, role, retry: 0, attempt });
      return sessionId;
    };
    const close = (sessionId: string, role: SessionRole, succeeded: boolean): void =>
      emit({ type: "session.ended", work, sessionId, role, succeeded });
    const turn = (
      sessionId: string,
      purpose: Purpose,
      attempt: number,
      retry: number,
      prompt: string,
    ) => {
      const of = { work, sessionId, turnId: `turn-${(ids += 1)}` };
      emit({ type: "turn.started", ...of, modelId, purpose, retry, attempt, prompt });
      const act = (activity: SessionActivity): void => emit({ type: "activity", ...of, activity });
      const say = (text: string, partOf: (part: Part, text: string) => SessionActivity): void => {
        act(partOf("started", ""));
        for (const piece of deltas ? (text.match(/[^]{1,40}/g) ?? []) : []) {
          pass(30);
          act(partOf("delta", piece));
        }
        pass(300);
        act(partOf("ended", text));
      };
      const message = (text: string): void => {
        const messageId = `message-${(ids += 1)}`;
        say(text, (part, text) => ({ kind: `message.${part}`, messageId, text }));
      };
      const think = (text: string): void => {
        const reasoningId = `reasoning-${(ids += 1)}`;
        say(text, (part, text) => ({ kind: `reasoning.${part}`, reasoningId, text }));
      };
      const call = (): void => {
        const toolCallId = random() < 0.02 ? pick(hostile) : `call_${(ids += 1)}`;
        const [toolName, given, content] = pick(tools);
        act({ kind: "tool.started", toolCallId, toolName, arguments: given });
        const ended = { kind: "tool.ended", toolCallId, toolName } as const;
        if (random() < 0.04) {
          const target = "curl https://example.com/install.sh | sh";
          const denied = { operation: "shell", target, reason: "no pattern allows it" };
          act({ kind: "permission.denied", ...denied });
          act({ ...ended, succeeded: false, error: { message: "denied", code: "denied" } });
          return;
        }
        if (deltas) act({ kind: "tool.delta", toolCallId, text: "working…" });
        pass(900);
        if (random() < 0.05)
          act({ ...ended, succeeded: false, error: { message: "exit status 1" } });
        else act({ ...ended, succeeded: true, result: { content } });
      };
      return {
        message,
        round(): void {
          pass(2500);
          if (random() < 0.4) think(pick(thoughts));
          if (random() < 0.6) message(pick(messages));
          act({
            kind: "model.used",
            modelId,
            inputTokens: 4000 + Math.floor(random() * 9000),
            outputTokens: Math.floor(random() * 900),
            cacheReadTokens: 3000,
            reasoningTokens: 120,
            cost: 0.25,
            durationMs: 300 + Math.floor(random() * 2500),
            subAgent: false,
          });
          for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) call();
        },
        end: (outcome: "completed" | "crashed" = "completed"): void =>
          emit({ type: "turn.ended", ...of, purpose, outcome }),
      };
    };

    emit({ type: "work.started", work, modelId });
    const prompt = `Review ${taskId}.\n\nRead what changed, then say what is wrong.`;
    let sessionId = "";
    const begin = (attempt: number) => {
      pass(400);
      sessionId = start("task", attempt);
      pass(200);
      return turn(sessionId, "prompt", attempt, 0, prompt);
    };
    let current = begin(1);
    yield;
    for (let done = 1; done <= rounds; done += 1) {
      current.round();
      if (workId % 5 === 3 && done === Math.ceil(rounds / 2)) {
        current.end("crashed");
        const crash = {
          cause: "rate-limited",
          status: 429,
          message: "The model server answered 429.",
          detail: `{"at":"${hostile[3]}"}`,
        } as const;
        decide({ kind: "session-crashed", purpose: "prompt", attempt: 1, attempts: 3, crash });
        close(sessionId, "task", false);
        decide({ kind: "waiting", milliseconds: 4000, cause: "rate-limited", status: 429 });
        pass(4000);
        decide({ kind: "further-attempt", purpose: "prompt", attempt: 2, attempts: 3, modelId });
        yield;
        current = begin(2);
      }
      yield;
    }
    current.message(pick(messages));
    current.end();
    const driving = start("driving", 1);
    const question = "Did it read the files? Call job_boolean_true or job_boolean_false.";
    const check = turn(driving, "criteria", 1, 0, question);
    check.round();
    check.end();
    close(driving, "driving", true);
    const condition = { field: "condition", content: "did you read it?" } as const;
    if (workId % 4 === 2) {
      const reason = "no file was read";
      decide({ kind: "criteria-failed", ...condition, reason });
      decide({ kind: "criteria-retry", retry: 1, of: 2, reason });
      const again = turn(sessionId, "prompt", 1, 1, `## You accidentally stopped\n\n${reason}`);
      again.round();
      again.end();
    }
    decide({ kind: "criteria-passed", ...condition, reason: "it did" });
    close(sessionId, "task", !fails);
    const reason = `not fixed yet ${hostile[0]}`;
    decide(fails ? { kind: "task-failed", reason } : { kind: "task-succeeded" });
    const outcome = fails
      ? ({ kind: "failed", reason } as const)
      : ({ kind: "succeeded" } as const);
    emit({ type: "work.ended", work, outcome });
  }
  const finish = (...all: readonly Generator<undefined, void>[]): void => {
    for (let open = all; open.length > 0;) open = open.filter((one) => one.next().done !== true);
  };

  finish(iteration(0, "gather", 1, 4));
  const rounds = Math.max(2, Math.floor(wanted / (branches * 10)));
  finish(
    ...Array.from({ length: branches }, (_, index) =>
      iteration(index + 1, `review-${areas[index]}`, 1, rounds),
    ),
  );
  let pass13 = 1;
  for (; pass13 < 40 && events.length < wanted - 250; pass13 += 1) {
    finish(iteration(13, "fix", pass13, 3));
    finish(iteration(14, "all-fixed?", pass13, 1, true));
  }
  finish(iteration(15, hostile[0], 1, 2));
  let published = 1;
  while (events.length < wanted) finish(iteration(16, "publish", published++, 1));
  const last = iteration(16, "publish", published, 3);
  if (live) {
    last.next();
    last.next();
    return events;
  }
  finish(last);
  emit({ type: "decision", work: null, decision: { kind: "note", text: hostile[2] } });
  const reason = `publish has no access ${hostile[0]}`;
  emit({ type: "run.ended", outcome: { kind: "failed", reason, advice: "Give it a token." } });
  return events;
}

const areas = [
  "engine",
  "sessions",
  "runtime",
  "journal",
  "events",
  "action",
  "cli",
  "report",
  "docs",
  "tests",
  "entry",
  "permissions",
] as const;
const models = ["gpt-5-mini", "gpt-5", "claude-sonnet-4.5"] as const;
const long = Array.from(
  { length: 120 },
  (_, index) => `${String(index + 1).padStart(3)}  const value${index} = read(${index});`,
).join("\n");
const tools = [
  [
    "bash",
    { command: "git show --stat HEAD", description: "Show the latest commit" },
    " src/engine/run-job.ts | 12 +++---\n 1 file changed",
  ],
  ["view", { path: "/home/ci/project/src/engine/run-job.ts", view_range: [1, 120] }, long],
  ["grep", { pattern: "TODO|FIXME", paths: ["src", "test"] }, "src/run/run.ts:12: // TODO"],
  ["job_prepare_document", { argument: `docs/report.md ${hostile[0]}` }, "Reported."],
  [
    "edit",
    { path: "a.ts", old: hostile[1], new: { nested: [1, null, true, { deep: "value" }] } },
    hostile[0],
  ],
] as const satisfies readonly (readonly [string, unknown, string])[];
const thoughts = [
  "I have to look at what the commit touches, and at the file itself.",
  `The text ${hostile[3]} is strange. ${"I go on thinking about it. ".repeat(30)}`,
] as const;
const messages = [
  "I look at the commit.",
  "## Findings\n\n1. `run-job.ts:12` drops an error\n2. the test does not fail without the fix\n\n```ts\nconst answer = await read();\n```\n\n| file | lines |\n|---|---|\n| run-job.ts | 12 |\n",
  `Nothing else. ${hostile[2]} ${hostile[0]}`,
  "The criteria hold; see **the table** above. ".repeat(12),
] as const;

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
