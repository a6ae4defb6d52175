/** Cards and relics. Cards run one after the other, so that those of one tool don't get in each other's way. */
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import { truncateUnredacted, truncate } from "../text/truncate.ts";
import { type CallEnd, startCall } from "../tools/call.ts";
import { type CallContext, charactersPerToken, failed, type ToolOutcome } from "../tools/tool.ts";
import type { Catalogue, Params } from "./catalogue.ts";
import type { ActionSpec } from "./read-message.ts";
import { finalParams, type ParamPorts } from "./params.ts";
import { isAction } from "./preflight.ts";
import type { Scheduler } from "./scheduler.ts";
import { contentOf, endOf } from "./task.ts";

/** The part of every prompt beside the delivery. */
export interface Standing {
  /** The results of standing actions, in the order of their registration. */
  readonly cards: readonly CardOutput[];
  /** Excerpts of the chosen relics. */
  readonly relics: readonly { readonly name: string; readonly text: string }[];
}

/** The result of a standing action. */
export interface CardOutput {
  /** The id of the card. */
  readonly id: string;
  /** The name of the call. */
  readonly action: string;
  /** Whether `text` is its result. */
  readonly succeeded: boolean;
  /** The result, or why there is none. At most `cardTokens`. */
  readonly text: string;
}

interface StandingPorts extends ParamPorts {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly emit: (event: ActionEvent) => void;
  readonly tools: Pick<Scheduler, "lock" | "unlock">;
}

export class StandingActions {
  readonly #ports: StandingPorts;
  readonly #cards = new Map<string, ActionSpec>();
  #chosen: readonly string[] = [];

  constructor(ports: StandingPorts) {
    this.#ports = ports;
  }

  operate(params: Params): ToolOutcome {
    const { operation, id, action } = params;
    const { cards: most } = this.#ports.limits;
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

  choose(names: readonly string[]): { readonly changed: boolean; readonly unknown: string[] } {
    const { relics } = this.#ports.catalogue;
    const before = this.#chosen;
    this.#chosen = names.filter((name) => relics.has(name));
    return {
      changed: this.#chosen.join() !== before.join(),
      unknown: names.filter((name) => !relics.has(name)),
    };
  }

  async run(signal: AbortSignal): Promise<Standing> {
    const cards: CardOutput[] = [];
    for (const [id, spec] of this.#cards) {
      if (signal.aborted) break;
      cards.push(await this.#runCard(id, spec, signal));
    }
    const relics = this.#chosen.map(async (name) => this.#excerpt(name, signal));
    return { cards, relics: await Promise.all(relics) };
  }

  async #runCard(id: string, spec: ActionSpec, signal: AbortSignal): Promise<CardOutput> {
    const { clock, emit, limits } = this.#ports;
    const since = clock.now();
    const ended = endOf(await this.#call(id, spec, signal), limits.cardSeconds);
    const text = truncate(contentOf(ended), limits.cardTokens * charactersPerToken);
    if (ended.status !== "skipped") {
      emit({
        type: "card.ended",
        id,
        status: ended.status,
        milliseconds: clock.now() - since,
        ...(ended.status !== "succeeded" && {
          reason: truncateUnredacted(text, limits.eventCharacters),
        }),
      });
    }
    return { id, action: spec.action, succeeded: ended.status === "succeeded", text };
  }

  async #call(id: string, spec: ActionSpec, signal: AbortSignal): Promise<CallEnd> {
    const { catalogue, tools } = this.#ports;
    const target = catalogue.resolve(spec);
    if (target.kind === "unknown") return failed(target.message);
    const params = finalParams(target, spec.params ?? {}, this.#ports);
    if (typeof params === "string") return failed(params);
    if (!tools.lock(target)) return failed("The tool is in use.");
    const end = await this.#bounded((context) => target.run({ id, params }, context), signal);
    tools.unlock(target);
    return end;
  }

  async #excerpt(name: string, signal: AbortSignal): Promise<{ name: string; text: string }> {
    const { catalogue, limits } = this.#ports;
    const relic = catalogue.relics.get(name);
    if (relic === undefined) return { name, text: "" };
    const end = await this.#bounded((context) => relic.read(undefined, context), signal);
    const most = (relic.maxTokens ?? limits.relicTokens) * charactersPerToken;
    return { name, text: truncate(contentOf(endOf(end, limits.cardSeconds)), most) };
  }

  #bounded(
    run: (context: CallContext) => Promise<ToolOutcome>,
    signal: AbortSignal,
  ): Promise<CallEnd> {
    const { clock, limits } = this.#ports;
    const { cardSeconds: seconds, graceSeconds } = limits;
    return startCall(run, { clock, seconds, graceSeconds, signal }).ended;
  }
}
