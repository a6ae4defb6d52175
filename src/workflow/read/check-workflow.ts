/** The checks that compare places of a workflow: names, commands, edges, calls. They change nothing. */
import type { Permissions } from "../../entry/model.ts";
import { shellRefusal } from "../../permissions/commands.ts";
import { allowsCommands, ruleSet } from "../../permissions/rules.ts";
import { checkPaths, reportCycles } from "./check-paths.ts";
import { readCommand } from "../command-text.ts";
import type { Problems, Place } from "./problems.ts";
import type { WorkflowFiles } from "../files.ts";
import { factsOf } from "../kinds/kinds.ts";
import type { Activity } from "../model.ts";
import type { ReadFile } from "./sections.ts";
import { isQuoted, namePattern, placeholders, roleOf } from "../value.ts";
import { USER_INPUT } from "../parameters.ts";
import { clip } from "../../events/cut.ts";

export interface CheckOptions {
  readonly environment: readonly string[];
  readonly permissions: Permissions | undefined;
  /** Whether the run can't allow more than the permissions do. */
  readonly isFinal: boolean;
}

const builtIn: ReadonlySet<string> = new Set([
  "STATUS",
  "RESULT",
  "CONTENT",
  "EXIT_CODE",
  USER_INPUT,
  "MAX_ACTIVITY_HITS",
]);

export function checkWorkflow(
  all: readonly ReadFile[],
  files: WorkflowFiles,
  problems: Problems,
  options: CheckOptions,
): void {
  const context = { names: variableNames(all, options.environment), files, problems, ...options };
  const sends = all.some(({ activities }) =>
    [...activities.values()].some(({ kind }) => kind === "prompt"),
  );
  for (const file of all) {
    const check = new FileCheck(file, context);
    check.starts();
    checkPaths(file, all, problems);
    for (const activity of file.activities.values()) check.activity(activity);
    check.prompts();
    if (!sends) check.unsent();
  }
  reportCycles(all, problems);
}

/** Variables go to called workflows and come back, so each may have those of all others. */
function variableNames(all: readonly ReadFile[], environment: readonly string[]): Set<string> {
  const names = new Set([...builtIn, ...environment]);
  for (const { parameters, activities } of all) {
    for (const { name } of parameters) names.add(name);
    for (const one of activities.values()) if (one.kind === "set") names.add(one.name);
  }
  return names;
}

interface Context extends CheckOptions {
  readonly names: ReadonlySet<string>;
  readonly files: WorkflowFiles;
  readonly problems: Problems;
}

class FileCheck {
  readonly #file: ReadFile;
  readonly #context: Context;
  readonly #problems: Problems;
  readonly #said = new Set<string>();
  readonly #used = new Set<string>();

  constructor(file: ReadFile, context: Context) {
    this.#file = file;
    this.#context = context;
    this.#problems = context.problems;
  }

  starts(): void {
    const starts = [...this.#file.activities.values()].filter(({ kind }) => kind === "start");
    const [first, second] = starts;
    if (second !== undefined) {
      this.#problems.error(this.#place(second), `There is already a START: ${first?.id}.`);
    }
    const [some] = this.#file.activities.values();
    const { flowAt } = this.#file;
    if (first === undefined && flowAt !== undefined) {
      const at = some?.at ?? flowAt;
      const reason = "The flowchart has no START.";
      const hint = some === undefined ? undefined : `such as START --> ${some.id}`;
      this.#problems.error({ file: this.#file.file, at }, reason, hint);
    }
  }

  activity(activity: Activity): void {
    const { id, kind, other } = activity;
    const place = this.#place(activity);
    if ((kind === "start" || kind === "on") && other !== undefined)
      this.#problems.warn(place, `${id} never fails. Its no-edge is never taken.`);
    if (kind === "execute") this.#execute(id, place);
    for (const { as, text } of factsOf(activity).uses) {
      switch (as) {
        case "text":
          this.#template(text, place);
          break;
        case "assigned":
          this.#template(text, place);
          this.#isFile(text, place);
          this.#similarPrompt(text, place);
          break;
        case "value":
          this.#value(text, place, "ASSIGN");
          break;
        case "prompt":
          this.#value(text, place, "PROMPT");
          break;
        case "compared":
          this.#check(text, place, other);
          break;
        case "operand":
          this.#isFile(text, place);
          break;
        case "command":
          this.#command(id, text, place);
          break;
      }
    }
  }

  prompts(): void {
    for (const { text, locate } of this.#file.prompts.values()) {
      for (const { name, offset } of placeholders(text))
        this.#placeholder(name, () => locate(offset));
    }
  }

  /** In a workflow without a PROMPT: its prompts, if nothing else uses them either. */
  unsent(): void {
    const { file, prompts, activities } = this.#file;
    for (const one of activities.values())
      for (const { text } of factsOf(one).uses) this.#used.add(text);
    const [[id, prompt] = []] = prompts;
    if (id === undefined || prompt === undefined || prompt.place.file !== file) return;
    if ([...prompts.keys()].some((name) => this.#used.has(name))) return;
    const reason = `The prompt ${quoted(id)} is never sent: the flowchart has no PROMPT.`;
    this.#problems.warn(prompt.place, reason, `such as PROMPT_1[Prompt: ${clip(id, 80)}]`);
  }

  #check(left: string, place: Place, other: string | undefined): void {
    if (other === undefined) {
      const reason =
        "This CHECK has no edge for the case that it doesn't hold. The workflow then fails.";
      this.#problems.warn(place, reason, "add an edge --> |FALSE| …");
    }
    if (this.#isFile(left, place) || this.#isKnown(left)) return;
    const reason = `There is no variable or prompt ${quoted(left)}. Without it, the CHECK doesn't hold.`;
    this.#problems.warn(place, reason, this.#meant(left));
  }

  /** What must exist when the activity runs. */
  #value(value: string, place: Place, what: "PROMPT" | "ASSIGN"): void {
    if (this.#isFile(value, place) || this.#isKnown(value)) return;
    if (roleOf(value) === undefined && namePattern.test(value) && what === "ASSIGN") {
      const reason = `There is no variable or prompt ${quoted(value)}. Without it, ${what} fails.`;
      this.#problems.warn(place, reason, this.#meant(value));
      return;
    }
    const constant = roleOf(value) === undefined ? "put a constant in quotes" : undefined;
    this.#problems.error(
      place,
      `There is no prompt ${quoted(value)}.`,
      this.#meant(value) ?? constant,
    );
  }

  #isFile(value: string, place: Place): boolean {
    if (!value.startsWith("file:")) return false;
    if (value.includes("{{")) return true;
    // The run can still create a file that is missing.
    const found = this.#context.files.read(value.slice("file:".length), this.#file.id);
    if (found.kind === "outside") this.#problems.error(place, found.reason, found.hint);
    else if (found.kind !== "found") this.#problems.warn(place, found.reason, found.hint);
    return true;
  }

  #similarPrompt(value: string, place: Place): void {
    if (roleOf(value) === undefined || this.#isKnown(value)) return;
    const reason = `There is no prompt ${quoted(value)}. The variable gets this text itself.`;
    this.#problems.warn(place, reason, this.#meant(value) ?? "put a constant in quotes");
  }

  #execute(id: string, place: Place): void {
    const { permissions, isFinal } = this.#context;
    if (allowsCommands(permissions ?? "read-only") || this.#said.has("EXECUTE")) return;
    this.#said.add("EXECUTE");
    const reason = `${id} can't run: the permissions allow no command.`;
    if (isFinal) this.#problems.error(place, reason, "add permissions.shell to the front matter");
    else
      this.#problems.warn(
        place,
        reason,
        "add permissions to the front matter, or run with --permissions workspace",
      );
  }

  #command(id: string, command: string, place: Place): void {
    this.#template(command, place);
    const reading = readCommand(command);
    if (reading.kind === "unclear")
      this.#problems.warn(place, `${reading.reason} The EXECUTE fails.`);
    const { permissions, isFinal } = this.#context;
    if (!isFinal || permissions === undefined || command.includes("{{")) return;
    if (!allowsCommands(permissions)) return;
    const { allow, deny } = ruleSet(permissions).shell;
    // There is no shell of EXECUTE on Windows.
    const reason = shellRefusal(command, allow, deny, "linux");
    if (reason !== undefined) this.#problems.error(place, `${id} can't run: ${reason}.`);
  }

  #template(text: string, place: Place): void {
    for (const { name } of placeholders(text)) this.#placeholder(name, () => place);
  }

  #placeholder(name: string, place: () => Place): void {
    const said = `{{${name}}}`;
    if (this.#said.has(said) || this.#isKnown(name)) return;
    this.#said.add(said);
    const reason = `${said} has no value: there is no such variable, parameter or prompt. It stays as it is.`;
    this.#problems.warn(place(), reason, this.#meant(name));
  }

  #isKnown(name: string): boolean {
    this.#used.add(name);
    return isQuoted(name) || this.#context.names.has(name) || this.#file.prompts.has(name);
  }

  #meant(word: string): string | undefined {
    return this.#problems.meant(word, [...this.#file.prompts.keys(), ...this.#context.names]);
  }

  #place({ at }: Activity): Place {
    return { file: this.#file.file, at };
  }
}

function quoted(text: string): string {
  return JSON.stringify(clip(text, 80));
}
