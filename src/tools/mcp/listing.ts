/** What an MCP server says about its tools, as far as it can be offered. */
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { redactedValue } from "../../redaction/redacted-value.ts";
import { redactedBeginning } from "../redacted-data.ts";
import type { Tool } from "../tool.ts";

export interface Listing {
  readonly tools: readonly OfferedTool[];
  /** Why tools are left out, in sentences. */
  readonly problems: readonly string[];
}

export interface OfferedTool {
  /** As the server calls it. */
  readonly definition: ServerTool;
  readonly offered: Omit<Tool, "run">;
}

/** As the protocol asks for. A slash would be taken for another server. */
const offerable = /^[A-Za-z0-9_.-]{1,128}$/;
const mostTools = 2_000;
/** UTF-16 units. */
const longestDescription = 4_096;
/** Of what a server calls a tool, in a problem. */
const longestName = 80;
const mostNamed = 10;

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
    const names = left.get(why) ?? [];
    left.set(why, names);
    names.push(JSON.stringify(redactedBeginning(name, longestName, redact)));
  };
  for (const definition of definitions) {
    const { name } = definition;
    if (only !== undefined && !only.includes(name)) continue;
    const why = offerable.test(name)
      ? (tools.has(name) && "there is another one of the same name") ||
        (tools.size === mostTools && `at most ${mostTools} are offered`) ||
        (definition.execution?.taskSupport === "required" &&
          "it requires the protocol's tasks, which are not supported")
      : "its name must consist of at most 128 letters, digits, _, - and .";
    if (typeof why === "string") leave(why, name);
    else tools.set(name, { definition, offered: offered(server, definition, redact) });
  }
  const known = new Set(definitions.map(({ name }) => name));
  for (const name of only ?? []) {
    if (!known.has(name)) leave("the server has no such tool", name);
  }
  return {
    tools: [...tools.values()],
    problems: [...left].map(([why, names]) => told(why, names)),
  };
}

function told(why: string, names: readonly string[]): string {
  const shown = names.slice(0, mostNamed).join(", ");
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : "";
  return `Not offered: ${shown}${more}: ${why}.`;
}

function offered(
  server: string,
  { name, title, description = title, inputSchema, annotations }: ServerTool,
  redact: (text: string) => string,
): Omit<Tool, "run"> {
  const readOnly = annotations?.readOnlyHint === true;
  const parameters = redactedValue(inputSchema, redact);
  return {
    name: `${server}/${name}`,
    ...(description === undefined
      ? {}
      : { description: redactedBeginning(description, longestDescription, redact) }),
    parameters: typeof parameters === "object" && parameters !== null ? parameters : {},
    checksParams: true,
    readOnly,
    // Nothing that it reads changes by another call of the same kind.
    parallelSafe: readOnly,
  };
}
