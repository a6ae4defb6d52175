import { crashStatus, helpsInRehearsals } from "../events/crash.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { EmittedEvent, RunOutcome } from "../events/event.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { Reporter } from "../events/sink.ts";
import { Expectations } from "../rehearsal/expectations.ts";
import type { ScriptedModel } from "../rehearsal/player/scripted-model.ts";
import type { Script } from "../rehearsal/format/script.ts";

/** `honorExpectations`: whether `expect` decides about the outcome; else only the script does. */
export function createVerdict(
  script: Script,
  model: ScriptedModel,
  redactor: Redactor,
  honorExpectations: boolean,
) {
  const expectations = new Expectations(script);

  const ofScript = (): readonly string[] => [...model.toolFailures(), ...model.failures()];
  const failures = (): readonly string[] => {
    // Once a run has left its script, unmet expectations and unused parts are consequences.
    const unexpected = model.failures();
    const others = unexpected.length > 0 ? [] : [...expectations.failures(), ...model.unused()];
    const all = [...model.toolFailures(), ...unexpected, ...others];
    return all.map((failure) => redactor.text(failure));
  };

  const outcome = (ended: RunOutcome): RunOutcome => {
    const job = plainOutcome(ended);
    if (job.kind === "canceled") return job;
    const [failure, ...others] = honorExpectations ? failures() : ofScript();
    if (failure === undefined) return honorExpectations ? { kind: "succeeded" } : job;
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    return { kind: "failed", reason: `the rehearsal doesn't match the run: ${failure}${more}` };
  };

  /** Must get the events of the run. */
  const reporter: Reporter = {
    name: "expectations",
    report: (event, view) => expectations.report(event, view),
  };
  return {
    reporter,
    /** The event as it is reported: the end of the run contains the verdict. */
    judged(event: EmittedEvent): EmittedEvent {
      // The script doesn't play copied events.
      if (event.past === true) return event;
      model.observe(event);
      const plain = withoutAdvice(event);
      if (plain.type !== "run.ended") return plain;
      // Before all other reporters, since the verdict depends on it.
      const jobOutcome = plain.outcome;
      const redacted = redactor.event({ at: 0, runId: "", ...plain });
      if (redacted.type === "run.ended") expectations.end(redacted.outcome);
      return { ...plain, outcome: outcome(jobOutcome), jobOutcome };
    },
    outcome,
    failures,
  };
}

/** Advice about a model server is useless if a script plays it. */
export function withoutAdvice(event: EmittedEvent): EmittedEvent {
  switch (event.type) {
    case "decision":
      return { ...event, decision: plainDecision(event.decision) };
    case "run.ended":
      return { ...event, outcome: plainOutcome(event.outcome) };
    default:
      return event;
  }
}

function plainDecision(decision: MadeDecision): MadeDecision {
  if (decision.kind === "session-crashed" && crashStatus(decision.crash) !== undefined) {
    // The runtime's addition to the status is such advice, too.
    const { detail: _advice, ...crash } = decision.crash;
    return { ...decision, crash };
  }
  if (decision.kind !== "attempts-exhausted") return decision;
  const { advice, ...rest } = decision;
  return advice !== undefined && helpsInRehearsals(advice) ? decision : rest;
}

function plainOutcome(job: RunOutcome): RunOutcome {
  return job.kind !== "failed" || job.advice === undefined || helpsInRehearsals(job.advice)
    ? job
    : { kind: "failed", reason: job.reason };
}
