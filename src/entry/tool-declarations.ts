import type { SchemaType } from "../document/describe.ts";
import type { Permissions } from "./permissions.ts";
import {
  flag,
  listOf,
  map,
  means,
  name,
  names,
  named,
  object,
  positive,
  ref,
  text,
  textOf,
  texts,
  whole,
} from "./schema-parts.ts";

/** `npx -y` with an empty cache takes half of it. */
export const defaultStartSeconds = 60;

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
} as const;

const oneOfFields = (...fields: readonly string[]) => ({
  oneOf: fields.map((required) => ({ required: [required] })),
});

const callLimit = positive("Time limit of one call.", { maximum: 86_400, default: 600 });

export const toolSchema = object(
  {
    description: named("What it does, for the model."),
    parameters: means("parameters", {
      type: "object",
      description: "JSON Schema of the arguments, which are one object.",
      examples: [{ type: "object", properties: { target: { type: "string" } } }],
    }),
    command,
    module: named(
      "A JavaScript or TypeScript module, relative to the working directory. Loaded in a process of its own.",
    ),
    export: { ...name, default: "default", description: "The name of the module's function." },
    timeoutSeconds: callLimit,
    readOnly: flag("Whether it changes nothing.", false),
    parallelSafe: flag("Whether its calls may run beside other calls.", false),
    build: object(
      {
        command,
        inputs: listOf("glob", "Globs of the files that the result depends on."),
        minutes: positive("Time limit of the build.", { default: 10 }),
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

const variable = "[A-Za-z_][A-Za-z0-9_]*";
const reference =
  "env: must be followed by the name of an environment variable, as in env:DOCS_TOKEN";

function passed(description: string, propertyNames: object, pattern: string, controls: string) {
  const harmless = {
    pattern: `^[^${controls}]*$`,
    description: "Must not contain control characters.",
  };
  const value = { ...textOf(reference), pattern, allOf: [harmless] };
  return { ...map(value, { description }), propertyNames };
}

const headers = passed(
  "Headers of the requests to the address. env:NAME is the value of a variable that is passed with --env NAME.",
  { pattern: "^[\\w!#$%&'*+.^`|~\\-]+$", description: "A header has letters, digits and -." },
  // No `env:` without a name, as a word.
  `^(?!(?:.*\\s)?env:(?!${variable}(?:\\s|$)))`,
  "\\u0000-\\u0008\\u000a-\\u001f\\u007f",
);

export const providerSchema = object(
  {
    headers,
    startSeconds: positive("How long a model server that isn't running is waited for.", {
      maximum: 3600,
    }),
  },
  [],
  { title: "Provider", description: "How the model server is reached." },
);

export const mcpServerSchema = object(
  {
    command: named("The program that is started."),
    args: { ...texts, description: "The arguments of the program." },
    env: passed(
      "Environment variables of the program. env:NAME is the value of a variable that is passed with --env NAME.",
      { pattern: `^${variable}$`, description: "A variable has letters, digits and _." },
      `^(?!env:)|^env:${variable}$`,
      "\\u0000",
    ),
    url: {
      ...text,
      pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s/?#]+(?:[/?#]|$)",
      description:
        "The address of a server that is already running (Streamable HTTP), with http:// or https://.",
    } as const,
    headers,
    permissions: ref<Permissions>(
      "permissions",
      "What the program may do. Default: as much as the task that uses it.",
    ),
    tools: {
      ...names,
      description: "The only tools of the server that are offered. Default: all.",
    },
    required: flag(
      "Whether a task that may use the server fails if the server can't be used.",
      true,
    ),
    startSeconds: positive("Time limit of a start.", {
      maximum: 3600,
      default: defaultStartSeconds,
    }),
    timeoutSeconds: callLimit,
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

export const relicSchema = object(
  {
    description: named("What it is about, for the model."),
    files: listOf(
      "glob inside",
      "Globs of its files, relative to the working directory. A leading ! excludes.",
      { minItems: 1 },
    ),
    maxTokens: whole("Maximum size of an excerpt.", { maximum: 100_000, default: 2000 }),
  },
  ["description", "files"],
  { title: "Relic" },
);

export const monumentSchema = object(
  {
    description: textOf("What it is for, for the model."),
    tools: listOf("tool", "Tools of this entry, or `server/tool`."),
    relics: listOf("relic", "Relics of this entry."),
  },
  [],
  { title: "Monument" },
);

export function declarations<T>(definition: string, propertyNames: object, description: string) {
  return { ...map(ref<T>(definition), { description }), propertyNames };
}

type ToolFields = SchemaType<typeof toolSchema>;
/** A command or a module of the repository that agents may call. Declaring a tool grants nothing. */
export type ToolDeclaration = Omit<ToolFields, "command" | "module" | "export"> &
  (
    | Pick<Required<ToolFields>, "command">
    | (Pick<Required<ToolFields>, "module"> & Pick<ToolFields, "export">)
  );
export type ToolBuild = NonNullable<ToolFields["build"]>;

type ServerFields = SchemaType<typeof mcpServerSchema>;
/** A server of the Model Context Protocol: a program that is started, or an address. */
export type McpServer = Pick<
  ServerFields,
  "tools" | "required" | "startSeconds" | "timeoutSeconds"
> &
  (
    | (Pick<Required<ServerFields>, "command"> & Pick<ServerFields, "args" | "env" | "permissions">)
    | (Pick<Required<ServerFields>, "url"> & Pick<ServerFields, "headers">)
  );

/** How the model server is reached, beside its address and key. */
export type ProviderSettings = SchemaType<typeof providerSchema>;
/** A source of knowledge. */
export type RelicDeclaration = SchemaType<typeof relicSchema>;
/** A bundle of tools and relics under a name. Its members are addressed as `name.member`. */
export type MonumentDeclaration = SchemaType<typeof monumentSchema>;
