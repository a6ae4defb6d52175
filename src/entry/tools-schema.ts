/** The schema of what agents may call: tools, MCP servers, relics and monuments. */
import { map, name, names, object, ref, text, texts } from "./schema-parts.ts";

export const toolName = { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" } as const;
const command = {
  type: "array",
  items: name,
  minItems: 1,
  description: "The program and its arguments, without a shell. Runs in the working directory.",
};
const toolFields = {
  description: { ...name, description: "What it does, for the model." },
  parameters: {
    type: "object",
    description: "JSON Schema of the arguments, which are one object.",
    examples: [{ type: "object", properties: { target: { type: "string" } } }],
  },
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
      inputs: { ...names, description: "Globs of the files that the result depends on." },
      minutes: { type: "number", exclusiveMinimum: 0, default: 10 },
    },
    ["command", "inputs"],
    { description: "A command that prepares the tool. Runs before the first call." },
  ),
};

export const tool = {
  title: "Tool",
  type: "object",
  oneOf: [
    object({ ...toolFields, command }, ["description", "parameters", "command"]),
    object(
      {
        ...toolFields,
        module: {
          ...name,
          description:
            "A JavaScript or TypeScript module, relative to the working directory. Loaded in a process of its own.",
        },
        export: { ...name, default: "default", description: "The name of the function." },
      },
      ["description", "parameters", "module"],
    ),
  ],
};

const values = { type: "object", additionalProperties: text } as const;
export const mcpServer = {
  title: "MCP server",
  type: "object",
  oneOf: [
    object(
      {
        command: { ...name, description: "The program that is started." },
        args: texts,
        env: { ...values, description: "Its environment. env:NAME is the value of a variable." },
        tools: { ...names, description: "The only tools of it that are offered. Default: all." },
      },
      ["command"],
    ),
    object(
      {
        url: { ...name, description: "Its address: Streamable HTTP." },
        headers: { ...values, description: "env:NAME is the value of a variable." },
        tools: { ...names, description: "The only tools of it that are offered. Default: all." },
      },
      ["url"],
    ),
  ],
};

export const relic = object(
  {
    description: { ...name, description: "What it is about, for the model." },
    files: { ...names, minItems: 1, description: "Globs, relative to the working directory." },
    maxTokens: { type: "integer", minimum: 1, default: 2000, description: "Of an excerpt." },
  },
  ["description", "files"],
  { title: "Relic" },
);

export const monument = object({ description: text, tools: names, relics: names }, [], {
  title: "Monument",
});

export function declarations(
  definition: string,
  propertyNames: object,
  description: string,
): object {
  return { ...map(ref(definition), { description }), propertyNames };
}
