/**
 * A `ModelTransport` that answers from a script. Where a conversation stands is read from the request itself: the
 * runtime repeats a failed request, which must get the same answer. Only `times` makes a repetition different.
 */
import { plural } from "../../text/numbers.ts";
import type { RunEventBody, WorkRef } from "../../events/event.ts";
import type { ModelRequest, ModelTransport } from "../../sessions/request-handler.ts";
import {
  chooseRule,
  describeRequest,
  playsActivity,
  unusedParts,
  use,
  type PlayedRule,
  ToolCalls,
} from "./matching.ts";
import { completeDocument } from "../format/rehearsal-schema.ts";
import type { Reply, Script, Turn } from "../format/script.ts";
import { fillIn } from "../format/names.ts";
import { mismatch, quote } from "../format/text-condition.ts";
import {
  callIdOf,
  decodeRequest,
  encodeAnswer,
  encodeCut,
  encodeError,
  encodeHang,
  never,
  offeredTool,
  type ChatRequest,
} from "./wire.ts";
import { truncate } from "../../text/truncate.ts";
import { onAbort } from "../../platform/waiting.ts";

export interface ScriptedModelOptions {
  readonly clock: { sleep(milliseconds: number, signal?: AbortSignal): Promise<void> };
  /** Absolute. The value of `${workingDirectory}`. */
  readonly workingDirectory: string;
  /** Absolute. The value of `${changeDiff}`. */
  readonly changeDiff?: string | undefined;
  /** Others use its session, too: prompts it has not seen are theirs, and a used-up rule is followed by another. */
  readonly shared?: { readonly label: () => ModelRequest["label"] };
}

/** The session, or the one prompt of it, that a rule plays. */
interface Conversation {
  readonly number: number;
  readonly played: PlayedRule;
  readonly given: Map<Reply, number>;
  /** Prompts before the first of its turns; of a prompt of an activity, less the turns before its own. */
  before: number;
  last: number;
}

type Choice = { readonly reply: Reply } | { readonly problem: string };

export class ScriptedModel implements ModelTransport {
  readonly scripted = true;
  readonly #rules: readonly PlayedRule[];
  readonly #clock: ScriptedModelOptions["clock"];
  readonly #fill: (template: string) => string;
  /** In a text of JSON: paths must be escaped, on Windows. */
  readonly #fillEscaped: (template: string) => string;
  readonly #conversations = new Map<string, Conversation>();
  readonly #failures = new Set<string>();
  readonly #calls: ToolCalls;
  readonly #actions = new ActionEnds();
  readonly #shared: ScriptedModelOptions["shared"];
  #conversationsBegun = 0;

  constructor(script: Script, options: ScriptedModelOptions) {
    const { clock, workingDirectory, changeDiff, shared } = options;
    this.#rules = script.rules.map((rule) => ({
      rule,
      used: 0,
      next: new Map(),
      played: new Set(),
      given: new Map(),
    }));
    this.#clock = clock;
    this.#shared = shared;
    const escaped = (path: string): string => JSON.stringify(path).slice(1, -1);
    this.#fill = (template) => fillIn(template, { workingDirectory, changeDiff });
    this.#fillEscaped = (template) =>
      fillIn(template, {
        workingDirectory: escaped(workingDirectory),
        changeDiff: changeDiff && escaped(changeDiff),
      });
    this.#calls = new ToolCalls(this.#fill);
  }

  failures(): readonly string[] {
    return [...this.#failures];
  }

  /** Parts of the script that no request has used. Complete after the run. */
  unused(): readonly string[] {
    return this.#rules.flatMap(unusedParts);
  }

  observe(event: RunEventBody): void {
    if (event.type === "activity") this.#calls.observe(event.activity);
    this.#actions.observe(event);
  }

  /** Tool calls that did not end as the script expects, one sentence each. Complete after the run. */
  toolFailures(): readonly string[] {
    return this.#calls.failures();
  }

  async send(given: ModelRequest): Promise<Response> {
    const request = this.#shared === undefined ? given : { ...given, label: this.#shared.label() };
    const decoded = decodeRequest(request);
    if (decoded.kind === "other") return this.#fail(`${decoded.reason}.`);
    const { chat } = decoded;
    for (const { callId, text } of chat.toolResults) this.#calls.returned(callId, text);
    const found = this.#conversation(request, chat);
    if ("problem" in found) return this.#fail(found.problem);
    const choice = this.#choose(found, request, chat);
    if ("problem" in choice) return this.#fail(choice.problem);
    return this.#play(choice.reply, found, request, chat);
  }

  /** The answer is a 400, which is not retried, so the run fails at once with this text. */
  #fail(problem: string): Response {
    this.#failures.add(problem);
    return encodeError(400, `Rehearsal: ${problem}`);
  }

  #conversation(request: ModelRequest, chat: ChatRequest): Conversation | { problem: string } {
    const { sessionId, subAgent, label } = request;
    // Two sub-agents of one session are distinguished by their first prompt, and by the activity that starts them.
    const key = JSON.stringify(subAgent ? [sessionId, chat.opening, label?.activity] : [sessionId]);
    const count = chat.prompts.length;
    const known = this.#conversations.get(key);
    if (known !== undefined && !this.#isOver(known, count)) return known;
    // Prompts before this one may have been played by rules for activities.
    const isLater = this.#shared !== undefined || (label?.activity !== undefined && !subAgent);
    const before = isLater ? count - 1 : 0;
    const choice = chooseRule(this.#rules, request, chat, this.#fill, before);
    if (choice.kind === "none") {
      return { problem: `no rule expects ${describeRequest(request, chat)}. ${choice.why}` };
    }
    const { rule: played, turn } = choice;
    use(played, turn, request);
    const number = (this.#conversationsBegun += 1);
    const given = new Map<Reply, number>();
    const conversation = { number, played, given, before: before - turn, last: count };
    this.#conversations.set(key, conversation);
    return conversation;
  }

  /** Whether the prompt needs another rule: after that of an activity, or in a shared session. */
  #isOver(conversation: Conversation, count: number): boolean {
    if (playsActivity(conversation.played.rule)) return count !== conversation.last;
    if (this.#shared === undefined) return false;
    conversation.before += Math.max(0, count - conversation.last - 1);
    conversation.last = count;
    return count - conversation.before > conversation.played.rule.turns.length;
  }

  #choose(conversation: Conversation, request: ModelRequest, chat: ChatRequest): Choice {
    const { rule, played } = conversation.played;
    const refuse = (problem: string): Choice => ({
      problem: `${problem}. It was ${describeRequest(request, chat)}.`,
    });
    const count = chat.prompts.length - conversation.before;
    const turn = rule.turns[count - 1];
    if (turn === undefined) {
      const { length } = rule.turns;
      const turns = plural(length, "turn");
      return refuse(`${rule.place} has ${turns}, but its session got prompt number ${count}`);
    }
    if (turn.prompt !== undefined) {
      const why = mismatch(turn.prompt, chat.prompts.at(-1) ?? "", this.#fill);
      if (why !== undefined) return refuse(`${turn.place} doesn't match: the prompt ${why}`);
    }
    played.add(turn);
    const reply = nextReply(turn, chat.answered, conversation);
    if (reply === undefined) {
      return refuse(
        `${turn.place} has no reply left: it has ${plural(chat.answered, "reply", "replies")}, but the session sent another request`,
      );
    }
    if (reply.toolResults !== undefined) {
      const returned = chat.toolResults.map(({ text }) => text).join("\n");
      const why = mismatch(reply.toolResults, returned, this.#fill);
      if (why !== undefined) {
        return refuse(
          `${reply.place} doesn't match: the result of the tools ${why}; it is ${JSON.stringify(truncate(returned, 500))}`,
        );
      }
    }
    const [stranger] = this.#actions.unknown(request.label, reply.after);
    if (stranger !== undefined) {
      return refuse(`${reply.place} is after the action ${quote(stranger)}, which doesn't exist`);
    }
    return notOffered(reply, chat, request.label) ?? { reply };
  }

  async #play(
    reply: Reply,
    conversation: Conversation,
    request: ModelRequest,
    chat: ChatRequest,
  ): Promise<Response> {
    const { given, played } = conversation;
    const count = (given.get(reply) ?? 0) + 1;
    given.set(reply, count);
    played.played.add(reply);
    played.given.set(reply, Math.max(count, played.given.get(reply) ?? 0));

    const id = `rehearsal_${conversation.number}_${chat.prompts.length}_${chat.answered + 1}`;
    if (request.label !== undefined) {
      await this.#actions.ended(request.label, reply.after, request.signal);
    }
    const { delay = 0, document, error, times, tools } = reply;
    if (delay > 0) await this.#clock.sleep(delay, request.signal);
    const text = this.#fill(reply.text ?? "");
    const reasoning = this.#fill(reply.reasoning ?? "");
    switch (reply.kind) {
      case "answer":
        for (const [index, tool] of tools.entries()) this.#calls.given(callIdOf(id, index), tool);
        return encodeAnswer(chat, id, {
          text:
            document === undefined
              ? text
              : this.#fillJson(JSON.stringify(completeDocument(document))),
          reasoning,
          tools: tools.map(({ name, arguments: given = {} }) => ({
            name,
            input: this.#fillJson(typeof given === "string" ? given : JSON.stringify(given)),
          })),
          finish: reply.finish,
          usage: reply.usage,
        });
      case "error": {
        const given = typeof error === "object" ? error : { status: error ?? 500 };
        const { status, message = `The rehearsal answers with status ${status}.` } = given;
        // This header keeps the runtime from repeating the request for up to a minute.
        const final: Record<string, string> =
          times === undefined ? { "x-should-retry": "false" } : {};
        return encodeError(status, this.#fill(message), { ...final, ...given.headers });
      }
      case "cut":
        return encodeCut(chat, id, { text, reasoning });
      case "hang":
        return encodeHang(chat, id, { text, reasoning }, request.signal);
      case "die":
        request.killRuntime();
        return never(request.signal);
    }
  }

  #fillJson(input: string): string {
    if (!/\$\{(?:workingDirectory|changeDiff)\}/.test(input)) return input;
    try {
      JSON.parse(input);
    } catch {
      return this.#fill(input);
    }
    return this.#fillEscaped(input);
  }
}

/** Errors and cuts leave no trace in the request: they are passed over once they were sent as often as `times` says. */
function nextReply(turn: Turn, answered: number, { given }: Conversation): Reply | undefined {
  let before = answered;
  for (const reply of turn.replies) {
    const { kind, times } = reply;
    if (kind === "answer") {
      if (before === 0) return reply;
      before -= 1;
      continue;
    }
    if (times === undefined || (given.get(reply) ?? 0) < times) return reply;
  }
  return undefined;
}

function notOffered(
  { place, tools }: Reply,
  chat: ChatRequest,
  label: ModelRequest["label"],
): Choice | undefined {
  const missing = tools.find(
    ({ name, unknown }) => unknown !== true && offeredTool(chat, name) === undefined,
  );
  if (missing === undefined) return undefined;
  const { name } = missing;
  const session =
    label === undefined ? "this session" : `this session of task ${quote(label.taskId)}`;
  const names = [...chat.offeredTools.keys()].join(", ");
  const advice = name.startsWith("job_")
    ? ` A session has only the job tools that its task names: name ${name} in the prompt, or in the criteria.`
    : "";
  return {
    problem: `${place} calls the tool ${quote(name)}, which ${session} doesn't offer. It offers: ${names === "" ? "none" : names}.${advice} (To rehearse a mistake of the model, add "unknown: true" to the call.)`,
  };
}

type Known = Map<string, "open" | "ended">;

class ActionEnds {
  /** By run of a task, then by id. */
  readonly #tasks = new Map<string, Known>();
  readonly #waiting = new Set<() => void>();

  observe(event: RunEventBody): void {
    if (event.type !== "action") return;
    const { work, action } = event;
    if (action.type !== "action.waiting" && action.type !== "action.ended") return;
    const known = this.#of(work);
    // A later action with the id of one that has ended only repeats its result.
    if (action.type === "action.ended") known.set(action.id, "ended");
    else if (!known.has(action.id)) known.set(action.id, "open");
    for (const check of this.#waiting) check();
  }

  unknown(work: WorkRef | undefined, ids: readonly string[]): readonly string[] {
    const known = work === undefined ? new Map() : this.#of(work);
    return ids.filter((id) => !known.has(id));
  }

  async ended(work: WorkRef, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const known = this.#of(work);
    const done = (): boolean => signal.aborted || ids.every((id) => known.get(id) === "ended");
    if (done()) return;
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!done()) return;
        this.#waiting.delete(check);
        release();
        resolve();
      };
      this.#waiting.add(check);
      const release = onAbort(signal, check);
    });
  }

  #of({ workId, taskId, iteration }: WorkRef): Known {
    const key = JSON.stringify([workId, taskId, iteration]);
    const known: Known = this.#tasks.get(key) ?? new Map();
    this.#tasks.set(key, known);
    return known;
  }
}
