import {
  currentStep,
  runningActions,
  type OpenAction,
  type OpenSession,
  type RunView,
  type WorkView,
} from "../events/view.ts";
import type { Clock } from "../platform/clock.ts";
import { oneLine } from "../text/harmless-text.ts";
import { clockText, countText } from "../text/numbers.ts";

/** `queued`: its next turn waits for those of other works. */
export type Phase = "starting" | "queued" | "waiting" | "busy";

export function phaseOf(work: WorkView): Phase {
  if (busySession(work) !== undefined) return "busy";
  // The last thing that was decided is a wait: for a rate limit, or before a retry.
  if (work.decisions.at(-1)?.kind === "waiting") return "waiting";
  const step = work.flow && currentStep(work.flow);
  if (step !== undefined && step.input?.kind !== "prompt") return "busy";
  if (work.actions !== undefined && work.actions.counts.running > 0) return "busy";
  return work.sessions.size === 0 ? "starting" : "queued";
}

/** Works that have begun and not ended: those that do something first, then by age. */
export function runningWorks(view: RunView): WorkView[] {
  const isQueued = (work: WorkView): number => Number(phaseOf(work) === "queued");
  return [...view.works.values()]
    .filter((work) => work.startedAt !== undefined)
    .sort((a, b) => isQueued(a) - isQueued(b) || (a.startedAt ?? 0) - (b.startedAt ?? 0));
}

export function runningLabel(work: WorkView): string {
  return `#${work.workId} ${oneLine(work.taskId, 200)}${work.runs > 1 ? ` iteration ${work.runs}` : ""}`;
}

export function busySession(work: WorkView): OpenSession | undefined {
  return [...work.sessions.values()].findLast(({ purpose }) => purpose !== undefined);
}

export function doing(work: WorkView, now: number): string {
  const step = work.flow && currentStep(work.flow);
  if (step === undefined) return sessionDoing(work, now);
  const name = oneLine(step.activity, 100);
  return step.input?.kind === "prompt"
    ? `${name}: ${sessionDoing(work, now)}`
    : `${name} ${clockText(now - step.startedAt)}`;
}

function sessionDoing(work: WorkView, now: number): string {
  const [first, ...others] = actionsUnderWay(work);
  const acts = first && `${actionDoing(first)}${others.length > 0 ? ` +${others.length}` : ""}`;
  const session = busySession(work);
  if (session === undefined) return acts ?? phaseOf(work);
  const whose = session.delegate === undefined ? "" : `${oneLine(session.delegate, 100)}: `;
  return `${whose}${turnDoing(work, session, now)}${acts === undefined ? "" : `, ${acts}`}`;
}

/** The tool that runs longest, else what is being written, else what the turn is for. */
function turnDoing(work: WorkView, { streamed, heard, purpose }: OpenSession, now: number): string {
  const [first, ...others] = [...work.sessions.values()].flatMap(({ tools }) => [
    ...tools.values(),
  ]);
  if (first !== undefined) {
    const more = others.length > 0 ? ` +${others.length}` : "";
    return `${oneLine(first.name, 100)} ${clockText(now - first.startedAt)}${more}`;
  }
  // A count of tokens, not the text: the text changes several times a second and rarely fits on a line.
  if (streamed > 0) return `~${countText(Math.ceil(streamed / 4))} tokens written`;
  const aim = purpose === "prompt" || purpose === undefined ? "thinking" : `checking ${purpose}`;
  return heard ? aim : `${aim}, no byte yet`;
}

export function actionDoing({ id, label, percent }: OpenAction): string {
  const progress = percent === undefined ? "" : ` ${Math.floor(percent)} %`;
  return `${oneLine(label ?? id, 100)}${progress}`;
}

export function actionsUnderWay({ actions }: WorkView): readonly OpenAction[] {
  if (actions === undefined) return [];
  const isSilent = ({ percent }: OpenAction): number => Number(percent === undefined);
  return [...runningActions(actions)].sort((a, b) => isSilent(a) - isSilent(b));
}

const MAX_NAMED = 5;

export function stillRunning(view: RunView, now: number): string {
  const works = runningWorks(view);
  const named = works
    .slice(0, MAX_NAMED)
    .map(
      (work) =>
        `${runningLabel(work)} ${clockText(now - (work.startedAt ?? now))} ${doing(work, now)}`,
    );
  if (works.length > MAX_NAMED) named.push(`${works.length - MAX_NAMED} more`);
  return `still running: ${named.join("; ")}`;
}

const FIRST = 30_000;
const MINUTE = 60_000;

/** A log without new lines looks like a job that hangs, and some runners end such a job. */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #print: (now: number, line: string) => void;
  #last = 0;
  /** How long after the last line the next one is due. */
  #pause = FIRST;
  #running: AbortController | undefined;

  constructor(clock: Clock, print: (now: number, line: string) => void) {
    this.#clock = clock;
    this.#print = print;
  }

  start(view: RunView): void {
    if (this.#running !== undefined) return;
    this.#running = new AbortController();
    this.printed();
    void this.#run(view, this.#running.signal);
  }

  printed(): void {
    this.#last = this.#clock.now();
    this.#pause = FIRST;
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  async #run(view: RunView, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const now = this.#clock.now();
      const rest = this.#last + this.#pause - now;
      if (rest > 0) {
        await this.#clock.sleep(rest, signal);
        continue;
      }
      if (runningWorks(view).length > 0) this.#print(now, stillRunning(view, now));
      this.#last = now;
      this.#pause = MINUTE;
    }
  }
}
