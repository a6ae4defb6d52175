/** Records a run of the real engine with a model that does as it likes, and replays it. */
import { diagnosticLine } from "../../../src/document/diagnostic.ts";
import type { DialogueSpec } from "../../../src/engine/dialogue.ts";
import type { FlowSpec } from "../../../src/engine/plan.ts";
import type { PreparedEntry } from "../../../src/entry/model.ts";
import { resolveLimits } from "../../../src/engine/limits.ts";
import { LocalRateLimit } from "../../../src/engine/rate-limit.ts";
import { runJob } from "../../../src/engine/run-job.ts";
import { decisionText } from "../../../src/events/decision.ts";
import { type RunEvent, decisionOf } from "../../../src/events/event.ts";
import { Expectations } from "../../../src/rehearsal/expectations.ts";
import { loadScript, renderRehearsal } from "../../../src/rehearsal/format/script.ts";
import { ScriptedModel } from "../../../src/rehearsal/player/scripted-model.ts";
import { Recorder } from "../../../src/rehearsal/recorder/recorder.ts";
import type { Script } from "../../../src/rehearsal/format/script.ts";
import type { ModelTransport } from "../../../src/sessions/request-handler.ts";
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
import { tell } from "../../rig/tell.ts";

export const behaviors = [
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
export type Behavior = (typeof behaviors)[number];
/** A document of the action protocol; `after`: how long the model thinks about it, in milliseconds. */
export interface DocumentBehavior {
  readonly document: (next: number) => unknown;
  readonly after: number;
}

/** A model that does the next thing on the list, whoever asks; when the list is over it says yes. */
function capriciousModel(
  list: readonly (Behavior | DocumentBehavior)[],
  clock: FakeClock,
): ModelTransport {
  let next = 0;
  return {
    async send(request) {
      const decoded = decodeRequest(request);
      if (decoded.kind === "other") throw new Error(decoded.reason);
      const { chat } = decoded;
      const behavior = list[next] ?? (chat.answered > 0 ? "text" : "true");
      next += 1;
      const partial = { text: `half ${next}`, reasoning: "" };
      const call = (...names: string[]): Response =>
        encodeAnswer(chat, `id${next}`, {
          text: "",
          reasoning: "",
          tools: names.map((name) => ({ name, input: `{"argument":"${next}"}` })),
        });
      const say = (text: string, reasoning = ""): Response =>
        encodeAnswer(chat, `id${next}`, {
          text,
          reasoning,
          tools: [],
          usage: { input: next, output: 1 },
        });
      if (typeof behavior === "object") {
        const text = JSON.stringify(behavior.document(next));
        const { after } = behavior;
        if (after > 0) await clock.sleep(after, request.signal).catch(() => undefined);
        return say(text);
      }
      switch (behavior) {
        case "text":
          return say(`answer ${next}`);
        case "think":
          return say(`answer ${next}\nin /repo/there`, "Hm: # - '\"");
        case "empty":
          return say("");
        case "true":
          return call("job_boolean_true");
        case "false":
          return call("job_boolean_false");
        case "document":
          return call("job_prepare_document");
        case "both":
          return call("job_boolean_false", "job_boolean_true");
        case "e400":
          return encodeError(400, "no");
        case "e408":
          return encodeError(408, "no", { "x-should-retry": "false" });
        case "e503":
          return encodeError(503, "no", { "x-should-retry": "false" });
        case "once":
          return encodeError(503, "no");
        case "cut":
          return encodeCut(chat, `id${next}`, partial);
        case "hang":
          return encodeHang(chat, `id${next}`, partial, request.signal);
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
  flows: Readonly<Record<string, FlowSpec>>,
  dialogues: Readonly<Record<string, DialogueSpec>>,
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
        flows,
        dialogues,
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
        rateLimit: new LocalRateLimit(clock),
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

export type FlowsOf = (
  answers: Readonly<Record<string, readonly string[]>>,
) => Readonly<Record<string, FlowSpec>>;

/** Records a run and replays it. What differs is in the result. */
export async function recordAndReplay(
  entry: PreparedEntry,
  list: readonly (Behavior | DocumentBehavior)[],
  flowsOf: FlowsOf = () => ({}),
  answers: Readonly<Record<string, readonly string[]>> = {},
  dialoguesOf: (clock: FakeClock) => Readonly<Record<string, DialogueSpec>> = () => ({}),
): Promise<{ problems: readonly string[]; recording: string; log: string }> {
  const recorder = new Recorder({ entry: "a.yml", job: "job" });
  const first = new FakeClock();
  const recorded = await run(
    entry,
    flowsOf(answers),
    dialoguesOf(first),
    capriciousModel(list, first),
    first,
    {},
    (event) => tell(recorder, event),
  );
  const recording = renderRehearsal(recorder.toRehearsal());
  const loaded = loadScript(recording, "a.rehearsal.yml");
  if (loaded.kind === "rejected") {
    return { problems: loaded.diagnostics.map(diagnosticLine), recording, log: "" };
  }
  const { script } = loaded;
  const clock = new FakeClock();
  const model = new ScriptedModel(script, { clock, workingDirectory: "/repo" });
  const expectations = new Expectations(script);
  const replayed = await run(
    entry,
    flowsOf(script.answers),
    dialoguesOf(clock),
    model,
    clock,
    script.limits,
    (event) => {
      model.observe(event);
      tell(expectations, event);
    },
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
  if (event.type === "action" && event.action.type === "action.ended") {
    return [`${event.action.id} ${event.action.status}`];
  }
  if (event.type === "turn.started") return [`${event.work.taskId} prompt: ${event.prompt}`];
  return [];
}
