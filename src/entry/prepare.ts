import { checkEntry } from "./check-entry.ts";
import { entryCheck, entryNames, type EntryNames, salvage } from "./problems.ts";
import {
  type Diagnostic,
  DiagnosticsError,
  type Path,
  type Place,
  type Problem,
  toDiagnostics,
  valueAt,
  type Locate,
  type Position,
} from "../document/diagnostic.ts";
import type {
  DeclaredTools,
  Entry,
  ExpandedPrompt,
  FlowWork,
  Job,
  LeafWork,
  PreparedEntry,
  PreparedJob,
  PreparedTask,
  Prompt,
  Task,
  ToolDeclaration,
} from "./model.ts";
import { defined, isRecord, isText, isList } from "../text/guards.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { plainCopy } from "../document/plain.ts";
import {
  insertPromptFiles,
  placeInPrompt,
  type InsertedPrompt,
  type ReadPrompt,
  PromptExpander,
} from "./prompt.ts";
import { declarationWarnings, entryWarnings, type WarningChecks } from "./warnings.ts";
import { assignWorkId, mapEach, longWork, mapLeaves, simplifyWork, taskWorks } from "./work.ts";
import { formatOfFile, readDocument } from "../document/read-document.ts";

export interface FlowLeaf {
  readonly path: Path;
  readonly codePath: string;
  readonly work: FlowWork;
}

export type PrepareResult =
  | {
      readonly kind: "prepared";
      readonly entry: PreparedEntry;
      readonly warnings: readonly Diagnostic[];
      readonly leaves: readonly FlowLeaf[];
    }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

export interface PrepareOptions extends Place {
  readonly codePath?: string;
  readonly checks?: WarningChecks;
  /** Default: an entry with prompts in files is rejected. */
  readonly readPrompt?: ReadPrompt;
}

/**
 * Checks an entry and returns it prepared: prompts expanded, works simplified and numbered. The input is not changed.
 *
 * @throws {DiagnosticsError} with all problems as `diagnostics`, and the first as its message.
 */
export function validateEntry(entry: unknown, codePath: string): PreparedEntry {
  const result = prepareEntry(entry, { codePath });
  if (result.kind === "rejected") throw new DiagnosticsError(result.diagnostics);
  return result.entry;
}

export function prepareEntry(value: unknown, options: PrepareOptions = {}): PrepareResult {
  const copy = plainCopy(value, (list) => !isRowOfGrid(list));
  if (copy.kind === "copied") return preparePlain(copy.value, options);
  const { path, reason } = copy;
  return rejected([{ path, codePath: entryCheck.codePath(path), reason }], options);
}

/** Positions count in a row of the grid: an absent cell is an empty one. */
function isRowOfGrid([field, , row, ...deeper]: Path): boolean {
  return field === "grid" && row === "jobs" && deeper.length === 0;
}

/** For plain data of the caller's own making, such as a document: it may be changed. */
export function preparePlain(data: unknown, given: PrepareOptions): PrepareResult {
  const names = entryNames(data);
  const inspected = entryCheck.inspect(data);
  const {
    places,
    problems: unread,
    inserted,
  } = insertPromptFiles(data, inspected.places, given.readPrompt);
  const options = { ...given, inserted };
  if (inspected.kind === "accepted" && unread.length === 0) {
    const { value } = inspected;
    const problems = checkEntry(value, places, names, []);
    if (problems.length > 0) return rejected(problems, options);
    const entry = build(value);
    const warnings = diagnosticsOf(
      entryWarnings(value, entry, places, options.checks ?? {}),
      options,
    );
    return { kind: "prepared", entry, warnings, leaves: flowLeaves(places) };
  }
  const { problems: found, complete } =
    inspected.kind === "refused" ? inspected : { problems: [], complete: true };
  const schemaProblems = [...found.map((problem) => withForm(problem, data, names)), ...unread];
  // If there are unreported faults, the rest would be inconsistent.
  if (!complete) return rejected(schemaProblems, options);
  const sound = salvage(data, schemaProblems);
  const problems = sound === undefined ? [] : checkEntry(sound, places, names, schemaProblems);
  return rejected([...schemaProblems, ...problems], options);
}

type Declarations = Pick<Entry, "permissions" | "tools" | "mcpServers">;

interface DeclarationOptions extends Place, Pick<PrepareOptions, "checks"> {
  /** The tools that permissions may name. Default: those that are given. */
  readonly known?: DeclaredTools;
}

/** These fields of an entry by themselves. They must be valid by its schema; without `declarations`, they are not valid. */
export function prepareDeclarations(
  given: Declarations,
  { checks = {}, known = given, ...place }: DeclarationOptions,
): { readonly declarations?: DeclaredTools; readonly diagnostics: readonly Diagnostic[] } {
  // It refuses them, as the other fields are missing; only the places count.
  const { places } = entryCheck.inspect(given);
  const problems = checkEntry(given, places, entryNames(given), []);
  if (problems.length > 0) return { diagnostics: diagnosticsOf(problems, place) };
  const { tools, mcpServers } = given;
  const declarations = defined({ tools: tools && mapValues(tools, buildTool), mcpServers });
  const warnings = declarationWarnings(given, places, checks, known);
  return { declarations, diagnostics: diagnosticsOf(warnings, place) };
}

function flowLeaves(places: readonly MeantPlace[]): readonly FlowLeaf[] {
  return places.flatMap(({ meaning, value, path }) =>
    meaning === "work" && isFlow(value)
      ? [{ path, codePath: entryCheck.codePath([...path, "file"]), work: value }]
      : [],
  );
}

/** The schema has checked the rest. */
function isFlow(value: unknown): value is FlowWork {
  return isRecord(value) && value["kind"] === "Flow";
}

interface PlacedOptions extends PrepareOptions {
  readonly inserted?: readonly InsertedPrompt[];
}

function rejected(problems: readonly Problem[], options: PlacedOptions): PrepareResult {
  return { kind: "rejected", diagnostics: diagnosticsOf(problems, options) };
}

function diagnosticsOf(problems: readonly Problem[], options: PlacedOptions): Diagnostic[] {
  const { codePath: prefix = "", file, locate, inserted = [] } = options;
  const placed = problems.map((problem) => ({
    problem: { ...problem, codePath: prefix + problem.codePath },
    inPrompt: placeInPrompt(problem, inserted),
  }));
  const others = placed.flatMap(({ problem, inPrompt }) => (inPrompt ? [] : problem));
  return [
    ...toDiagnostics(others, defined({ file, locate })),
    ...placed.flatMap(({ problem, inPrompt }) =>
      inPrompt ? toDiagnostics([problem]).map((one) => ({ ...one, ...inPrompt })) : [],
    ),
  ];
}

/** Models, tasks and conditions are often written in a shorter form. The hint shows the full one. */
function withForm(problem: Problem, data: unknown, names: EntryNames): Problem {
  const { path } = problem;
  const form = meantForm(path, valueAt(data, path), names);
  return form === undefined ? problem : { ...problem, hint: form };
}

function meantForm(path: Path, value: unknown, names: EntryNames): string | undefined {
  const last = path.at(-1);
  // Where a name would need quotes, it is none.
  const name = isText(value) && /^[\w./-]{1,64}$/.test(value) ? value : undefined;
  if (name !== undefined && (last === "model" || last === "modelOverride"))
    return `write { ${names.models.has(name) ? "category" : "id"}: ${name} }`;
  if (path[0] !== "jobs") return undefined;
  if (path.length === 2) return name && `write { work: ${shortForm(name)} }`;
  if (last !== "preCondition" && last !== "postCondition") return undefined;
  const work = name === undefined ? "…" : shortForm(name);
  return `write [true, ${work}] or [false, ${work}]: the outcome that goes on`;
}

function shortForm(name: string): string {
  return name.endsWith(".wf.md") ? `{ kind: Flow, file: ${name} }` : name;
}

function build(entry: Entry): PreparedEntry {
  const expander = new PromptExpander((name) => entry.promptVariables?.[name]);
  const tasks = mapValues(entry.tasks, (task) =>
    buildTask(
      { ...defined({ system: entry.system, instructions: entry.instructions }), ...task },
      expander,
    ),
  );
  const tools = entry.tools && mapValues(entry.tools, buildTool);
  return {
    ...entry,
    tasks,
    jobs: mapValues(entry.jobs, (job) => buildJob(job, tasks, expander)),
    ...defined({ tools }),
  };
}

/** Providers refuse parameters without a type. */
function buildTool(tool: ToolDeclaration): ToolDeclaration {
  return { ...tool, parameters: { ...tool.parameters, type: "object" } };
}

function buildTask(task: Task, expander: PromptExpander): PreparedTask {
  const expand = (prompt: Prompt): ExpandedPrompt => [expander.expand(prompt).text];
  const condition = (prompt: Prompt | undefined): { condition?: ExpandedPrompt } =>
    prompt === undefined ? {} : { condition: expand(prompt) };

  const { prompt, system, requireUserInput = false, availability, criteria, ...rest } = task;
  const { condition: available, ...otherAvailability } = availability ?? {};
  const built = {
    ...rest,
    prompt: expand(prompt),
    requireUserInput,
    ...(system && { system: { ...system, prompt: expand(system.prompt) } }),
    ...(availability && { availability: { ...otherAvailability, ...condition(available) } }),
  };
  if (criteria === undefined) return built;
  const { condition: done, failureAction = { retryTimes: 0 }, ...otherCriteria } = criteria;
  const { additionalPrompt, ...otherAction } = failureAction;
  const additional = additionalPrompt && { additionalPrompt: expand(additionalPrompt) };
  return {
    ...built,
    criteria: {
      ...otherCriteria,
      ...condition(done),
      failureAction: { ...otherAction, ...additional },
    },
  };
}

function buildJob(
  job: Job,
  tasks: Readonly<Record<string, PreparedTask>>,
  expander: PromptExpander,
): PreparedJob {
  let required = false;
  const expand = (prompt: Prompt): ExpandedPrompt => {
    const { text, usesUserInput } = expander.expand(prompt);
    required ||= usesUserInput;
    return [text];
  };
  const numbered = assignWorkId(simplifyWork(longWork(job.work)));
  const filled = mapLeaves<number, number, LeafWork<number>>(numbered, (leaf) =>
    leaf.kind === "Flow" && leaf.params !== undefined
      ? { ...leaf, params: mapValues(leaf.params, expand) }
      : leaf,
  );
  const work = mapEach(filled, (each) =>
    "lines" in each.items ? { ...each, items: { lines: expand(each.items.lines) } } : each,
  );
  required ||= taskWorks(work).some(({ taskId }) => tasks[taskId]?.requireUserInput === true);
  return { ...job, requireUserInput: required, work };
}

/** The keys are an author's names, so the result has no prototype either. */
function mapValues<A, B>(
  map: Readonly<Record<string, A>>,
  change: (value: A) => B,
): Record<string, B> {
  const changed: Record<string, B> = Object.create(null);
  for (const [key, value] of Object.entries(map)) changed[key] = change(value);
  return changed;
}

/** A prepared entry with the place of everything in it, or all that is wrong with the file. */
export type LoadedEntry =
  | {
      readonly kind: "loaded";
      readonly entry: PreparedEntry;
      /** The name that the caller passed. */
      readonly file: string;
      /** The position of the value at a path such as `["jobs", "review", "work"]`. */
      readonly locate: Locate;
      readonly locateTask: (taskName: string) => Position;
      /** Valid, but probably not intended. */
      readonly warnings: readonly Diagnostic[];
      readonly leaves: readonly FlowLeaf[];
    }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

/** The text of an entry file, prepared, or every problem at its line and column. */
export function loadEntry(
  text: string | Uint8Array,
  file: string,
  options: Pick<PrepareOptions, "checks" | "readPrompt"> = {},
): LoadedEntry {
  const format = formatOfFile(file);
  if (format === undefined) {
    const reason = "The name of an entry file must end in .json, .yml or .yaml.";
    return { kind: "rejected", diagnostics: [{ file, codePath: "", reason }] };
  }
  const document = readDocument(text, { file, format });
  if (document.kind === "rejected") return document;

  const { value, locate } = document;
  if (isRehearsal(value)) {
    const reason = "This is a rehearsal, not an entry.";
    const hint = `run it with agent-jobs rehearse, or pass it with --rehearse ${file}`;
    return { kind: "rejected", diagnostics: [{ file, codePath: "", reason, hint }] };
  }
  const prepared = preparePlain(value, { ...options, file, locate });
  if (prepared.kind === "rejected") return prepared;
  const locateTask = (taskName: string): Position => locate(["tasks", taskName]);
  return { ...prepared, kind: "loaded", file, locate, locateTask };
}

function isRehearsal(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value["entry"] === "string" &&
    isList(value["sessions"]) &&
    !("models" in value || "tasks" in value || "jobs" in value)
  );
}
