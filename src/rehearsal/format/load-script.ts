/** Loads a script from text: the document loader, the schema, then the checks that a schema can't express. */
import { dirname, isAbsolute, join } from "node:path";
import type { Diagnostic } from "../../document/diagnostic.ts";
import { defined, isRecord } from "../../document/guards.ts";
import { formatOfFile, readDocument } from "../../document/read-document.ts";
import { toDiagnostics, type Locate, type Path, type Problem } from "../../document/problem.ts";
import { schemaCheck } from "../../document/schema-check.ts";
import { toActivityName, type ActivityName } from "./activity-name.ts";
import { toExpectation, type Reading } from "./expectation.ts";
import type { ConditionField } from "./schema-parts.ts";
import type { RehearsalFile, RuleFields, TurnFields } from "./rehearsal-schema.ts";
import { checkReplies, toReply, withImpliedEnd } from "./replies.ts";
import { rehearsalSchema } from "./rehearsal-schema.ts";
import type { NamedActivity, NamedTask, Place, Rule, Script, Turn, Workspace } from "./script.ts";
import { toCondition, type TextCondition } from "./text-condition.ts";
import { isBranchName, refusedName, type WorkspaceFields } from "./workspace.ts";

export type LoadedScript =
  | { readonly kind: "loaded"; readonly script: Script }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

const schema = schemaCheck<RehearsalFile>(rehearsalSchema, "rehearsal");

/**
 * `file` as the user named it: messages show it, and the paths in the rehearsal are relative to its
 * folder. It is YAML unless its extension is that of JSON.
 */
export function loadScript(source: string | Uint8Array, file: string): LoadedScript {
  const notOne = (what: string): LoadedScript => {
    const reason = `This is ${what}, not a rehearsal.`;
    const hint = `run it with agent-jobs run, or name its rehearsal, such as ${file.replace(/(\.wf\.md|\.[^.]*)$/, "")}.rehearsal.yml`;
    return { kind: "rejected", diagnostics: [{ file, codePath: "", reason, hint }] };
  };
  if (file.endsWith(".wf.md")) return notOne("a workflow");
  const format = formatOfFile(file) ?? "yaml";
  const read = readDocument(source, { file, format });
  if (read.kind === "rejected") return read;
  const { value, locate } = read;
  const place = { file, locate };
  if (!schema.accepts(value)) {
    if (isRecord(value) && !("entry" in value) && "tasks" in value) return notOne("an entry");
    return { kind: "rejected", diagnostics: schema.diagnose(value, place) };
  }
  return buildScript(value, { ...place, codePath: (path) => schema.codePath(path) });
}

/** Where the fields of a rehearsal are in a text, by their paths in the rehearsal. */
export interface ScriptPlace {
  readonly file: string;
  readonly locate: Locate;
  readonly codePath: (path: Path) => string;
}

/** The checks that a schema can't express. The value matches the schema. */
export function buildScript(value: RehearsalFile, place: ScriptPlace): LoadedScript {
  const builder = new Builder(place);
  const script = builder.script(value);
  return builder.problems.length === 0
    ? { kind: "loaded", script }
    : { kind: "rejected", diagnostics: toDiagnostics(builder.problems, place) };
}

class Builder implements Reading {
  readonly problems: Problem[] = [];
  readonly #namedTasks: NamedTask[] = [];
  readonly #namedActivities: NamedActivity[] = [];
  readonly #at: ScriptPlace;

  constructor(place: ScriptPlace) {
    this.#at = place;
  }

  script(value: RehearsalFile): Script {
    const { description, job, userInput, workingDirectory, workspace, permissions } = value;
    return {
      file: this.#at.file,
      entryFile: this.#beside(value.entry),
      ...defined({ description, job, userInput, permissions }),
      inputs: value.inputs ?? {},
      params: this.#params(value),
      answers: this.#answers(value),
      ...defined({ workingDirectory: workingDirectory && this.#beside(workingDirectory) }),
      ...this.#folder(workspace, workingDirectory !== undefined),
      ...this.#change(value.change),
      models: value.models ?? {},
      limits: value.limits ?? {},
      rules: value.sessions.map((rule, index) => this.#rule(rule, ["sessions", index])),
      expect: toExpectation(value.expect ?? {}, this),
      namedTasks: this.#namedTasks,
      namedActivities: this.#namedActivities,
    };
  }

  placeOf(path: Path): Place {
    const { file, line, column, codePath } = this.#position(path);
    return `${codePath.replace(/^[a-z]+\.?/, "")} (${file}:${line}:${column})`;
  }

  #position(path: Path) {
    const { file, locate, codePath } = this.#at;
    return { file, ...locate(path), codePath: codePath(path) };
  }

  problem(path: Path, reason: string, hint?: string): void {
    const codePath = this.#at.codePath(path);
    this.problems.push({ path, codePath, reason, ...defined({ hint }) });
  }

  condition(field: ConditionField, path: Path): TextCondition {
    const condition = toCondition(field);
    if (!("problem" in condition)) return condition;
    this.problem([...path, "matches"], condition.problem, condition.hint);
    return { contains: [], excludes: [] };
  }

  activity(text: string, path: Path): ActivityName {
    const activity = toActivityName(text);
    this.#namedActivities.push({ activity, isAsk: false, at: this.#position(path) });
    return activity;
  }

  names(task: string, path: Path): void {
    this.#namedTasks.push({ task, at: this.#position(path) });
  }

  #params({ entry, params = {} }: RehearsalFile): Script["params"] {
    if (Object.keys(params).length > 0 && !/\.wf\.md$/i.test(entry)) {
      const reason = "Only a workflow has parameters, and the entry is none.";
      this.problem(["params"], reason, "a job sets those of its workflows in the entry");
    }
    return params;
  }

  #answers({ answers = {} }: RehearsalFile): Script["answers"] {
    const lists = Object.entries(answers).map(([id, texts]): [string, readonly string[]] => {
      const at = this.#position(["answers", id]);
      this.#namedActivities.push({ activity: { id }, isAsk: true, at });
      return [id, [texts].flat()];
    });
    return Object.fromEntries(lists);
  }

  #change(field: RehearsalFile["change"]): Pick<Script, "change"> {
    if (field === undefined) return {};
    const { base, head, files, diff } = field;
    if (files === undefined) {
      if (head !== undefined || diff !== undefined || base === undefined) {
        const reason = "A change has its files, or the base alone, which git is asked about.";
        this.problem(["change"], reason, "add files; an empty list is an empty change");
      }
      return { change: { kind: "git", base: base ?? "" } };
    }
    const change = {
      base: base ?? "1".repeat(40),
      head: head ?? "2".repeat(40),
      files: files.map(({ path, status = "modified", additions = 0, deletions = 0, ...more }) => ({
        path,
        status,
        additions,
        deletions,
        ...more,
      })),
      diff: diff ?? "",
    };
    return { change: { kind: "data", change } };
  }

  #beside(path: string): string {
    return isAbsolute(path) ? path : join(dirname(this.#at.file), path);
  }

  #folder(
    field: WorkspaceFields | undefined,
    alsoDirectory: boolean,
  ): Pick<Script, "workspace" | "include"> {
    if (field === undefined) return {};
    const { include, ...made } = field;
    if (include === undefined) return { workspace: this.#workspace(made, alsoDirectory) };
    const path = ["workspace", "include"];
    if (Object.keys(made).length > 0) {
      const reason =
        "`include` adds files to a copy of the working directory, not to a new folder.";
      this.problem(path, reason, `remove ${Object.keys(made).join(" and ")}, or include`);
    }
    for (const [index, name] of include.entries()) this.#checkName(name, [...path, index]);
    return { include };
  }

  #workspace(
    { files = {}, git = false, commits = [] }: Omit<WorkspaceFields, "include">,
    alsoDirectory: boolean,
  ): Workspace {
    if (alsoDirectory) {
      this.problem(
        ["workspace"],
        "A rehearsal can't have both a workingDirectory and a workspace.",
      );
    }
    for (const name of Object.keys(files)) this.#checkName(name, ["workspace", "files", name]);
    for (const [index, { branch, files: changed }] of commits.entries()) {
      const path = ["workspace", "commits", index];
      for (const name of Object.keys(changed)) this.#checkName(name, [...path, "files", name]);
      if (branch !== undefined && !isBranchName(branch)) {
        this.problem([...path, "branch"], "This is not a valid branch name.");
      }
    }
    return { files, git, commits };
  }

  #checkName(name: string, path: Path): void {
    const why = refusedName(name);
    if (why !== undefined) this.problem(path, why.reason, why.hint);
  }

  #rule(fields: RuleFields, path: Path): Rule {
    const { turns, repeat = 1, optional, subAgent, activity, ...selectors } = fields;
    if (selectors.hit !== undefined && activity === undefined) {
      const hint = "name the activity, or select by iteration, retry or attempt";
      this.problem([...path, "hit"], '"hit" needs an "activity".', hint);
    }
    const built = turns.map((turn, index) =>
      this.#turn(typeof turn === "string" ? { text: turn } : turn, [...path, "turns", index]),
    );
    const death = built.findIndex(({ replies }) => replies.some(({ play }) => play.kind === "die"));
    // The activity sends its next prompt in another session.
    if (activity === undefined && death !== -1 && death < built.length - 1) {
      this.problem(
        [...path, "turns", death + 1],
        "This turn is unreachable: the runtime died in the previous turn, and the session with it.",
        'add a rule with "attempt: 2" for the session that follows',
      );
    }
    const [first, ...rest] = built;
    if (first === undefined) throw new Error("The schema asks for at least one turn.");
    return {
      place: this.placeOf(path),
      selectors: {
        ...selectors,
        ...(activity === undefined
          ? {}
          : { activity: this.activity(activity, [...path, "activity"]) }),
        subAgent: subAgent === true,
      },
      repeat,
      optional: optional === true,
      turns: [first, ...rest],
    };
  }

  #turn({ prompt, replies, ...own }: TurnFields, path: Path): Turn {
    const hasOwn = Object.keys(own).length > 0;
    if (replies !== undefined && hasOwn) {
      const names = Object.keys(own).join(", ");
      this.problem(
        [...path, Object.keys(own)[0] ?? ""],
        `A turn can't have both "replies" and the fields of its only reply (${names}).`,
        'move them into "replies"',
      );
    }
    if (replies === undefined && !hasOwn) {
      this.problem(
        path,
        "This turn has no reply.",
        'add the model\'s answer, for example a "text"',
      );
    }
    const list =
      replies === undefined
        ? [{ fields: own, path }]
        : replies.map((reply, index) => ({
            fields: typeof reply === "string" ? { text: reply } : reply,
            path: [...path, "replies", index],
          }));
    checkReplies(list, this);
    const built = list.map((reply) => toReply(reply, this));
    const place = this.placeOf(path);
    return {
      place,
      ...(prompt === undefined ? {} : { prompt: this.condition(prompt, [...path, "prompt"]) }),
      replies: withImpliedEnd(built, place),
    };
  }
}
