import { isList, isRecord, parsedJson } from "../../text/guards.ts";
import type { EndedStatus } from "../../events/action.ts";
import type { RunEvent, TurnStarted, WorkRef } from "../../events/event.ts";
import type { ActionFields } from "../format/expect.ts";
import { completeDocument, type ReplyFields, shortDocument } from "../format/rehearsal-schema.ts";
import type { RecordedTurn } from "./recorded-session.ts";

interface Dialogue {
  turn: RecordedTurn | undefined;
  /** A document was answered since the prompt of the task was sent: the next prompt is about its actions. */
  continues: boolean;
  hasActed: boolean;
  /** Ids of actions that ended while the model was answering. */
  ended: string[];
}

export class RecordedActions {
  readonly #dialogues = new Map<string, Dialogue>();
  readonly #ended: { work: WorkRef; id: string; document: number; status: EndedStatus }[] = [];
  /** Whether a reply waits for an action. */
  waits = false;

  report(event: RunEvent): void {
    switch (event.type) {
      case "work.started":
        this.#dialogues.delete(keyOf(event.work));
        break;
      case "turn.started":
        if (event.purpose !== "prompt") this.#of(event.work).continues = false;
        break;
      case "decision":
        if (event.decision.kind === "criteria-retry" && event.work !== null) {
          this.#of(event.work).continues = false;
        }
        break;
      case "action":
        this.#act(event.work, event.action);
        break;
      default:
        break;
    }
  }

  /** The part of a prompt that is the same in a replay: results differ in order, durations and paths. */
  lastingPrompt({ work, purpose, prompt }: TurnStarted): string {
    const { continues, hasActed } = this.#of(work);
    if (purpose !== "prompt" || !hasActed) return prompt;
    // After a retry, news follow the prompt of the task.
    return continues ? "" : (prompt.split("\n", 1)[0] ?? "");
  }

  prompted(work: WorkRef, turn: RecordedTurn): void {
    this.#of(work).turn = turn;
  }

  /** The actions that the next reply of the model must wait for: a replay is faster than the run, its actions are not. */
  after(work: WorkRef): Pick<ReplyFields, "after"> {
    const { ended } = this.#of(work);
    const after = ended.splice(0);
    if (after.length === 0) return {};
    this.waits = true;
    return { after };
  }

  expectation(): readonly ActionFields[] | undefined {
    const works = new Set(this.#ended.map(({ work }) => work.workId));
    const fields = this.#ended.map(({ work, ...ended }) => ({
      ...(works.size > 1 && { task: work.taskId, workId: work.workId }),
      ...(work.iteration > 1 && { iteration: work.iteration }),
      ...ended,
    }));
    return fields.length === 0 ? undefined : fields;
  }

  #act(work: WorkRef, action: Extract<RunEvent, { type: "action" }>["action"]): void {
    const dialogue = this.#of(work);
    const { turn } = dialogue;
    if (action.type === "actions.accepted" || action.type === "actions.rejected") {
      dialogue.continues = true;
      dialogue.hasActed = true;
      const reply = action.type === "actions.accepted" ? turn?.replies.pop() : undefined;
      if (reply !== undefined) turn?.replies.push(withDocument(reply));
    }
    if (action.type === "action.ended") {
      const { id, iteration: document, status } = action;
      this.#ended.push({ work, id, document, status });
      if (turn?.state === "open") dialogue.ended.push(id);
    }
  }

  #of(work: WorkRef): Dialogue {
    const key = keyOf(work);
    const fresh = { turn: undefined, continues: false, hasActed: false, ended: [] };
    const dialogue = this.#dialogues.get(key) ?? fresh;
    this.#dialogues.set(key, dialogue);
    return dialogue;
  }
}

export function keyOf({ workId, taskId, iteration }: WorkRef): string {
  return JSON.stringify([workId, taskId, iteration]);
}

/** Deeper documents stay texts: a file is not read to any depth. */
const DEEPEST = 80;

/** With the text of the answer as a document, if that says the same. */
function withDocument(fields: ReplyFields): ReplyFields {
  const { text = "", ...rest } = fields;
  const value = parsedJson(text);
  if (!isRecord(value) || depthOf(value) > DEEPEST) return fields;
  const isComplete = Object.keys(completeDocument({})).every((name) => Object.hasOwn(value, name));
  return isComplete ? { ...rest, document: shortDocument(value) } : fields;
}

function depthOf(value: unknown): number {
  const inner = isList(value) ? value : isRecord(value) ? Object.values(value) : [];
  return inner.reduce((deepest: number, one) => Math.max(deepest, 1 + depthOf(one)), 0);
}
