/** Tools and documents for tests of the action protocol. */
import { readFileSync } from "node:fs";
import type { ActionTool, ToolOutcome } from "../../src/protocol/catalogue.ts";
import type { ProtocolProblem } from "../../src/protocol/model.ts";

const folder = new URL("../../../test/fixtures/action-protocol/", import.meta.url);

/** The text of a prototype of the protocol, 1 to 6. */
export function prototype(number: number): string {
  return readFileSync(new URL(`prototype-${number}.json`, folder), "utf8");
}

export const anyParams = { type: "object" };

export function tool(
  name: string,
  parts: Partial<ActionTool> & { readonly returns?: unknown } = {},
): ActionTool {
  const { returns = `${name} done`, ...rest } = parts;
  const outcome: ToolOutcome = { kind: "succeeded", value: returns };
  return { name, parameters: anyParams, run: () => Promise.resolve(outcome), ...rest };
}

export type Json = Readonly<Record<string, unknown>>;

export function action(name: string, fields: Json = {}): Json {
  return { action: name, type: "tool", params: {}, ...fields };
}

export function group(id: string, members: readonly Json[], fields: Json = {}): Json {
  return { action: "group", type: "internal", action_id: id, sub_actions: members, ...fields };
}

export function documentOf(actions: readonly Json[] | null, fields: Json = {}): string {
  return JSON.stringify({
    status: "EXECUTING",
    thoughts: [],
    actions,
    stop: false,
    response: null,
    ...fields,
  });
}

/** `code path`, for comparison. */
export function shortly(problems: readonly ProtocolProblem[]): string[] {
  return problems.map(({ code, path }) => `${code} ${path}`);
}
