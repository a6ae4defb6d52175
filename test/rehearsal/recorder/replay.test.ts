/** A recording replays to the same result: the real engine, random jobs, a model that does as it likes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { diagnosticLine } from "../../../src/document/diagnostic.ts";
import { validateEntry } from "../../../src/entry/prepare.ts";
import type { Entry, PreparedEntry, Task, Work } from "../../../src/entry/model.ts";
import { resolveLimits } from "../../../src/engine/limits.ts";
import { RateLimit } from "../../../src/engine/rate-limit.ts";
import { runJob } from "../../../src/engine/run-job.ts";
import { decisionText } from "../../../src/events/decision.ts";
import type { RunEvent } from "../../../src/events/event.ts";
import { createExpectations } from "../../../src/rehearsal/expectations.ts";
import { loadScript } from "../../../src/rehearsal/format/load-script.ts";
import { createScriptedModel } from "../../../src/rehearsal/player/scripted-model.ts";
import { createRecorder } from "../../../src/rehearsal/recorder/recorder.ts";
import { renderRehearsal } from "../../../src/rehearsal/format/render-rehearsal.ts";
import type { Script } from "../../../src/rehearsal/format/script.ts";
import type { ModelTransport } from "../../../src/sessions/transport.ts";
import { FakeClock } from "../../rig/fake-clock.ts";
import { openGate } from "../../rig/engine.ts";
import {
  encodeAnswer,
  encodeCut,
  encodeError,
  encodeHang,
  decodeRequest,
  never,
} from "../../../src/rehearsal/player/wire.ts";
import { SimulatedRuntime } from "./simulated-runtime.ts";
import { identity } from "../../rig/plan.ts";
import { decisionOf } from "../../../src/events/decision-of.ts";

const behaviors = [
  "text",
  "text",
  "text",
  "true",
  "true",
  "true",
  "false",
  "document",
  "both",
  "empty",
  "e400",
  "e503",
  "e408",
  "once",
  "cut",
  "hang",
  "die",
  "think",
] as const;
type Behavior = (typeof behaviors)[number];

/** A model that does the next thing on the list, whoever asks; when the list is over it says yes. */
function capriciousModel(list: readonly Behavior[]): ModelTransport {
  let next = 0;
  return {
    send(request) {
      const decoded = decodeRequest(request.url, request.method, request.body);
      if (decoded.kind === "other") throw new Error(decoded.reason);
      const { chat } = decoded;
      const behavior = list[next] ?? (chat.answered > 0 ? "text" : "true");
      next += 1;
      const partial = { text: `half ${next}`, reasoning: "" };
      const call = (...names: string[]): Response =>
        encodeAnswer(chat, `id${next}`, {
          kind: "answer",
          text: "",
          reasoning: "",
          tools: names.map((name) => ({
            name,
            input: `{"argument":"${next}"}`,
            place: "",
            unknown: false,
            expected: { kind: "succeeds" },
          })),
          usage: { input: 0, output: 0 },
        });
      const say = (text: string, reasoning = ""): Response =>
        encodeAnswer(chat, `id${next}`, {
          kind: "answer",
          text,
          reasoning,
          tools: [],
          usage: { input: next, output: 1 },
        });
      switch (behavior) {
        case "text":
          return Promise.resolve(say(`answer ${next}`));
        case "think":
          return Promise.resolve(say(`answer ${next}\nin /repo/there`, "Hm: # - '\""));
        case "empty":
          return Promise.resolve(say(""));
        case "true":
          return Promise.resolve(call("job_boolean_true"));
        case "false":
          return Promise.resolve(call("job_boolean_false"));
        case "document":
          return Promise.resolve(call("job_prepare_document"));
        case "both":
          return Promise.resolve(call("job_boolean_false", "job_boolean_true"));
        case "e400":
          return Promise.resolve(encodeError(400, "no"));
        case "e408":
          return Promise.resolve(encodeError(408, "no", { "x-should-retry": "false" }));
        case "e503":
          return Promise.resolve(encodeError(503, "no", { "x-should-retry": "false" }));
        case "once":
          return Promise.resolve(encodeError(503, "no"));
        case "cut":
          return Promise.resolve(encodeCut(chat, `id${next}`, partial));
        case "hang":
          return Promise.resolve(encodeHang(chat, `id${next}`, partial, request.signal));
        case "die":
          request.killRuntime();
          return never(request.signal);
      }
    },
  };
}

interface Played {
  readonly outcome: string;
  readonly events: readonly RunEvent[];
}

async function run(
  entry: PreparedEntry,
  transport: ModelTransport,
  clock: FakeClock,
  limits: Script["limits"],
  report: (event: RunEvent) => void,
): Promise<Played> {
  const events: RunEvent[] = [];
  const outcome = await clock.runUntil(
    runJob(
      {
        entry,
        jobName: "job",
        userInput: "",
        workingDirectory: "/repo",
        limits: resolveLimits(entry.limits, limits, { loopIterations: 3 }),
        ...identity,
        permissionsOf: () => "read-only",
      },
      {
        sessions: new SimulatedRuntime(transport, clock),
        clock,
        gate: openGate,
        rateLimit: new RateLimit(clock),
        random: () => 0,
        emit: (body) => {
          const event = { at: clock.now(), runId: "run", ...body };
          events.push(event);
          report(event);
        },
      },
    ),
  );
  return { outcome: outcome.kind, events };
}

/** Records a run and replays it. What differs is in the result. */
async function recordAndReplay(
  entry: PreparedEntry,
  list: readonly Behavior[],
): Promise<{ problems: readonly string[]; recording: string; log: string }> {
  const recorder = createRecorder({ entry: "a.yml", job: "job" });
  const recorded = await run(entry, capriciousModel(list), new FakeClock(), {}, (event) =>
    recorder.report(event),
  );
  const recording = renderRehearsal(recorder.toRehearsal());
  const loaded = loadScript(recording, "a.rehearsal.yml");
  if (loaded.kind === "rejected") {
    return { problems: loaded.diagnostics.map(diagnosticLine), recording, log: "" };
  }
  const { script } = loaded;
  const clock = new FakeClock();
  const model = createScriptedModel(script, { clock, workingDirectory: "/repo" });
  const expectations = createExpectations(script.expect);
  const replayed = await run(entry, model, clock, script.limits, (event) =>
    expectations.report(event),
  );
  const problems = [...model.failures(), ...expectations.failures(), ...model.unused()];
  if (replayed.outcome !== recorded.outcome)
    problems.push(`${recorded.outcome} → ${replayed.outcome}`);
  const log = [recorded, replayed].map(({ events }) => events.flatMap(line).join("\n"));
  return { problems, recording, log: log.join("\n--- replay\n") };
}

function line(event: RunEvent): string[] {
  const told = decisionOf(event);
  if (told !== undefined) return [`${told.work?.taskId ?? "job"} ${decisionText(told.decision)}`];
  if (event.type === "work.ended") return [`${event.work.taskId} ended: ${event.outcome.kind}`];
  if (event.type === "turn.started") return [`${event.work.taskId} prompt: ${event.prompt}`];
  return [];
}

const names = ["plain", "checked", "apart", "guarded"] as const;
const tasks: Entry["tasks"] = {
  plain: { prompt: "Do plain work\nwith $reported-document\nuntil it is done" },
  checked: {
    prompt: "Do checked work",
    criteria: {
      toolExecuted: ["job_boolean_true"],
      condition: "Is it done? Call job_boolean_true if so.",
      failureAction: { retryTimes: 1, additionalPrompt: "because: $reported-false-reason" },
    },
  },
  apart: {
    prompt: "Do work apart",
    criteria: {
      condition: "Is work apart done? Call job_boolean_true if so.",
      runConditionInSameSession: false,
      failureAction: { retryTimes: 2 },
    },
  },
  guarded: {
    prompt: "Do guarded work",
    availability: { condition: "May it start? Call job_boolean_true if so." },
  } satisfies Task,
};

const works = fc.letrec<{ work: Work }>((tie) => {
  const work = tie("work");
  const some = fc.array(work, { minLength: 1, maxLength: 3 });
  const condition = fc.option(fc.tuple(fc.boolean(), work), { nil: undefined });
  return {
    work: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc
        .constantFrom(...names)
        .map((taskId): Work => ({ kind: "Ref", taskId, modelOverride: { category: "work" } })),
      some.map((children): Work => ({ kind: "Seq", works: children })),
      some.map((children): Work => ({ kind: "Par", works: children })),
      fc
        .tuple(work, work)
        .map(([first, second]): Work => ({ kind: "Alt", condition: first, trueWork: second })),
      fc.tuple(work, condition).map(([body, post]): Work => ({
        kind: "Loop",
        body,
        postCondition: post ?? [
          false,
          { kind: "Ref", taskId: "plain", modelOverride: { category: "work" } },
        ],
      })),
    ),
  };
}).work;

function entryOf(work: Work): PreparedEntry {
  return validateEntry(
    { models: { driving: "driver", work: "worker" }, tasks, jobs: { job: { work } } },
    "",
  );
}

test("whatever a model does, the recording of the run replays to the same result", async () => {
  await fc.assert(
    fc.asyncProperty(
      works,
      fc.array(fc.constantFrom(...behaviors), { maxLength: 25 }),
      async (work, list) => {
        const { problems, recording, log } = await recordAndReplay(entryOf(work), list);
        assert.deepEqual(problems, [], `\n${recording}\n${log}`);
      },
    ),
    { includeErrorInReport: true, numRuns: Number(process.env["REPLAY_RUNS"] ?? 150) },
  );
});
