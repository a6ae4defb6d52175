/** The attempts and turns of one task, or of the agents of a workflow. An attempt ends with its last turn. */
import type { SessionActed, TurnEnded, TurnStarted } from "../../events/event.ts";
import type { OpenSpan, SpanWriter } from "./span.ts";
import { TurnSpans } from "./turn-spans.ts";

export class TaskSpans {
  /** That of the work for a workflow. */
  readonly span: OpenSpan;
  readonly #writer: SpanWriter;
  readonly #turns = new Map<string, TurnSpans>();
  #attempt: { readonly key: string; readonly span: OpenSpan } | undefined;
  #attempts = 0;
  /** Why its last session crashed. */
  crash = "_OTHER";

  constructor(writer: SpanWriter, span: OpenSpan) {
    this.#writer = writer;
    this.span = span;
  }

  get attempt(): OpenSpan | undefined {
    return this.#attempt?.span;
  }

  turn(turnId: string): OpenSpan | undefined {
    return this.#turns.get(turnId)?.span;
  }

  /** `parent`: the activity of a workflow. */
  startTurn(event: TurnStarted, at: number, parent = this.span): void {
    const { turnId, sessionId, modelId, purpose, retry, attempt } = event;
    const about = {
      "agent_jobs.purpose": purpose,
      "agent_jobs.retry": retry,
      "agent_jobs.attempt": attempt,
    };
    const key = `${parent.spanId} ${purpose} ${retry} ${attempt}`;
    if (this.#attempt?.key !== key) {
      this.endAttempt();
      const place = `${this.span.place}/attempt/${(this.#attempts += 1)}`;
      const head = { place, parent, name: `attempt ${purpose}`, startedAt: at, attributes: about };
      this.#attempt = { key, span: this.#writer.open(head) };
    }
    const span = this.#writer.open({
      place: `turn/${turnId}`,
      parent: this.#attempt.span,
      name: `turn ${purpose}`,
      startedAt: at,
      attributes: {
        ...about,
        "gen_ai.conversation.id": sessionId,
        "gen_ai.request.model": modelId,
      },
    });
    this.#turns.set(turnId, new TurnSpans(this.#writer, span, event));
  }

  act({ turnId, activity }: SessionActed, at: number): void {
    this.#turns.get(turnId)?.apply(activity, at);
  }

  endTurn({ turnId, outcome }: TurnEnded, at: number): void {
    this.#turns.get(turnId)?.end(at, outcome);
    this.#turns.delete(turnId);
  }

  endAttempt(): void {
    const span = this.attempt;
    this.#attempt = undefined;
    if (span !== undefined) this.#writer.end(span, span.latest);
  }

  /** What is under way has been canceled. */
  end(at: number): void {
    for (const turn of this.#turns.values()) turn.end(at, "canceled");
    this.#turns.clear();
    this.endAttempt();
  }
}
