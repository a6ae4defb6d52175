/**
 * The questions of a run that nobody has answered yet: an ASK waits here until a client of the server answers it, or
 * its run goes on without an answer.
 *
 * Invariants: a question is answered once, by whoever comes first; its id is that of no other question of the run, so
 * a late answer never goes to the next one.
 */
import { onAbort } from "../runtime/deadline.ts";
import type { Answer, Question } from "../workflow/ask.ts";

/** A question of a workflow that waits for an answer. */
export interface OpenQuestion {
  /** `WORK.ITERATION.STEP`, of its `step.started`. */
  readonly id: string;
  /** The work that is the workflow. */
  readonly workIdInJob: number;
  /** The id of the ASK. */
  readonly activity: string;
  /** Without secrets. */
  readonly question: string;
  /** In milliseconds since 1970. */
  readonly since: number;
}

interface Waiting {
  readonly shown: OpenQuestion;
  readonly answer: (text: string) => void;
}

export interface QuestionsOptions {
  readonly now: () => number;
  /** Masks secrets. */
  readonly mask: (text: string) => string;
}

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Those that wait, in the order in which they were asked. */
  get open(): readonly OpenQuestion[] {
    return [...this.#waiting.values()].map(({ shown }) => shown);
  }

  /** An `Asker`. */
  ask({ work, step, activity, question }: Question, signal: AbortSignal): Promise<Answer> {
    const { workId, iteration } = work;
    const { now, mask } = this.#options;
    const id = `${workId}.${iteration}.${step}`;
    const shown = { id, workIdInJob: workId, activity, question: mask(question), since: now() };
    return new Promise((resolve) => {
      const end = (answer: Answer): void => {
        this.#waiting.delete(id);
        unsubscribe();
        resolve(answer);
      };
      this.#waiting.set(id, { shown, answer: (text) => end({ kind: "answered", text }) });
      let unsubscribe = (): void => undefined;
      unsubscribe = onAbort(signal, () =>
        end({ kind: "unanswered", reason: `Nobody has answered ${activity}.` }),
      );
    });
  }

  /** False if no such question waits, or without an id, if it isn't exactly one. */
  answer(text: string, id: string | undefined): boolean {
    const [only, ...others] = this.#waiting.keys();
    const chosen = id ?? (others.length === 0 ? only : undefined);
    const waiting = chosen === undefined ? undefined : this.#waiting.get(chosen);
    waiting?.answer(text);
    return waiting !== undefined;
  }
}
