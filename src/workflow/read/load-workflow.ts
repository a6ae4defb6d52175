/** A `.wf.md` file with everything that it calls and includes. Each file is read once, whoever calls it. */
import { defined } from "../../text/guards.ts";
import { type Diagnostic, byPosition } from "../../document/diagnostic.ts";
import { readMarkdown } from "../../document/markdown.ts";
import type { Permissions } from "../../entry/model.ts";
import { readActivities } from "./activities.ts";
import { checkWorkflow } from "./check-workflow.ts";
import {
  type Activity,
  type ActivityOf,
  type Workflow,
  type WorkflowFile,
  type WorkflowFiles,
  type WorkflowSettings,
} from "../model.ts";
import { Problems, type Place } from "./problems.ts";
import { readSections } from "./sections.ts";
import { permissionsOfRun, readSettings, type SettingsContext } from "./settings.ts";

/** A workflow that can be run, or every problem with it. */
export type LoadedWorkflow =
  | {
      readonly kind: "loaded";
      readonly workflow: Workflow;
      /** Valid, but probably not intended. */
      readonly warnings: readonly Diagnostic[];
    }
  /** The errors, then the warnings. */
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

export interface LoadOptions extends SettingsContext {
  /** The way to called and included files. */
  readonly files: WorkflowFiles;
  /** The id of the file itself in `files`. Default: the file. */
  readonly id?: string;
  readonly environment?: readonly string[];
}

export function loadWorkflow(
  text: string | Uint8Array,
  file: string,
  options: LoadOptions,
): LoadedWorkflow {
  return new Loader(options).load(text, file, options.id ?? file);
}

/** Far more than a run may do. */
const deepestCall = 1_000;

class Loader {
  readonly #options: LoadOptions;
  readonly #problems = new Problems();
  readonly #read = new Map<string, WorkflowFile>();
  #settings: WorkflowSettings = {};

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  load(text: string | Uint8Array, file: string, main: string): LoadedWorkflow {
    this.#readFile(text, file, [main]);
    const files = [...this.#read.values()];
    const { environment = [] } = this.#options;
    checkWorkflow(files, this.#options.files, this.#problems, {
      environment,
      permissions: this.#permissions() ?? this.#settings.permissions,
    });

    const errors = inOrder(this.#problems.errors, files);
    const warnings = inOrder(this.#problems.warnings, files);
    if (errors.length > 0) {
      return { kind: "rejected", diagnostics: [...errors, ...warnings] };
    }
    const workflow: Workflow = {
      file,
      main,
      files: Object.fromEntries(this.#read),
      settings: this.#settings,
    };
    return { kind: "loaded", workflow, warnings };
  }

  /** Nothing follows from settings that may not have been read. */
  #permissions(): Permissions | undefined {
    const { permissions } = this.#options;
    const isKnown = typeof permissions !== "function" || this.#problems.errors.length === 0;
    return isKnown ? permissionsOfRun(this.#settings, this.#options) : undefined;
  }

  /** And the files that it calls. `trail`: the ids of the files that lead here, and its own. */
  #readFile(text: string | Uint8Array, file: string, trail: readonly string[]): void {
    const problems = this.#problems;
    const id = trail.at(-1) ?? file;
    const markdown = readMarkdown(text, file);
    if (markdown.kind === "rejected") return problems.include(markdown.diagnostics);
    const { document } = markdown;
    if (trail.length === 1 && document.frontMatter !== undefined) {
      const { value, locate } = document.frontMatter;
      this.#settings = readSettings(value, { file, locate }, problems, this.#options);
    }
    const sections = readSections({ id, file, document }, this.#options.files, problems);
    const { isWhole, ...read } = readActivities(file, sections.fences, problems);
    const { title, description, prompts, flowAt } = sections;
    const flow = sections.fences.find(({ info }) => /^mermaid/i.test(info));
    if (flowAt !== undefined && flow === undefined) {
      const hint = "put it into a code fence with the tag mermaid";
      problems.error({ file, at: flowAt }, "This section has no flowchart.", hint);
    }
    const all = [...read.activities.values()];
    const idOf = (is: (one: Activity) => boolean): string | undefined => all.find(is)?.id;
    const known = { id, file, description, prompts, ...read };
    this.#read.set(id, {
      ...known,
      start: idOf(({ kind }) => kind === "start") ?? "",
      ...defined({
        title,
        flowAt: isWhole ? flow?.at : undefined,
        onSuccess: idOf((one) => one.kind === "on" && one.event === "success"),
        onFailed: idOf((one) => one.kind === "on" && one.event === "failed"),
      }),
    });
    for (const activity of all) {
      if (activity.kind !== "call") continue;
      const target = this.#called(activity, { file, at: activity.at }, trail);
      if (target !== undefined) read.activities.set(activity.id, { ...activity, target });
    }
  }

  #called(
    { path }: ActivityOf<"call">,
    place: Place,
    trail: readonly string[],
  ): string | undefined {
    const found = this.#options.files.read(path, trail.at(-1) ?? "");
    if (found.kind !== "found") {
      this.#problems.error(place, found.reason, found.hint);
      return undefined;
    }
    const { id, file, content } = found;
    if (trail.includes(id)) {
      const cycle = [...trail.slice(trail.indexOf(id)), id].join(" → ");
      this.#problems.error(place, `The workflow calls itself: ${cycle}.`);
    } else if (trail.length > deepestCall) {
      this.#problems.error(place, `More than ${deepestCall} workflows call each other.`);
    } else if (!this.#read.has(id)) this.#readFile(content, file, [...trail, id]);
    return id;
  }
}

/** By file, the first one first, then by position; what has none of the files comes last. */
function inOrder(
  diagnostics: readonly Diagnostic[],
  files: readonly { readonly file: string }[],
): readonly Diagnostic[] {
  const ranks = new Map(files.map(({ file }, index) => [file, index]));
  const rank = ({ file }: Diagnostic): number => ranks.get(file ?? "") ?? files.length;
  return diagnostics.toSorted((a, b) => rank(a) - rank(b) || byPosition(a, b));
}
