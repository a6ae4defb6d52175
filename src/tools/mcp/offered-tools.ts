/** Which tools of an MCP server are offered, and how. Pure. */
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { defined } from "../../document/guards.ts";
import { redactedValue } from "../../redaction/redacted-value.ts";
import { redactedBeginning } from "../redacted-data.ts";
import type { Tool } from "../tool.ts";

interface Listing {
  readonly tools: readonly OfferedTool[];
  /** Why tools are left out, in sentences. */
  readonly problems: readonly string[];
}

interface OfferedTool {
  /** As the server calls it. */
  readonly definition: ServerTool;
  readonly offered: Omit<Tool, "run">;
}

/** As the protocol asks for. A slash would be taken for another server. */
const offerable = /^[A-Za-z0-9_.-]{1,128}$/;
/** UTF-16 units. */
const longestDescription = 4_096;
/** Of what a server calls a tool, in a problem. */
const longestName = 80;

/** `only`: the declaration's `tools`. */
export function listingOf(
  server: string,
  definitions: readonly ServerTool[],
  only: readonly string[] | undefined,
  redact: (text: string) => string,
): Listing {
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
  const known = new Set(definitions.map(({ name }) => name));
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
    ...defined({ description: shown }),
    parameters: typeof parameters === "object" && parameters !== null ? parameters : {},
    checksParams: true,
    readOnly,
    // Nothing that it reads changes by another call of the same kind.
    parallelSafe: readOnly,
  };
}
