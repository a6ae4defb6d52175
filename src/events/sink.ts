/** From the engine to the reporters: stamped, redacted once, folded once, and isolated from each other. */
import { defined } from "../text/guards.ts";
import type { Clock } from "../platform/clock.ts";
import { errorToDetailedString } from "./crash.ts";
import type { EmittedEvent, RunEvent } from "./event.ts";
import { legName } from "./plan.ts";
import { within } from "../platform/waiting.ts";
import { applyEvent, createRunView, type RunView } from "./view.ts";

/** Sees every event of a run, or of all runs of a host, in order and redacted. Its errors never reach a run. */
export interface Reporter {
  /** For messages about the reporter itself. */
  readonly name?: string;
  /** A run whose events it could not keep is incomplete. */
  readonly essential?: true;
  /** The reporter also gets the events of earlier runs, marked `past`. `view` contains their effects in any case. */
  readonly takesPast?: true;
  /** Called for every event, at once. `view` is the state of its run, this event included; all reporters share it. */
  report(event: RunEvent, view: RunView): void;
  /** Called once, after the last event. */
  close?(): Promise<void>;
  /** The longest time that `close` may take. Default: two seconds. */
  readonly closeMs?: number;
}

export interface ReporterFailure {
  readonly reporter: string;
  readonly message: string;
  readonly count: number;
  readonly essential?: true;
}

export interface Sink {
  /** The state of the run after the last event: the only fold of a live run. */
  readonly view: RunView;
  /** Never throws. Events after `close` are dropped. */
  emit(body: EmittedEvent): void;
  /** Closes every reporter, within its time. Never rejects; a second call gives the same promise. */
  close(): Promise<readonly ReporterFailure[]>;
}

export interface EventRedactor {
  readonly text: (text: string) => string;
  /** Returns the events that reporters receive instead. */
  readonly events: (event: RunEvent) => readonly RunEvent[];
}

const CLOSE_MS = 2000;

export function newRunId(): string {
  return globalThis.crypto.randomUUID();
}

export function createSink(options: {
  readonly runId: string;
  readonly clock: Clock;
  readonly redactor: EventRedactor;
  readonly reporters: readonly Reporter[];
}): Sink {
  const { runId, clock, redactor, reporters } = options;
  const set = new ReporterSet({ clock, redact: (text) => redactor.text(text), reporters });
  const view = createRunView();
  const waiting: EmittedEvent[] = [];
  let leg: string | undefined;
  let busy = false;
  let last = 0;
  let closing: Promise<readonly ReporterFailure[]> | undefined;

  const deliver = (body: EmittedEvent): void => {
    if (body.type === "run.started" && body.part?.kind === "shard") leg = legName(body.part);
    if (body.past !== true) last = Math.max(last, body.at ?? clock.now());
    const now = { at: last, runId, ...defined({ leg: body.past === true ? undefined : leg }) };
    let events: readonly RunEvent[];
    try {
      events = redactor.events({ ...now, ...body });
    } catch (error) {
      // Losing an event is better than leaking a secret.
      set.fail("redactor", error, true);
      return;
    }
    for (const event of events) {
      applyEvent(view, event);
      set.report(event, view);
    }
  };

  return {
    view,
    emit(body) {
      if (closing !== undefined) return;
      waiting.push(body);
      // An event that a reporter emits follows the current one, in the same order for all reporters.
      if (busy) return;
      busy = true;
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) deliver(next);
      busy = false;
    },
    close() {
      return (closing ??= set.close());
    },
  };
}

export interface ReporterSetOptions {
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  readonly reporters?: readonly Reporter[] | undefined;
  readonly onFailure?: ((failure: ReporterFailure) => void) | undefined;
}

/** Reporters of the same events, isolated from each other. They can be added and removed at any time. */
export class ReporterSet {
  readonly #reporters = new Map<Reporter, string>();
  readonly #failures = new Map<string, ReporterFailure>();
  readonly #options: ReporterSetOptions;
  #added = 0;

  constructor(options: ReporterSetOptions) {
    this.#options = options;
    for (const reporter of options.reporters ?? []) this.add(reporter);
  }

  /** The reporter receives all further events. Adding it twice changes nothing. */
  add(reporter: Reporter): void {
    if (this.#reporters.has(reporter)) return;
    this.#added += 1;
    this.#reporters.set(reporter, reporter.name ?? `reporter ${this.#added}`);
  }

  remove(reporter: Reporter): void {
    this.#reporters.delete(reporter);
  }

  report(event: RunEvent, view: RunView): void {
    for (const [reporter, name] of this.#reporters) {
      if (event.past === true && reporter.takesPast !== true) continue;
      try {
        reporter.report(event, view);
      } catch (error) {
        this.fail(name, error, reporter.essential);
      }
    }
  }

  /** Passes events on to all of them, which are closed by `close` alone. */
  asReporter(name: string): Reporter {
    return { name, takesPast: true, report: (event, view) => this.report(event, view) };
  }

  fail(reporter: string, error: unknown, essential?: true): void {
    const known = this.#failures.get(reporter);
    const message = known?.message ?? safeText(error, this.#options.redact);
    const count = (known?.count ?? 0) + 1;
    const failure = { reporter, message, count, ...(essential && { essential }) };
    this.#failures.set(reporter, failure);
    if (known === undefined) this.#options.onFailure?.(failure);
  }

  /** Closes every remaining reporter within its time. Never rejects; to be called once. */
  async close(): Promise<readonly ReporterFailure[]> {
    const reporters = [...this.#reporters];
    // A reporter receives nothing after it was closed.
    this.#reporters.clear();
    await Promise.all(reporters.map(([reporter, name]) => this.#close(reporter, name)));
    return [...this.#failures.values()];
  }

  async #close(reporter: Reporter, name: string): Promise<void> {
    const { closeMs = CLOSE_MS } = reporter;
    try {
      const closed = reporter.close?.() ?? Promise.resolve();
      if ((await within(closed, closeMs, this.#options.clock)) === undefined) {
        const late = new Error(`The reporter did not close within ${closeMs} ms.`);
        this.fail(name, late, reporter.essential);
      }
    } catch (error) {
      this.fail(name, error, reporter.essential);
    }
  }
}

function safeText(error: unknown, redact: (text: string) => string): string {
  try {
    return redact(error instanceof Error ? error.message : errorToDetailedString(error));
  } catch {
    return "unknown error";
  }
}
