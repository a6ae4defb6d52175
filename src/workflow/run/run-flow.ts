/** A run of a workflow. A step ends before the next one begins, and begins before anything is asked of the outside. */
import type { EffectResult } from "../../events/flow.ts";
import { ANSWER_CUT } from "../../engine/criteria.ts";
import type { FlowContext, FlowEnd } from "../../engine/flow.ts";
import { CallBudget, type UsageBudget } from "../../engine/budgets.ts";
import { exceeded, startDeadline, type ResolvedLimits } from "../../engine/limits.ts";
import { stopText, unlessStopped, type Scope, type StopReason } from "../../engine/scope.ts";
import { failedAs, stopOf, stoppedAs } from "../../engine/outcome.ts";
import type { StepActivity, ToolSource } from "../../engine/ports.ts";
import {
  askToContinue,
  MANAGED_ATTEMPTS,
  sameModel,
  type Prompt,
  sendPrompt,
  type Sender,
} from "../../engine/send-prompt.ts";
import type { Permissions } from "../../entry/model.ts";
import { crashAdvice, crashText } from "../../events/crash.ts";
import type { MadeDecision } from "../../events/decision.ts";
import { limitText, type LimitScope } from "../../events/exceeded-limit.ts";
import { errorToDetailedString } from "../../events/error-detail.ts";
import type { ShellState } from "../../events/event.ts";
import type { EventLoopYielder } from "../../platform/waiting.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { Agents } from "./agents.ts";
import type { Answers, Asker, Workflow } from "../model.ts";
import type { Begun } from "./restore.ts";
import type { Scripts } from "./script-runner.ts";
import type { Effect, FlowEvent, Step, WorkflowState } from "./state.ts";

export interface FlowRun {
  readonly workflow: Workflow;
  readonly modelId: string;
  readonly permissions: Permissions;
  readonly toolSource?: ToolSource | undefined;
  /** `jobMinutes`, `tokens` and `cost` are those of the workflow alone; those of the job hold anyway. */
  readonly limits: ResolvedLimits;
  readonly answers: Answers;
  /** Absent: nobody is there. */
  readonly ask?: Asker | undefined;
  readonly scripts: Scripts;
  /** Reads a file, relative to one of the workflow. */
  readonly read: (path: string, from: string) => FileRead;
  readonly begun: Begun;
  /** Called with the end of the workflow, unless it is interrupted. */
  readonly onResult?: ((result: FlowResult) => void) | undefined;
  /** For many activities that wait for nothing. */
  readonly yielder: Pick<EventLoopYielder, "yieldIfDue">;
}

export interface FlowResult {
  readonly status: "SUCCESS" | "FAILED";
  readonly result: string;
  readonly variables: Readonly<Record<string, string>>;
}

export type FileRead = Extract<EffectResult, { kind: "read" | "failed" }>;

/** Never throws. */
export async function runFlow(run: FlowRun, context: FlowContext): Promise<FlowEnd> {
  const scope = context.scope.child();
  const deadline = startDeadline(context.ports.clock, run.limits, "jobMinutes", scope);
  const usage = context.usage.child(run.limits, scope);
  const flow = new FlowRunner(run, context, scope, usage);
  let end: FlowEnd;
  try {
    end = await flow.run();
  } catch (error) {
    // A bug in agent-jobs: converted once, here.
    const message = error instanceof Error ? error.message : String(error);
    const crash = { cause: "internal", message, detail: errorToDetailedString(error) } as const;
    end = { kind: "crashed", crash };
  }
  await flow.close(end.kind === "succeeded");
  deadline.end();
  scope.dispose();
  return end;
}

class FlowRunner {
  readonly #run: FlowRun;
  readonly #context: FlowContext;
  readonly #scope: Scope;
  readonly #usage: UsageBudget;
  readonly #agents: Agents;
  /** The state of the shell, as JSON. */
  #shell: string;

  constructor(run: FlowRun, context: FlowContext, scope: Scope, usage: UsageBudget) {
    this.#run = run;
    this.#context = context;
    this.#scope = scope;
    this.#usage = usage;
    this.#shell = JSON.stringify(run.scripts.checkpoint());
    const { work, ports, workingDirectory } = context;
    const { permissions, workflow, toolSource } = run;
    const { agentTools: tools = [] } = workflow.settings;
    this.#agents = new Agents(
      { work, ports, scope, usage },
      { workingDirectory, permissions, tools, toolSource },
    );
  }

  async run(): Promise<FlowEnd> {
    const { yielder, begun } = this.#run;
    const { machine } = begun;
    const { state } = machine;
    let step: Step = begun;
    for (;;) {
      await yielder.yieldIfDue();
      for (const event of step.events) this.#emit(event);
      const { effect } = step;
      if (effect.kind === "done") {
        const { status, result: last, variables: all } = effect;
        this.#run.onResult?.({ status, result: last, variables: all });
        return this.#end(effect);
      }
      await this.#agents.keep(state.agents);
      const result = await this.#perform(effect, state);
      step = machine.step(result, this.#shellAfter(effect));
    }
  }

  async close(succeeded: boolean): Promise<void> {
    await Promise.all([this.#agents.close(succeeded), this.#run.scripts.close()]);
  }

  async #perform(effect: Effect, state: WorkflowState): Promise<EffectResult> {
    const done = this.#scope.stopped === undefined ? await this.#do(effect, state) : undefined;
    const stopped = this.#stopOf(this.#scope);
    if (done !== undefined && stopped === undefined) return done;
    return { kind: "stopped", reason: stopped === undefined ? "canceled" : stopText(stopped) };
  }

  #stopOf(scope: Scope): StopReason | undefined {
    return stopOf(scope, this.#context.lastErrors.of(this.#context.scope));
  }

  #do(effect: Effect, state: WorkflowState): EffectResult | Promise<EffectResult> {
    switch (effect.kind) {
      case "pass":
      case "done":
        return { kind: "passed" };
      case "read":
        return this.#run.read(effect.path, effect.from);
      case "prompt":
        return this.#prompt(effect, state);
      case "ask":
        return this.#ask(effect);
      case "execute":
        return this.#execute(effect);
    }
  }

  async #prompt(effect: EffectOf<"prompt">, state: WorkflowState): Promise<EffectResult> {
    const { work, ports, nextTurnId, lastErrors } = this.#context;
    const { limits, modelId } = this.#run;
    const conversation = state.agents[effect.agent] ?? { messages: [] };
    const activity = activityOf(effect);
    // A budget that is spent ends this prompt, not the workflow.
    const scope = this.#scope.child();
    try {
      const sender: Sender = {
        ports,
        scope,
        limits,
        calls: new CallBudget(limits, scope),
        usage: this.#usage,
        work,
        subject: `activity "${effect.activity}"`,
        nextTurnId,
        onError: (error) => lastErrors.note(this.#context.scope, error),
      };
      const prompt: Prompt = {
        purpose: "prompt",
        retry: 0,
        text: effect.text,
        attempts: sameModel(modelId, MANAGED_ATTEMPTS),
        sessions: this.#agents.source(effect.agent, conversation),
        activity,
      };
      const first = await sendPrompt(sender, prompt);
      const isEmpty = first.kind === "completed" && first.empty === true;
      const outcome = isEmpty ? await askToContinue(sender, prompt, first) : first;
      if (outcome.kind === "completed" && outcome.cut !== true) {
        this.#agents.answered(effect.agent);
        return { kind: "answered", text: outcome.text };
      }
      // Its session knows a prompt that is no part of the conversation.
      await this.#agents.discard(effect.agent);
      if (outcome.kind === "completed") return failed(ANSWER_CUT);
      if (outcome.kind === "canceled") return this.#stopped(scope, activity);
      const texts = [crashText(outcome.crash), crashAdvice(outcome.crash)];
      return failed(texts.filter((text) => text !== undefined).join(" "));
    } finally {
      scope.dispose();
    }
  }

  /** A prompt was stopped. The end of a workflow reports what has stopped all of it. */
  #stopped(ended: Scope, activity: StepActivity): Failed {
    const stopped = this.#stopOf(ended);
    if (stopped?.kind !== "limit" || this.#scope.stopped !== undefined)
      return failed(stopped === undefined ? "canceled" : stopText(stopped));
    const scope = scopeOf(activity);
    this.#decide({ ...stopped, kind: "limit-exceeded", scope });
    return failed(`Exceeded ${limitText(stopped, scope)}.`);
  }

  async #ask({ step, activity, question, times }: EffectOf<"ask">): Promise<EffectResult> {
    const { answers, ask } = this.#run;
    const all = Object.hasOwn(answers, activity) ? (answers[activity] ?? []) : [];
    // A resumed run is given the answers of the earlier run again, or only those that it lacked.
    const earlier = this.#run.begun.answered?.get(activity) ?? [];
    const repeats = all.every((text, at) => at >= earlier.length || text === earlier[at]);
    const given = all[repeats ? times : times - earlier.length];
    if (given !== undefined) return { kind: "answered", text: given };
    if (ask === undefined) return failed(missingAnswer(activity, times));
    const asked = { activity, question, times, step, work: this.#context.work };
    const { clock } = this.#context.ports;
    // A host's own: it may throw, or never end.
    const asking = (async () => ask(asked, this.#scope.signal))().catch((error: unknown) => ({
      kind: "unanswered" as const,
      reason: `${activity} can't be asked: ${errorMessage(error)}`,
    }));
    const answer = await unlessStopped(this.#scope, clock, asking);
    if (answer === undefined) return failed("canceled");
    return answer.kind === "answered" ? answer : failed(answer.reason);
  }

  async #execute(effect: EffectOf<"execute">): Promise<EffectResult> {
    const { step, activity } = effect;
    const { work, ports } = this.#context;
    // Who follows the run sees the beginning; all of it is in the file of the script.
    let rest = this.#run.limits.outputCharacters;
    const executed = await this.#run.scripts.execute(effect.scripts, {
      signal: this.#scope.signal,
      onOutput: ({ script, text }) => {
        if (rest <= 0) return;
        rest -= text.length;
        ports.emit({ type: "step.output", work, step, script, text });
      },
    });
    if (executed.kind === "executed") return executed;
    if (executed.kind === "canceled") return failed("canceled");
    const { limit, reason, runs, because } = executed;
    if (limit !== undefined) {
      const scope = scopeOf(activityOf(effect));
      this.#decide({ ...exceeded(this.#run.limits, limit), kind: "limit-exceeded", scope });
    }
    // A failure edge may hide it.
    if (because === "denied") this.#decide({ kind: "script-skipped", activity, reason });
    return runs.length === 0 ? failed(reason) : { ...failed(reason), runs };
  }

  #emit(event: FlowEvent): void {
    const { ports, work } = this.#context;
    ports.emit({ work, ...event });
  }

  #decide(decision: MadeDecision): void {
    this.#emit({ type: "decision", decision });
  }

  #shellAfter(effect: Effect): ShellState | undefined {
    if (effect.kind !== "execute") return undefined;
    const shell = this.#run.scripts.checkpoint();
    if (JSON.stringify(shell) === this.#shell) return undefined;
    this.#shell = JSON.stringify(shell);
    return shell;
  }

  #end({ result, failure }: EffectOf<"done">): FlowEnd {
    if (failure === undefined) {
      this.#decide({ kind: "task-succeeded", what: "workflow" });
      return { kind: "succeeded", report: result };
    }
    const ofJob = this.#context.scope.stopped;
    if (ofJob !== undefined && ofJob.kind !== "work-stopped")
      return { ...stoppedAs(ofJob), report: result };
    const own = this.#stopOf(this.#scope);
    if (own?.kind === "limit") {
      const { file } = this.#run.workflow;
      this.#decide({ ...own, kind: "limit-exceeded", scope: { kind: "workflow", file } });
    }
    const { reason } = failure;
    this.#decide({ kind: "task-failed", reason });
    return { ...failedAs(reason, failure.unanswered !== true), report: result };
  }
}

type Failed = Extract<EffectResult, { kind: "failed" }>;

function failed(reason: string): Failed {
  return { kind: "failed", reason };
}

function activityOf({ activity, file, hit }: EffectOf<"prompt" | "execute">): StepActivity {
  return { id: activity, file, hit };
}

function scopeOf({ id, file }: StepActivity): Extract<LimitScope, { kind: "activity" }> {
  return { kind: "activity", file, activity: id };
}

type EffectOf<Kind extends Effect["kind"]> = Extract<Effect, { kind: Kind }>;

function missingAnswer(activity: string, times: number): string {
  const answers = times === 1 ? "one answer" : `${times} answers`;
  const given =
    times === 0 ? "has no answer, and nobody is there to be asked" : `has only ${answers}`;
  return `${activity} ${given}. Give one with --answer ${activity}=…, with the input \`inputs\` of the action, or with answers in the front matter.`;
}
