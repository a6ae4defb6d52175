/** Standing actions ("trap cards"): read-only actions that run before every model call. */
import { isAction } from "./preflight.ts";
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../events/clock.ts";
import { type CallEnd, startCall } from "../calls/call.ts";
import { type CallContext, charactersPerToken, type ToolOutcome } from "../calls/tool.ts";
import type { Catalogue, Target } from "./catalogue.ts";
import type { ExecutorLimits } from "./limits.ts";
import { cut } from "../events/cut.ts";
import type { ActionSpec } from "./model.ts";
import { checkFinal, ordinary } from "./params.ts";
import { interpolate, type Names } from "./references.ts";
import { contentOf, endOf } from "./task.ts";

/** What a standing action returned. */
export interface CardOutput {
  /** Of the card. */
  readonly id: string;
  /** What was called. */
  readonly action: string;
  /** Whether `text` is its result. */
  readonly succeeded: boolean;
  /** The result, or why there is none. At most `cardTokens`. */
  readonly text: string;
}

export interface CardPorts {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly limits: ExecutorLimits;
  readonly names: Names;
  readonly emit: (event: ActionEvent) => void;
  readonly call: (
    target: Target,
    id: string,
    params: Readonly<Record<string, unknown>>,
    context: CallContext,
  ) => Promise<ToolOutcome>;
  readonly lock: (target: Target) => boolean;
  readonly unlock: (target: Target) => void;
}

export class Cards {
  readonly #ports: CardPorts;
  readonly #cards = new Map<string, ActionSpec>();

  constructor(ports: CardPorts) {
    this.#ports = ports;
  }

  operate(params: Readonly<Record<string, unknown>>): ToolOutcome {
    const { operation, id, action } = params;
    const { cards: most } = this.#ports.limits;
    const failed = (reason: string): ToolOutcome => ({ kind: "failed", reason });
    const list = (): ToolOutcome => ({
      kind: "succeeded",
      value: [...this.#cards].map(([name, spec]) => ({ id: name, action: spec.action })),
    });
    if (operation === "list") return list();
    if (typeof id !== "string") return failed("A card needs an id.");
    const exists = this.#cards.has(id);
    if (operation === "register" && exists)
      return failed(`There already is a card "${id}". Use update.`);
    if (operation !== "register" && !exists) return failed(`There is no card "${id}".`);
    if (operation === "remove") this.#cards.delete(id);
    else if (!isAction(action)) return failed("A card needs an action.");
    else if (!exists && this.#cards.size >= most)
      return failed(`There can be at most ${most} cards.`);
    else this.#cards.set(id, action);
    return list();
  }

  /** One after the other, so that cards of the same tool don't get in each other's way. */
  async run(signal: AbortSignal): Promise<CardOutput[]> {
    const outputs: CardOutput[] = [];
    for (const [id, spec] of this.#cards) {
      if (signal.aborted) break;
      outputs.push(await this.#runCard(id, spec, signal));
    }
    return outputs;
  }

  async #runCard(id: string, spec: ActionSpec, signal: AbortSignal): Promise<CardOutput> {
    const { clock, emit, limits } = this.#ports;
    const since = clock.now();
    const end = await this.#call(id, spec, signal);
    const ended =
      end.kind === "cancelled"
        ? ({ status: "cancelled", reason: end.reason } as const)
        : endOf(end, limits.cardSeconds);
    const text = cut(contentOf(ended), limits.cardTokens * charactersPerToken);
    if (ended.status !== "skipped") {
      emit({
        type: "card.ended",
        id,
        status: ended.status,
        milliseconds: clock.now() - since,
        ...(ended.status === "succeeded" ? {} : { reason: text.slice(0, limits.eventCharacters) }),
      });
    }
    return { id, action: spec.action, succeeded: ended.status === "succeeded", text };
  }

  async #call(id: string, spec: ActionSpec, signal: AbortSignal): Promise<CallEnd> {
    const { catalogue, clock, limits, names, call, lock, unlock } = this.#ports;
    const failed = (reason: string): CallEnd => ({ kind: "failed", reason });
    const resolved = catalogue.resolve(spec);
    if (resolved.kind === "unknown") return failed(resolved.message);
    const { target } = resolved;
    const result = interpolate(spec.params ?? {}, names, limits.paramsCharacters);
    if (result.kind === "unresolved") return failed(result.reason);
    const params = ordinary({ ...Object(result.value) });
    const [problem] = checkFinal(catalogue.check(target), target, params);
    if (problem !== undefined) return failed(`Invalid params: ${problem.reason}`);
    if (!lock(target)) return failed("The tool is in use.");
    const end = await startCall((context) => call(target, id, params, context), {
      clock,
      seconds: limits.cardSeconds,
      graceSeconds: limits.graceSeconds,
      signal,
    }).ended;
    unlock(target);
    return end;
  }
}
