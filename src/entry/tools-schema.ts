/** The schema of what agents may call: tools, MCP servers, relics and monuments. */
import { defaultStartSeconds } from "./model.ts";
import { listOf, map, means, name, object, ref, text, texts } from "./schema-parts.ts";

export const toolName = {
  type: "string",
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  description: "A name has 1 to 64 letters, digits, _ and -.",
} as const;
const command = {
  type: "array",
  items: name,
  minItems: 1,
  description: "The program and its arguments, without a shell. Runs in the working directory.",
};

/** The cases of a union that are distinguished by which field is there. */
function oneOfFields(...fields: readonly string[]): object {
  return { oneOf: fields.map((field) => ({ required: [field] })) };
}

export const tool = object(
  {
    description: { ...name, description: "What it does, for the model." },
    parameters: means("parameters", {
      type: "object",
      description: "JSON Schema of the arguments, which are one object.",
      examples: [{ type: "object", properties: { target: { type: "string" } } }],
    }),
    command,
    module: {
      ...name,
      description:
        "A JavaScript or TypeScript module, relative to the working directory. Loaded in a process of its own.",
    },
    export: { ...name, default: "default", description: "The name of the module's function." },
    timeoutSeconds: {
      type: "number",
      exclusiveMinimum: 0,
      maximum: 86_400,
      default: 600,
      description: "Time limit of one call.",
    },
    readOnly: { type: "boolean", default: false, description: "Whether it changes nothing." },
    parallelSafe: {
      type: "boolean",
      default: false,
      description: "Whether its calls may run beside other calls.",
    },
    build: object(
      {
        command,
        inputs: {
          ...listOf("glob"),
          description: "Globs of the files that the result depends on.",
        },
        minutes: {
          type: "number",
          exclusiveMinimum: 0,
          default: 10,
          description: "Time limit of the build.",
        },
      },
      ["command", "inputs"],
      { description: "A command that prepares the tool. Runs before the first call." },
    ),
  },
  ["description", "parameters"],
  {
    title: "Tool",
    description: "Either a command or a module.",
    ...oneOfFields("command", "module"),
    dependentRequired: { export: ["module"] },
  },
);

const values = { type: "object", additionalProperties: text } as const;
export const mcpServer = object(
  {
    command: { ...name, description: "The program that is started." },
    args: { ...texts, description: "The arguments of the program." },
    env: {
      ...values,
      description:
        "Environment variables of the program. env:NAME is the value of a variable that is passed with --env NAME.",
    },
    url: {
      ...name,
      description: "The address of a server that is already running: Streamable HTTP.",
    },
    headers: {
      ...values,
      description:
        "Headers of the requests to the address. env:NAME is the value of a variable that is passed with --env NAME.",
    },
    permissions: ref(
      "permissions",
      "What the program may do. Default: as much as the task that uses it.",
    ),
    tools: {
      ...listOf("tool of a server"),
      description: "The only tools of the server that are offered. Default: all.",
    },
    required: {
      type: "boolean",
      default: true,
      description: "Whether a task that may use the server fails if the server can't be used.",
    },
    startSeconds: {
      type: "number",
      exclusiveMinimum: 0,
      maximum: 3600,
      default: defaultStartSeconds,
      description: "Time limit of a start.",
    },
  },
  [],
  {
    title: "MCP server",
    description: "Either a program that is started, or an address.",
    ...oneOfFields("command", "url"),
    dependentRequired: {
      args: ["command"],
      env: ["command"],
      permissions: ["command"],
      headers: ["url"],
    },
  },
);

export const relic = object(
  {
    description: { ...name, description: "What it is about, for the model." },
    files: {
      ...listOf("glob inside"),
      minItems: 1,
      description: "Globs of its files, relative to the working directory. A leading ! excludes.",
    },
    maxTokens: {
      type: "integer",
      minimum: 1,
      maximum: 100_000,
      default: 2000,
      description: "Maximum size of an excerpt.",
    },
  },
  ["description", "files"],
  { title: "Relic" },
);

export const monument = object(
  {
    description: { ...text, description: "What it is for, for the model." },
    tools: { ...listOf("tool"), description: "Tools of this entry, or `server/tool`." },
    relics: { ...listOf("relic"), description: "Relics of this entry." },
  },
  [],
  { title: "Monument" },
);

export function declarations(
  definition: string,
  propertyNames: object,
  description: string,
): object {
  return { ...map(ref(definition), { description }), propertyNames };
}
