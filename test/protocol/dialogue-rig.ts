/** Runs a task with the action protocol on the engine's ports: a fake model, real documents. */
import type { Tool } from "../../src/tools/tool.ts";
import type { DialogueSpec } from "../../src/engine/dialogue.ts";
import type { Entry, Task } from "../../src/entry/model.ts";
import type { ActionEvent } from "../../src/events/action.ts";
import { createActionDialogue, type ActionDialogueOptions } from "../../src/protocol/dialogue.ts";
import { play, type Played, type Setup } from "../rig/engine.ts";
import type { Act, Turn } from "../rig/fake-sessions.ts";
import { documentOf, type Json } from "./rig.ts";

export interface Talk extends Played {
  /** The prompts of the dialogue, as the model got them. */
  readonly prompts: readonly string[];
  readonly actions: readonly ActionEvent[];
  /** `id status` of each action, in the order of their ends. */
  readonly endedActions: readonly string[];
  /** The report of the work that ended last. */
  readonly report: string | undefined;
}

export interface TalkSetup extends Omit<Setup, "tasks" | "play"> {
  readonly task?: Partial<Task>;
  readonly tasks?: Entry["tasks"];
  readonly tools?: readonly Tool[];
  readonly options?: Partial<ActionDialogueOptions>;
  /** One for each prompt of the dialogue; the last one is repeated. */
  readonly answers: readonly (string | Act | ((prompt: string) => string | Act))[];
  /** Answers other prompts. Default: `job_boolean_true`. */
  readonly others?: (turn: Turn) => Act;
}

/** For the check of the entry: the tools of the dialogue are those of the setup. */
const declared = { description: "A tool.", parameters: { type: "object" }, command: ["true"] };

/** The dialogue of the task `ship`. */
export async function talk(setup: TalkSetup): Promise<Talk> {
  const { task, tasks, tools = [], options, answers, others, ...rest } = setup;
  const prompts: string[] = [];
  const dialogue: DialogueSpec = {
    start: (context) =>
      Promise.resolve(createActionDialogue({ tools, iterations: 20, ...options })(context)),
  };
  const played = await play({
    dialogues: { ship: dialogue },
    entry: { tools: Object.fromEntries(["build", "none"].map((name) => [name, declared])) },
    ...rest,
    tasks: { ship: { prompt: ["Ship it."], ...task }, ...tasks },
    play: (turn) => {
      if (turn.label.taskId !== "ship" || turn.prompt.startsWith("CONDITION")) {
        return others?.(turn) ?? { tools: ["job_boolean_true"] };
      }
      prompts.push(turn.prompt);
      const answer = answers[Math.min(prompts.length, answers.length) - 1] ?? "";
      const given = typeof answer === "function" ? answer(turn.prompt) : answer;
      return typeof given === "string" ? { text: given } : given;
    },
  });
  const actions = played.events.flatMap((event) => (event.type === "action" ? [event.action] : []));
  const end = played.events.findLast((event) => event.type === "work.ended");
  return {
    ...played,
    prompts,
    actions,
    endedActions: actions.flatMap((event) =>
      event.type === "action.ended" ? [`${event.id} ${event.status}`] : [],
    ),
    report: end?.type === "work.ended" ? end.report : undefined,
  };
}

/** A document that ends the round. */
export function stopped(response: string | null = "Done.", fields: Json = {}): string {
  return documentOf(null, { status: "SUCCESS", stop: true, response, ...fields });
}
