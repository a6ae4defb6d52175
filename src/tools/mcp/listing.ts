/** The tools of a server as a task sees them: what can't be offered is left out by name. */
import type { StandardSchemaV1, Tool as ServerTool } from "@modelcontextprotocol/client";
import { isRecord, isText } from "../../text/guards.ts";
import { redactedValue } from "../../redaction/redactor.ts";
import { redactedBeginning } from "../tool-output.ts";
import type { Tool } from "../tool.ts";

interface Malformed {
  readonly name: string;
  readonly why: string;
}

export interface ServerList {
  readonly tools: readonly ServerTool[];
  readonly malformed: readonly Malformed[];
}

/** `listed`: as the server sent them, but for nulls. `own`: offered unless the server has tools of these names itself. */
export async function checkedTools(
  listed: readonly unknown[],
  own: readonly ServerTool[],
  schema: StandardSchemaV1<unknown, ServerTool>,
): Promise<ServerList> {
  const tools: ServerTool[] = [];
  const malformed: Malformed[] = [];
  for (const one of listed) {
    const checked = await schema["~standard"].validate(one);
    if (checked.issues === undefined) tools.push(checked.value);
    else malformed.push(malformedTool(one, checked.issues));
  }
  const names = new Set([...tools, ...malformed].map(({ name }) => name));
  return { tools: [...tools, ...own.filter(({ name }) => !names.has(name))], malformed };
}

function malformedTool(
  tool: unknown,
  issues: NonNullable<StandardSchemaV1.FailureResult["issues"]>,
): Malformed {
  const [{ message, path = [] } = { message: "" }] = issues;
  const name = isRecord(tool) && isText(tool["name"]) ? tool["name"] : "";
  const field = path.map((key) => String(typeof key === "object" ? key.key : key)).join(".");
  return { name, why: [field, message].filter((part) => part !== "").join(": ") };
}

interface OfferedTool {
  readonly definition: ServerTool;
  readonly offered: Omit<Tool, "run">;
}

/** The names that the protocol allows, without the slash, which separates server and tool. */
const offerable = /^[A-Za-z0-9_.-]{1,128}$/;
const longestDescription = 4_096;
const longestName = 80;
const longestWhy = 200;

export function listingOf(
  server: string,
  { tools: definitions, malformed }: ServerList,
  only: readonly string[] | undefined,
  redact: (text: string) => string,
): { readonly tools: readonly OfferedTool[]; readonly problems: readonly string[] } {
  const tools = new Map<string, OfferedTool>();
  const left = new Map<string, string[]>();
  const leave = (why: string, name: string): void => {
    const shown = JSON.stringify(redactedBeginning(name, longestName, redact));
    left.set(why, [...(left.get(why) ?? []), shown]);
  };
  for (const definition of definitions) {
    const { name } = definition;
    if (only !== undefined && !only.includes(name)) continue;
    if (!offerable.test(name))
      leave("its name must consist of at most 128 letters, digits, _, - and .", name);
    else if (tools.has(name)) leave("there is another one of the same name", name);
    else if (definition.execution?.taskSupport === "required")
      leave("it requires the protocol's tasks, which are not supported", name);
    else tools.set(name, { definition, offered: offered(server, definition, redact) });
  }
  for (const { name, why } of malformed) {
    if (only === undefined || only.includes(name))
      leave(
        `its definition does not follow the protocol (${redactedBeginning(why, longestWhy, redact)})`,
        name,
      );
  }
  const known = new Set([...definitions, ...malformed].map(({ name }) => name));
  for (const name of only ?? []) {
    if (!known.has(name)) leave("the server has no such tool", name);
  }
  return {
    tools: [...tools.values()],
    problems: [...left].map(([why, names]) => `Not offered: ${names.join(", ")}: ${why}.`),
  };
}

function offered(
  server: string,
  { name, title, description = title, inputSchema, annotations }: ServerTool,
  redact: (text: string) => string,
): Omit<Tool, "run"> {
  const readOnly = annotations?.readOnlyHint === true;
  const parameters = redactedValue(inputSchema, redact);
  const shown = description && redactedBeginning(description, longestDescription, redact);
  return {
    name: `${server}/${name}`,
    description: shown,
    parameters: typeof parameters === "object" && parameters !== null ? parameters : {},
    checksParams: true,
    readOnly,
    // Calls that only read don't affect each other.
    parallelSafe: readOnly,
  };
}
