/** Checks that compare two places of an entry. They skip a place that depends on a broken one. */
import { isList, isText } from "../text/guards.ts";
import type { Path, Problem } from "../document/diagnostic.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { checkParameters, leadsOutside, ToolChecker } from "./check-tools.ts";
import { readGlob } from "./glob.ts";
import type { Prompt, RunWork, TaskWork, Work } from "./model.ts";
import {
  type EntryNames,
  entryCheck,
  type Hint,
  listed,
  Problems,
  type Salvaged,
  type SalvagedEntry,
} from "./problems.ts";
import { severities, type Outputs } from "./outputs.ts";
import {
  type Expansion,
  PromptExpander,
  trailPath,
  variablesIn,
  fixedVariables,
  runtimeVariable,
} from "./prompt.ts";
import type { Meaning, PromptMeaning } from "./schema-parts.ts";
import { allJobTools, toolPatternProblem } from "./permissions.ts";
import { commandName } from "./work.ts";

type Meant<M extends Meaning> = M extends PromptMeaning
  ? Salvaged<Prompt>
  : M extends "work"
    ? Salvaged<Work>
    : M extends "parameters"
      ? Readonly<Record<string, unknown>>
      : string;

/** `places`: what means something, in the order of the entry. */
export function checkEntry(
  entry: SalvagedEntry,
  places: readonly MeantPlace[],
  names: EntryNames,
  schemaProblems: readonly Problem[],
): Problem[] {
  const problems = new Problems(schemaProblems);
  const checker = new EntryChecker(entry, names, problems);
  checker.checkDrivingRetries();
  checker.checkInputs();
  for (const { meaning, value, path } of places)
    if (checker.knows(meaning)) checker.checkPlace(meaning, value, path);
  checker.checkJobs();
  new ToolChecker(entry, names, problems).checkDeclarations();
  return problems.all;
}

class EntryChecker {
  readonly #entry: SalvagedEntry;
  readonly #names: EntryNames;
  readonly #problems: Problems;
  readonly #expander: PromptExpander;
  readonly #tools: ToolChecker;
  /** Why a job requires user input: the subject of a sentence. */
  readonly #needs = new Map<string, string>();

  readonly #checks: { readonly [M in Meaning]: (value: Meant<M>, path: Path) => void } = {
    category: (name, path) => this.#checkCategory(name, path),
    task: (name, path) => this.#isTask(name, path),
    job: (name, path) => this.#checkName("job", "jobs", name, path),
    relic: (name, path) => this.#checkName("relic", "relics", name, path),
    monument: (name, path) => this.#checkName("monument", "monuments", name, path),
    tool: (name, path) => this.#tools.checkName(name, path, []),
    "tool of a task": (name, path) => this.#tools.checkName(name, path, allJobTools),
    "task with a result": (name, path) => this.#checkResultOf(name, path),
    "name of a work": (name, path) => this.#checkOwnName(name, path),
    glob: (glob, path) => this.#checkGlob(glob, path),
    "glob inside": (glob, path) => this.#checkGlob(glob, path, true),
    "file of the repository": (file, path) => {
      if (leadsOutside(file.split(/[\\/]/)) || /[\p{Cc}]/u.test(file))
        this.#problems.add(path, "Must be a file of the repository, relative to its root.");
    },
    "tool pattern": (pattern, path) => {
      const reason = toolPatternProblem(pattern.replace(/^!/, ""));
      if (reason !== undefined) this.#problems.add(path, `Is not a valid pattern: ${reason}.`);
    },
    "command pattern": () => undefined,
    parameters: (schema, path) => checkParameters(schema, path, this.#problems),
    variable: () => undefined,
    prompt: (prompt, path) => void this.#expand(prompt, path),
    "prompt of a task": (prompt, path) => this.#checkTaskPrompt(prompt, path),
    "prompt of a work": (prompt, path) => {
      if (this.#expand(prompt, path)?.usesUserInput === true)
        this.#need(path, "a prompt of its steps uses $user-input");
    },
    condition: (prompt, path) => void this.#expand(prompt, path, true),
    "work of a task": (taskId, path) => {
      const hint = { hint: `write { kind: Flow, file: ${taskId} }` };
      if (taskId.endsWith(".wf.md") && !this.#names.tasks.has(taskId))
        this.#problems.add(path, `There is no task ${JSON.stringify(taskId)}.`, hint);
      else if (this.#isTask(taskId, path)) this.#checkRef({ taskId }, path);
    },
    work: (work, path) => {
      if (work.kind === "Ref") this.#checkRef(work, path);
      if (work.kind === "Run") this.#checkRun(work, path);
    },
  };

  constructor(entry: SalvagedEntry, names: EntryNames, problems: Problems) {
    this.#entry = entry;
    this.#names = names;
    this.#problems = problems;
    this.#tools = new ToolChecker(entry, names, problems);
    const variables = entry.promptVariables ?? {};
    this.#expander = new PromptExpander((name) => {
      if (names.promptVariables.has(name)) return sound(variables[name]) ?? null;
      return problems.isBroken(["promptVariables"]) ? null : undefined;
    });
  }

  knows(meaning: string): meaning is Meaning {
    return Object.hasOwn(this.#checks, meaning);
  }

  // eslint-disable-next-line typescript/no-unnecessary-type-parameters
  checkPlace<M extends Meaning>(meaning: M, value: unknown, path: Path): void {
    if (isMeant<M>(value)) this.#checks[meaning](value, path);
  }

  checkDrivingRetries(): void {
    const first = this.#entry.drivingSessionRetries?.[0]?.modelId;
    const named = this.#entry.models?.driving;
    const driving = typeof named === "object" ? named.id : named;
    if (first === undefined || driving === undefined || first === driving) return;
    this.#problems.add(
      ["drivingSessionRetries", 0, "modelId"],
      `Must equal entry.models.driving, which is ${JSON.stringify(driving)}.`,
    );
  }

  checkInputs(): void {
    for (const [name, input] of Object.entries(this.#entry.inputs ?? {})) {
      const { options, required, default: value } = input ?? {};
      const at = ["inputs", name, "default"];
      if (value === undefined) continue;
      if (required === true) this.#problems.add(at, "A required input has no default.");
      if (options?.includes(value) === false) {
        const texts = options.filter((text) => text !== undefined);
        this.#problems.add(at, `Must be one of its options: ${listed(texts)}.`);
      }
    }
  }

  /** A finding that is dropped can't fail the step, and a comment that there is none of shows no progress. */
  #checkOutputs({ findings, report }: Salvaged<Outputs> = {}, path: Path): void {
    if (report?.progress === true && report.comment === undefined)
      this.#problems.add([...path, "outputs", "report", "progress"], "Needs `comment: sticky`.");
    const { minSeverity, failOn, review } = findings ?? {};
    for (const name of ["since", "quietAfter"] as const)
      if (findings?.[name] !== undefined && review === undefined && report?.comment === undefined)
        this.#problems.add(
          [...path, "outputs", "findings", name],
          "Needs `findings.review` or `report.comment`, which remember what was reviewed.",
        );
    if (minSeverity === undefined || failOn === undefined || failOn === "never") return;
    if (severities.indexOf(minSeverity) <= severities.indexOf(failOn)) return;
    const reason = `Must not be above failOn, which is ${JSON.stringify(failOn)}: findings below minSeverity are dropped, and never fail the step.`;
    this.#problems.add([...path, "outputs", "findings", "minSeverity"], reason);
  }

  /** After the places, which say what a job needs. */
  checkJobs(): void {
    this.#checkOutputs(this.#entry.outputs, []);
    for (const [name, job] of Object.entries(this.#entry.jobs ?? {})) {
      this.#checkOutputs(job?.outputs, ["jobs", name]);
      const path = ["jobs", name, "requireUserInput"];
      const need = this.#needs.get(name);
      if (job?.requireUserInput === false && need !== undefined)
        this.#problems.add(path, `Must be true, because ${need}.`);
      // The broken part may be the one that needs it.
      const isKnown =
        this.#entry.tasks !== undefined &&
        [["tasks"], ["jobs", name], ["promptVariables"]].every((part) =>
          this.#problems.isSound(part),
        );
      if (job?.requireUserInput === true && need === undefined && isKnown) {
        const reason = "Must not be true, because no task of the job requires user input.";
        this.#problems.add(path, reason);
      }
    }
  }

  #need([, job]: Path, reason: string): void {
    if (!this.#needs.has(String(job))) this.#needs.set(String(job), reason);
  }

  #checkGlob(glob: string, path: Path, inside = false): void {
    const read = readGlob(glob.replace(/^!/, ""));
    if (typeof read === "string") this.#problems.add(path, `Is not a valid glob: ${read}.`);
    else if (
      inside &&
      read.some(({ text, parts }) =>
        leadsOutside([
          text.split("/")[0] ?? "",
          ...parts.map((part) => (part.kind === "text" ? part.text : "*")),
        ]),
      )
    ) {
      const reason = "Must be a glob of files within the working directory, relative to it.";
      this.#problems.add(path, reason);
    }
  }

  #checkTaskPrompt(prompt: Salvaged<Prompt>, path: Path): void {
    const [, name = ""] = path;
    const used = this.#expand(prompt, path)?.usesUserInput;
    const required = this.#entry.tasks?.[name]?.requireUserInput === true;
    const field = ["tasks", name, "requireUserInput"];
    if (used === undefined || used === required || this.#problems.isBroken(field)) return;
    this.#problems.add(
      field,
      used
        ? "Must be true, because the prompt uses $user-input."
        : "Must not be true, because the prompt doesn't use $user-input.",
    );
  }

  #expand(
    prompt: Salvaged<Prompt>,
    path: Path,
    requiresBooleanTool = false,
  ): Expansion | undefined {
    const whole = sound(prompt);
    if (whole === undefined) return undefined;
    const expansion = this.#expander.expand(whole, requiresBooleanTool);
    this.#checkVariables(expansion.text, path);
    for (const { trail, reason, missing } of expansion.faults) {
      const codePath = trailPath(entryCheck.codePath(path), trail);
      const variable = trail.at(-1);
      // The text at fault is that of the innermost variable.
      const place = variable === undefined ? path : ["promptVariables", variable];
      const hint =
        missing === undefined ? {} : { ...this.#suggestVariable(missing), text: `$${missing}` };
      this.#problems.all.push({ path: place, codePath, reason, ...hint });
    }
    return expansion.complete ? expansion : undefined;
  }

  #checkVariables(text: string, path: Path): void {
    for (const name of new Set(variablesIn(text))) {
      const variable = runtimeVariable(name);
      if (variable === undefined || variable.kind === "fixed") continue;
      const { kind, of } = variable;
      const [what, field] =
        kind === "input" ? (["input", "inputs"] as const) : (["task", "tasks"] as const);
      const known = this.#names[field];
      if (this.#problems.isBroken([field])) continue;
      const add = (reason: string, hint = {}): void =>
        this.#problems.add(path, `$${name}: ${reason}`, { ...hint, text: `$${name}` });
      if (!known.has(of)) {
        const longer = [...known].find((one) => one.startsWith(of) && /[^A-Za-z\d-]/.test(one));
        const hint =
          longer === undefined
            ? this.#problems.suggest(of, known)
            : { hint: `${JSON.stringify(longer)} can't be a part of a variable: use hyphens` };
        add(`there is no ${what} ${JSON.stringify(of)}.`, hint);
      } else if (kind === "result" && !this.#hasResult(of))
        add(`task ${JSON.stringify(of)} has no criteria.result.`);
    }
  }

  #hasResult(task: string): boolean {
    return this.#entry.tasks?.[task]?.criteria?.result !== undefined;
  }

  #checkResultOf(task: string, path: Path): void {
    if (this.#isTask(task, path) && !this.#hasResult(task))
      this.#problems.add(path, `Task ${JSON.stringify(task)} has no criteria.result.`);
  }

  #checkRef({ taskId, modelOverride }: Salvaged<TaskWork>, path: Path): void {
    const task = this.#entry.tasks?.[taskId ?? ""];
    if (taskId === undefined || task === undefined) return;
    const quoted = JSON.stringify(taskId);
    const overridePath = [...path, "modelOverride"];
    const hasModel =
      task.model !== undefined || this.#problems.isBroken(["tasks", taskId, "model"]);
    if (!hasModel && modelOverride === undefined && !this.#problems.isBroken(overridePath)) {
      const reason = `This field is required, because task ${quoted} has no model.`;
      this.#problems.add(overridePath, reason);
    }
    if (task.requireUserInput === true) this.#need(path, `task ${quoted} requires user input`);
  }

  #checkRun({ name, run }: Salvaged<RunWork>, path: Path): void {
    if (run === undefined) return;
    const command = isText(run) ? run : run.filter((word) => word !== undefined);
    this.#checkOwnName(name ?? commandName({ run: command }), [...path, "name"]);
  }

  #checkOwnName(name: string, path: Path): void {
    if (!this.#names.tasks.has(name)) return;
    const quoted = JSON.stringify(name);
    const reason = `There is also a task named ${quoted}. Reports couldn't distinguish them.`;
    this.#problems.add(path, reason);
  }

  #checkCategory(category: string, path: Path): void {
    const { models } = this.#names;
    if (models.has(category) || this.#problems.isBroken(["models"])) return;
    const reason = `There is no model category ${JSON.stringify(category)}.`;
    this.#problems.add(path, reason, this.#problems.suggestAny(category, [...models]));
  }

  #isTask(name: string, path: Path): boolean {
    this.#checkName("task", "tasks", name, path);
    return this.#names.tasks.has(name);
  }

  #checkName(what: string, field: keyof EntryNames, name: string, path: Path): void {
    if (!this.#names[field].has(name) && !this.#problems.isBroken([field]))
      this.#problems.addMissing(path, what, name, this.#names[field]);
  }

  #suggestVariable(name: string): Hint {
    // A name in capitals is mostly a variable of the environment.
    if (/^[A-Z\d]+$/.test(name)) return { hint: `write $$${name} for a literal $${name}` };
    return this.#problems.suggest(name, [...this.#names.promptVariables, ...fixedVariables]);
  }
}

/** The schema has checked this. The cast is for the compiler. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters
function isMeant<M extends Meaning>(_value: unknown): _value is Meant<M> {
  return true;
}

/** A prompt of which no line has been taken out. What is left of a file that the schema rejects is no text. */
function sound(prompt: Salvaged<Prompt> | undefined): Prompt | undefined {
  if (prompt === undefined || typeof prompt === "string") return prompt;
  if (!isList(prompt)) return undefined;
  const lines = prompt.filter((line) => isText(line));
  return lines.length === prompt.length ? lines : undefined;
}
