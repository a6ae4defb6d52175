/** Checks of the tools that agents may call, as in `check-entry.ts`. */
import { defined } from "../text/guards.ts";
import type { Path } from "../document/diagnostic.ts";
import { schemaFaults } from "../document/schema-faults.ts";
import { type EntryNames, type Problems, type Salvaged, type SalvagedEntry } from "./problems.ts";
import type { McpServer, MonumentDeclaration, RelicDeclaration, ToolDeclaration } from "./model.ts";
import { ownerOf } from "./permissions.ts";

/** Every session is told the parameters of its tools. In characters. */
const longestParameters = 50_000;

export class ToolChecker {
  readonly #entry: SalvagedEntry;
  readonly #names: EntryNames;
  readonly #problems: Problems;

  constructor(entry: SalvagedEntry, names: EntryNames, problems: Problems) {
    this.#entry = entry;
    this.#names = names;
    this.#problems = problems;
  }

  checkDeclarations(): void {
    const { tools, mcpServers, relics, monuments } = this.#entry;
    for (const [name, tool] of Object.entries(tools ?? {})) this.#checkTool(name, tool ?? {});
    for (const [name, server] of Object.entries(mcpServers ?? {}))
      this.#checkServer(name, server ?? {});
    for (const [name, relic] of Object.entries(relics ?? {})) this.#checkRelic(name, relic ?? {});
    for (const [name, monument] of Object.entries(monuments ?? {}))
      this.#checkMonument(name, monument ?? {});
  }

  #checkTool(name: string, tool: Salvaged<ToolDeclaration>): void {
    const at = ["tools", name];
    const owner = ownerOf(name);
    if (owner !== undefined) this.#problems.add(at, `This name is reserved: it is ${owner}.`);
    if (!("module" in tool) || tool.module === undefined) return;
    if (leadsOutside(tool.module.split(/[\\/]/)) || /^[a-z][a-z\d+.-]*:/i.test(tool.module)) {
      const reason = "Must be a path within the working directory, relative to it.";
      this.#problems.add([...at, "module"], reason);
    }
  }

  #checkServer(name: string, server: Salvaged<McpServer>): void {
    const at = ["mcpServers", name];
    if (name === "delegate") {
      const reason = "This name is reserved: in permissions, delegate/TASK means a task.";
      this.#problems.add(at, reason);
    }
    server.tools?.forEach((tool, index) => {
      if (tool?.startsWith(`${name}/`) !== true) return;
      const hint = `write ${JSON.stringify(tool.slice(name.length + 1))}`;
      const reason = "Must be the name of the tool, without its server.";
      this.#problems.add([...at, "tools", index], reason, { hint });
    });
  }

  #checkRelic(name: string, { files = [] }: Salvaged<RelicDeclaration>): void {
    if (files.length > 0 && files.every((glob) => glob?.startsWith("!") === true)) {
      const reason = "Must have a glob that doesn't start with !, which only excludes files.";
      this.#problems.add(["relics", name, "files"], reason);
    }
  }

  #checkMonument(name: string, { tools, relics }: Salvaged<MonumentDeclaration>): void {
    relics?.forEach((relic, index) => {
      if (relic === undefined || tools?.includes(relic) !== true) return;
      const reason = `A tool of this monument is called ${JSON.stringify(relic)}, too. Members are addressed by name.`;
      this.#problems.add(["monuments", name, "relics", index], reason);
    });
  }

  /** A tool of the entry, `server/tool`, or one of `others`. */
  checkName(name: string, path: Path, others: readonly string[]): void {
    if (others.includes(name) || this.#names.tools.has(name)) return;
    const slash = name.indexOf("/");
    const server = slash > 0 ? name.slice(0, slash) : undefined;
    if (server !== undefined && this.#names.mcpServers.has(server)) {
      this.#checkOffered(path, server, name.slice(slash + 1));
      return;
    }
    // A name that would have been declared in the broken part.
    if (this.#problems.isBroken([server === undefined ? "tools" : "mcpServers"])) return;
    if (server !== undefined && this.#names.mcpServers.size > 0) {
      this.#problems.addMissing(path, "MCP server", server, this.#names.mcpServers);
      return;
    }
    const servers = [...this.#names.mcpServers].map((one) => `${one}/…`);
    const hint = this.#problems.suggestAny(name, [...others, ...this.#names.tools, ...servers]);
    this.#problems.add(path, `There is no tool ${JSON.stringify(name)}.`, hint);
  }

  #checkOffered(path: Path, server: string, tool: string): void {
    const offered = this.#entry.mcpServers?.[server]?.tools;
    if (tool !== "" && (offered === undefined || offered.includes(tool))) return;
    const known = (offered ?? []).filter((one) => one !== undefined);
    const reason =
      tool === ""
        ? `Must name a tool of the MCP server ${JSON.stringify(server)}.`
        : `The tools of the MCP server ${JSON.stringify(server)} don't include ${JSON.stringify(tool)}.`;
    this.#problems.add(path, reason, this.#problems.suggestAny(tool, known));
  }
}

export function checkParameters(
  schema: Readonly<Record<string, unknown>>,
  path: Path,
  problems: Problems,
): void {
  if (JSON.stringify(schema).length > longestParameters)
    return problems.add(path, `Must not be longer than ${longestParameters} characters.`);
  const { type } = schema;
  const faults = schemaFaults(schema);
  for (const { path: below, reason, hint } of faults)
    problems.add([...path, ...below], reason, defined({ hint }));
  if (faults.length === 0 && type !== undefined && type !== "object") {
    const reason = 'Must be "object", because the arguments of a tool are one object.';
    problems.add([...path, "type"], reason);
  }
}

export function leadsOutside(parts: readonly string[]): boolean {
  const [first = ""] = parts;
  return first === "" || first === "~" || /^[A-Za-z]:/.test(first) || parts.includes("..");
}
