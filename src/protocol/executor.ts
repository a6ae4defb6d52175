/**
 * The executor of action documents: document in, results out. Usable without a job.
 *
 * It lives as long as the task that it works for, so that a later round can ask about the actions of an earlier one.
 * What actions call, the time and the store of long results are ports. Rights are not decided here: only what may be
 * called is in `tools`, `relics` and `delegation`.
 *
 * Invariants: if a document has any problem, nothing of it runs. `execute` resolves when everything SYNC in it has
 * ended, which all time limits together bound. Each result is delivered by `collect` exactly once.
 */
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../events/clock.ts";
import { cut } from "../events/cut.ts";
import { linkSignals, onAbort, startTimer } from "../events/waiting.ts";
import { startCall } from "../calls/call.ts";
import { type CardOutput, Cards } from "./cards.ts";
import { type CallContext, charactersPerToken, type ToolOutcome } from "../calls/tool.ts";
import { type CatalogueParts, createCatalogue, type Target } from "./catalogue.ts";
import { type Delivery, Outbox, type Store } from "./delivery.ts";
import { type ExecutorLimits, limitsOf } from "./limits.ts";
import type { ActionDocument, ProtocolProblem } from "./model.ts";
import { preflight } from "./preflight.ts";
import { readMessage } from "./read-message.ts";
import type { Names } from "./references.ts";
import { Scheduler, secondsOf } from "./scheduler.ts";
import { claimOf } from "./status.ts";
import { contentOf, endOf, isEnded, type Task, type TaskView, viewOf } from "./task.ts";
import { manageTasks } from "./task-manager.ts";
import { Variables } from "./variables.ts";

export interface ExecutorOptions extends CatalogueParts {
  readonly clock: Clock;
  /** Bounds that differ from the defaults. */
  readonly limits?: Partial<ExecutorLimits>;
  /** Hears of each transition of an action, in order. What it throws is ignored. */
  readonly emit?: (event: ActionEvent) => void;
  /** For results that are too long for a prompt. Without it, only `get_result` returns the rest. */
  readonly store?: Store;
  /** Cancels everything that runs. */
  readonly signal?: AbortSignal;
}

/** How one document is executed. */
export interface ExecuteOptions {
  /** Cancels the SYNC actions of the document; what runs in the background goes on. */
  readonly signal?: AbortSignal;
  /** `thinking`: only read-only SYNC actions. `refused`: the document is read, and nothing runs. */
  readonly mode?: "normal" | "thinking" | "refused";
  /** Why the answer is no document, whatever its text is. */
  readonly problem?: ProtocolProblem;
}

/** What an answer led to. A document with any problem is rejected, and nothing of it runs. */
export type Turn =
  | { readonly kind: "rejected"; readonly problems: readonly ProtocolProblem[] }
  | {
      readonly kind: "executed";
      readonly iteration: number;
      /**
       * `stop`: the run ends. `idle`: the model neither stopped nor did anything. `continue`: everything else, also
       * `stop: true` beside SYNC actions, whose results the model has to see.
       */
      readonly next: "stop" | "continue" | "idle";
      readonly response: string | null;
      /** The actions of the document that are in no group, those of thoughts first. */
      readonly actions: readonly TaskView[];
    };

/** What every prompt has, beside the delivery. */
export interface Standing {
  /** What the standing actions returned, in the order of their registration. */
  readonly cards: readonly CardOutput[];
  /** Excerpts of the chosen relics. */
  readonly relics: readonly { readonly name: string; readonly text: string }[];
}

/** How a run ended. */
export interface RunEnd {
  /** What was still going on in the background when the run ended, with how it ended. */
  readonly background: readonly TaskView[];
  /** Results that no prompt has delivered. */
  readonly undelivered: Delivery;
}

/** Executes documents one after the other. It keeps variables, results and what runs in the background. */
export interface ActionExecutor {
  /**
   * `answer`: the text of a model, or a document as a value. Resolves when the SYNC actions have ended. Rejects only if
   * another document is still being executed, or for an unknown `mode`.
   */
  execute(answer: unknown, options?: ExecuteOptions): Promise<Turn>;
  /** What happened since the last call of it. Goes into the next prompt. */
  collect(): Promise<Delivery>;
  /** Runs the cards and reads the chosen relics, for the next prompt. */
  standing(signal?: AbortSignal): Promise<Standing>;
  /**
   * The end of the run: waits for what goes on in the background, for each call at most its time limit, then cancels
   * it. `signal` cancels it at once. Afterwards the executor accepts another run, with everything that it knows.
   */
  finish(signal?: AbortSignal): Promise<RunEnd>;
  /** All actions of all documents, in order. */
  tasks(): readonly TaskView[];
}

const modes: ReadonlySet<string> = new Set<NonNullable<ExecuteOptions["mode"]>>([
  "normal",
  "thinking",
  "refused",
]);
const runCanceled = "The run was canceled.";
const turnCanceled = "The turn was canceled.";

/** Throws if names are ambiguous or reserved, if parameters are not a valid JSON Schema, or if a limit is not a number. */
export function createActionExecutor(options: ExecutorOptions): ActionExecutor {
  const { clock, store, signal } = options;
  const limits = limitsOf(options.limits);
  const emit = (event: ActionEvent): void => {
    try {
      options.emit?.(event);
    } catch {
      // Who listens must not keep an action from ending.
    }
  };
  const catalogue = createCatalogue(options);
  const variables = new Variables();
  const outbox = new Outbox(limits, store);
  let relics: readonly string[] = [];
  let iteration = 0;
  let isBusy = false;

  const names: Names = {
    variable: (name) => variables.find(name),
    result: (id) => {
      const state = scheduler.table.get(id)?.state;
      return state?.status === "succeeded"
        ? { kind: "found", value: state.output.value }
        : { kind: "none" };
    },
    status: (id) => {
      const task = scheduler.table.get(id);
      return task === undefined ? { kind: "none" } : { kind: "found", value: task.state.status };
    },
  };
  const call = (
    target: Target,
    id: string,
    params: Readonly<Record<string, unknown>>,
    context: CallContext,
  ): Promise<ToolOutcome> => {
    switch (target.kind) {
      case "tool":
        return target.tool.run({ id, tool: target.tool.name, params }, context);
      case "relic": {
        const { query } = params;
        return target.relic.read(typeof query === "string" ? query : undefined, context);
      }
      case "delegate": {
        const { task, input } = params;
        if (typeof task === "string" && target.delegation.tasks.includes(task)) {
          return target.delegation.run({ id, task, input: String(input) }, context);
        }
        return Promise.resolve({ kind: "failed", reason: `There is no task "${String(task)}".` });
      }
      case "trap_card":
        return Promise.resolve(cards.operate(params));
      case "task_manager":
      case "group":
        return Promise.resolve({ kind: "failed", reason: "It can't be called here." });
    }
  };
  const scheduler: Scheduler = new Scheduler({
    catalogue,
    clock,
    limits,
    names,
    emit,
    onEnded: (task) => outbox.addResult(task),
    call: (task, params, context) =>
      task.planned.target.kind === "task_manager"
        ? manageTasks(task, params, context, manager)
        : call(task.planned.target, task.id, params, context),
  });
  const manager = {
    clock,
    limits,
    table: scheduler.table,
    cancel: (tasks: readonly Task[], reason: string) => scheduler.cancel(tasks, reason),
    markDelivered: (task: Task) => outbox.markDelivered(task),
  };
  const cards = new Cards({
    catalogue,
    clock,
    limits,
    names,
    emit,
    call,
    lock: (target) => scheduler.slots.lock(target),
    unlock: (target) => scheduler.slots.unlock(target),
  });
  const cancelAll = (): void => scheduler.cancel(scheduler.active, runCanceled);
  onAbort(signal, cancelAll);

  const warn = (text: string): void => {
    emit({ type: "actions.warning", iteration, text });
    outbox.warn(text);
  };
  const rejected = (problems: readonly ProtocolProblem[]): Turn => {
    emit({ type: "actions.rejected", iteration: iteration + 1, problems });
    return { kind: "rejected", problems };
  };

  /** Everything of a document that takes effect before its actions. */
  const accept = (document: ActionDocument, actions: number): void => {
    const { context = {}, status, thoughts, stop, response } = document;
    iteration += 1;
    emit({
      type: "actions.accepted",
      iteration,
      claimedStatus: status,
      thoughts: thoughts.map(({ type, content }) => ({ type, content })),
      variables: variables.merge(context.variables ?? {}),
      actions,
      stop,
      ...(response === null ? {} : { response }),
    });
    if (context.security_level !== undefined) {
      const text = `security_level "${context.security_level}" is ignored: rights come from the permissions of the task.`;
      emit({ type: "actions.warning", iteration, text });
    }
    if (context.knowledge_relics === undefined) return;
    const chosen = context.knowledge_relics;
    relics = chosen.filter((name) => catalogue.relics.has(name));
    for (const name of chosen) {
      if (!catalogue.relics.has(name)) warn(`There is no relic "${name.slice(0, 100)}".`);
    }
  };

  const execute = async (
    answer: unknown,
    { signal: stop, mode, problem }: ExecuteOptions,
  ): Promise<Turn> => {
    if (problem !== undefined) return rejected([problem]);
    const read = readMessage(answer);
    if (read.kind === "rejected") return rejected(read.problems);
    const { document } = read;
    const { response } = document;
    if (mode === "refused") {
      accept({ ...document, context: {} }, 0);
      const inThoughts = document.thoughts.flatMap(({ actions }) => actions ?? []);
      if ([...inThoughts, ...(document.actions ?? [])].length > 0) {
        warn("The actions of the last answer were not run.");
      }
      return { kind: "executed", iteration, next: "stop", response, actions: [] };
    }
    const known = {
      iteration: iteration + 1,
      onlyReading: mode === "thinking",
      hasTask: (id: string) => scheduler.table.has(id),
      hasVariable: (name: string) => variables.find(name).kind === "found",
    };
    const plan = preflight(document, catalogue, known);
    if (plan.kind === "rejected") return rejected(plan.problems);
    if (!variables.fits(document.context?.variables ?? {}, limits.variablesCharacters)) {
      const message = `All variables together can have at most ${limits.variablesCharacters} characters.`;
      return rejected([{ path: "/context/variables", code: "variables_too_large", message }]);
    }
    const before = relics;
    accept(document, plan.actions.length);
    const canceled =
      signal?.aborted === true ? runCanceled : stop?.aborted === true ? turnCanceled : undefined;
    const all = scheduler.add(plan.actions, iteration, canceled);
    const tasks = all.filter((task) => task.group === undefined);
    for (const task of tasks) if (task.inBackground) outbox.addDispatched(task);
    const waited = tasks.filter((task) => !task.inBackground);
    const cancel = (): void => scheduler.cancel(waited, turnCanceled);
    const release = onAbort(stop, cancel);
    await Promise.all(waited.map((task) => task.ended));
    release();

    const claim = claimOf(document, tasks, scheduler.active.size);
    if (claim !== undefined) warn(claim);
    const isIdle = tasks.length === 0 && !document.stop && relics.join() === before.join();
    const next = isIdle ? "idle" : document.stop && waited.length === 0 ? "stop" : "continue";
    const now = clock.now();
    const actions = tasks.map((task) => viewOf(task, now));
    return { kind: "executed", iteration, next, response, actions };
  };

  const excerpt = async (
    name: string,
    stop: AbortSignal,
  ): Promise<{ name: string; text: string }> => {
    const relic = catalogue.relics.get(name);
    if (relic === undefined) return { name, text: "" };
    const end = await startCall((context) => relic.read(undefined, context), {
      clock,
      seconds: limits.cardSeconds,
      graceSeconds: limits.graceSeconds,
      signal: stop,
    }).ended;
    const text = end.kind === "cancelled" ? end.reason : contentOf(endOf(end, limits.cardSeconds));
    const most = (relic.maxTokens ?? limits.relicTokens) * charactersPerToken;
    return { name, text: cut(text, most) };
  };

  return {
    async execute(answer, executeOptions = {}) {
      if (isBusy) throw new Error("The executor executes one document at a time.");
      const { mode = "normal" } = executeOptions;
      // Types don't reach a program in JavaScript: an unknown one must not run what a known one refuses.
      if (!modes.has(mode)) throw new TypeError(`There is no mode "${mode}".`);
      isBusy = true;
      try {
        return await execute(answer, executeOptions);
      } finally {
        isBusy = false;
      }
    },
    collect: () => outbox.collect(),
    standing: async (stop) => {
      const either = linkSignals([stop, signal]);
      const shown = {
        cards: await cards.run(either.signal),
        relics: await Promise.all(relics.map((name) => excerpt(name, either.signal))),
      };
      either.end();
      return shown;
    },
    finish: async (stop) => {
      const open = [...scheduler.active];
      const releases = [onAbort(stop, cancelAll)];
      const calls = open.filter((task) => !task.isGroup);
      for (const seconds of new Set(calls.map((task) => secondsOf(task, limits)))) {
        const cancelLate = (): void => {
          const late = calls.filter((task) => secondsOf(task, limits) === seconds);
          scheduler.cancel(late, "The run ended.");
        };
        releases.push(startTimer(clock, seconds * 1000, cancelLate));
      }
      await Promise.all(open.map((task) => task.ended));
      for (const release of releases) release();
      const now = clock.now();
      const background = open.filter((task) => task.group === undefined && isEnded(task.state));
      return {
        background: background.map((task) => viewOf(task, now)),
        undelivered: await outbox.collect(),
      };
    },
    tasks: () => [...scheduler.table.values()].map((task) => viewOf(task, clock.now())),
  };
}
