import { overridingLimits } from "../../entry/limits.ts";
import type { Limits } from "../../entry/model.ts";
import { endedStatus } from "../../events/action.ts";
import type { Described, SchemaType } from "../../document/describe.ts";
import {
  decisionProperties,
  type DecisionFields,
  documentSchema,
  condition,
  conditionRef,
  filled,
  flag,
  list,
  map,
  nonEmpty,
  outcomes,
  results,
  string,
  text,
  whole,
  outputFields,
  github,
} from "./fields.ts";
import { change, workspace } from "./workspace.ts";

/** Names the type of a part, which the declarations of the package would repeat otherwise. */
const named = <T>(schema: Described<T>): Described<T> => schema;

const tool = {
  type: "object",
  description: "A tool call.",
  additionalProperties: false,
  required: ["name"],
  properties: {
    name: text("The name of the tool, as the session offers it to the model."),
    arguments: {
      type: ["object", "string"],
      description:
        "The arguments. A string is sent unchanged: the input of a freeform tool such as apply_patch, or invalid JSON.",
    },
    unknown: flag(
      "The session doesn't offer this tool, and the call fails: rehearses a model that calls a tool that doesn't exist.",
    ),
    fails: text(
      "The call must fail, with an error that contains this text. Without this field, the rehearsal fails if the call fails. A command that exits with a code other than 0 has not failed.",
    ),
    denied: flag(
      "The permissions must deny the call. Without this field, the rehearsal fails if they do.",
    ),
  },
} as const;

const replyProperties = {
  text: text(
    'The text of the answer. An empty answer at the end of a turn is a crash. With "cut" and "hang": the text that arrives before.',
  ),
  document: documentSchema,
  reasoning: text("The reasoning before the answer."),
  tools: filled(
    'The tools that the model calls. The calls are real, and the next reply of the turn follows their results. Without a next reply, the model answers "Done."',
    named<ToolField>(tool),
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
    items: nonEmpty,
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
  usage: {
    type: "object",
    description: "The token usage that this reply reports. Default: none.",
    additionalProperties: false,
    properties: {
      input: whole(0, "Input tokens."),
      output: whole(0, "Output tokens."),
    },
  },
  error: {
    type: ["integer", "object"],
    description:
      'An HTTP error: its status, or an object. Without "times", the runtime doesn\'t repeat the request, and the turn crashes.',
    minimum: 400,
    maximum: 599,
    additionalProperties: false,
    required: ["status"],
    properties: {
      status: { type: "integer", minimum: 400, maximum: 599, description: "The HTTP status." },
      message: text("The message of the error. Default: a sentence that names the status."),
      headers: map("Further headers of the response, such as retry-after.", string),
    },
  },
  cut: flag(
    'The connection breaks after "text". Without "times", this happens at every repetition of the request.',
  ),
  hang: flag('Nothing comes after "text", and the answer never ends.'),
  die: flag("The process of the runtime is killed (SIGKILL), and all its sessions die with it."),
  times: whole(
    1,
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

const turn = {
  type: ["string", "object"],
  description:
    'The model\'s answers to one prompt. A turn with a single reply can have the fields of the reply itself. A plain string is short for "text".',
  minProperties: 1,
  additionalProperties: false,
  properties: {
    prompt: condition("The prompt that the turn expects."),
    replies: filled(
      "The answers of the model, one for each request of the turn.",
      named<Reply>(reply),
    ),
    ...replyProperties,
  },
} as const;

const rule = {
  type: "object",
  description:
    "Plays the model in one session, or with `activity` in the prompts of one activity. A new session is played by the first rule that is not used up, whose selectors match, and whose first turn expects the prompt.",
  additionalProperties: false,
  required: ["turns"],
  properties: {
    task: text("Selects sessions of this task."),
    role: {
      enum: ["task", "driving"],
      description:
        'Selects sessions by role: "driving" checks conditions, "task" does the work. A session that does both matches both.',
    },
    model: text("Selects sessions with this model id."),
    workId: whole(
      0,
      "Selects sessions of the step with this id: its number in the job, from 0 in reading order.",
    ),
    iteration: whole(1, "Selects sessions of this iteration of the step, in a loop."),
    item: text("Selects sessions of this item of the innermost `Each`."),
    retry: whole(0, "Selects sessions that were opened for this retry. 0 is the first round."),
    attempt: whole(
      1,
      "Selects sessions that were opened for this attempt: 2 replaces the first session that crashed.",
    ),
    activity: text(
      "Plays the prompts of this activity of a workflow, ID or FILE#ID, in whichever sessions they are sent. Each takes the next turn.",
    ),
    hit: whole(1, "With `activity`: selects prompts of this run of the activity."),
    subAgent: flag("Plays a sub-agent of such a session instead of the session itself."),
    repeat: {
      description:
        'The exact number of sessions that this rule plays; with "activity", how often its turns are played. "any": once or more. Default: 1.',
      anyOf: [
        { type: "integer", minimum: 1 },
        { type: "string", const: "any" },
      ],
    },
    optional: flag("The rehearsal doesn't fail if the rule is not used, or not to its end."),
    turns: filled(
      "The turns of the session or of the activity, one for each prompt.",
      named<Turn>(turn),
    ),
  },
} as const;

const work = {
  type: "object",
  description: "A step of the job, and how it must have ended.",
  additionalProperties: false,
  required: ["outcome"],
  properties: {
    task: text("The task of the step. A step needs this field, `name` or `workId`."),
    name: text("The name of a `Run`, or its command."),
    workId: whole(0, "The id of the step, where the task occurs more than once in the job."),
    model: text("The model id of the step."),
    outcome: {
      description:
        'The outcome of the last iteration, or a list of the outcomes of all iterations. "skipped": the step never ran, also because the change had nothing for it.',
      anyOf: [
        { type: "string", enum: [...outcomes, "skipped"] },
        { type: "array", minItems: 1, items: { type: "string", enum: outcomes } },
      ],
    },
    runs: whole(1, "The number of iterations."),
    attempts: whole(
      1,
      "How often the prompt was sent, over all iterations, including retries and attempts after a crash. With `protocol: actions`: the number of all prompts.",
    ),
    retries: whole(0, "The number of retries, over all iterations."),
    crashes: whole(0, "The number of crashes, over all iterations."),
    rejected: whole(
      0,
      "With `protocol: actions`: the number of rejected documents, over all iterations.",
    ),
  },
} as const;

const asText = condition("A text that is met.");

const decision: Described<DecisionFields> = {
  ...asText,
  description:
    'A decision by its kind and fields; or a condition for its printed form, `[CATEGORY] text`, which may change with any version. A plain string is short for "contains".',
  properties: {
    ...decisionProperties(conditionRef),
    ...asText.properties,
  },
};

const word = (description: string) => ({ ...nonEmpty, description }) as const;

const action = {
  type: "object",
  description:
    "An action of the action protocol, when it has ended. All fields that are given must match.",
  minProperties: 1,
  additionalProperties: false,
  properties: {
    id: word("Its id: `action_id`, or `i<document>-<n>` if it has none."),
    action: word(
      "The name of the tool, the internal function, the relic, or the label of a group.",
    ),
    status: { enum: endedStatus.enum, description: "How it ended." },
    params: conditionRef("The params as JSON, after references were replaced. Long ones are cut."),
    output: conditionRef("The result of an action that succeeded. A long one is cut."),
    reason: conditionRef("Why it did not succeed."),
    document: whole(1, "The number of its document, of those that were accepted."),
    task: word("Its task."),
    workId: whole(0, "The work of its task."),
    iteration: whole(1, "The iteration of that step, in a loop."),
  },
} as const;

function lists<Item>(item: string, description: string) {
  const items: Described<Item> = { $ref: `#/$defs/${item}` };
  return {
    type: ["object", "array"],
    description: `${description} A list is short for "include".`,
    minItems: 1,
    items,
    additionalProperties: false,
    properties: {
      include: filled("Each of these must occur, in any order.", items),
      sequence: filled("These must occur in this order, possibly with others in between.", items),
      exclude: filled("None of these may occur.", items),
    },
  } as const;
}

const limits: Described<Limits> = {
  type: "object",
  description: "Limits that override the entry's, for example to rehearse a timeout quickly.",
  additionalProperties: false,
  properties: overridingLimits,
};

export type RehearsalFile = SchemaType<typeof rehearsalSchema>;
export type ExpectFields = NonNullable<RehearsalFile["expect"]>;
export type RuleFields = SchemaType<typeof rule>;
type Turn = SchemaType<typeof turn>;
export type TurnFields = Exclude<Turn, string>;
type Reply = SchemaType<typeof reply>;
export type ReplyFields = Exclude<Reply, string>;
export type ToolField = SchemaType<typeof tool>;
export type WorkFields = SchemaType<typeof work>;
export type ActionFields = SchemaType<typeof action>;
/** Items in any order, in this order, or none of these. */
export type Lists<Item> = Extract<
  SchemaType<ReturnType<typeof lists<Item>>>,
  { readonly include?: unknown }
>;

export const rehearsalSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs rehearsal",
  description:
    "A run of a job in which a script plays the model, and its expectations. In the texts of the script and the expectations, `${workingDirectory}` is replaced by the absolute path of the working directory, and `${changeDiff}` by that of $change-diff. `$${workingDirectory}` is literal.",
  $defs: { text: asText, decision, action },
  type: "object",
  additionalProperties: false,
  required: ["entry", "sessions"],
  properties: {
    $schema: text("The schema of this file, for editors."),
    description: text("What this rehearsal shows. Printed with its result."),
    entry: text("The entry file or the workflow (`.wf.md`), relative to this file."),
    job: text("The job. May be omitted if the entry has only one."),
    userInput: text("The user input of the job."),
    inputs: map("Inputs of the entry, by name. Those of the command line override them.", string),
    params: map("The parameters of the workflow, if the entry is a `.wf.md` file.", string),
    answers: map(
      "The answers to the questions of a workflow, by the id of the ASK. The texts of a list are used in order.",
      { type: ["string", "array"], minItems: 1, items: string },
    ),
    workingDirectory: text(
      "The folder in which the sessions work, relative to this file. If they may write, they work in a copy. Default: the folder given on the command line, else the current directory.",
    ),
    workspace,
    change,
    github,
    models: map("Model ids by category. They override the entry's.", nonEmpty),
    permissions: {
      enum: ["read-only", "workspace", "all"],
      description: "Like the option --permissions of the command line.",
    },
    limits,
    sessions: list(
      "The script: rules for the sessions of the run, tried in this order.",
      named<RuleFields>(rule),
    ),
    expect: {
      type: "object",
      description: "The expectations. Default: the job succeeds.",
      additionalProperties: false,
      properties: {
        result: {
          enum: results,
          description: "How the job must end. Default: succeeded.",
        },
        reason: condition("The reason of the failure or cancellation."),
        works: list(
          "The steps that ran, and how they ended. The rehearsal fails if a step ran that is not in the list.",
          work,
        ),
        path: filled(
          "The activities of the workflow in the order in which they begin, ID or FILE#ID, including those of called files. Of the last iteration. The job must have one workflow.",
          nonEmpty,
        ),
        report: condition("RESULT at the end of the workflow. The job must have one workflow."),
        decisions: lists<string | DecisionFields>("decision", "Decisions of the run."),
        actions: lists<ActionFields>(
          "action",
          "Actions of the action protocol, in the order in which they end.",
        ),
        ...outputFields,
      },
    },
  },
} as const;
