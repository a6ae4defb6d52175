/** An ASK waits here for the first answer. Each id is new in its run, so a late answer never goes to the next one. */
import type { Clock } from "../platform/clock.ts";
import { onAbort } from "../platform/waiting.ts";
import type { Answer, Asker } from "../workflow/kinds/ask.ts";
import { refused, type Refused } from "./refusals.ts";

/** A question of a workflow that waits for an answer. */
export interface OpenQuestion {
  /** `WORK.ITERATION.STEP`, of its `step.started`. */
  readonly id: string;
  /** The work that is the workflow. */
  readonly workIdInJob: number;
  /** The id of the ASK. */
  readonly activity: string;
  /** Secrets are masked. */
  readonly question: string;
  /** In milliseconds since 1970. */
  readonly since: number;
}

export class Questions {
  readonly #clock: Clock;
  readonly #mask: (text: string) => string;
  readonly #waiting = new Map<string, { shown: OpenQuestion; answer: (text: string) => void }>();

  constructor(clock: Clock, mask: (text: string) => string) {
    this.#clock = clock;
    this.#mask = mask;
  }

  get open(): readonly OpenQuestion[] {
    return [...this.#waiting.values()].map(({ shown }) => shown);
  }

  readonly ask: Asker = ({ work, step, activity, question }, signal) => {
    const { workId, iteration } = work;
    const id = `${workId}.${iteration}.${step}`;
    const shown = {
      id,
      workIdInJob: workId,
      activity,
      question: this.#mask(question),
      since: this.#clock.now(),
    };
    return new Promise((resolve) => {
      const end = (answer: Answer): void => {
        this.#waiting.delete(id);
        release();
        resolve(answer);
      };
      this.#waiting.set(id, { shown, answer: (text) => end({ kind: "answered", text }) });
      let release = (): void => undefined;
      release = onAbort(signal, () =>
        end({ kind: "unanswered", reason: `Nobody has answered ${activity}.` }),
      );
    });
  };

  /** Answers the question with this id, or the only one that waits. Undefined: done. */
  answer(text: string, id: string | undefined): Refused | undefined {
    const count = this.#waiting.size;
    const [only] = count === 1 ? this.#waiting.keys() : [];
    const waiting = this.#waiting.get(id ?? only ?? "");
    if (waiting === undefined)
      return noQuestion(
        id === undefined && count > 1
          ? `${count} questions wait for an answer. Name one by its id.`
          : "No such question waits for an answer. Somebody else may have answered it.",
      );
    waiting.answer(text);
    return undefined;
  }
}

export function noQuestion(message: string): Refused {
  return refused("QuestionNotFound", message);
}
