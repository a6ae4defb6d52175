/** Accepts documents, one after the other. One with any problem changes nothing. */
import { ordinaryValue } from "./params.ts";
import type { ActionEvent } from "../events/action.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ExecutorLimits } from "./limits.ts";
import type { ActionDocument } from "./message-schema.ts";
import { type PlannedAction, preflight } from "./preflight.ts";
import { type ProtocolProblem, readMessage, reject, type Rejected } from "./read-message.ts";

export interface DocumentPorts {
  readonly catalogue: Catalogue;
  readonly limits: ExecutorLimits;
  readonly emit: (event: ActionEvent) => void;
  readonly hasTask: (id: string) => boolean;
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

export interface Accepted {
  readonly kind: "accepted";
  readonly document: ActionDocument;
  readonly iteration: number;
  readonly actions: readonly PlannedAction[];
}

export class Documents {
  readonly #ports: DocumentPorts;
  readonly #variables = new Map<string, unknown>();
  #iteration = 0;

  constructor(ports: DocumentPorts) {
    this.#ports = ports;
  }

  get iteration(): number {
    return this.#iteration;
  }

  variable(name: string): unknown {
    return this.#variables.get(name);
  }

  take(answer: unknown, { mode, problem }: ExecuteOptions): Accepted | Rejected {
    const { catalogue, emit, hasTask, limits } = this.#ports;
    const rejected = (rejection: Rejected): Rejected => {
      const { problems } = rejection;
      emit({ type: "actions.rejected", iteration: this.#iteration + 1, problems });
      return rejection;
    };
    if (problem !== undefined) return rejected(reject([problem]));
    const read = readMessage(answer);
    if (read.kind === "rejected") return rejected(read);
    const { document } = read;
    if (mode === "refused") return this.#accept({ ...document, context: {} }, []);
    const plan = preflight(document, catalogue, {
      iteration: this.#iteration + 1,
      onlyReading: mode === "thinking",
      hasTask,
      hasVariable: (name) => this.#variables.has(name),
    });
    if (plan.kind === "rejected") return rejected(plan);
    const { variables = {} } = document.context ?? {};
    const all = new Map([...this.#variables, ...Object.entries(variables)]);
    if (JSON.stringify([...all]).length > limits.variablesCharacters) {
      const message = `All variables together can have at most ${limits.variablesCharacters} characters.`;
      const path = "/context/variables";
      return rejected(reject([{ path, code: "variables_too_large", message }]));
    }
    return this.#accept(document, plan.actions);
  }

  #accept(document: ActionDocument, actions: readonly PlannedAction[]): Accepted {
    const { context = {}, status, thoughts, stop, response } = document;
    const { emit } = this.#ports;
    const iteration = (this.#iteration += 1);
    emit({
      type: "actions.accepted",
      iteration,
      claimedStatus: status,
      thoughts: thoughts.map(({ type, content }) => ({ type, content })),
      variables: this.#merge(context.variables ?? {}),
      actions: actions.length,
      stop,
      ...(response === null ? {} : { response }),
    });
    if (context.security_level !== undefined) {
      const text = `security_level "${context.security_level}" is ignored: rights come from the permissions of the task.`;
      emit({ type: "actions.warning", iteration, text });
    }
    return { kind: "accepted", document, iteration, actions };
  }

  #merge(changes: Readonly<Record<string, unknown>>): { set: string[]; deleted: string[] } {
    const set: string[] = [];
    const deleted: string[] = [];
    for (const [name, value] of Object.entries(changes)) {
      if (value !== null) {
        this.#variables.set(name, ordinaryValue(value));
        set.push(name);
      } else if (this.#variables.delete(name)) deleted.push(name);
    }
    return { set, deleted };
  }
}
