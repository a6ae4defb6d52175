/** A pure fold over the events of a turn. It owns what is open: texts, tool calls and permission requests. */
import type { SessionEvent } from "@github/copilot-sdk";
import type { ToolCall } from "../engine/ports.ts";
import { refusalOf, type Crash, type Refusal } from "../events/crash.ts";
import { visible } from "../text/truncate.ts";
import {
  type AnswerFinish,
  type SessionActivity,
  isDelta,
  textOf,
  type Delta,
} from "../events/session-activity.ts";
import { callReasons, finishOf, statusOf, type SdkEvent, Translator } from "./translate.ts";
import {
  hopeless,
  modelCrash,
  modelName,
  reportsNoAnswer,
  type ModelAddress,
} from "./model-error.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimer, type Release } from "../platform/waiting.ts";

/** No model of today writes a tenth of that. What is kept of a longer one would grow without a bound. */
export const MAX_ANSWER_BYTES = 4_000_000;

/** More than most tokens of a text have: an answer that may be longer is cut off, not one that fits. */
const BYTES_PER_TOKEN = 5;

interface Answer {
  /** After a content filter the text is the runtime's own, or only a part. */
  readonly finish: AnswerFinish | undefined;
  readonly empty: boolean;
  /** The model server said that it ends with a tool call, and there is none. */
  readonly lostCall: boolean;
}

/** Where the session is with the turn. The session reports `failed` and `idle`; `faulty` is concluded from its events. */
type TurnPhase =
  | { readonly at: "working" }
  /** The conversation has ended its answer, though the session may still wait for background work. */
  | { readonly at: "answered" }
  /** The session has reported an error: it becomes idle by itself. */
  | { readonly at: "failed"; readonly crash: Crash }
  /** The turn must not go on, although the session would. */
  | { readonly at: "faulty"; readonly crash: Crash }
  /** The answer is longer than the model's `outputTokens`, and goes on. */
  | { readonly at: "cut" }
  | { readonly at: "idle"; readonly aborted: boolean; readonly crash: Crash | undefined };

export class TurnState {
  readonly #translator = new Translator();
  /** Tools and permission requests that are under way, sub-agents included. */
  readonly #open = new Set<string>();
  readonly #asked: ModelAddress;
  #phase: TurnPhase = { at: "working" };
  #text = "";
  #finish: AnswerFinish | undefined;
  #endsInCall = false;
  #parts = 0;
  #refused = false;
  #answer: Answer | undefined;
  #failure: { readonly status: number | undefined; readonly words: string | undefined } | undefined;
  /** The bytes of earlier answers of the turn in the runtime's count, by agent. */
  readonly #earlier = new Map<string | undefined, number>();
  #bytes = 0;

  constructor(asked: ModelAddress) {
    this.#asked = asked;
  }

  /** Events that still arrive after a turn was cut off or failed are dropped: there may be many. */
  accept(event: SessionEvent): readonly SessionActivity[] {
    const wasCut = this.#phase.at === "cut";
    this.#follow(event);
    return wasCut || this.#phase.at === "faulty" ? [] : this.#translator.translate(event);
  }

  /** Faults of sub-agents count, because their answers fill the same memory. */
  #follow(event: SessionEvent): void {
    const { agentId } = event;
    switch (event.type) {
      case "tool.execution_start":
        this.#open.add(toolKey(event));
        return;
      case "tool.execution_complete":
        this.#open.delete(toolKey(event));
        return;
      case "permission.requested":
        this.#open.add(`permission ${event.data.requestId}`);
        return;
      case "permission.completed":
        this.#open.delete(`permission ${event.data.requestId}`);
        return;
      case "assistant.turn_start":
        this.#earlier.set(agentId, this.#bytes);
        break;
      case "assistant.streaming_delta":
        this.#bytes = event.data.totalResponseSizeBytes;
        this.#measure(agentId);
        return;
      case "assistant.message":
        this.#bound(event.data.content.length + (event.data.reasoningText?.length ?? 0));
        break;
      case "model.call_failure": {
        const { errorMessage = "", statusCode } = event.data;
        const crash = hopeless(errorMessage, statusOf(statusCode), this.#asked);
        if (crash !== undefined) this.#fail("faulty", crash);
        break;
      }
      default:
        break;
    }
    if (agentId === undefined) this.#followRoot(event);
  }

  #followRoot(event: SessionEvent): void {
    switch (event.type) {
      case "assistant.turn_start":
        this.#parts = 0;
        if (this.#phase.at === "answered") this.#phase = { at: "working" };
        // The model is asked again: its previous message was not the last one.
        this.#answer = undefined;
        break;
      case "model.call_failure":
        this.#failure = { status: statusOf(event.data.statusCode), words: event.data.errorMessage };
        break;
      case "assistant.usage": {
        const reason = event.data.finishReason?.toLowerCase() ?? "";
        this.#failure = undefined;
        this.#finish = finishOf(event);
        // Anthropic's API has no filter, but the runtime calls its refusals so.
        const isAnthropic = this.#asked.request?.endsWith("/messages") === true;
        this.#refused = reason === "refusal" || (this.#finish === "content_filter" && isAnthropic);
        this.#endsInCall = callReasons.includes(reason);
        break;
      }
      case "assistant.message": {
        const { content, toolRequests = [] } = event.data;
        const empty = !visible.test(content) && toolRequests.length === 0;
        const lostCall = this.#endsInCall && toolRequests.length === 0;
        this.#answer = { finish: this.#finish, empty, lostCall };
        // After a content filter the text is the runtime's own (docs/internals/runtime-notes.md#empty-and-filtered-answers).
        if (content !== "" && this.#finish !== "content_filter") this.#text = content;
        break;
      }
      case "session.error":
        this.#fail("failed", this.#reported(event));
        break;
      case "assistant.idle":
        if (this.#phase.at === "working") this.#phase = { at: "answered" };
        break;
      case "session.idle": {
        const crash = "crash" in this.#phase ? this.#phase.crash : undefined;
        this.#phase = { at: "idle", aborted: event.data.aborted === true, crash };
        break;
      }
      default:
        break;
    }
  }

  isOpen(toolCallId: string): boolean {
    return this.#translator.isOpen(toolCallId);
  }

  close(): SessionActivity[] {
    return this.#translator.close();
  }

  get phase(): TurnPhase {
    return this.#phase;
  }

  /** A tool runs or a permission is being decided: silence is no sign of a hanging model. */
  get busy(): boolean {
    return this.#open.size > 0;
  }

  get answer(): Answer | undefined {
    return this.#answer;
  }

  /** How the model server refused the last call: what a silence after it is about. */
  get refusal(): Refusal | undefined {
    const status = this.#failure?.status;
    return status === undefined ? undefined : refusalOf(status);
  }

  get text(): string {
    return this.#text;
  }

  noAnswer(): Crash {
    const { finish, lostCall = false } = this.#answer ?? {};
    const other = lostCall ? "lost_call" : "nothing";
    const reason = this.#refused
      ? "refused"
      : finish === "error" || finish === "content_filter"
        ? finish
        : other;
    const [cause, what] = noAnswers[reason];
    return { cause, message: `${what} (${modelName(this.#asked)}).` };
  }

  get toolCalls(): readonly ToolCall[] {
    return this.#translator.calls;
  }

  #measure(agentId: string | undefined): void {
    const { outputTokens = Infinity } = this.#asked;
    if (agentId === undefined) this.#parts += 1;
    const bytes = this.#bytes - (this.#earlier.get(agentId) ?? 0);
    this.#bound(bytes);
    const tokens = Math.max(this.#parts, bytes / BYTES_PER_TOKEN);
    if (tokens > outputTokens && this.#phase.at === "working") this.#phase = { at: "cut" };
  }

  #bound(bytes: number): void {
    if (bytes <= MAX_ANSWER_BYTES) return;
    const message = `The model's answer was cut off: it was longer than ${MAX_ANSWER_BYTES / 1e6} MB.`;
    this.#fail("faulty", { cause: "answer-too-long", message });
  }

  /** The first crash counts; of an idle session it changes nothing else. */
  #fail(at: "failed" | "faulty", crash: Crash): void {
    const phase = this.#phase;
    if (phase.at === "idle") this.#phase = { ...phase, crash: phase.crash ?? crash };
    else if (phase.at !== "faulty" && (phase.at !== "failed" || at === "faulty"))
      this.#phase = { at, crash };
  }

  #reported({ data }: SdkEvent<"session.error">): Crash {
    const error = { ...data, statusCode: statusOf(data.statusCode) };
    return this.#answer?.empty === true && reportsNoAnswer(error)
      ? { ...this.noAnswer(), detail: JSON.stringify(error) }
      : modelCrash(error, this.#failure?.words, this.#asked);
  }
}

const noAnswers = {
  error: ["session-error", "The model server broke off its answer with an error"],
  content_filter: ["filtered", "The model's answer was blocked by its content filter"],
  refused: ["refused", "The model refused to answer"],
  lost_call: ["session-error", "The model server announced a tool call and sent none"],
  nothing: ["empty-answer", "The model answered with nothing: neither text nor a tool call"],
} as const;

/** Sub-agents may use the ids of each other. */
function toolKey(event: SdkEvent<"tool.execution_start" | "tool.execution_complete">): string {
  return `tool ${event.agentId ?? ""} ${event.data.toolCallId}`;
}

const everyMs = 50;
const atMost = 64 * 1024;

/** Deltas may come by the thousand in a second: those of one text are joined, in order, for at most 50 ms. */
export class Deltas {
  #held: Delta | undefined;
  #lastPassed = -Infinity;
  #timer: Release | undefined;
  readonly #clock: Clock;
  readonly #pass: (activity: SessionActivity) => void;

  constructor(clock: Clock, pass: (activity: SessionActivity) => void) {
    this.#clock = clock;
    this.#pass = pass;
  }

  pass(activity: SessionActivity): void {
    if (!isDelta(activity)) {
      this.flush();
      this.#pass(activity);
      return;
    }
    if (this.#held !== undefined && textOf(this.#held) !== textOf(activity)) this.flush();
    const text = (this.#held?.text ?? "") + activity.text;
    this.#held = { ...activity, text };
    const wait = this.#lastPassed + everyMs - this.#clock.now();
    if (wait <= 0 || text.length >= atMost) this.flush();
    else this.#timer ??= startTimer(this.#clock, wait, () => this.flush());
  }

  flush(): void {
    this.#timer?.();
    this.#timer = undefined;
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    this.#lastPassed = this.#clock.now();
    this.#pass(held);
  }
}
