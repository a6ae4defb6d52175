/**
 * The runtime, simulated behind the engine's port: it speaks chat completions with a `ModelTransport`,
 * repeats failed requests, runs every tool at once, and dies when told to. Fast enough for thousands of
 * random runs; `live.test.ts` shows that the real one agrees.
 */
import type {
  Opened,
  Session,
  SessionFactory,
  SessionLabel,
  SessionRequest,
  ToolCall,
  TurnOptions,
  TurnOutcome,
} from "../../../src/engine/ports.ts";
import type { Crash } from "../../../src/events/crash.ts";
import type { ModelTransport } from "../../../src/sessions/request-handler.ts";
import type { FakeClock } from "../../rig/fake-clock.ts";
import {
  assistant,
  prompt,
  receive,
  request,
  system,
  tool,
  type Message,
  type Received,
} from "../rig.ts";
import { answered, sessionCrash } from "../../rig/crashes.ts";

const REQUESTS = 6;
const WAIT_MS = 1_000;

type Exchange = Received | { readonly end: "canceled" } | { readonly end: "crashed"; crash: Crash };

export class SimulatedRuntime implements SessionFactory {
  readonly #transport: ModelTransport;
  readonly #clock: FakeClock;
  #life = new AbortController();
  #sessions = 0;

  constructor(transport: ModelTransport, clock: FakeClock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  open({ label, modelId, history }: SessionRequest): Promise<Opened> {
    this.#sessions += 1;
    const session = this.#session(`s${this.#sessions}`, { modelId, label, history });
    return Promise.resolve({ kind: "opened", session });
  }

  #session(
    id: string,
    { modelId, label, history = [] }: Pick<SessionRequest, "modelId" | "label" | "history">,
  ): Session {
    const life = this.#life.signal;
    const messages: Message[] = [system];
    const past = history.map(({ role, text }): Message => ({ role, content: text }));
    return {
      id,
      modelId,
      runTurn: (text, options) => {
        messages.push(prompt(text));
        const { activity } = options;
        const current = label && (activity === undefined ? label : { ...label, activity });
        return this.#turn({ id, label: current, messages, history: past, life }, options);
      },
      close: () => Promise.resolve(),
    };
  }

  async #turn(conversation: Conversation, options: TurnOptions): Promise<TurnOutcome> {
    const { messages } = conversation;
    const toolCalls: ToolCall[] = [];
    let said = "";
    for (;;) {
      const answer = await this.#exchange(conversation, options);
      if (answer.end === "canceled") return { kind: "canceled", toolCalls };
      if (answer.end === "crashed") return { kind: "crashed", toolCalls, crash: answer.crash };
      if (answer.end !== "done") throw new Error("A failed exchange is a crash.");
      const { text, tools } = answer;
      options.onActivity({
        kind: "model.replied",
        text,
        toolCalls: tools.map(({ name, input }) => ({ name, arguments: JSON.parse(input) })),
        subAgent: false,
      });
      if (text !== "") said = text;
      messages.push(assistant(text));
      if (tools.length === 0) break;
      for (const { name, input } of tools) {
        toolCalls.push({ name, arguments: JSON.parse(input), succeeded: true });
        messages.push(tool(`${name} returned`));
      }
    }
    if (said === "" && toolCalls.length === 0) {
      const crash: Crash = { cause: "empty-answer", message: "Nothing was returned." };
      return { kind: "crashed", toolCalls, crash };
    }
    return { kind: "completed", toolCalls, text: said };
  }

  /** One answer, as often as it must be asked for. */
  async #exchange(conversation: Conversation, options: TurnOptions): Promise<Exchange> {
    let last: Received | undefined;
    for (let n = 0; n < REQUESTS; n += 1) {
      if (n > 0) await this.#clock.sleep(WAIT_MS, options.signal);
      const answer = await this.#once(conversation, options);
      if (answer.end === "done" || answer.end === "canceled" || answer.end === "crashed") {
        return answer;
      }
      last = answer;
      const { status, headers } = answer;
      const final = status >= 400 && status < 500 && status !== 408 && status !== 429;
      if (final || headers.get("x-should-retry") === "false") break;
    }
    const message = last?.text ?? "The connection broke.";
    const crash = last?.end === "status" ? answered(last.status) : sessionCrash;
    return { end: "crashed", crash: { ...crash, message } };
  }

  async #once(
    { id, label, messages, history, life }: Conversation,
    { signal, idleMs }: TurnOptions,
  ): Promise<Exchange> {
    const ended = new AbortController();
    const idle = new AbortController();
    const giveUp = (reason: Exchange) => () => ended.abort(reason);
    const onDeath = giveUp({
      end: "crashed",
      crash: { cause: "runtime-died", message: "The runtime died." },
    });
    const silent: Crash = { cause: "deadline", limit: "idleMinutes", message: "Silence." };
    const onCancel = giveUp({ end: "canceled" });
    signal.addEventListener("abort", onCancel, { once: true });
    life.addEventListener("abort", onDeath, { once: true });
    if (life.aborted) onDeath();
    if (signal.aborted) onCancel();
    void this.#clock
      .sleep(idleMs, idle.signal)
      .then(() => idle.signal.aborted || giveUp({ end: "crashed", crash: silent })());
    const killRuntime = (): void => {
      const dying = this.#life;
      this.#life = new AbortController();
      dying.abort();
    };
    const given = new Promise<Exchange>((resolve) => {
      const told = (): void => resolve(ended.signal.reason);
      if (ended.signal.aborted) told();
      else ended.signal.addEventListener("abort", told, { once: true });
    });
    const answer = this.#transport
      .send(request(messages, { sessionId: id, label, history, signal: ended.signal, killRuntime }))
      .then((response) => receive(response))
      // Given up, or broken: the race below knows which.
      .catch(() => given);
    const result = await Promise.race([given, answer]);
    idle.abort();
    signal.removeEventListener("abort", onCancel);
    life.removeEventListener("abort", onDeath);
    return result;
  }
}

interface Conversation {
  readonly id: string;
  readonly label: SessionLabel | undefined;
  readonly messages: Message[];
  readonly history: readonly Message[];
  readonly life: AbortSignal;
}
