/** The kinds of jobs of the soak: what the model answers to each, and how each must end. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validateEntry } from "../src/entry/prepare.ts";
import type { PreparedEntry, Task } from "../src/entry/model.ts";
import type { RunEvent, RunOutcome } from "../src/events/event.ts";
import type { RecordedRequest, Reply, ScriptedCall } from "../test/rig/model-server.ts";

export interface Kind {
  readonly outcome: RunOutcome["kind"];
  /** What has to be seen in the journal, else the job was not of its kind. */
  readonly seen: (event: RunEvent) => boolean;
  readonly task?: Partial<Task>;
  readonly reply: (request: RecordedRequest) => Reply;
}

const prepare: ScriptedCall = { name: "job_prepare_document", arguments: { argument: "a.md" } };
const atOnce = { "x-should-retry": "false" };
const answered = (text = "It is done."): Reply => ({ text });
/** The model calls the tool first, and says something when it has the result. */
const after = (call: ScriptedCall, request: RecordedRequest): Reply =>
  request.toolResults.length > 0 ? answered() : { toolCalls: [call] };
/** The prompt after a crash. */
const again = ({ prompt }: RecordedRequest): boolean => prompt.startsWith("The session crashed");
const decided = (kind: string) => (event: RunEvent) =>
  event.type === "decision" && event.decision.kind === kind;
const acted = (kind: string) => (event: RunEvent) =>
  event.type === "activity" && event.activity.kind === kind;
const crashed =
  (...kinds: readonly string[]) =>
  (event: RunEvent) =>
    event.type === "decision" &&
    event.decision.kind === "session-crashed" &&
    kinds.includes(event.decision.crash.cause);
const criteria = (retryTimes: number): Partial<Task> => ({
  criteria: {
    toolExecuted: ["job_prepare_document"],
    failureAction: { retryTimes, additionalPrompt: ["Once more."] },
  },
});

export const kinds = {
  success: {
    outcome: "succeeded",
    seen: decided("task-succeeded"),
    task: criteria(0),
    reply: (request) => after(prepare, request),
  },
  /** Leaves a process behind, which has to go with its session. */
  shell: {
    outcome: "succeeded",
    seen: acted("tool.ended"),
    task: { permissions: "all" },
    reply: (request) =>
      after(
        {
          name: "bash",
          arguments: { command: "(setsid sleep 900 >/dev/null 2>&1 &); echo hi", description: "d" },
        },
        request,
      ),
  },
  retried: {
    outcome: "succeeded",
    seen: decided("criteria-retry"),
    task: criteria(2),
    reply: (request) =>
      request.prompt.includes("You accidentally Stopped") ? after(prepare, request) : answered(),
  },
  failed: {
    outcome: "failed",
    seen: decided("retries-exhausted"),
    task: criteria(1),
    reply: () => answered(),
  },
  empty: {
    outcome: "succeeded",
    // It may be hit by the death of the runtime first.
    seen: crashed("empty-answer", "session-error", "runtime-died", "start-failed"),
    reply: (request) => answered(again(request) ? "Here it is." : ""),
  },
  refused: {
    outcome: "failed",
    seen: decided("attempts-exhausted"),
    reply: () => ({ status: 400, headers: atOnce }),
  },
  overloaded: {
    outcome: "succeeded",
    seen: crashed("session-error", "runtime-died", "start-failed"),
    reply: (request) => (again(request) ? answered() : { status: 503, headers: atOnce }),
  },
  cut: {
    outcome: "succeeded",
    seen: crashed("session-error", "runtime-died", "start-failed"),
    reply: (request) => (again(request) ? answered() : { text: "one two three four", cut: true }),
  },
  /** Outside the working directory; if it were written, it would be left. */
  denied: {
    outcome: "succeeded",
    seen: acted("permission.denied"),
    task: { permissions: "workspace" },
    reply: (request) =>
      after(
        { name: "create", arguments: { path: join(tmpdir(), "denied.md"), file_text: "no" } },
        request,
      ),
  },
  canceled: {
    outcome: "canceled",
    seen: (event) => event.type === "turn.ended" && event.outcome === "canceled",
    reply: () => ({ hang: "before" }),
  },
  killed: {
    outcome: "succeeded",
    seen: crashed("runtime-died"),
    reply: (request) => (again(request) ? answered() : { hang: "mid", text: "one two three four" }),
  },
} satisfies Readonly<Record<string, Kind>>;
export type KindName = keyof typeof kinds;

const isKind = (name: string): name is KindName => Object.hasOwn(kinds, name);

/** Which kind of job a prompt belongs to, and its number. */
export function jobOf(prompt: string): { kind: KindName; number: number } {
  const [, name = "", number] = /Soak (\w+), job (\d+)\./.exec(prompt) ?? [];
  if (!isKind(name)) throw new Error(`Nobody asked: ${prompt.slice(0, 80)}`);
  return { kind: name, number: Number(number) };
}

/** Of 20 jobs in a row; the rare ones are in `kindOf`. */
const mix = (
  "success retried success empty shell success denied success failed success " +
  "refused success canceled retried success shell success empty success denied"
)
  .split(" ")
  .filter(isKind);

/**
 * The kind of a job by its number, from 1. The runtime is killed ten times in 1,000 jobs, but not in the
 * second half of each 500: there it lives until it has served its share of sessions.
 */
export function kindOf(number: number): KindName {
  const within = number % 500;
  if (within > 0 && within <= 200 && within % 40 === 0) return "killed";
  if (number % 100 === 37) return "cut";
  if (number % 100 === 71) return "overloaded";
  return mix[number % mix.length] ?? "success";
}

export function soakEntry(): PreparedEntry {
  const names = Object.keys(kinds).filter(isKind);
  const tasks = names.map((name): [string, Task] => {
    const { task }: Kind = kinds[name];
    const prompt = [`Soak ${name}, job $user-input.`];
    return [name, { prompt, requireUserInput: true, model: { category: "driving" }, ...task }];
  });
  const jobs = names.map((name) => [
    name,
    { requireUserInput: true, work: { kind: "Ref", taskId: name } },
  ]);
  return validateEntry(
    {
      models: { driving: "soak" },
      tasks: Object.fromEntries(tasks),
      jobs: Object.fromEntries(jobs),
    },
    "",
  );
}
