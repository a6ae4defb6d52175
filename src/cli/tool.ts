import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { graceSeconds, startCall, toolSeconds, type CallEnd } from "../tools/call.ts";
import { dockerfileOf, needsDocker, scriptOf, wordsOf } from "../tools/builds.ts";
import { McpServers } from "../tools/mcp/servers.ts";
import { problemText } from "../tools/model-calls.ts";
import { recipeOf } from "../tools/declared-tool.ts";
import type { CallContext, Tool, ToolProgress } from "../tools/tool.ts";
import type { EntryTools } from "../tools/toolbox.ts";
import { isRecord } from "../text/guards.ts";
import { compileValueCheck } from "../document/value-check.ts";
import type { PreparedEntry, ToolDeclaration } from "../entry/model.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { onAbort } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { killMarkedProcesses } from "../platform/processes.ts";
import { RUN_MARK } from "../platform/run-folder.ts";
import { readEntry, findEntries } from "../run/entry-files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { guessText, UsageError } from "../run/options.ts";
import { checkWorkingDirectory } from "../run/options-paths.ts";
import { RunTools } from "../run/run-tools.ts";
import { version } from "../generated/version.ts";
import { knownSecrets } from "../run/secrets.ts";
import { allowedOf, reservedSecrets } from "../run/variables.ts";
import { findEntry, onlyEntry, placeOfEntries } from "./found.ts";
import type { OptionsOf } from "./options.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

/** Prints the result: a text as it is, anything else as JSON. */
export function callTool(
  io: Io,
  name: string,
  params: string | undefined,
  given: OptionsOf<"call">,
): Promise<ExitCode> {
  const { output } = io;
  return withTools(io, `The call of ${name}`, given, async (opened) => {
    const end = await call(name, parsedParams(params), opened);
    if (end.kind !== "succeeded") return end;
    if (typeof end.value === "string") output.printData(end.value);
    else output.printJson(end.value);
    return undefined;
  });
}

export async function buildTool(
  io: Io,
  name: string,
  { print, plain, ...given }: OptionsOf<"build">,
): Promise<ExitCode> {
  const { output } = io;
  if (print === true) {
    output.printData(await printedBuild(name, plain === true, given));
    return exitCode.success;
  }
  return withTools(io, `The build of ${name}`, given, async ({ entry, tools, ...context }) => {
    declared(entry, name);
    const end = await tools.build(name, context);
    if (end.kind !== "nothing" && end.kind !== "succeeded") return end;
    output.print(end.kind === "nothing" ? `${name} needs no build.` : `${name} is built.`);
    return undefined;
  });
}

interface Opened extends CallContext {
  readonly entry: PreparedEntry;
  readonly tools: EntryTools;
  readonly redact: (text: string) => string;
}

/** Why a tool has no result. `tail`: the end of the log. */
type Failure =
  | { readonly kind: "failed"; readonly reason: string; readonly tail?: string | undefined }
  | { readonly kind: "timed_out" | "cancelled" };

/** Opens the tools of the entry until `use` has ended. Shows progress and failures on stderr. */
async function withTools(
  { output }: Io,
  what: string,
  given: OptionsOf<"call">,
  use: (opened: Opened) => Promise<Failure | undefined>,
): Promise<ExitCode> {
  const { entry, workingDirectory } = await read(given);
  const { env } = given;
  const environment = process.env;
  const signals = cancelFromTerminal();
  const { signal, lastCall } = signals;
  const shown = new Set<string>();
  const onProgress = ({ percent, message }: ToolProgress): void => {
    const share = percent === undefined ? "" : `${Math.round(percent)}%`;
    const text = message ?? "";
    shown.add(text);
    // A line of the log may say itself how far it is.
    output.printError(text.includes("%") ? text : `${share} ${text}`.trim());
  };
  const redactor = createRedactor([
    ...knownSecrets({ environment }),
    ...reservedSecrets({ entry, environment, env }),
  ]);
  const mark = randomUUID();
  const release = onAbort(lastCall, () => killMarkedProcesses(RUN_MARK, mark));
  const servers = new McpServers({ environment, redactor, version, mark });
  const variables = allowedOf({ environment, env });
  const tools = new RunTools({
    entry,
    workingDirectory,
    environment,
    env,
    mark,
    redact: redactor.stream,
    clock: systemClock,
    servers: async () => servers.forRun({ workingDirectory, variables }),
  });
  try {
    const { toolbox } = await tools.open();
    const end = await use({ entry, tools: toolbox, redact: redactor.text, signal, onProgress });
    if (signal.aborted || end?.kind === "cancelled") return exitCode.canceled;
    if (end === undefined) return exitCode.success;
    const { reason, tail = "" } =
      end.kind === "failed" ? end : { reason: `${what} exceeded its time limit.` };
    const rest = tail.split("\n").filter((line) => !shown.has(line.trimEnd()));
    output.printError([...rest, `agent-jobs: ${reason}`].join("\n"));
    return exitCode.failed;
  } finally {
    await tools.close();
    await servers.close();
    release();
    signals.dispose();
  }
}

/** Throws `UsageError` for a tool that doesn't exist, and for params that don't fit. */
async function call(
  name: string,
  params: Readonly<Record<string, unknown>>,
  { entry, tools, redact, signal, onProgress }: Opened,
): Promise<CallEnd> {
  const [server] = name.includes("/") ? name.split("/") : [];
  if (server === undefined) declared(entry, name);
  else if (entry.mcpServers?.[server] === undefined)
    throw new UsageError(`The entry has no MCP server ${JSON.stringify(server)}.`);
  const pattern = server === undefined ? name : `${server}/*`;
  const allowed = await tools.toolsFor({ preset: "read-only", tools: [pattern] }, signal);
  const tool = allowed.tools.find((one) => one.name === name);
  if (tool === undefined) {
    const [failure] = allowed.failures;
    if (failure !== undefined) return { kind: "failed", reason: failure.reason };
    const plain = (one: string): string => redact(one.slice(one.indexOf("/") + 1));
    const names = allowed.tools.map((one) => plain(one.name));
    throw unknownTool(`The MCP server ${JSON.stringify(server)}`, plain(name), names);
  }
  if (tool.checksParams !== true) checkParams(tool, params);
  const started = startCall((context) => tool.run({ id: name, tool: name, params }, context), {
    clock: systemClock,
    seconds: tool.timeoutSeconds ?? toolSeconds,
    graceSeconds,
    onProgress,
  });
  return started.ended.finally(onAbort(signal, () => started.cancel("canceled")));
}

function checkParams({ name, parameters }: Tool, params: Record<string, unknown>): void {
  const compiled = compileValueCheck(parameters);
  if (compiled.kind === "invalid") {
    throw new UsageError(
      `The parameters of ${name} are not a valid JSON Schema: ${compiled.reason}`,
    );
  }
  const problems = compiled.check(params);
  if (problems.length > 0) throw new UsageError(problems.map(problemText).join("\n"));
}

async function printedBuild(
  name: string,
  plain: boolean,
  options: OptionsOf<"call">,
): Promise<string> {
  const { entry, workingDirectory } = await read(options);
  const declaration = declared(entry, name);
  const found = recipeOf(name, declaration, workingDirectory);
  if (found.kind === "failed") throw new UsageError(found.reason);
  if (found.kind === "none") {
    if (declaration.build === undefined) {
      throw new UsageError(`${name} needs no build: it has no build and no build.tool.yml.`);
    }
    return wordsOf(declaration.build.command);
  }
  const needs = needsDocker(found.recipe);
  if (needs === undefined) return scriptOf(found.recipe).trimEnd();
  if (!plain) return dockerfileOf(found.recipe).trimEnd();
  throw new UsageError(`${found.file} needs ${needs}, which only Docker provides.`);
}

async function read({ entryFile, workingDirectory = "." }: OptionsOf<"call">): Promise<{
  readonly entry: PreparedEntry;
  readonly workingDirectory: string;
}> {
  await checkWorkingDirectory(workingDirectory);
  const file = entryFile === undefined ? await entryHere() : (await findEntry(entryFile)).file;
  const { entry } = await readEntry(file);
  return { entry, workingDirectory: resolve(workingDirectory) };
}

async function entryHere(): Promise<string> {
  const entries = (await findEntries(".", 0)).filter((name) => !name.endsWith(".md"));
  const only = entries.length === 0 ? await onlyEntry() : entries[0];
  if (only !== undefined && entries.length <= 1) return only;
  throw new UsageError(
    only === undefined
      ? `The current directory has no entry, and ${placeOfEntries().folder} has none. Name one with --entry FILE.`
      : `The current directory has several entries: ${entries.join(", ")}. Name one with --entry FILE.`,
  );
}

function declared(entry: PreparedEntry, name: string): ToolDeclaration {
  const tools = new Map(Object.entries(entry.tools ?? {}));
  const declaration = tools.get(name);
  if (declaration !== undefined) return declaration;
  if (entry.mcpServers?.[name] !== undefined) {
    throw new UsageError(`${name} is an MCP server. Name one of its tools: ${name}/TOOL.`);
  }
  throw unknownTool("The entry", name, [...tools.keys()]);
}

function unknownTool(owner: string, name: string, names: readonly string[]): UsageError {
  if (names.length === 0) return new UsageError(`${owner} has no tools.`);
  const guess = guessText(name, names);
  return new UsageError(
    `${owner} has no tool ${JSON.stringify(name)}${guess}. Its tools: ${names.join(", ")}.`,
  );
}

function parsedParams(text = "{}"): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`The arguments are not JSON: ${errorMessage(error)}`);
  }
  if (isRecord(value)) return value;
  throw new UsageError("The arguments must be a JSON object.");
}
