/**
 * The text of a `.wf.md` file, with everything that it calls and includes, checked and prepared, or all that is wrong
 * with it. Each file is read once, whoever calls it.
 */
import { defined } from "../../document/guards.ts";
import type { Diagnostic } from "../../document/diagnostic.ts";
import { readMarkdown } from "../../document/markdown.ts";
import { readActivities } from "./activities.ts";
import { checkWorkflow } from "./check-workflow.ts";
import { noFiles, type WorkflowFiles } from "../files.ts";
import { Problems } from "./problems.ts";
import type { Workflow, WorkflowFile, WorkflowSettings } from "../model.ts";
import { readSections, type ReadFile } from "./sections.ts";
import { readSettings, type SettingsContext } from "./settings.ts";

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
  /** The way to called and included files. Default: there are none. */
  readonly files?: WorkflowFiles;
  /** The id of the file itself in `files`. Default: the file. */
  readonly id?: string;
  readonly environment?: readonly string[];
}

export function loadWorkflow(
  text: string | Uint8Array,
  file: string,
  options: LoadOptions = {},
): LoadedWorkflow {
  const loader = new Loader(options);
  return loader.load(text, file, options.id ?? file);
}

class Loader {
  readonly #options: LoadOptions;
  readonly #files: WorkflowFiles;
  readonly #problems = new Problems();
  readonly #read = new Map<string, ReadFile>();
  #settings: WorkflowSettings = {};

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#files = options.files ?? noFiles;
  }

  load(text: string | Uint8Array, file: string, main: string): LoadedWorkflow {
    this.#readFile(text, file, main, true);
    for (const one of this.#read.values()) this.#resolveCalls(one);
    const files = [...this.#read.values()];
    const { environment = [] } = this.#options;
    const permissions = this.#options.permissions ?? this.#settings.permissions;
    const isFinal = this.#options.permissions !== undefined || permissions !== undefined;
    checkWorkflow(files, this.#files, this.#problems, { environment, permissions, isFinal });

    const errors = inOrder(this.#problems.errors, files);
    const warnings = inOrder(this.#problems.warnings, files);
    if (errors.length > 0) {
      return { kind: "rejected", diagnostics: [...errors, ...warnings] };
    }
    const workflow: Workflow = {
      file,
      main,
      files: Object.fromEntries(files.map((one) => [one.id, prepared(one)])),
      settings: this.#settings,
    };
    return { kind: "loaded", workflow, warnings };
  }

  #readFile(text: string | Uint8Array, file: string, id: string, isMain: boolean): void {
    const problems = this.#problems;
    const markdown = readMarkdown(text, file);
    if (markdown.kind === "rejected") return problems.include(markdown.diagnostics);
    const { document } = markdown;
    if (isMain && document.frontMatter !== undefined) {
      const { value, locate } = document.frontMatter;
      this.#settings = readSettings(value, { file, locate }, problems, this.#options);
    }
    const sections = readSections({ id, file, document }, this.#files, problems);
    const { isWhole, ...read } = readActivities(file, sections.fences, problems);
    const { title, description, prompts, flowAt } = sections;
    const flow = sections.fences.find(({ info }) => /^mermaid/i.test(info));
    if (flowAt !== undefined && flow === undefined) {
      const hint = "put it into a code fence with the tag mermaid";
      problems.error({ file, at: flowAt }, "This section has no flowchart.", hint);
    }
    const startsAt = isWhole ? flow?.at : undefined;
    const known = { id, file, description, prompts, flowAt: startsAt, ...read };
    this.#read.set(id, title === undefined ? known : { ...known, title });
  }

  /** Reads the files that a file calls. The map grows while it is walked. */
  #resolveCalls(caller: ReadFile): void {
    for (const activity of caller.activities.values()) {
      if (activity.kind !== "call") continue;
      const place = { file: caller.file, at: activity.at };
      const found = this.#files.read(activity.path, caller.id);
      if (found.kind !== "found") {
        this.#problems.error(place, found.reason, found.hint);
        continue;
      }
      if (!this.#read.has(found.id)) {
        this.#readFile(found.content, found.file, found.id, false);
      }
      caller.activities.set(activity.id, { ...activity, target: found.id });
    }
  }
}

/** By file, the first one first, then by position; what has none of the files comes last. */
function inOrder(
  diagnostics: readonly Diagnostic[],
  files: readonly { readonly file: string }[],
): readonly Diagnostic[] {
  const ranks = new Map(files.map(({ file }, index) => [file, index]));
  const rank = ({ file }: Diagnostic): number => ranks.get(file ?? "") ?? files.length;
  return diagnostics.toSorted(
    (a, b) =>
      rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

function prepared(read: ReadFile): WorkflowFile {
  const { activities, prompts, flowAt: _, ...file } = read;
  const all = [...activities.values()];
  const of = (event: "success" | "failed"): string | undefined =>
    all.find((one) => one.kind === "on" && one.event === event)?.id;
  const [onSuccess, onFailed] = [of("success"), of("failed")];
  return {
    ...file,
    prompts: Object.fromEntries(
      [...prompts].map(([id, { role, text, place }]) => [
        id,
        { role, text, at: place.at, file: place.file },
      ]),
    ),
    activities: Object.fromEntries(activities),
    start: all.find(({ kind }) => kind === "start")?.id ?? "",
    ...defined({ onSuccess, onFailed }),
  };
}
