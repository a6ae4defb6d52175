import type { Permissions } from "../../entry/model.ts";
import { shellRefusal } from "../../permissions/commands.ts";
import { allowsCommands, ruleSet } from "../../permissions/rules.ts";
import { readCommand } from "../command-text.ts";
import type { Problems, Place } from "./problems.ts";
import type { Activity, WorkflowFile, WorkflowFiles } from "../model.ts";
import { isQuestion } from "../describe.ts";
import { kindOf } from "../kinds/kinds.ts";
import { isQuoted, namePattern, placeholders, roleOf } from "../value.ts";
import { USER_INPUT } from "../parameters.ts";
import { truncate } from "../../text/truncate.ts";

export interface CheckOptions {
  readonly environment: readonly string[];
  readonly permissions: Permissions | undefined;
}

const builtIn = ["STATUS", "RESULT", "CONTENT", "EXIT_CODE", USER_INPUT, "MAX_ACTIVITY_HITS"];

export function checkWorkflow(
  all: readonly WorkflowFile[],
  files: WorkflowFiles,
  problems: Problems,
  options: CheckOptions,
): void {
  // Variables go to called workflows and come back, so each may have those of all others.
  const names = new Set([...builtIn, ...options.environment]);
  for (const { parameters, activities } of all) {
    for (const { name } of parameters) names.add(name);
    for (const one of activities.values()) if (one.kind === "set") names.add(one.name);
  }
  const activities = all.flatMap((one) => [...one.activities.values()]);
  const sends = activities.some(({ kind }) => kind === "prompt");
  const asks = activities.some(isQuestion);
  for (const file of all) {
    const check = new FileCheck(file, problems, { names, files, ...options });
    check.starts();
    checkPaths(file, asks, problems);
    for (const activity of file.activities.values()) check.activity(activity);
    check.prompts();
    if (!sends) check.unsent();
  }
}

interface Context extends CheckOptions {
  readonly names: ReadonlySet<string>;
  readonly files: WorkflowFiles;
}

class FileCheck {
  readonly #file: WorkflowFile;
  readonly #context: Context;
  readonly #problems: Problems;
  readonly #reported = new Set<string>();
  readonly #used = new Set<string>();

  constructor(file: WorkflowFile, problems: Problems, context: Context) {
    this.#file = file;
    this.#context = context;
    this.#problems = problems;
  }

  starts(): void {
    const { file, activities, flowAt } = this.#file;
    const all = [...activities.values()];
    const [first, second] = all.filter(({ kind }) => kind === "start");
    if (first !== undefined && second !== undefined)
      this.#problems.error({ file, at: second.at }, `There is already a START: ${first.id}.`);
    if (first !== undefined || flowAt === undefined) return;
    const [some] = all;
    const hint = some === undefined ? undefined : `such as START --> ${some.id}`;
    this.#problems.error({ file, at: some?.at ?? flowAt }, "The flowchart has no START.", hint);
  }

  activity(activity: Activity): void {
    const { id, kind, at, other } = activity;
    const place = { file: this.#file.file, at };
    if ((kind === "start" || kind === "on") && other !== undefined)
      this.#problems.warn(place, `${id} never fails. Its no-edge is never taken.`);
    if (kind === "check" && other === undefined) {
      const reason =
        "This CHECK has no edge for the case that it doesn't hold. The workflow then fails.";
      this.#problems.warn(place, reason, "add an edge --> |FALSE| …");
    }
    if (kind === "execute") this.#execute(id, place);
    for (const { as, text } of kindOf(kind).uses?.(activity) ?? []) {
      this.#used.add(text);
      if (as === "text" || as === "assigned" || as === "command") this.#template(text, place);
      if (as === "assigned") this.#assigned(text, place);
      else if (as === "command") this.#command(id, text, place);
      else if (as === "compared") this.#compared(text, place);
      else if (as === "operand") this.#isFile(text, place);
      else if (as !== "text") this.#value(text, place, as === "value");
    }
  }

  prompts(): void {
    for (const { text, locate } of this.#file.prompts.values()) {
      for (const { name, offset } of placeholders(text))
        this.#placeholder(name, () => locate(offset));
    }
  }

  /** In a workflow without a PROMPT, after everything else: its prompts, if nothing else uses them either. */
  unsent(): void {
    const { file, prompts } = this.#file;
    const [[id, prompt] = []] = prompts;
    if (id === undefined || prompt === undefined || prompt.place.file !== file) return;
    if ([...prompts.keys()].some((name) => this.#used.has(name))) return;
    const reason = `The prompt ${quoted(id)} is never sent: the flowchart has no PROMPT.`;
    this.#problems.warn(prompt.place, reason, `such as PROMPT_1[Prompt: ${truncate(id, 80, "…")}]`);
  }

  #compared(left: string, place: Place): void {
    if (this.#isFile(left, place) || this.#isKnown(left)) return;
    const reason = `There is no variable or prompt ${quoted(left)}. Without it, the CHECK doesn't hold.`;
    this.#problems.warn(place, reason, this.#meant(left));
  }

  /** The value must exist when the activity runs. `mayCome`: something outside may set the variable. */
  #value(value: string, place: Place, mayCome: boolean): void {
    if (this.#isFile(value, place) || this.#isKnown(value)) return;
    if (mayCome && roleOf(value) === undefined && namePattern.test(value)) {
      const reason = `There is no variable or prompt ${quoted(value)}. Without it, ASSIGN fails.`;
      return this.#problems.warn(place, reason, this.#meant(value));
    }
    const constant = roleOf(value) === undefined ? "put a constant in quotes" : undefined;
    const reason = `There is no prompt ${quoted(value)}.`;
    this.#problems.error(place, reason, this.#meant(value) ?? constant);
  }

  #assigned(value: string, place: Place): void {
    if (this.#isFile(value, place) || roleOf(value) === undefined || this.#isKnown(value)) return;
    const reason = `There is no prompt ${quoted(value)}. The variable gets this text itself.`;
    this.#problems.warn(place, reason, this.#meant(value) ?? "put a constant in quotes");
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

  #execute(id: string, place: Place): void {
    const { permissions } = this.#context;
    if (allowsCommands(permissions ?? "read-only") || this.#reported.has("EXECUTE")) return;
    this.#reported.add("EXECUTE");
    const reason = `${id} can't run: the permissions allow no command.`;
    if (permissions !== undefined)
      return this.#problems.error(place, reason, "add permissions.shell to the front matter");
    const hint = "add permissions to the front matter, or run with --permissions workspace";
    this.#problems.warn(place, reason, hint);
  }

  #command(id: string, command: string, place: Place): void {
    const reading = readCommand(command);
    if (reading.kind === "unclear")
      this.#problems.warn(place, `${reading.reason} The EXECUTE fails.`);
    const { permissions } = this.#context;
    if (permissions === undefined || command.includes("{{")) return;
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
    const placeholder = `{{${name}}}`;
    if (this.#reported.has(placeholder) || this.#isKnown(name)) return;
    this.#reported.add(placeholder);
    const reason = `${placeholder} has no value: there is no such variable, parameter or prompt. It stays as it is.`;
    this.#problems.warn(place(), reason, this.#meant(name));
  }

  #isKnown(name: string): boolean {
    this.#used.add(name);
    return isQuoted(name) || this.#context.names.has(name) || this.#file.prompts.has(name);
  }

  #meant(word: string): string | undefined {
    return this.#problems.meant(word, [...this.#file.prompts.keys(), ...this.#context.names]);
  }
}

function quoted(text: string): string {
  return JSON.stringify(truncate(text, 80, "…"));
}

/** Finds activities that can't be reached, in time that grows with the number of edges, and agents that are never asked. */
function checkPaths(file: WorkflowFile, asks: boolean, problems: Problems): void {
  const activities = [...file.activities.values()];
  // Everything is unreachable if there is no START.
  if (!activities.some(({ kind }) => kind === "start")) return;
  const queue = activities.filter(({ kind }) => kind === "start" || kind === "on");
  const reached = new Set(queue);
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    for (const id of [one.next, one.other]) {
      const next = id === undefined ? undefined : file.activities.get(id);
      if (next === undefined || reached.has(next)) continue;
      reached.add(next);
      queue.push(next);
    }
  }
  for (const one of activities) {
    const { id, at, kind } = one;
    const place = { file: file.file, at };
    if (!reached.has(one)) {
      if (kind !== "success" && kind !== "failed") problems.warn(place, `${id} can't be reached.`);
    } else if (!asks && one.kind === "prompt" && roleOf(one.prompt) === "system") {
      const reason = `${id} starts an agent that is never asked: there is no PROMPT with a User prompt.`;
      problems.warn(place, reason);
    }
  }
}
