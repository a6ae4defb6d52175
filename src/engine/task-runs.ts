import type { PreparedTask } from "../entry/model.ts";
import type { WorkRef } from "../events/event.ts";
import { onAbort } from "../platform/waiting.ts";
import { defined } from "../text/guards.ts";
import type { Crashed, DelegateEnd, DelegateRequest, Dialogue } from "./dialogue.ts";
import { Given, type JobValues } from "./job-data.ts";
import { jobTools } from "./job-tools.ts";
import { CallBudget, type Deadline, type UsageBudget } from "./limits.ts";
import { modelOf, type RunSpec } from "./plan.ts";
import { jobToolsFor } from "./open-session.ts";
import type { EnginePorts, Session, SessionTool } from "./ports.ts";
import { runTask, type AvailabilityInput } from "./run-task.ts";
import type { Scope } from "./scope.ts";
import { reasonOf, type LastErrors } from "./outcome.ts";
import { Variables } from "./variables.ts";
import { verdictTools } from "./criteria.ts";

export interface TaskInput {
  readonly modelId: string;
  readonly availability: AvailabilityInput;
  readonly previousResult?: string | undefined;
  readonly borrowed?: Session;
}

export interface TaskRun extends TaskInput {
  readonly work: WorkRef;
  readonly scope: Scope;
  readonly userInput: string;
  readonly depth: number;
  /** Of the task that has delegated it. */
  readonly around?: Deadline;
}

type StartDialogue = (
  jobTools: readonly SessionTool[],
  deadline: Deadline,
) => Promise<Dialogue | Crashed>;

interface Shared {
  readonly spec: RunSpec;
  readonly ports: EnginePorts;
  readonly scope: Scope;
  readonly values: JobValues;
  readonly usage: UsageBudget;
  readonly lastErrors: LastErrors;
  readonly nextTurnId: () => string;
}

export class TaskRuns {
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  async run(run: TaskRun): ReturnType<typeof runTask> {
    const { spec, ports, values, usage, lastErrors, nextTurnId } = this.#shared;
    const { entry, limits } = spec;
    const { work, modelId, borrowed, scope, userInput, previousResult } = run;
    const { taskId } = work;
    const task = entry.tasks[taskId];
    if (task === undefined) throw new Error(`There is no task "${taskId}" in the entry.`);
    const given = new Given();
    const isMultiple = task.criteria?.runConditionInSameSession === false;
    const variables = new Variables(
      entry,
      { userInput, taskModel: modelId, previousResult, ofJob: values.valueOf(work) },
      values.onMissing(work),
    );
    const tools = jobTools({
      task,
      work,
      given,
      emit: ports.emit,
      checkResult: spec.resultChecks?.[taskId],
      checks: spec.outputChecks,
      proposals: spec.outputs?.proposals,
      memory: spec.memory,
      previous: spec.previous,
    });
    const verdicts = jobToolsFor(isMultiple ? "task" : "both", task, variables);
    const start = this.dialogueOf(run);
    const ended = await runTask(
      {
        spec,
        task,
        work,
        mode: borrowed
          ? { kind: "borrowed", session: borrowed }
          : { kind: isMultiple ? "multiple" : "single" },
        modelId,
        variables,
        scope,
        budgets: { calls: new CallBudget(limits, scope), usage },
        commands: values.commandContext(work, scope),
        isChanged: await this.#watch(task),
        given,
        jobTools: tools,
        lastErrors,
        nextTurnId,
        startDialogue:
          start && ((deadline) => start([...verdictTools(verdicts), ...tools], deadline)),
        around: run.around,
        ports,
      },
      run.availability,
    );
    if (ended.outcome.kind !== "stopped") values.data.keep(work, given);
    return ended;
  }

  async #watch({ criteria }: PreparedTask): Promise<() => Promise<boolean>> {
    const none = (): Promise<boolean> => Promise.reject(new Error("nothing watches them"));
    try {
      const { changed } = criteria ?? {};
      return (changed && (await this.#shared.spec.workspace?.watch(changed))) ?? none;
    } catch (error) {
      return () => Promise.reject(error);
    }
  }

  dialogueOf(run: TaskRun): StartDialogue | undefined {
    const { dialogues = {}, permissionsOf, workingDirectory } = this.#shared.spec;
    const { work, scope, depth } = run;
    const { taskId } = work;
    const spec = Object.hasOwn(dialogues, taskId) ? dialogues[taskId] : undefined;
    if (spec === undefined) return undefined;
    const { emit, clock } = this.#shared.ports;
    return (own, around) =>
      spec.start({
        work,
        jobTools: own,
        depth,
        scope,
        permissions: permissionsOf(taskId),
        workingDirectory,
        clock,
        emit: (action) => emit({ type: "action", work, action }),
        decide: (decision) => emit({ type: "decision", work, decision }),
        delegate: (request, signal) => this.#delegate({ ...run, around }, request, signal),
      });
  }

  /** Runs as a part of the step: with limits of its own and the budgets of the job. Its crash is a failure. */
  async #delegate(
    { work, depth, around }: TaskRun,
    { taskId, input }: DelegateRequest,
    signal: AbortSignal,
  ): Promise<DelegateEnd> {
    const { spec, lastErrors } = this.#shared;
    const { entry } = spec;
    const scope = this.#shared.scope.child();
    const release = onAbort(signal, () => scope.stop({ kind: "canceled", reason: "canceled" }));
    const { outcome, answer } = await this.run({
      work: { ...work, taskId },
      modelId: modelOf(entry, taskId, undefined),
      availability: { previousTask: work.taskId, skip: false },
      scope,
      userInput: input,
      depth: depth + 1,
      ...defined({ around }),
    });
    release();
    // The limit that ends the job names it.
    if (this.#shared.scope.stopped === undefined) lastErrors.note(scope, undefined);
    scope.dispose();
    const { text = "" } = answer;
    if (outcome.kind === "succeeded") return { ...answer, kind: "succeeded", text };
    return { kind: "failed", reason: reasonOf(outcome), ...(text === "" ? {} : { text }) };
  }
}
