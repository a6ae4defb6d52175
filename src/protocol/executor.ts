/**
 * The executor of action documents: document in, results out. It lives as long as its task, so that a later round can ask
 * about the actions of an earlier one. Rights are not decided here: `tools`, `relics` and `delegation` may all be called.
 */
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import type { ToolCall } from "../engine/ports.ts";
import { linkSignals, onAbort, startTimer } from "../platform/waiting.ts";
import type { Tool } from "../tools/tool.ts";
import {
  type Catalogue,
  type CatalogueParts,
  createCatalogue,
  type ExecutorLimits,
  type Internals,
  limitsOf,
  type Refuse,
} from "./catalogue.ts";
import { type Delivery, Outbox, type Store } from "./delivery.ts";
import {
  type ActionDocument,
  type ProtocolProblem,
  readMessage,
  reject,
  type Rejected,
} from "./read-message.ts";
import { type PlannedAction, preflight } from "./preflight.ts";
import { type Names, ordinaryValue } from "./params.ts";
import { Scheduler } from "./scheduler.ts";
import { type Standing, StandingActions } from "./standing.ts";
import { isEnded, type Task, type TaskView, viewOf } from "./task.ts";
import { manageTasks } from "./task-manager.ts";
import { truncateUnredacted } from "../text/truncate.ts";

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

/** The consequence of an answer. A document with any problem is rejected, and nothing of it runs. */
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
      /** The status that the model claims. */
      readonly claimedStatus: ActionDocument["status"];
      /** The actions of the document that are in no group, those of thoughts first. */
      readonly actions: readonly TaskView[];
    };

interface Accepted {
  readonly kind: "accepted";
  readonly document: ActionDocument;
  readonly iteration: number;
  readonly actions: readonly PlannedAction[];
}

/** How a run ended. */
export interface RunEnd {
  /** Actions that ran in the background at the end, or had ended there since the last prompt. */
  readonly background: readonly TaskView[];
  /** Results that no prompt has delivered. */
  readonly undelivered: Delivery;
}

/** Executes documents one after the other. It keeps variables, results and what runs in the background. */
export interface ActionExecutor {
  /** The text of a model, or a document as a value. Resolves when the SYNC actions have ended. Never rejects. */
  execute(answer: unknown, options?: ExecuteOptions): Promise<Turn>;
  /** Returns the news since its last call, for the next prompt. */
  collect(): Promise<Delivery>;
  /** Runs the cards and reads the chosen relics, for the next prompt. */
  standing(signal?: AbortSignal): Promise<Standing>;
  /**
   * The end of the run: waits for what goes on in the background, within its time limits, then cancels it. `signal`
   * cancels it at once. Afterwards the executor accepts another run, with everything that it knows.
   */
  finish(signal?: AbortSignal): Promise<RunEnd>;
  /** All actions of all documents, in order. */
  tasks(): readonly TaskView[];
}

/** Throws if names are ambiguous or reserved, or if parameters are not a valid JSON Schema; see `createCatalogue`. */
export function createActionExecutor(options: ExecutorOptions, refuse?: Refuse): Executor {
  return new Executor(options, refuse);
}

const runCanceled = "The run was canceled.";
const turnCanceled = "The turn was canceled.";

export class Executor implements ActionExecutor {
  readonly #clock: Clock;
  readonly #limits: ExecutorLimits;
  readonly #signal: AbortSignal | undefined;
  readonly #emit: (event: ActionEvent) => void;
  readonly #variables = new Map<string, unknown>();
  readonly #scheduler: Scheduler;
  readonly #standing: StandingActions;
  readonly #outbox: Outbox;
  readonly #catalogue: Catalogue;
  readonly offer: (tools: readonly Tool[]) => void;
  /** Accepted documents. */
  #iteration = 0;

  constructor(options: ExecutorOptions, refuse?: Refuse) {
    const { clock, signal, store } = options;
    const limits = limitsOf(options.limits);
    const internals: Internals = {
      task_manager: ({ id, params }, context) =>
        manageTasks(id, params, context, {
          clock,
          limits,
          table: this.#scheduler.table,
          cancel: (tasks, reason) => this.#scheduler.cancel(tasks, reason),
          undelivered: this.#outbox.results,
        }),
      trap_card: ({ params }) => Promise.resolve(this.#standing.operate(params)),
    };
    const catalogueOf = (tools: readonly Tool[]): Catalogue =>
      createCatalogue({ ...options, tools, limits, internals }, refuse);
    const catalogue = catalogueOf(options.tools);
    this.#catalogue = catalogue;
    this.offer = (tools) => void Object.assign(catalogue, catalogueOf(tools));
    const emit = (event: ActionEvent): void => {
      try {
        options.emit?.(event);
      } catch {
        // Who listens must not keep an action from ending.
      }
    };
    const names: Names = {
      variable: (name) => this.#variables.get(name),
      result: (id) => {
        const state = this.#scheduler.table.get(id)?.state;
        return state?.status === "succeeded" ? state.output.value : undefined;
      },
      status: (id) => this.#scheduler.table.get(id)?.state.status,
    };
    const common = { clock, limits, names, emit };
    this.#clock = clock;
    this.#limits = limits;
    this.#signal = signal;
    this.#emit = emit;
    this.#outbox = new Outbox(limits, store);
    this.#scheduler = new Scheduler({
      ...common,
      onEnded: (task) => this.#outbox.results.add(task),
    });
    this.#standing = new StandingActions({ ...common, catalogue, tools: this.#scheduler });
    onAbort(signal, () => this.#cancelAll());
  }

  get tools(): readonly Tool[] {
    return this.#catalogue.tools;
  }

  async execute(answer: unknown, options: ExecuteOptions = {}): Promise<Turn> {
    const { signal, mode } = options;
    const accepted = this.#accept(answer, options);
    if (accepted.kind === "rejected") {
      const { problems } = accepted;
      this.#emit({ type: "actions.rejected", iteration: this.#iteration + 1, problems });
      return accepted;
    }
    if (mode === "refused") return this.#refuse(accepted);
    const { document, iteration } = accepted;
    const { response, stop } = document;
    const choseRelics = this.#chooseRelics(document);
    const all = this.#scheduler.add(accepted.actions, iteration, this.#canceled(signal));
    const tasks = all.filter((task) => task.group === undefined);
    for (const task of tasks) if (task.inBackground) this.#outbox.dispatched.add(task);
    const waited = tasks.filter((task) => !task.inBackground);
    const release = onAbort(signal, () => this.#scheduler.cancel(waited, turnCanceled));
    await Promise.all(waited.map((task) => task.ended));
    release();
    const claim = claimOf(document, tasks, this.#scheduler.active.size);
    if (claim !== undefined) this.#warn(claim);
    const isIdle = tasks.length === 0 && !stop && !choseRelics;
    const next = isIdle ? "idle" : stop && waited.length === 0 ? "stop" : "continue";
    const { status: claimedStatus } = document;
    const actions = this.#views(tasks);
    return { kind: "executed", iteration, next, response, claimedStatus, actions };
  }

  /** A document with any problem changes nothing. */
  #accept(answer: unknown, { mode, problem }: ExecuteOptions): Accepted | Rejected {
    if (problem !== undefined) return reject([problem]);
    const read = readMessage(answer);
    if (read.kind === "rejected") return read;
    const { document } = read;
    const { context = {}, status, thoughts, stop, response } = document;
    const isRefused = mode === "refused";
    const plan = isRefused
      ? { kind: "planned" as const, actions: [] }
      : preflight(document, this.#catalogue, {
          iteration: this.#iteration + 1,
          onlyReading: mode === "thinking",
          hasTask: (id) => this.#scheduler.table.has(id),
          hasVariable: (name) => this.#variables.has(name),
        });
    if (plan.kind === "rejected") return plan;
    const changes = Object.entries((!isRefused && context.variables) || {});
    const { variablesCharacters: most } = this.#limits;
    if (JSON.stringify([...new Map([...this.#variables, ...changes])]).length > most) {
      const message = `All variables together can have at most ${most} characters.`;
      const path = "/context/variables";
      return reject([{ path, code: "variables_too_large", message }]);
    }
    const iteration = (this.#iteration += 1);
    const gone = changes.filter(([name, value]) => value === null && this.#variables.delete(name));
    const set = changes.filter(([, value]) => value !== null);
    for (const [name, value] of set) this.#variables.set(name, ordinaryValue(value));
    this.#emit({
      type: "actions.accepted",
      iteration,
      claimedStatus: status,
      thoughts: thoughts.map(({ type, content }) => ({ type, content })),
      variables: { set: set.map(([name]) => name), deleted: gone.map(([name]) => name) },
      actions: plan.actions.length,
      stop,
      ...(response === null ? {} : { response }),
    });
    if (!isRefused && context.security_level !== undefined) {
      const text = `security_level "${context.security_level}" is ignored: rights come from the permissions of the task.`;
      this.#emit({ type: "actions.warning", iteration, text });
    }
    return { kind: "accepted", document, iteration, actions: plan.actions };
  }

  collect(): Promise<Delivery> {
    return this.#outbox.collect();
  }

  async standing(stop?: AbortSignal): Promise<Standing> {
    const either = linkSignals([stop, this.#signal]);
    try {
      return await this.#standing.run(either.signal);
    } finally {
      either.end();
    }
  }

  async finish(stop?: AbortSignal): Promise<RunEnd> {
    return { background: await this.settle(stop), undelivered: await this.collect() };
  }

  /** Ends the run as `finish` does, but what no prompt has delivered stays for the next one. Returns `RunEnd.background`. */
  async settle(stop?: AbortSignal): Promise<readonly TaskView[]> {
    const open = [...this.#scheduler.active];
    const release = onAbort(stop, () => this.#cancelAll());
    const calls = open.filter((task) => !task.isGroup);
    const timers = calls.map((task) =>
      startTimer(this.#clock, task.planned.target.seconds * 1000, () =>
        this.#scheduler.cancel([task], "The run ended."),
      ),
    );
    await Promise.all(open.map((task) => task.ended));
    for (const end of [release, ...timers]) end();
    const ended = [...new Set([...open, ...this.#outbox.results])];
    return this.#views(ended.filter((task) => task.inBackground && isEnded(task.state)));
  }

  calledSince(iteration: number): readonly ToolCall[] {
    return [...this.#scheduler.table.values()].flatMap(
      ({ iteration: own, planned, state, params }) =>
        own > iteration && planned.target.kind === "tool" && state.status === "succeeded"
          ? [{ name: planned.target.name, arguments: params, succeeded: true }]
          : [],
    );
  }

  get isIdle(): boolean {
    return this.#scheduler.active.size === 0;
  }

  tasks(): readonly TaskView[] {
    return this.#views([...this.#scheduler.table.values()]);
  }

  #refuse({ document, iteration }: Accepted): Turn {
    const { actions, response, thoughts } = document;
    if ([...thoughts.flatMap((one) => one.actions ?? []), ...(actions ?? [])].length > 0) {
      this.#warn("The actions of the last answer were not run.");
    }
    const { status: claimedStatus } = document;
    return { kind: "executed", iteration, next: "stop", response, claimedStatus, actions: [] };
  }

  #chooseRelics({ context }: ActionDocument): boolean {
    const names = context?.knowledge_relics;
    if (names === undefined) return false;
    const { changed, unknown } = this.#standing.choose(names);
    for (const name of unknown)
      this.#warn(`There is no relic "${truncateUnredacted(name, 100, "…")}".`);
    return changed;
  }

  #canceled(signal: AbortSignal | undefined): string | undefined {
    if (this.#signal?.aborted === true) return runCanceled;
    return signal?.aborted === true ? turnCanceled : undefined;
  }

  #cancelAll(): void {
    this.#scheduler.cancel(this.#scheduler.active, runCanceled);
  }

  #warn(text: string): void {
    this.#emit({ type: "actions.warning", iteration: this.#iteration, text });
    this.#outbox.warnings.push(text);
  }

  #views(tasks: readonly Task[]): TaskView[] {
    const now = this.#clock.now();
    return tasks.map((task) => viewOf(task, now));
  }
}

function claimOf(
  { status, stop }: ActionDocument,
  tasks: readonly Task[],
  active: number,
): string | undefined {
  const hasFailed = tasks.some(({ state }) => isEnded(state) && state.status !== "succeeded");
  const inBackground = active > 0 || tasks.some((task) => task.inBackground);
  const finished = stop ? "SUCCESS" : "EXECUTING";
  const real = inBackground ? "TASK_STARTED" : finished;
  const isTrue = {
    // Whether the work as a whole failed is the model's to say.
    ERROR: true,
    EXECUTING: tasks.length > 0 || real !== "SUCCESS",
    TASK_STARTED: inBackground,
    SUCCESS: !hasFailed && active === 0,
  }[status];
  if (isTrue) return undefined;
  return `The document claims the status ${status}, but it is ${hasFailed ? "ERROR" : real}.`;
}
