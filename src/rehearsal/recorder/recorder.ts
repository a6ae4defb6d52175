/**
 * Turns the events of a run into a rehearsal that replays to the same result. A session is selected by everything that
 * distinguishes it from the others of its work, so that parallel works and loops find their own replies again. A replay
 * is faster than the run was, so nothing in it may depend on what happens at the same time elsewhere.
 */
import { defined } from "../../text/guards.ts";
import type { Decision } from "../../events/decision.ts";
import type { RunEvent, RunOutcome, WorkRef, StepEnded } from "../../events/event.ts";
import type { RunView } from "../../events/view.ts";
import type { ModelReplied, SessionActivity, ToolEnded } from "../../events/session-activity.ts";
import {
  failureFields,
  recordedReply,
  recordedRules,
  type RecordedSession,
  type RecordedTurn,
  RecordedWorkflows,
  type RecordedStep,
} from "./recorded-session.ts";
import { githubFields } from "../format/surroundings.ts";
import { givenOutputs, WorkTallies, type WorkTally } from "../seen-outputs.ts";
import { keyOf, RecordedActions } from "./recorded-actions.ts";
import type { Limits } from "../../entry/model.ts";
import type { WorkFields } from "../format/expect.ts";
import type { RehearsalFile, RuleFields } from "../format/rehearsal-schema.ts";
import { placesOf, takeOut, type Places } from "../format/names.ts";

export interface RecorderOptions {
  /** The entry file, relative to where the recording will be. */
  readonly entry: string;
  /** Absent: the entry is a workflow. */
  readonly job?: string;
  /** Already redacted: it does not come from an event. */
  readonly userInput?: string;
  readonly inputs?: Readonly<Record<string, string>>;
  /** Relative to where the recording will be. */
  readonly workingDirectory?: string;
  readonly change?: RehearsalFile["change"];
  readonly github?: RehearsalFile["github"];
  readonly models?: Readonly<Record<string, string>>;
  readonly permissions?: "read-only" | "workspace" | "all";
  readonly limits?: Limits;
}

/** Sessions after a crash or a cancel stopped the run: the result does not depend on them. */
const anythingElse: RuleFields = { repeat: "any", optional: true, turns: [{ hang: true }] };

export class Recorder {
  readonly name = "recording";
  readonly #options: RecorderOptions;
  readonly #works = new WorkTallies();
  readonly #workflows = new RecordedWorkflows();
  readonly #actions = new RecordedActions();
  #view: RunView | undefined;
  readonly #sessions: RecordedSession[] = [];
  readonly #open = new Map<string, RecordedSession>();
  /** By work: the prompt that an earlier run has sent. */
  readonly #earlier = new Map<number, RecordedTurn>();
  readonly #retries = new Map<string, number>();
  /** The longest limit in minutes, of a job or a task, that was exceeded. */
  #waitedMinutes = 0;
  #places: Places = { workingDirectory: "" };
  #outcome: RunOutcome | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  report(event: RunEvent, view: RunView): void {
    this.#view = view;
    this.#works.report(event);
    this.#workflows.report(event);
    this.#actions.report(event);
    switch (event.type) {
      case "run.started":
        this.#places = placesOf(event);
        break;
      case "run.ended":
        this.#outcome = event.jobOutcome ?? event.outcome;
        break;
      case "work.started":
        this.#retries.delete(keyOf(event.work));
        break;
      case "session.started":
        this.#open.set(event.sessionId, this.#add(event));
        break;
      case "session.ended":
        this.#open.delete(event.sessionId);
        break;
      case "turn.started": {
        // The caller started the borrowed session.
        const session = this.#open.get(event.sessionId) ?? this.#add({ ...event, role: undefined });
        this.#open.set(event.sessionId, session);
        const { work, purpose } = event;
        const prompt = this.#actions.lastingPrompt(event);
        const turn = newTurn(prompt, this.#workflows.step(work.workId));
        session.turns.push(turn);
        if (purpose === "prompt") this.#actions.prompted(work, turn);
        break;
      }
      case "turn.ended": {
        const session = this.#open.get(event.sessionId);
        const turn = session?.turns.at(-1);
        if (session === undefined || turn === undefined) break;
        turn.state = event.outcome;
        session.usage = undefined;
        break;
      }
      case "activity":
        this.#act(event.sessionId, event.activity);
        break;
      case "decision":
        this.#decide(event.work, event.decision);
        break;
      case "step.started":
        if (event.restored && event.input?.kind === "prompt") {
          this.#restore(event.work, event.input.text);
        }
        break;
      case "step.ended":
        this.#restored(event);
        break;
      default:
        break;
    }
  }

  #portable(values: RehearsalFile["params"]): RehearsalFile["params"] {
    const portable = Object.entries(values ?? {}).map(
      ([name, value]) => [name, takeOut(value, this.#places)] as const,
    );
    return values && Object.fromEntries(portable);
  }

  /** Complete once the run has ended. */
  toRehearsal(): RehearsalFile {
    const { limits: _, change, ...options } = this.#options;
    const { job } = options;
    const outcome = this.#outcome ?? { kind: "canceled" };
    const limits = this.#limits();
    const tallies = this.#works.works;
    const torn = isTorn(tallies);
    const works = torn ? undefined : worksExpectation(tallies);
    const overlapped = new Set(tallies.flatMap((one) => (one.overlapped ? [one.workId] : [])));
    const path = torn ? undefined : this.#workflows.path();
    const answers = this.#workflows.answers();
    const actions = torn ? undefined : this.#actions.expectation();
    const params = job === undefined ? this.#portable(this.#workflows.params()) : undefined;
    const { userInput } = options;
    const { conversation } = this.#view?.plan ?? {};
    const github = { ...options.github, ...(conversation && githubFields(conversation)) };
    const given = {
      userInput: userInput && takeOut(userInput, this.#places),
      inputs: this.#portable(options.inputs),
    };
    const context = {
      isWorkflow: job === undefined,
      places: this.#places,
      overlapped,
      torn,
    };
    return {
      ...options,
      ...(Object.keys(github).length > 0 && { github }),
      ...defined({ ...given, change, params, answers, limits }),
      sessions: [...recordedRules(this.#sessions, context), ...(torn ? [anythingElse] : [])],
      expect: {
        result: outcome.kind,
        ...defined({ works, path, actions }),
        ...(this.#view && givenOutputs(this.#view)),
      },
    };
  }

  #add({
    work,
    role,
    retry,
    attempt,
  }: Pick<RecordedSession, "work" | "role" | "retry" | "attempt">): RecordedSession {
    const calls = { calls: new Map(), subAgentCalls: new Map() };
    const of = { work, role, retry, attempt };
    const session = { ...of, ...calls, turns: [], subAgents: [], usage: undefined };
    this.#sessions.push(session);
    return session;
  }

  /** A replay of a resumed run begins at its start. */
  #restore(work: WorkRef, prompt: string): void {
    const session = this.#add({ work, role: undefined, retry: 0, attempt: 1 });
    const turn = newTurn(prompt, this.#workflows.step(work.workId));
    session.turns.push(turn);
    this.#earlier.set(work.workId, turn);
  }

  #restored({ work, effects = [] }: StepEnded): void {
    const turn = this.#earlier.get(work.workId);
    if (turn === undefined) return;
    this.#earlier.delete(work.workId);
    turn.state = "completed";
    for (const effect of effects) {
      if (effect.kind !== "answered") continue;
      const { text } = effect;
      const reply = { kind: "model.replied", text, toolCalls: [], subAgent: false } as const;
      turn.replies.push(recordedReply(reply, undefined, new Map(), this.#places));
    }
  }

  #act(sessionId: string, activity: SessionActivity): void {
    const session = this.#open.get(sessionId);
    const turn = session?.turns.at(-1);
    if (session === undefined || turn === undefined) return;
    switch (activity.kind) {
      case "model.used": {
        if (activity.subAgent) break;
        if (session.usage?.finish === "length") {
          // The runtime drops what was cut and asks again by itself: of that answer it reports only the cost.
          const dropped = { ...activity, kind: "model.replied", text: "…", toolCalls: [] } as const;
          turn.replies.push(recordedReply(dropped, session.usage, session.calls, this.#places));
          session.usage = undefined;
        }
        const { input, output } = session.usage ?? { input: 0, output: 0 };
        session.usage = {
          input: input + activity.inputTokens,
          output: output + activity.outputTokens,
          ...defined({ finish: activity.finish }),
        };
        break;
      }
      case "model.replied":
        if (activity.subAgent) {
          this.#subAgentReplied(session, activity);
        } else {
          const reply = recordedReply(activity, session.usage, session.calls, this.#places);
          turn.replies.push({ ...this.#actions.after(session.work), ...reply });
          session.usage = undefined;
        }
        break;
      case "tool.ended":
        if (!activity.succeeded) this.#fail(session.calls, activity);
        break;
      case "sub-agent.tool.failed":
        this.#fail(session.subAgentCalls, activity);
        break;
      default:
        break;
    }
  }

  #fail(
    calls: RecordedSession["calls"],
    { toolCallId, error = { message: "" } }: Pick<ToolEnded, "toolCallId" | "error">,
  ): void {
    const tool = calls.get(toolCallId);
    if (tool !== undefined) Object.assign(tool, failureFields(error, this.#places));
  }

  /** A sub-agent is over with its first answer that calls no tool. */
  #subAgentReplied(session: RecordedSession, activity: ModelReplied): void {
    const { subAgents, subAgentCalls, work } = session;
    const reply = recordedReply(activity, undefined, subAgentCalls, this.#places);
    const current = subAgents.at(-1);
    if (current?.replies.at(-1)?.tools !== undefined) current.replies.push(reply);
    else subAgents.push({ replies: [reply], step: this.#workflows.step(work.workId) });
  }

  #decide(work: WorkRef | null, decision: Decision): void {
    if (
      decision.kind === "limit-exceeded" &&
      (decision.limit === "jobMinutes" || decision.limit === "taskMinutes")
    ) {
      this.#waitedMinutes = Math.max(this.#waitedMinutes, decision.value);
    }
    if (work === null) return;
    if (decision.kind === "criteria-retry") this.#retries.set(keyOf(work), decision.retry);
    if (decision.kind !== "session-crashed") return;
    const { crash, attempt } = decision;
    const turn = this.#sessions
      .filter((one) => keyOf(one.work) === keyOf(work))
      .map(({ turns }) => turns.at(-1))
      .findLast((one) => one?.state === "crashed" && one.crash === undefined);
    if (turn !== undefined) {
      turn.crash = crash;
      return;
    }
    // The session did not even start. In a replay it starts, and crashes on its first prompt.
    const retry = this.#retries.get(keyOf(work)) ?? 0;
    const failed = this.#add({ work, role: undefined, retry, attempt });
    const step = this.#workflows.step(work.workId);
    failed.turns.push({ ...newTurn("", step), state: "crashed", crash });
  }

  #limits(): Limits | undefined {
    const { limits } = this.#options;
    if (this.#waitedMinutes > 0) {
      // A hang must last until that limit is exceeded again.
      const longer = this.#waitedMinutes + 1;
      return { ...limits, turnMinutes: longer, idleMinutes: longer };
    }
    const hangs = this.#sessions.some(({ turns }) =>
      turns.some(({ crash }) => crash?.cause === "deadline"),
    );
    // Unless a reply waits, nothing else in a replay is silent for so long, so a hang can be shorter than in the run.
    return hangs && !this.#actions.waits ? { ...limits, idleMinutes: 0.1 } : limits;
  }
}

function newTurn(prompt: string, step: RecordedStep | undefined): RecordedTurn {
  return { prompt, replies: [], state: "open", crash: undefined, step };
}

function worksExpectation(works: readonly WorkTally[]): readonly WorkFields[] {
  return works.map(({ taskId, workId, outcomes, runs, retries, crashes, rejected }) => {
    const [first] = outcomes;
    if (first === undefined) return { task: taskId, workId, outcome: "skipped" };
    const uniform = outcomes.every((outcome) => outcome === first);
    return {
      task: taskId,
      workId,
      outcome: uniform ? first : outcomes,
      ...(uniform && runs > 1 ? { runs } : {}),
      ...(retries > 0 ? { retries } : {}),
      ...(crashes > 0 ? { crashes } : {}),
      ...(rejected > 0 ? { rejected } : {}),
    };
  });
}

/** How far parallel works had come when a crash or a cancel stopped them is a matter of time. */
function isTorn(works: readonly WorkTally[]): boolean {
  return works.some(
    ({ overlapped, outcomes }) =>
      overlapped && outcomes.some((one) => one === "crashed" || one === "canceled"),
  );
}
