/** What a recording keeps of a session, and the rules that play it again. */
import type { Crash } from "../../events/crash.ts";
import type { SessionStarted, WorkRef } from "../../events/event.ts";
import {
  playedCrash,
  recordedPrompt,
  type RecordedReply,
  type RecordedUsage,
} from "./recorded-turn.ts";
import type { RecordedStep } from "./recorded-workflows.ts";
import type { RuleFields, TurnFields } from "../format/rehearsal-schema.ts";
import type { Places } from "../format/text-condition.ts";

export interface RecordedTurn {
  readonly prompt: string;
  readonly replies: RecordedReply[];
  /** `open`: the run ended before the turn did. */
  state: "open" | "completed" | "crashed" | "canceled";
  crash: Crash | undefined;
  readonly step: RecordedStep | undefined;
}

export interface RecordedSubAgent {
  readonly replies: RecordedReply[];
  readonly step: RecordedStep | undefined;
}

export interface RecordedSession {
  readonly work: WorkRef;
  readonly role: SessionStarted["role"] | undefined;
  readonly retry: number;
  readonly attempt: number;
  readonly turns: RecordedTurn[];
  readonly subAgents: RecordedSubAgent[];
  /** Reported, but the reply that it belongs to is still to come. */
  usage: RecordedUsage | undefined;
}

export interface ReplayContext {
  /** The entry is a workflow, so its work is the only one. */
  readonly isWorkflow: boolean;
  readonly places: Places;
  readonly overlapped: (workId: number) => boolean;
  /** Whether a replay may stop this work at another point than the run did. */
  readonly stoppable: (workId: number) => boolean;
}

/** The works whose sessions differ in this: that is what a rule has to name. */
interface Differences {
  readonly iteration: ReadonlySet<number>;
  readonly retry: ReadonlySet<number>;
  readonly attempt: ReadonlySet<number>;
}

export function recordedRules(
  sessions: readonly RecordedSession[],
  context: ReplayContext,
): RuleFields[] {
  const worksOf = (differs: (session: RecordedSession) => boolean): ReadonlySet<number> =>
    new Set(sessions.filter(differs).map(({ work }) => work.workId));
  const differences = {
    iteration: worksOf(({ work }) => work.iteration > 1),
    retry: worksOf(({ retry }) => retry > 0),
    attempt: worksOf(({ attempt }) => attempt > 1),
  };
  return [
    ...activityRules(sessions, differences, context),
    ...sessions
      .filter(({ turns }) => turns.every(({ step }) => step === undefined))
      .flatMap((session) => sessionRules(session, differences, context)),
  ];
}

const hang = { hang: true } as const;

/** The activities of workflows, in whichever sessions they sent their prompts: a rule for each, and for its sub-agents. */
function activityRules(
  sessions: readonly RecordedSession[],
  differences: Differences,
  context: ReplayContext,
): RuleFields[] {
  const rules = new Map<string, Omit<RuleFields, "turns"> & { turns: TurnFields[] }>();
  const subAgents: RuleFields[] = [];
  for (const session of sessions) {
    const { work, turns } = session;
    const selectors = workSelectors(work, differences, context);
    for (const turn of turns) {
      if (turn.step === undefined) continue;
      const { activity } = turn.step;
      const key = JSON.stringify([work.workId, work.iteration, activity]);
      const rule = rules.get(key) ?? { ...selectors, activity, turns: [] };
      const unsure = context.stoppable(work.workId) || isUnfinished(turn);
      rules.set(key, { ...rule, ...(unsure ? { optional: true } : {}) });
      rule.turns.push(turnFields(turn, context.overlapped(work.workId), context));
    }
    for (const { replies, step } of session.subAgents) {
      if (step === undefined) continue;
      const optional = context.stoppable(work.workId) ? ({ optional: true } as const) : {};
      subAgents.push({
        ...selectors,
        ...step,
        subAgent: true,
        ...optional,
        turns: [{ replies: replies.map(({ fields }) => fields) }],
      });
    }
  }
  return [...rules.values(), ...subAgents];
}

function workSelectors(
  work: WorkRef,
  differences: Differences,
  { isWorkflow }: ReplayContext,
): Omit<RuleFields, "turns"> {
  if (isWorkflow) return {};
  return {
    task: work.taskId,
    workId: work.workId,
    ...(work.item !== undefined
      ? { item: work.item }
      : differences.iteration.has(work.workId)
        ? { iteration: work.iteration }
        : {}),
  };
}

function isUnfinished({ state }: RecordedTurn): boolean {
  return state === "open" || state === "canceled";
}

function sessionRules(
  session: RecordedSession,
  differences: Differences,
  context: ReplayContext,
): RuleFields[] {
  const { turns, subAgents, work, role, retry, attempt } = session;
  const selectors = {
    ...workSelectors(work, differences, context),
    ...(role === "task" || role === "driving" ? { role } : {}),
    ...(differences.retry.has(work.workId) ? { retry } : {}),
    ...(differences.attempt.has(work.workId) ? { attempt } : {}),
  };
  const differs = context.stoppable(work.workId);
  const unsure = differs || turns.some(isUnfinished);
  const optional = unsure ? ({ optional: true } as const) : {};
  const played = turns.map((turn) => turnFields(turn, context.overlapped(work.workId), context));
  // Where the run was stopped between two turns a replay may have come further.
  if (differs && turns.at(-1)?.state === "completed") played.push(hang);
  return [
    ...(turns.length === 0 ? [] : [{ ...selectors, ...optional, turns: played }]),
    ...subAgents.map(({ replies }) => ({
      ...selectors,
      subAgent: true as const,
      ...optional,
      turns: [{ replies: replies.map(({ fields }) => fields) }],
    })),
  ];
}

function turnFields(
  { prompt, replies, state, crash }: RecordedTurn,
  overlapped: boolean,
  { places }: ReplayContext,
): TurnFields {
  const condition = recordedPrompt(prompt, places);
  const start = condition === undefined ? {} : { prompt: condition };
  const all = replies.map(({ fields }) => fields);
  const last = all.at(-1);
  const end =
    state === "open" || state === "canceled"
      ? hang
      : crash === undefined
        ? undefined
        : playedCrash(crash, overlapped, last);
  if (end !== undefined) {
    // An answer without tools ends a turn: what follows can only come in its place.
    if (last !== undefined && last.tools === undefined) all.pop();
    all.push(end);
  }
  const [only = { text: "" }] = all;
  return all.length > 1 ? { ...start, replies: all } : { ...start, ...only };
}
