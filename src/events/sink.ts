/**
 * From the engine to the reporters. Owns the stamp (`at`, which never runs backwards, and `runId`), the one
 * redaction, and the isolation: whatever a reporter does, the runs and the other reporters go on.
 */
import type { Clock } from "./clock.ts";
import { errorToDetailedString } from "./error-detail.ts";
import type { RunEvent, RunEventBody } from "./event.ts";
import type { Redactor } from "./redact.ts";

/** Sees every event of a run, or of all runs of a host, in order and redacted. Its errors never reach a run. */
export interface Reporter {
  /** For messages about the reporter itself. */
  readonly name?: string;
  /** Called for every event, at once. */
  report(event: RunEvent): void;
  /** Called once, after the last event. */
  close?(): Promise<void>;
}

/** The first thing that went wrong in a reporter, and how often something did. */
export interface ReporterFailure {
  readonly reporter: string;
  readonly message: string;
  readonly count: number;
}

export interface Sink {
  /** Never throws. What comes after `close` is dropped. */
  emit(body: RunEventBody): void;
  /** Closes every reporter, within two seconds. Never rejects; a second call gives the same promise. */
  close(): Promise<readonly ReporterFailure[]>;
}

export interface SinkOptions {
  /** Of the run whose events it gets: `newRunId()`. */
  readonly runId: string;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly reporters: readonly Reporter[];
}

const CLOSE_MS = 2000;

/** A new id for a run, unique everywhere. */
export function newRunId(): string {
  return globalThis.crypto.randomUUID();
}

export function createSink({ runId, clock, redactor, reporters }: SinkOptions): Sink {
  const audience = new Audience({ clock, redact: (text) => redactor.text(text), reporters });
  const waiting: RunEventBody[] = [];
  let busy = false;
  let last = 0;
  let closing: Promise<readonly ReporterFailure[]> | undefined;

  const deliver = (body: RunEventBody): void => {
    last = Math.max(last, clock.now());
    let events: readonly RunEvent[];
    try {
      events = redactor.events({ at: last, runId, ...body });
    } catch (error) {
      // Rather an event too few than a secret too many.
      audience.fail("redactor", error);
      return;
    }
    for (const event of events) audience.report(event);
  };

  return {
    emit(body) {
      if (closing !== undefined) return;
      waiting.push(body);
      // A reporter that emits: its event comes after the one in hand, for everybody in the same order.
      if (busy) return;
      busy = true;
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) deliver(next);
      busy = false;
    },
    close() {
      closing ??= audience.close();
      return closing;
    },
  };
}

export interface AudienceOptions {
  readonly clock: Clock;
  /** For what a failing reporter says. */
  readonly redact: (text: string) => string;
  readonly reporters?: readonly Reporter[] | undefined;
  /** Told of the first failure of each reporter. */
  readonly onFailure?: ((failure: ReporterFailure) => void) | undefined;
}

/** Reporters that hear the same events, each kept from the others. They may come and go. */
export class Audience {
  /** Each with its name in messages. */
  readonly #reporters = new Map<Reporter, string>();
  readonly #failures = new Map<string, ReporterFailure>();
  readonly #options: AudienceOptions;
  #added = 0;

  constructor(options: AudienceOptions) {
    this.#options = options;
    for (const reporter of options.reporters ?? []) this.add(reporter);
  }

  /** It hears what comes from now on. One that is here already stays as it is. */
  add(reporter: Reporter): void {
    if (this.#reporters.has(reporter)) return;
    this.#added += 1;
    this.#reporters.set(reporter, reporter.name ?? `reporter ${this.#added}`);
  }

  /** It hears nothing more; whoever takes it out closes it. */
  remove(reporter: Reporter): void {
    this.#reporters.delete(reporter);
  }

  /** Never throws. */
  report(event: RunEvent): void {
    for (const [reporter, name] of this.#reporters) {
      try {
        reporter.report(event);
      } catch (error) {
        this.fail(name, error);
      }
    }
  }

  fail(reporter: string, error: unknown): void {
    const known = this.#failures.get(reporter);
    const message = known?.message ?? safeText(error, this.#options.redact);
    const failure = { reporter, message, count: (known?.count ?? 0) + 1 };
    this.#failures.set(reporter, failure);
    if (known === undefined) this.#options.onFailure?.(failure);
  }

  /** Closes every reporter that is still here, within two seconds. Never rejects; to be called once. */
  async close(): Promise<readonly ReporterFailure[]> {
    const reporters = [...this.#reporters];
    // The close of a reporter is the last that it hears.
    this.#reporters.clear();
    await Promise.all(reporters.map(([reporter, name]) => this.#close(reporter, name)));
    return [...this.#failures.values()];
  }

  async #close(reporter: Reporter, name: string): Promise<void> {
    const timeout = new AbortController();
    try {
      const closed = (reporter.close?.() ?? Promise.resolve()).then(() => true);
      const late = this.#options.clock.sleep(CLOSE_MS, timeout.signal).then(() => false);
      if (!(await Promise.race([closed, late]))) {
        this.fail(name, new Error(`It did not close within ${CLOSE_MS} ms.`));
      }
    } catch (error) {
      this.fail(name, error);
    } finally {
      timeout.abort();
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
