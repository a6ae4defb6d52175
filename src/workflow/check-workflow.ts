/** The checks that compare places of a workflow: names, edges, calls. They change nothing. */
import type { Position } from "../document/problem.ts";
import type { Permissions } from "../entry/model.ts";
import { allowsCommands } from "../permissions/rules.ts";
import { readCommand } from "./command-text.ts";
import type { Findings, Place } from "./findings.ts";
import type { WorkflowFiles } from "./files.ts";
import type { Activity, WorkflowFile } from "./model.ts";
import type { PromptSection } from "./sections.ts";
import { isQuoted, namePattern, placeholders, roleOf } from "./value.ts";
import { USER_INPUT } from "./parameters.ts";
import { clip } from "../events/cut.ts";

/** A file that has been read, before its calls have. */
export interface ReadFile extends Omit<WorkflowFile, "start" | "activities" | "prompts"> {
  /** Of the first flowchart; undefined if one is missing or can't be read, which has been reported. */
  readonly flowAt: Position | undefined;
  readonly activities: Map<string, Activity>;
  readonly prompts: ReadonlyMap<string, PromptSection>;
}

export interface CheckOptions {
  readonly environment: readonly string[];
  readonly permissions: Permissions | undefined;
  /** Whether the run can't allow more than the permissions do. */
  readonly isFinal: boolean;
}

/** Known in every run. */
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
  findings: Findings,
  options: CheckOptions,
): void {
  const names = variableNames(all, options.environment);
  for (const file of all) {
    const check = new FileCheck(file, names, files, findings, options);
    check.starts();
    check.reaches();
    for (const activity of file.activities.values()) check.activity(activity);
    check.prompts();
  }
  reportCycles(all, findings);
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

class FileCheck {
  readonly #file: ReadFile;
  readonly #names: ReadonlySet<string>;
  readonly #files: WorkflowFiles;
  readonly #findings: Findings;
  readonly #options: CheckOptions;
  readonly #said = new Set<string>();

  constructor(
    file: ReadFile,
    names: ReadonlySet<string>,
    files: WorkflowFiles,
    findings: Findings,
    options: CheckOptions,
  ) {
    this.#file = file;
    this.#names = names;
    this.#files = files;
    this.#findings = findings;
    this.#options = options;
  }

  starts(): void {
    const starts = [...this.#file.activities.values()].filter(({ kind }) => kind === "start");
    const [first, second] = starts;
    if (second !== undefined) {
      this.#findings.error(this.#place(second), `There is already a START: ${first?.id}.`);
    }
    const [some] = this.#file.activities.values();
    const { flowAt } = this.#file;
    if (first === undefined && flowAt !== undefined) {
      const at = some?.at ?? flowAt;
      const reason = "The flowchart has no START.";
      const hint = some === undefined ? undefined : `such as START --> ${some.id}`;
      this.#findings.error({ file: this.#file.file, at }, reason, hint);
    }
  }

  reaches(): void {
    const { activities } = this.#file;
    const queue = [...activities.values()].filter(({ kind }) => kind === "start" || kind === "on");
    // Without a START everything would be unreachable.
    if (!queue.some(({ kind }) => kind === "start")) return;
    const reached = new Set(queue.map(({ id }) => id));
    for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
      for (const id of [one.next, one.other]) {
        const to = id === undefined || reached.has(id) ? undefined : activities.get(id);
        if (to === undefined) continue;
        reached.add(to.id);
        queue.push(to);
      }
    }
    for (const one of activities.values()) {
      if (reached.has(one.id) || one.kind === "success" || one.kind === "failed") continue;
      this.#findings.warn(this.#place(one), `${one.id} can't be reached.`);
    }
  }

  activity(activity: Activity): void {
    const place = this.#place(activity);
    switch (activity.kind) {
      case "start":
      case "on":
        if (activity.other !== undefined)
          this.#findings.warn(place, `${activity.id} never fails. Its no-edge is never taken.`);
        break;
      case "set":
        this.#template(activity.value, place);
        this.#isFile(activity.value, place);
        this.#similarPrompt(activity.value, place);
        break;
      case "assign":
        if (activity.value.includes("{{")) this.#template(activity.value, place);
        else this.#value(activity.value, place, "ASSIGN");
        break;
      case "check":
        this.#check(activity.check.left, place, activity.other);
        this.#isFile(activity.check.right, place);
        break;
      case "prompt":
        this.#value(activity.prompt, place, "PROMPT");
        break;
      case "ask":
        if (activity.question !== undefined) this.#template(activity.question, place);
        break;
      case "execute":
        if (activity.command !== undefined) this.#command(activity.command, place);
        this.#execute(activity.id, place);
        break;
      case "call":
      case "success":
      case "failed":
        break;
    }
  }

  prompts(): void {
    for (const { text, locate } of this.#file.prompts.values()) {
      for (const { name, offset } of placeholders(text))
        this.#placeholder(name, () => locate(offset));
    }
  }

  #check(left: string, place: Place, other: string | undefined): void {
    if (other === undefined) {
      const reason =
        "This CHECK has no edge for the case that it doesn't hold. The workflow then fails.";
      this.#findings.warn(place, reason, "add an edge --> |FALSE| …");
    }
    if (this.#isFile(left, place) || this.#isKnown(left)) return;
    const reason = `There is no variable or prompt ${quoted(left)}. Without it, the CHECK doesn't hold.`;
    this.#findings.warn(place, reason, this.#meant(left));
  }

  /** What must exist when the activity runs. */
  #value(value: string, place: Place, what: "PROMPT" | "ASSIGN"): void {
    if (this.#isFile(value, place) || this.#isKnown(value)) return;
    if (roleOf(value) === undefined && namePattern.test(value) && what === "ASSIGN") {
      const reason = `There is no variable or prompt ${quoted(value)}. Without it, ${what} fails.`;
      this.#findings.warn(place, reason, this.#meant(value));
      return;
    }
    const constant = roleOf(value) === undefined ? "put a constant in quotes" : undefined;
    this.#findings.error(
      place,
      `There is no prompt ${quoted(value)}.`,
      this.#meant(value) ?? constant,
    );
  }

  /** A value that is a file; whether it is one. */
  #isFile(value: string, place: Place): boolean {
    if (!value.startsWith("file:")) return false;
    if (value.includes("{{")) return true;
    // The run can still create a file that is missing.
    const found = this.#files.read(value.slice("file:".length), this.#file.id);
    if (found.kind === "outside") this.#findings.error(place, found.reason, found.hint);
    else if (found.kind !== "found") this.#findings.warn(place, found.reason, found.hint);
    return true;
  }

  #similarPrompt(value: string, place: Place): void {
    if (roleOf(value) === undefined || this.#isKnown(value)) return;
    const reason = `There is no prompt ${quoted(value)}. The variable gets this text itself.`;
    this.#findings.warn(place, reason, this.#meant(value) ?? "put a constant in quotes");
  }

  #execute(id: string, place: Place): void {
    const { permissions, isFinal } = this.#options;
    if (allowsCommands(permissions ?? "read-only") || this.#said.has("EXECUTE")) return;
    this.#said.add("EXECUTE");
    const reason = `${id} can't run: the permissions allow no command.`;
    if (isFinal) this.#findings.error(place, reason, "add permissions.shell to the front matter");
    else
      this.#findings.warn(
        place,
        reason,
        "add permissions to the front matter, or run with --permissions workspace",
      );
  }

  #command(command: string, place: Place): void {
    this.#template(command, place);
    const reading = readCommand(command);
    if (reading.kind === "unclear")
      this.#findings.warn(place, `${reading.reason} The EXECUTE fails.`);
  }

  #template(text: string, place: Place): void {
    for (const { name } of placeholders(text)) this.#placeholder(name, () => place);
  }

  #placeholder(name: string, place: () => Place): void {
    const said = `{{${name}}}`;
    if (this.#said.has(said) || this.#isKnown(name)) return;
    this.#said.add(said);
    const reason = `${said} has no value: there is no such variable, parameter or prompt. It stays as it is.`;
    this.#findings.warn(place(), reason, this.#meant(name));
  }

  #isKnown(name: string): boolean {
    return isQuoted(name) || this.#names.has(name) || this.#file.prompts.has(name);
  }

  #meant(word: string): string | undefined {
    return this.#findings.meant(word, () => [...this.#file.prompts.keys(), ...this.#names]);
  }

  #place({ at }: Activity): Place {
    return { file: this.#file.file, at };
  }
}

function quoted(text: string): string {
  return JSON.stringify(clip(text, 80));
}

/** A walk in depth, with a stack of its own, because calls may be nested deeply. */
function reportCycles(all: readonly ReadFile[], findings: Findings): void {
  const byId = new Map(all.map((file) => [file.id, file]));
  const calls = (file: ReadFile): Extract<Activity, { kind: "call" }>[] =>
    [...file.activities.values()].filter((one) => one.kind === "call").toReversed();
  const done = new Set<string>();
  for (const root of all) {
    if (done.has(root.id)) continue;
    const open = new Set([root.id]);
    const stack = [{ file: root, rest: calls(root) }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const call = top.rest.pop();
      if (call === undefined) {
        open.delete(top.file.id);
        done.add(top.file.id);
        stack.pop();
        continue;
      }
      if (open.has(call.target)) {
        const ids = [...open];
        const cycle = [...ids.slice(ids.indexOf(call.target)), call.target].join(" → ");
        const place = { file: top.file.file, at: call.at };
        findings.error(place, `The workflow calls itself: ${cycle}.`);
        continue;
      }
      const file = byId.get(call.target);
      if (file === undefined || done.has(file.id)) continue;
      open.add(file.id);
      stack.push({ file, rest: calls(file) });
    }
  }
}
