/**
 * From the engine to the reporters. Owns the stamp (`at` never runs backwards), the one redaction and the
 * isolation: whatever a reporter does, the run and the other reporters go on.
 */
import type { Clock } from "./clock.ts";
import { errorToDetailedString } from "./error-detail.ts";
import type { RunEvent, RunEventBody } from "./event.ts";
import type { Redactor } from "./redact.ts";

/** Sees every event of a run, in order and redacted. Whatever it throws is kept from the run. */
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
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly reporters: readonly Reporter[];
}

const CLOSE_MS = 2000;

export function createSink({ clock, redactor, reporters }: SinkOptions): Sink {
  const failures = new Map<string, ReporterFailure>();
  const waiting: RunEventBody[] = [];
  let busy = false;
  let last = 0;
  let closing: Promise<readonly ReporterFailure[]> | undefined;

  const fail = (reporter: string, error: unknown): void => {
    const known = failures.get(reporter);
    const message = known?.message ?? safeText(error, redactor);
    failures.set(reporter, { reporter, message, count: (known?.count ?? 0) + 1 });
  };

  const deliver = (body: RunEventBody): void => {
    last = Math.max(last, clock.now());
    let events: readonly RunEvent[];
    try {
      events = redactor.events({ at: last, ...body });
    } catch (error) {
      // Rather an event too few than a secret too many.
      fail("redactor", error);
      return;
    }
    for (const event of events) {
      for (const [index, reporter] of reporters.entries()) {
        try {
          reporter.report(event);
        } catch (error) {
          fail(nameOf(reporter, index), error);
        }
      }
    }
  };

  const closeOne = async (reporter: Reporter, index: number): Promise<void> => {
    const timeout = new AbortController();
    try {
      const closed = (reporter.close?.() ?? Promise.resolve()).then(() => true);
      const late = clock.sleep(CLOSE_MS, timeout.signal).then(() => false);
      if (!(await Promise.race([closed, late]))) {
        fail(nameOf(reporter, index), new Error(`It did not close within ${CLOSE_MS} ms.`));
      }
    } catch (error) {
      fail(nameOf(reporter, index), error);
    } finally {
      timeout.abort();
    }
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
      closing ??= Promise.all(reporters.map(closeOne)).then(() => [...failures.values()]);
      return closing;
    },
  };
}

function nameOf(reporter: Reporter, index: number): string {
  return reporter.name ?? `reporter ${index + 1}`;
}

function safeText(error: unknown, redactor: Redactor): string {
  try {
    return redactor.text(error instanceof Error ? error.message : errorToDetailedString(error));
  } catch {
    return "unknown error";
  }
}
