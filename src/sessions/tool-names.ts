/**
 * A function has no slash, so the model knows the tool `search` of the server `docs` as `docs-search`. In events and
 * requests, tools have their own names.
 */
import type {
  PermissionRequest as RuntimeRequest,
  SessionEvent,
  Tool as SdkTool,
} from "@github/copilot-sdk";
import { createHash } from "node:crypto";
import { availableTools } from "../entry/model.ts";
import { runtimeTools } from "../entry/known-tools.ts";

const longestName = 64;
const hashCharacters = 8;

export class ToolNames {
  readonly #functions = new Map<string, string>();
  readonly #taken: Set<string>;
  /** Known names → the tools' own, where they differ. Grows with `add`. */
  readonly #renamed = new Map<string, string>();

  constructor(tools: readonly string[], others: readonly string[] = []) {
    this.#taken = new Set([...runtimeTools, ...availableTools, ...others]);
    this.add(tools);
  }

  add(tools: readonly string[]): void {
    const names = tools.filter((name) => !this.#functions.has(name)).toSorted();
    // The tool that is called so itself keeps its name.
    const isPlain = (name: string): boolean => functionName(name) === name;
    for (const name of [...names.filter(isPlain), ...names.filter((one) => !isPlain(one))]) {
      let known = functionName(name);
      // A name that a server has made up to look like one with a hash must not get its calls.
      for (let salt = 0; known.length > longestName || this.#taken.has(known); salt += 1) {
        known = hashed(name, salt);
      }
      this.#taken.add(known);
      this.#functions.set(name, known);
      if (known !== name) this.#renamed.set(known, name);
    }
  }

  functionOf(name: string): string {
    return this.#functions.get(name) ?? name;
  }

  get renamed(): ReadonlyMap<string, string> {
    return this.#renamed;
  }

  toolOf(known: string): string {
    return this.#renamed.get(known) ?? known;
  }

  event(event: SessionEvent): SessionEvent {
    switch (event.type) {
      case "tool.execution_start":
      case "assistant.tool_call_delta": {
        const toolName = this.#renamed.get(event.data.toolName ?? "");
        return toolName === undefined ? event : withData(event, { toolName });
      }
      case "assistant.message": {
        const { toolRequests } = event.data;
        if (!toolRequests?.some(({ name }) => this.#renamed.has(name))) return event;
        const named = toolRequests.map((one) => ({ ...one, name: this.toolOf(one.name) }));
        return withData(event, { toolRequests: named });
      }
      default:
        return event;
    }
  }

  request(request: RuntimeRequest): RuntimeRequest {
    return request.kind === "custom-tool"
      ? { ...request, toolName: this.toolOf(request.toolName) }
      : request;
  }

  shown<T extends Pick<SdkTool, "name" | "description">>(tool: T): T {
    const name = this.functionOf(tool.name);
    if (name === tool.name) return tool;
    const description = `${tool.description ?? ""}\n\nElsewhere it is called ${tool.name}.`.trim();
    return { ...tool, name, description };
  }
}

function withData<E extends { readonly data: object }>(event: E, data: Partial<E["data"]>): E {
  return { ...event, data: { ...event.data, ...data } };
}

function functionName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "-");
}

function hashed(name: string, salt: number): string {
  const hash = createHash("sha256")
    .update(`${name}${"+".repeat(salt)}`)
    .digest("hex");
  const start = functionName(name).slice(0, longestName - hashCharacters - 1);
  return `${start}-${hash.slice(0, hashCharacters)}`;
}
