/**
 * The checks that compare two places of an entry, for the parts that the schema has accepted. They
 * add no follow-up problems: what depends on something that is broken is passed over.
 */
import { isList, isText } from "../document/guards.ts";
import type { Outputs } from "./outputs.ts";
import { readGlob } from "./glob.ts";
import { toolPatternProblem } from "./tool-pattern.ts";
import {
  type Entry,
  type FlowWork,
  type ItemSource,
  type Model,
  type Permissions,
  type Prompt,
  type Task,
  type Work,
} from "./model.ts";
import { PromptExpander } from "./prompt-expander.ts";
import { trailPath } from "./prompt.ts";
import { fixedVariables } from "./runtime-variables.ts";
import type { Path, Problem } from "../document/problem.ts";
import type { Salvaged } from "../document/salvage.ts";
import { checkInputs, checkVariables } from "./check-data.ts";
import { checkTools } from "./check-tools.ts";
import { commandName } from "./work.ts";
import { entryCheck, type EntryNames, listed, Problems } from "./problems.ts";

/** Whether a work requires user input, and which task (quoted) is the reason. */
type Need = "none" | "unknown" | { readonly of: string };

export function checkEntry(
  entry: Salvaged<Entry>,
  names: EntryNames,
  schemaProblems: readonly Problem[],
): Problem[] {
  return new EntryChecker(entry, names, schemaProblems).check();
}

class EntryChecker {
  readonly #entry: Salvaged<Entry>;
  readonly #names: EntryNames;
  readonly #problems: Problems;
  readonly #expander: PromptExpander;

  constructor(entry: Salvaged<Entry>, names: EntryNames, schemaProblems: readonly Problem[]) {
    this.#entry = entry;
    this.#names = names;
    this.#problems = new Problems(schemaProblems);
    const variables = entry.promptVariables ?? {};
    this.#expander = new PromptExpander((name) => {
      if (names.promptVariables.has(name)) return sound(variables[name]) ?? null;
      return this.#problems.isBroken(["promptVariables"]) ? null : undefined;
    });
  }

  check(): Problem[] {
    const { tasks, jobs } = this.#entry;
    this.#checkDrivingRetries();
    this.#checkPatterns(["permissions"], this.#entry.permissions);
    for (const [name, task] of Object.entries(tasks ?? {})) {
      if (task !== undefined) this.#checkTask(name, task);
    }
    for (const [name, job] of Object.entries(jobs ?? {})) {
      if (job?.work !== undefined) this.#checkJob(name, job.work, job.requireUserInput);
      this.#checkOutputs(["jobs", name, "outputs"], job?.outputs);
    }
    this.#checkGrid();
    checkInputs(this.#entry, this.#problems);
    this.#checkOutputs(["outputs"], this.#entry.outputs);
    checkTools(this.#entry, this.#names, this.#problems);
    return this.#problems.all;
  }

  #checkOutputs(path: Path, outputs: Salvaged<Outputs> = {}): void {
    for (const [part, settings] of Object.entries(outputs)) {
      settings?.from?.forEach((task, index) => {
        if (task !== undefined) this.#checkTaskName([...path, part, "from", index], task);
      });
    }
    this.#checkGlobs(
      [...path, "proposals", "pull_request", "paths"],
      outputs.proposals?.pull_request?.paths,
    );
  }

  #checkDrivingRetries(): void {
    const first = this.#entry.drivingSessionRetries?.[0]?.modelId;
    const driving = this.#entry.models?.driving;
    if (first === undefined || driving === undefined || first === driving) return;
    this.#problems.add(
      ["drivingSessionRetries", 0, "modelId"],
      `Must equal entry.models.driving, which is ${JSON.stringify(driving)}.`,
    );
  }

  #checkTask(name: string, task: Salvaged<Task>): void {
    const at = ["tasks", name];
    this.#checkModel([...at, "model"], task.model);
    task.availability?.previousTasks?.forEach((previous, index) => {
      if (previous !== undefined) {
        this.#checkTaskName([...at, "availability", "previousTasks", index], previous);
      }
    });
    this.#checkGlobs([...at, "availability", "change"], task.availability?.change);
    const usesUserInput = this.#checkPrompt([...at, "prompt"], task.prompt);
    this.#checkPrompt([...at, "availability", "condition"], task.availability?.condition, true);
    this.#checkPrompt([...at, "criteria", "condition"], task.criteria?.condition, true);
    this.#checkPrompt(
      [...at, "criteria", "failureAction", "additionalPrompt"],
      task.criteria?.failureAction?.additionalPrompt,
    );
    this.#checkTaskUserInput(name, task.requireUserInput === true, usesUserInput);
    this.#checkPatterns([...at, "permissions"], task.permissions);
  }

  #checkPatterns(path: Path, permissions: Salvaged<Permissions> | undefined): void {
    if (typeof permissions !== "object") return;
    for (const field of ["read", "write"] as const)
      this.#checkGlobs([...path, field], permissions[field]);
    for (const [index, pattern] of (permissions.tools ?? []).entries()) {
      const reason =
        pattern === undefined ? pattern : toolPatternProblem(pattern.replace(/^!/, ""));
      if (reason !== undefined)
        this.#problems.add([...path, "tools", index], `Is not a valid pattern: ${reason}.`);
    }
  }

  #checkGlobs(path: Path, globs: true | readonly (string | undefined)[] | undefined): void {
    if (globs === true) return;
    for (const [index, glob] of (globs ?? []).entries()) {
      const reason = glob === undefined ? [] : readGlob(glob.replace(/^!/, ""));
      if (typeof reason === "string")
        this.#problems.add([...path, index], `Is not a valid glob: ${reason}.`);
    }
  }

  #checkTaskUserInput(name: string, required: boolean, used: boolean | undefined): void {
    const path = ["tasks", name, "requireUserInput"];
    if (used === undefined || used === required || this.#problems.isBroken(path)) return;
    this.#problems.add(
      path,
      used
        ? "Must be true, because the prompt uses $user-input."
        : "Must not be true, because the prompt doesn't use $user-input.",
    );
  }

  /** Whether the prompt uses `$user-input`; undefined if that is unknown. */
  #checkPrompt(
    path: Path,
    prompt: Salvaged<Prompt> | undefined,
    requiresBooleanTool = false,
  ): boolean | undefined {
    const whole = sound(prompt);
    if (whole === undefined) return undefined;
    const { faults, complete, usesUserInput, text } = this.#expander.expand(
      whole,
      requiresBooleanTool,
    );
    checkVariables(path, text, this.#entry, this.#names, this.#problems);
    for (const { trail, reason, missing } of faults) {
      const codePath = trailPath(entryCheck.codePath(path), trail);
      const variable = trail.at(-1);
      // The text at fault is that of the innermost variable.
      const place = variable === undefined ? path : ["promptVariables", variable];
      const hint =
        missing === undefined ? {} : { ...this.#suggestVariable(missing), text: `$${missing}` };
      this.#problems.all.push({ path: place, codePath, reason, ...hint });
    }
    return complete ? usesUserInput : undefined;
  }

  #checkJob(name: string, work: Salvaged<Work>, required: boolean | undefined): void {
    const at = ["jobs", name];
    const need = this.#checkWork([...at, "work"], work);
    const path = [...at, "requireUserInput"];
    if (required === undefined || need === "unknown") return;
    if (need === "none") {
      if (required) {
        this.#problems.add(
          path,
          "Must not be true, because no task of the job requires user input.",
        );
      }
    } else if (!required) {
      this.#problems.add(path, `Must be true, because task ${need.of} requires user input.`);
    }
  }

  #checkWork(path: Path, work: Salvaged<Work> | undefined): Need {
    switch (work?.kind) {
      case undefined:
        return "unknown";
      case "Ref":
        return this.#checkRef(path, work.taskId, work.modelOverride);
      case "Flow":
        return this.#checkFlow(path, work);
      case "Run":
        if (work.run !== undefined)
          this.#checkOwnName([...path, "name"], work.name ?? commandName({ run: whole(work.run) }));
        return "none";
      case "Each":
        return most([
          this.#checkItems([...path, "items"], work.items),
          this.#checkBranch([...path, "work"], work.work),
        ]);
      case "Seq":
      case "Par":
        if (work.works === undefined) return "unknown";
        return most(
          work.works.map((part, index) => this.#checkWork([...path, "works", index], part)),
        );
      case "Loop":
        if (
          work.atMostReached !== undefined &&
          work.atMost === undefined &&
          !this.#problems.isBroken([...path, "atMost"])
        ) {
          this.#problems.add([...path, "atMostReached"], "Requires atMost.");
        }
        return most([
          this.#checkCondition([...path, "preCondition"], work.preCondition),
          this.#checkWork([...path, "body"], work.body),
          this.#checkCondition([...path, "postCondition"], work.postCondition),
        ]);
      case "Alt":
        return most([
          this.#checkWork([...path, "condition"], work.condition),
          this.#checkBranch([...path, "trueWork"], work.trueWork),
          this.#checkBranch([...path, "falseWork"], work.falseWork),
        ]);
    }
  }

  #checkCondition(
    path: Path,
    condition: readonly [boolean | undefined, Salvaged<Work> | undefined] | undefined,
  ): Need {
    if (condition === undefined) return this.#problems.isBroken(path) ? "unknown" : "none";
    return this.#checkWork([...path, 1], condition[1]);
  }

  #checkBranch(path: Path, work: Salvaged<Work> | undefined): Need {
    if (work === undefined) return this.#problems.isBroken(path) ? "unknown" : "none";
    return this.#checkWork(path, work);
  }

  #checkRef(
    path: Path,
    taskId: string | undefined,
    modelOverride: Salvaged<Model> | undefined,
  ): Need {
    const overridePath = [...path, "modelOverride"];
    this.#checkModel(overridePath, modelOverride);
    if (taskId === undefined || !this.#checkTaskName([...path, "taskId"], taskId)) return "unknown";
    const task = this.#entry.tasks?.[taskId];
    if (task === undefined) return "unknown";
    const quoted = JSON.stringify(taskId);
    const hasModel =
      task.model !== undefined || this.#problems.isBroken(["tasks", taskId, "model"]);
    if (!hasModel && modelOverride === undefined && !this.#problems.isBroken(overridePath)) {
      this.#problems.add(
        overridePath,
        `This field is required, because task ${quoted} has no model.`,
      );
    }
    if (this.#problems.isBroken(["tasks", taskId, "requireUserInput"])) return "unknown";
    return task.requireUserInput === true ? { of: quoted } : "none";
  }

  #checkFlow(path: Path, { file, params }: Salvaged<FlowWork>): Need {
    const quoted = JSON.stringify(file ?? "");
    if (file !== undefined) this.#checkOwnName([...path, "file"], file);
    const needs = Object.entries<Salvaged<Prompt> | undefined>(params ?? {}).map(
      ([name, prompt]): Need => {
        const uses = this.#checkPrompt([...path, "params", name], prompt);
        return uses === true ? { of: quoted } : uses === false ? "none" : "unknown";
      },
    );
    return most(needs);
  }

  #checkOwnName(path: Path, name: string): void {
    if (!this.#names.tasks.has(name)) return;
    const quoted = JSON.stringify(name);
    const reason = `A task is called ${quoted}, too. What is told of them could not be told apart.`;
    this.#problems.add(path, reason);
  }

  #checkItems(path: Path, items: Salvaged<ItemSource> | undefined): Need {
    if (items === undefined) return "unknown";
    if ("files" in items) this.#checkGlobs([...path, "files"], items.files ?? []);
    if ("changedFiles" in items)
      this.#checkGlobs([...path, "changedFiles"], items.changedFiles ?? []);
    if ("result" in items && items.result !== undefined) {
      const { result } = items;
      if (
        this.#checkTaskName([...path, "result"], result) &&
        this.#entry.tasks?.[result]?.criteria?.result === undefined
      )
        this.#problems.add(
          [...path, "result"],
          `Task ${JSON.stringify(result)} has no criteria.result.`,
        );
    }
    if (!("lines" in items)) return "none";
    const uses = this.#checkPrompt([...path, "lines"], items.lines);
    return uses === true ? { of: "of the items" } : uses === false ? "none" : "unknown";
  }

  #checkGrid(): void {
    this.#entry.grid?.forEach((row, rowIndex) => {
      row?.jobs?.forEach((cell, column) => {
        const jobName = cell?.jobName;
        if (jobName === undefined || this.#names.jobs.has(jobName)) return;
        if (this.#problems.isBroken(["jobs"])) return;
        const path = ["grid", rowIndex, "jobs", column, "jobName"];
        this.#problems.addMissing(path, "job", jobName, this.#names.jobs);
      });
    });
  }

  #checkModel(path: Path, model: Salvaged<Model> | undefined): void {
    if (model === undefined || !("category" in model)) return;
    const { category } = model;
    if (category === undefined || this.#names.models.has(category)) return;
    if (this.#problems.isBroken(["models"])) return;
    const { hint: guess } = this.#problems.suggest(category, this.#names.models);
    const known = `the entry has ${listed(this.#names.models)}`;
    const hint = guess === undefined || this.#names.models.size > 1 ? known : undefined;
    const hints = [guess, hint].filter((one) => one !== undefined).join(" ");
    const reason = `There is no model category ${JSON.stringify(category)}.`;
    this.#problems.add(
      [...path, "category"],
      reason,
      this.#names.models.size === 0 ? {} : { hint: hints },
    );
  }

  #checkTaskName(path: Path, name: string): boolean {
    if (this.#names.tasks.has(name)) return true;
    if (!this.#problems.isBroken(["tasks"]))
      this.#problems.addMissing(path, "task", name, this.#names.tasks);
    return false;
  }

  #suggestVariable(name: string): { hint?: string } {
    const { hint: guess } = this.#problems.suggest(name, [
      ...this.#names.promptVariables,
      ...fixedVariables,
    ]);
    // What is written in capitals is mostly a variable of the environment.
    const literal = /^[A-Z\d]+$/.test(name) ? `write $$${name} for a literal $${name}` : undefined;
    const hints = [guess, literal].filter((hint) => hint !== undefined);
    return hints.length === 0 ? {} : { hint: hints.join(" ") };
  }
}

/** A known need for user input wins over an unknown one, which wins over none. */
function most(needs: readonly Need[]): Need {
  return needs.find((need) => typeof need === "object") ?? needs.find(isUnknown) ?? "none";
}

function isUnknown(need: Need): boolean {
  return need === "unknown";
}

function whole(run: string | readonly (string | undefined)[]): string | readonly string[] {
  return typeof run === "string" ? run : run.filter((word) => word !== undefined);
}

/** A prompt of which no line has been taken out. What is left of a file that the schema rejects is no text. */
function sound(prompt: Salvaged<Prompt> | undefined): Prompt | undefined {
  if (prompt === undefined || typeof prompt === "string") return prompt;
  if (!isList(prompt)) return undefined;
  const lines = prompt.filter((line) => isText(line));
  return lines.length === prompt.length ? lines : undefined;
}
