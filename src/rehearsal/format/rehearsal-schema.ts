/** The JSON Schema of a rehearsal file: what editors complete and what the loader checks first. */
import { decisionProperties } from "./decision-fields.ts";
import { workspace } from "./workspace-schema.ts";

const text = (description: string) => ({ type: "string", description });
const whole = (minimum: number, description: string) => ({ type: "integer", minimum, description });
const flag = (description: string) => ({ type: "boolean", const: true, description });
const condition = (description: string) => ({
  type: ["string", "object"],
  description: `${description} A plain string is short for "contains".`,
  minLength: 1,
  minProperties: 1,
  additionalProperties: false,
  properties: {
    contains: strings("What the text must contain: one string or several."),
    excludes: strings("What the text must not contain: one string or several."),
    equals: text("The whole text; white space at its end does not count."),
    matches: text("A JavaScript regular expression that must match somewhere in the text."),
  },
});

function strings(description: string) {
  return {
    type: ["string", "array"],
    description,
    minLength: 1,
    minItems: 1,
    items: { type: "string", minLength: 1 },
  };
}

const tool = {
  type: "object",
  description: "One tool call.",
  additionalProperties: false,
  required: ["name"],
  properties: {
    name: text("The tool, by the name that the model of this session sees."),
    arguments: {
      type: ["object", "string"],
      description:
        "The arguments. A string is sent as it is: the input of a freeform tool such as apply_patch, or invalid JSON.",
    },
    unknown: flag(
      "The session does not offer this tool: rehearses a model that calls a tool which does not exist. The call fails.",
    ),
    fails: text(
      "The call must fail with an error that contains this text. Without this field, the rehearsal fails if the call fails. A command that exits with a code other than 0 has not failed: the code is its result.",
    ),
    denied: flag(
      "The permissions must deny the call. Without this field, the rehearsal fails if they do.",
    ),
  },
};

const replyProperties = {
  text: text(
    'The text of the answer. An empty string is an empty answer, which is a crash if it is the last of the turn. With "cut" and "hang": the text that arrives before.',
  ),
  reasoning: text("What the model thinks before it answers."),
  tools: {
    type: "array",
    description:
      'The tools that the model calls. They really run, and their results are sent with the request for the next reply of the turn. If there is no next reply, the model then says "Done."',
    minItems: 1,
    items: tool,
  },
  toolResults: condition(
    "What the tools called by the previous reply must have returned, all results joined with line breaks.",
  ),
  delay: {
    type: "number",
    minimum: 0,
    description: "How long the model waits before this reply, in milliseconds.",
  },
  finish: {
    enum: ["length", "content_filter"],
    description:
      'Why the answer ends early: at the output limit ("length"), or by a content filter ("content_filter"). Default: the answer is complete.',
  },
  usage: {
    type: "object",
    description: "The tokens that this reply reports. Default: none.",
    additionalProperties: false,
    properties: {
      input: whole(0, "Input tokens."),
      output: whole(0, "Output tokens."),
    },
  },
  error: {
    type: ["integer", "object"],
    description:
      'An HTTP error: its status, or an object. Without "times" it is final: the runtime does not repeat the request, and the turn has crashed.',
    minimum: 400,
    maximum: 599,
    additionalProperties: false,
    required: ["status"],
    properties: {
      status: { type: "integer", minimum: 400, maximum: 599, description: "The HTTP status." },
      message: text("The error's message. Default: a sentence that names the status."),
      headers: {
        type: "object",
        description: "Further headers of the answer, such as retry-after.",
        additionalProperties: { type: "string" },
      },
    },
  },
  cut: flag(
    'The connection breaks in the middle of the answer, after "text". Without "times", this happens every time.',
  ),
  hang: flag('The answer never ends; nothing comes after "text".'),
  die: flag("The runtime process is killed (SIGKILL), and all its sessions with it."),
  times: whole(
    1,
    'With "error" or "cut": how many consecutive requests get it. The runtime repeats such a request up to 5 times by itself. Then the next reply of the turn is sent.',
  ),
};

const reply = {
  type: ["string", "object"],
  description: "One answer of the model. A plain string is an answer with only this text.",
  minProperties: 1,
  additionalProperties: false,
  properties: replyProperties,
};

const turn = {
  type: ["string", "object"],
  description:
    "What happens on one prompt. If there is only one reply, its fields may be given here. A plain string is a reply with only this text.",
  minProperties: 1,
  additionalProperties: false,
  properties: {
    prompt: condition("What the prompt must be."),
    replies: {
      type: "array",
      description: "The model's answers, one for each request of the turn.",
      minItems: 1,
      items: reply,
    },
    ...replyProperties,
  },
};

const rule = {
  type: "object",
  description:
    "How the model behaves in one session. A new session is played by the first rule that is not used up, whose selectors match, and whose first turn accepts the prompt.",
  additionalProperties: false,
  required: ["turns"],
  properties: {
    task: text("Selects sessions of this task."),
    role: {
      enum: ["task", "driving"],
      description:
        'Selects sessions by purpose: "driving" checks conditions, "task" does the work. A session that does both matches both.',
    },
    model: text("Selects sessions with this model id."),
    workId: whole(
      0,
      "Selects sessions of the work with this id: its number in the job, from 0 in reading order.",
    ),
    run: whole(1, "Selects sessions of this run of the work: 2 is the second iteration of a loop."),
    retry: whole(0, "Selects sessions started for this criteria retry; 0: before the first retry."),
    attempt: whole(
      1,
      "Selects sessions by attempt: the session of attempt 2 replaces one that crashed.",
    ),
    subAgent: flag("Plays a sub-agent of such a session instead of the session itself."),
    repeat: {
      description: 'How many sessions this rule plays, exactly; "any": one or more. Default: 1.',
      anyOf: [
        { type: "integer", minimum: 1 },
        { type: "string", const: "any" },
      ],
    },
    optional: flag("The rehearsal does not fail if the rule is not used, or not completely."),
    turns: {
      type: "array",
      description: "One turn for each prompt that the session receives.",
      minItems: 1,
      items: turn,
    },
  },
};

const outcomes = ["succeeded", "failed", "crashed", "canceled"];

const work = {
  type: "object",
  description: "How a work of the job must end.",
  additionalProperties: false,
  required: ["task", "outcome"],
  properties: {
    task: text("The task of the work."),
    workId: whole(0, "The id of the work, where the task occurs more than once in the job."),
    model: text("The model id of the work."),
    outcome: {
      description:
        'How it ended. If it ran more than once, this is the outcome of the last run; a list has the outcomes of all runs, in order. "skipped": it never ran.',
      anyOf: [
        { type: "string", enum: [...outcomes, "skipped"] },
        { type: "array", minItems: 1, items: { type: "string", enum: outcomes } },
      ],
    },
    runs: whole(1, "How often it ran."),
    attempts: whole(
      1,
      "How often its prompt was sent, in all runs together: the first time, for criteria retries, and for attempts after a crash.",
    ),
    retries: whole(0, "The number of criteria retries, in all runs together."),
    crashes: whole(0, "The number of crashes, in all runs together."),
  },
};

const asText = condition("The condition for the printed text of a decision.");

const decision = {
  ...asText,
  description:
    'A decision by its kind and fields; or a condition for its printed form, `[CATEGORY] text`, which may change in any version. A plain string is short for "contains".',
  properties: {
    ...decisionProperties((description) => ({ $ref: "#/$defs/text", description })),
    ...asText.properties,
  },
};

const decisions = (description: string) => ({
  type: "array",
  description,
  minItems: 1,
  items: { $ref: "#/$defs/decision" },
});

const minutes = (description: string) => ({
  type: "number",
  exclusiveMinimum: 0,
  description,
});

export const rehearsalSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs rehearsal",
  description:
    "A run of a job in which a script plays the model, and its expectations. In every text of the script and the expectations, `${workingDirectory}` is replaced with the absolute path of the working directory (write `$${workingDirectory}` for the literal text).",
  $defs: { text: asText, decision },
  type: "object",
  additionalProperties: false,
  required: ["entry", "sessions"],
  properties: {
    $schema: text("The schema of this file, for editors."),
    description: text("What this rehearsal shows. Printed with its result."),
    entry: text("The entry file, relative to this file."),
    job: text("The job. May be omitted if the entry has only one job."),
    userInput: text("The user input of the job."),
    workingDirectory: text(
      "The directory that the sessions work in, relative to this file; if they may write, a copy of it. Default: the one given on the command line, or the current directory.",
    ),
    workspace,
    models: {
      type: "object",
      description: "Model ids that replace the entry's, by category.",
      additionalProperties: { type: "string", minLength: 1 },
    },
    permissions: {
      enum: ["read-only", "workspace", "all"],
      description: "Like the option --permissions.",
    },
    limits: {
      type: "object",
      description: "Limits that replace the entry's, for example to rehearse timeouts quickly.",
      additionalProperties: false,
      properties: {
        jobMinutes: minutes("Minutes for the job."),
        tokens: whole(1, "Tokens for the job."),
        taskMinutes: minutes("Minutes for one run of a task."),
        modelCalls: whole(1, "Model calls for one run of a task."),
        turnMinutes: minutes("Minutes for one turn."),
        idleMinutes: minutes("Minutes without any activity of a session."),
        loopIterations: whole(1, "Iterations of one loop."),
        parallel: whole(1, "Maximum number of concurrent turns."),
      },
    },
    sessions: {
      type: "array",
      description: "Rules for the sessions of the run, tried in this order.",
      items: rule,
    },
    expect: {
      type: "object",
      description: "What must be true of the run.",
      additionalProperties: false,
      properties: {
        result: {
          enum: ["succeeded", "failed", "canceled"],
          description: "How the job must end. Default: succeeded.",
        },
        reason: condition("Why it failed or was canceled."),
        works: {
          type: "array",
          description:
            "Every work that must have run, and how it ended. A work that ran and is not in the list is a failure.",
          items: work,
        },
        decisions: {
          type: ["object", "array"],
          description: 'Decisions of the run. A list is short for "include".',
          minItems: 1,
          items: { $ref: "#/$defs/decision" },
          additionalProperties: false,
          properties: {
            include: decisions("Each of these must occur, in any order."),
            sequence: decisions("These must occur in this order; others may come between them."),
            exclude: decisions("None of these may occur."),
          },
        },
      },
    },
  },
} as const;
