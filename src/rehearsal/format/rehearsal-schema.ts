import type { Described, SchemaType } from "../../document/describe.ts";
import { overridingLimits } from "../../entry/limits.ts";
import type { Limits } from "../../entry/model.ts";
import { permissionPresets } from "../../entry/permissions.ts";
import { list, map, name, object, text, textOf, whole } from "../../entry/schema-parts.ts";
import { isList, isRecord } from "../../text/guards.ts";
import { condition, definitions, type ExpectFields, expectSchema, means } from "./expect.ts";
import { change, github, workspace } from "./surroundings.ts";

/** Names the type of a part, which the declarations of the package would repeat otherwise. */
const typed = <T>(schema: Described<T>): Described<T> => schema;

const yes = (description: string) => ({ type: "boolean", const: true, description }) as const;
const some = { minItems: 1 };

const tool = object(
  {
    name: textOf("The name of the tool, as the session offers it to the model."),
    arguments: {
      type: ["object", "string"],
      description:
        "The arguments. A string is sent unchanged: the input of a freeform tool such as apply_patch, or invalid JSON.",
    } as const,
    unknown: yes(
      "The session doesn't offer this tool, and the call fails: rehearses a model that calls a tool that doesn't exist.",
    ),
    fails: textOf(
      "The call must fail, with an error that contains this text. Without this field, the rehearsal fails if the call fails. A command that exits with a code other than 0 has not failed.",
    ),
    denied: yes(
      "The permissions must deny the call. Without this field, the rehearsal fails if they do.",
    ),
  },
  ["name"],
  { description: "A tool call." },
);
export type ToolField = SchemaType<typeof tool>;

/** A document of the action protocol. It is not checked: a rehearsal can play a model that writes wrong ones. */
export interface DocumentFields {
  readonly status?: unknown;
  readonly thoughts?: unknown;
  readonly actions?: unknown;
  readonly stop?: unknown;
  readonly response?: unknown;
  readonly [field: string]: unknown;
}

const field = (description: string) => ({ description });

const documentSchema: Described<DocumentFields> = {
  type: "object",
  description:
    'The answer as a document of the action protocol, which is sent as JSON. Fields that are left out get the values of an ordinary document. Nothing else is checked: a wrong document is sent as it is. Use "text" for an answer that is not one JSON object.',
  properties: {
    status: field(
      'SUCCESS, EXECUTING, ERROR or TASK_STARTED. Default: "SUCCESS" if the document stops without actions, else "EXECUTING".',
    ),
    context: field("`knowledge_relics` and `variables`. Default: none."),
    thoughts: field("A list of `{ type, content }`, possibly with `actions`. Default: none."),
    actions: field("A list of actions, or null. Default: null."),
    stop: field("Whether the run ends. Default: true if the document has no actions."),
    response: field("The answer for people, or null. Default: null."),
  },
};

export function completeDocument(fields: DocumentFields): DocumentFields {
  const idle = !hasActions(fields) && ![fields.thoughts].flat().some(hasActions);
  const { stop = idle } = fields;
  const status = idle && stop === true ? "SUCCESS" : "EXECUTING";
  return { status, thoughts: [], actions: null, stop, response: null, ...fields };
}

export function shortDocument(document: DocumentFields): DocumentFields {
  let short = document;
  // The default of the status depends on stop, so it goes first.
  for (const name of ["status", "thoughts", "actions", "stop", "response"]) {
    const { [name]: value, ...rest } = short;
    const same = JSON.stringify(completeDocument(rest)[name]) === JSON.stringify(value);
    if (same && value !== undefined) short = rest;
  }
  return short;
}

function hasActions(value: unknown): boolean {
  return isRecord(value) && isList(value["actions"]) && value["actions"].length > 0;
}

const status = { type: "integer", minimum: 400, maximum: 599 } as const;

const replyProperties = {
  text: textOf(
    'The text of the answer. An empty answer at the end of a turn is a crash. With "cut" and "hang": the text that arrives before.',
  ),
  document: documentSchema,
  reasoning: textOf("The reasoning before the answer."),
  tools: list(
    typed<ToolField>(tool),
    'The tools that the model calls. The calls are real, and the next reply of the turn follows their results. Without a next reply, the model answers "Done."',
    some,
  ),
  toolResults: condition(
    "The results of the tools called by the previous reply, joined with line breaks.",
  ),
  after: {
    type: ["string", "array"],
    description:
      "With `protocol: actions`: the ids of earlier actions. The reply waits until all of them have ended.",
    minLength: 1,
    minItems: 1,
    items: name,
  },
  delay: {
    type: "number",
    minimum: 0,
    description: "The delay before this reply, in milliseconds.",
  },
  finish: {
    enum: ["length", "content_filter", "error"],
    description:
      'Why the answer ends early: "length" (the output limit), "content_filter" or "error" (the server broke it off). Default: the answer is complete.',
  },
  usage: object(
    {
      input: whole("Input tokens.", { minimum: 0 }),
      output: whole("Output tokens.", { minimum: 0 }),
    },
    [],
    { description: "The token usage that this reply reports. Default: none." },
  ),
  error: {
    ...status,
    type: ["integer", "object"],
    description:
      'An HTTP error: its status, or an object. Without "times", the runtime doesn\'t repeat the request, and the turn crashes.',
    additionalProperties: false,
    required: ["status"],
    properties: {
      status: { ...status, description: "The HTTP status." },
      message: textOf("The message of the error. Default: a sentence that names the status."),
      headers: map(text, { description: "Further headers of the response, such as retry-after." }),
    },
  },
  cut: yes(
    'The connection breaks after "text". Without "times", this happens at every repetition of the request.',
  ),
  hang: yes('Nothing comes after "text", and the answer never ends.'),
  die: yes("The process of the runtime is killed (SIGKILL), and all its sessions die with it."),
  times: whole(
    'With "error" or "cut": the number of requests in a row that get it, before the next reply of the turn follows. The runtime repeats a failed request up to 5 times.',
  ),
} as const;

const reply = {
  type: ["string", "object"],
  description: 'An answer of the model. A plain string is short for "text".',
  minProperties: 1,
  additionalProperties: false,
  properties: replyProperties,
} as const;
type WrittenReply = SchemaType<typeof reply>;
export type ReplyFields = Exclude<WrittenReply, string>;

const turn = {
  type: ["string", "object"],
  description:
    'The model\'s answers to one prompt. A turn with a single reply can have the fields of the reply itself. A plain string is short for "text".',
  minProperties: 1,
  additionalProperties: false,
  properties: {
    prompt: condition("The prompt that the turn expects."),
    replies: list(
      typed<WrittenReply>(reply),
      "The answers of the model, one for each request of the turn.",
      some,
    ),
    ...replyProperties,
  },
} as const;
type WrittenTurn = SchemaType<typeof turn>;
export type TurnFields = Exclude<WrittenTurn, string>;

const rule = object(
  {
    task: textOf("Selects sessions of this task."),
    role: {
      enum: ["task", "driving"],
      description:
        'Selects sessions by role: "driving" checks conditions, "task" does the work. A session that does both matches both.',
    } as const,
    model: textOf("Selects sessions with this model id."),
    workId: whole(
      "Selects sessions of the step with this id: its number in the job, from 0 in reading order.",
      { minimum: 0 },
    ),
    iteration: whole("Selects sessions of this iteration of the step, in a loop."),
    item: textOf("Selects sessions of this item of the innermost `Each`."),
    retry: whole("Selects sessions that were opened for this retry. 0 is the first round.", {
      minimum: 0,
    }),
    attempt: whole(
      "Selects sessions that were opened for this attempt: 2 replaces the first session that crashed.",
    ),
    activity: means(
      textOf(
        "Plays the prompts of this activity of a workflow, ID or FILE#ID, in whichever sessions they are sent. Each takes the next turn.",
      ),
      "activity",
    ),
    hit: whole("With `activity`: selects prompts of this run of the activity."),
    subAgent: yes("Plays a sub-agent of such a session instead of the session itself."),
    repeat: {
      description:
        'The exact number of sessions that this rule plays; with "activity", how often its turns are played. "any": once or more. Default: 1.',
      anyOf: [
        { type: "integer", minimum: 1 },
        { type: "string", const: "any" },
      ],
    } as const,
    optional: yes("The rehearsal doesn't fail if the rule is not used, or not to its end."),
    turns: list(
      typed<WrittenTurn>(turn),
      "The turns of the session or of the activity, one for each prompt.",
      some,
    ),
  },
  ["turns"],
  {
    description:
      "Plays the model in one session, or with `activity` in the prompts of one activity. A new session is played by the first rule that is not used up, whose selectors match, and whose first turn expects the prompt.",
    dependentRequired: { hit: ["activity"] },
  },
);
export type RuleFields = SchemaType<typeof rule>;

export const rehearsalSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs rehearsal",
  description:
    "A run of a job in which a script plays the model, and its expectations. In the texts of the script and the expectations, `${workingDirectory}` is replaced by the absolute path of the working directory, and `${changeDiff}` by that of $change-diff. `$${workingDirectory}` is literal.",
  $defs: definitions,
  ...object(
    {
      $schema: textOf("The schema of this file, for editors."),
      description: textOf("What this rehearsal shows. Printed with its result."),
      entry: textOf("The entry file or the workflow (`.wf.md`), relative to this file."),
      job: textOf("The job. May be omitted if the entry has only one."),
      userInput: textOf("The user input of the job."),
      inputs: map(text, {
        description: "Inputs of the entry, by name. Those of the command line override them.",
      }),
      params: map(text, {
        description: "The parameters of the workflow, if the entry is a `.wf.md` file.",
      }),
      answers: means(
        map({ type: ["string", "array"], minItems: 1, items: text } as const, {
          description:
            "The answers to the questions of a workflow, by the id of the ASK. The texts of a list are used in order.",
        }),
        "names of asks",
      ),
      workingDirectory: textOf(
        "The folder in which the sessions work, relative to this file. If they may write, they work in a copy. Default: the folder given on the command line, else the current directory.",
      ),
      workspace,
      change,
      github,
      models: map(name, { description: "Model ids by category. They override the entry's." }),
      permissions: {
        enum: permissionPresets,
        description: "Like the option --permissions of the command line.",
      },
      limits: typed<Limits>(
        object(overridingLimits, [], {
          description:
            "Limits that override the entry's, for example to rehearse a timeout quickly.",
        }),
      ),
      sessions: list(
        typed<RuleFields>(rule),
        "The script: rules for the sessions of the run, tried in this order.",
      ),
      expect: typed<ExpectFields>(expectSchema),
    },
    ["entry", "sessions"],
  ),
} as const;
export type RehearsalFile = SchemaType<typeof rehearsalSchema>;
