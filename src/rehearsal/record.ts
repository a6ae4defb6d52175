/**
 * A recording: a run's events, folded into a rehearsal that replays to the same result.
 *
 * It sees nothing but events, so it works with every provider and wire API, and secrets are gone before
 * it looks. What the model said is kept word for word; of a prompt only enough to notice that it changed.
 * A session is selected by all that tells it from the other sessions of its work, so that parallel and
 * looped works find their own lines again.
 */
import type { Crash } from "../events/crash.ts";
import type { Decision } from "../events/decision.ts";
import type { RunEvent, RunOutcome, SessionStarted, WorkRef } from "../events/event.ts";
import type { ModelReplied, SessionActivity } from "../events/session-activity.ts";
import {
  markUnknown,
  needsPatience,
  playedCrash,
  recordedPrompt,
  recordedReply,
} from "./recorded-turn.ts";
import { RecordedWorks } from "./recorded-works.ts";
import type {
  RehearsalFile,
  RehearsalLimits,
  ReplyFields,
  RuleFields,
  TurnFields,
} from "./rehearsal-file.ts";

export interface RecorderOptions {
  /** The entry file, relative to where the recording will be. */
  readonly entry: string;
  readonly job: string;
  /** Already redacted: it does not come from an event. */
  readonly userInput?: string;
  /** Relative to where the recording will be. */
  readonly workingDirectory?: string;
  /** What the run was told to use instead of what its entry says. */
  readonly models?: Readonly<Record<string, string>>;
  readonly permissions?: "read-only" | "workspace" | "all";
  readonly limits?: RehearsalLimits;
}

/** A reporter, as the sink has them. */
export interface Recorder {
  readonly name: string;
  report(event: RunEvent): void;
  /** Complete once the run has ended. */
  toRehearsal(): RehearsalFile;
}

export function createRecorder(options: RecorderOptions): Recorder {
  return new Recording(options);
}

interface RecordedTurn {
  readonly prompt: string;
  readonly replies: ReplyFields[];
  state: "open" | "completed" | "crashed" | "canceled";
  crash: Crash | undefined;
  /** The death of the runtime that ended it was told by another session first. */
  bystander: boolean;
}

interface RecordedSession {
  readonly work: WorkRef;
  readonly role: SessionStarted["role"] | undefined;
  readonly retry: number;
  readonly attempt: number;
  readonly turns: RecordedTurn[];
  readonly subAgents: ReplyFields[][];
  usage: { input: number; output: number } | undefined;
}

const IDLE_MINUTES_OF_A_REPLAY = 0.1;

class Recording implements Recorder {
  readonly name = "recording";
  readonly #options: RecorderOptions;
  readonly #works = new RecordedWorks();
  readonly #sessions: RecordedSession[] = [];
  readonly #open = new Map<string, RecordedSession>();
  /** By work: the turn that crashed last, until its decision says why. */
  readonly #crashed = new Map<number, RecordedTurn>();
  /** By work: the criteria retry that goes on. */
  readonly #retries = new Map<number, number>();
  #workingDirectory = "";
  #outcome: RunOutcome | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  report(event: RunEvent): void {
    this.#works.report(event);
    switch (event.type) {
      case "run.started":
        this.#workingDirectory = event.workingDirectory;
        break;
      case "run.ended":
        this.#outcome = event.outcome;
        break;
      case "work.started":
        this.#retries.delete(event.work.workId);
        break;
      case "session.started":
        this.#start(event.sessionId, event);
        break;
      case "session.ended":
        this.#open.delete(event.sessionId);
        break;
      case "turn.started": {
        // A borrowed session was started by somebody else.
        const session =
          this.#open.get(event.sessionId) ??
          this.#start(event.sessionId, { ...event, role: undefined });
        session.turns.push(newTurn(event.prompt));
        break;
      }
      case "turn.ended": {
        const turn = this.#open.get(event.sessionId)?.turns.at(-1);
        if (turn === undefined) break;
        turn.state = event.outcome;
        if (event.outcome === "crashed") this.#crashed.set(event.work.workId, turn);
        break;
      }
      case "activity":
        this.#act(event.sessionId, event.activity);
        break;
      case "decision":
        if (event.work !== null) this.#decide(event.work, event.decision);
        break;
      case "work.ended":
        break;
    }
  }

  toRehearsal(): RehearsalFile {
    const { entry, job, userInput, workingDirectory, models, permissions } = this.#options;
    const outcome = this.#outcome ?? { kind: "canceled", reason: "" };
    const limits = this.#limits();
    const works = this.#works.expectation();
    return {
      entry,
      job,
      ...(userInput === undefined ? {} : { userInput }),
      ...(workingDirectory === undefined ? {} : { workingDirectory }),
      ...(models === undefined ? {} : { models }),
      ...(permissions === undefined ? {} : { permissions }),
      ...(limits === undefined ? {} : { limits }),
      sessions: this.#sessions.flatMap((session) => this.#rules(session)),
      expect: { result: outcome.kind, ...(works === undefined ? {} : { works }) },
    };
  }

  #start(
    id: string,
    { work, role, retry, attempt }: Pick<RecordedSession, "work" | "role" | "retry" | "attempt">,
  ): RecordedSession {
    const session: RecordedSession = {
      work,
      role,
      retry,
      attempt,
      turns: [],
      subAgents: [],
      usage: undefined,
    };
    this.#sessions.push(session);
    this.#open.set(id, session);
    return session;
  }

  #act(sessionId: string, activity: SessionActivity): void {
    const session = this.#open.get(sessionId);
    const turn = session?.turns.at(-1);
    if (session === undefined || turn === undefined) return;
    if (activity.kind === "model.used" && !activity.subAgent) {
      const { input, output } = session.usage ?? { input: 0, output: 0 };
      session.usage = {
        input: input + activity.inputTokens,
        output: output + activity.outputTokens,
      };
    }
    if (activity.kind === "model.replied") {
      if (activity.subAgent) {
        this.#subAgentReplied(session, activity);
      } else {
        turn.replies.push(recordedReply(activity, session.usage, this.#workingDirectory));
        session.usage = undefined;
      }
    }
    if (activity.kind === "tool.ended") markUnknown(turn.replies, activity.error?.message);
  }

  /** A sub-agent is over with its first answer that calls no tool. */
  #subAgentReplied({ subAgents }: RecordedSession, activity: ModelReplied): void {
    const reply = recordedReply(activity, undefined, this.#workingDirectory);
    const current = subAgents.at(-1);
    if (current?.at(-1)?.tools === undefined) subAgents.push([reply]);
    else current.push(reply);
  }

  #decide(work: WorkRef, decision: Decision): void {
    const { workId } = work;
    if (decision.kind === "criteria-retry") this.#retries.set(workId, decision.retry);
    if (decision.kind !== "session-crashed") return;
    const { crash, attempt } = decision;
    const turn = this.#crashed.get(workId);
    this.#crashed.delete(workId);
    if (turn !== undefined) {
      turn.crash = crash;
      if (crash.kind === "runtime-died") this.#runtimeDied(turn);
      return;
    }
    // The session did not even start. For a replay it starts, and crashes on its first prompt.
    const retry = this.#retries.get(workId) ?? 0;
    const role = undefined;
    const session = { work, role, retry, attempt, subAgents: [], usage: undefined };
    const failed: RecordedTurn = { ...newTurn(""), state: "crashed", crash };
    this.#sessions.push({ ...session, turns: [failed] });
  }

  /** One death ends the turns of many sessions: in a replay the first of them dies, the others wait. */
  #runtimeDied(first: RecordedTurn): void {
    if (first.bystander) return;
    const known = [...this.#crashed.values()];
    for (const session of this.#open.values()) {
      const turn = session.turns.at(-1);
      if (turn === undefined || turn === first) continue;
      if (turn.state === "open" || known.includes(turn)) turn.bystander = true;
    }
  }

  #rules(session: RecordedSession): RuleFields[] {
    const selectors = this.#selectors(session);
    const unsure =
      this.#works.mayDiffer(session.work.workId) ||
      session.turns.some(
        ({ state, crash, bystander }) =>
          state === "open" || state === "canceled" || (bystander && crash?.kind === "runtime-died"),
      );
    const optional = unsure ? ({ optional: true } as const) : {};
    const turns = session.turns.map((turn) => this.#turn(turn));
    return [
      ...(turns.length === 0 ? [] : [{ ...selectors, ...optional, turns }]),
      ...session.subAgents.map((replies) => ({
        ...selectors,
        subAgent: true as const,
        ...optional,
        turns: [{ replies }],
      })),
    ];
  }

  /** Task and work always; the rest only where sessions of that work differ in it. */
  #selectors({ work, role, retry, attempt }: RecordedSession): Omit<RuleFields, "turns"> {
    const siblings = this.#sessions.filter((one) => one.work.workId === work.workId);
    return {
      task: work.taskId,
      workId: work.workId,
      ...(siblings.every((one) => one.work.run === 1) ? {} : { run: work.run }),
      ...(role === "task" || role === "driving" ? { role } : {}),
      ...(siblings.every((one) => one.retry === 0) ? {} : { retry }),
      ...(siblings.every((one) => one.attempt === 1) ? {} : { attempt }),
    };
  }

  #turn({ prompt, replies, state, crash, bystander }: RecordedTurn): TurnFields {
    const condition = recordedPrompt(prompt, this.#workingDirectory);
    const start = condition === undefined ? {} : { prompt: condition };
    const all = [...replies];
    const last = all.at(-1);
    const waits = state === "open" || state === "canceled";
    if (waits || (state === "crashed" && crash !== undefined)) {
      const end = waits || crash === undefined ? { hang: true as const } : playedCrash(crash, last);
      if (end !== undefined) {
        // An answer without tools ends a turn: the crash can only come in its place.
        if (last !== undefined && last.tools === undefined) all.pop();
        all.push(bystander && crash?.kind === "runtime-died" ? { hang: true } : end);
      }
    }
    if (all.length === 0) all.push({ text: "" });
    const [only] = all;
    return all.length === 1 && only !== undefined
      ? { ...start, ...only }
      : { ...start, replies: all };
  }

  /** A replayed hang need not take as long as the real one: nothing else of a replay is silent for long. */
  #limits(): RehearsalLimits | undefined {
    const { limits } = this.#options;
    const waits = this.#sessions.some(({ turns }) => turns.some(needsPatience));
    return waits ? { ...limits, idleMinutes: IDLE_MINUTES_OF_A_REPLAY } : limits;
  }
}

function newTurn(prompt: string): RecordedTurn {
  return { prompt, replies: [], state: "open", crash: undefined, bystander: false };
}
