/** A rehearsal from its file, checked and ready to be played: its rules know their places, for the messages about them. */
import { dirname, isAbsolute, join } from "node:path";
import { stringify } from "yaml";
import { compileExpression } from "../../document/expression.ts";
import {
  type Diagnostic,
  type Locate,
  type Path,
  type Problem,
  toDiagnostics,
} from "../../document/diagnostic.ts";
import { formatOfFile, readDocument } from "../../document/read-document.ts";
import { type MeantPlace, schemaCheck } from "../../document/schema-check.ts";
import type { Conversation } from "../../events/output-shapes.ts";
import type { Change } from "../../git/change.ts";
import { defined, isRecord } from "../../text/guards.ts";
import {
  checkExpectation,
  type Condition,
  type ExpectFields,
  type Meaning,
  type Report,
} from "./expect.ts";
import {
  rehearsalSchema,
  type RehearsalFile,
  type ReplyFields,
  type RuleFields,
  type ToolField,
  type TurnFields,
} from "./rehearsal-schema.ts";
import { conversationOf, isBranchName, refusedName, type Workspace } from "./surroundings.ts";

export interface Script extends Omit<RehearsalFile, "$schema" | "answers" | "change" | "sessions"> {
  readonly file: string;
  /** This and `workingDirectory` are relative to the same folder as `file`. */
  readonly entryFile: string;
  /** By the id of the ASK, in order. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  /** A new folder. */
  readonly workspace?: Workspace;
  /** Ignored files that a copy of the working directory includes. Relative paths, with `/`. */
  readonly include?: readonly string[];
  /** With a base alone: the checked-out branch of the folder, since it left the base. Absent: that of the workspace. */
  readonly change?: Change | { readonly base: string };
  /** Earlier findings and replies on the pull request. */
  readonly conversation?: Conversation;
  readonly rules: readonly Rule[];
  readonly expect: ExpectFields;
  readonly placeOf: (path: Path) => Place;
  /** They must be in the entry. */
  readonly names: readonly Name[];
}

export interface Name {
  readonly kind: "task" | "activity" | "ask";
  readonly name: string;
  readonly at: Omit<Diagnostic, "reason" | "hint">;
}

/** Path and position, for messages: `sessions[0].turns[1] (a.rehearsal.yml:7:5)`. */
export type Place = string;

export interface Rule extends Omit<RuleFields, "turns"> {
  readonly place: Place;
  readonly turns: readonly Turn[];
}

export interface Turn {
  readonly place: Place;
  readonly prompt?: Condition | undefined;
  readonly replies: readonly Reply[];
}

export interface Reply extends Omit<ReplyFields, "tools" | "after"> {
  readonly place: Place;
  /** `answer`: it ends. `times` of the others is how many consecutive requests get it; absent: all. */
  readonly kind: "answer" | (typeof endings)[number];
  /** Added after tool calls that no reply follows. The rehearsal does not fail if it is not sent. */
  readonly implied?: boolean;
  /** Ids of actions that must have ended before. */
  readonly after: readonly string[];
  readonly tools: readonly ToolUse[];
}

const endings = ["error", "cut", "hang", "die"] as const;

export interface ToolUse extends ToolField {
  readonly place: Place;
}

export type LoadedScript =
  | { readonly kind: "loaded"; readonly script: Script }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

export interface ScriptPlace {
  readonly file: string;
  readonly locate: Locate;
  readonly codePath: (path: Path) => string;
}

export interface Reader {
  readonly problem: Report;
  readonly placeOf: (path: Path) => Place;
}

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
  const read = readDocument(source, { file, format: formatOfFile(file) ?? "yaml" });
  if (read.kind === "rejected") return read;
  const { value, locate } = read;
  if (isRecord(value) && !("entry" in value) && "tasks" in value) return notOne("an entry");
  return buildScript(value, { file, locate, codePath: (path) => schema.codePath(path) });
}

export function renderRehearsal(
  rehearsal: RehearsalFile,
  format: "yaml" | "json" = "yaml",
): string {
  if (format === "json") return `${JSON.stringify(rehearsal, undefined, 2)}\n`;
  const layout = { lineWidth: 0, aliasDuplicateObjects: false, blockQuote: "literal" } as const;
  return stringify(rehearsal, layout);
}

export function buildScript(value: unknown, at: ScriptPlace): LoadedScript {
  const { file, locate, codePath } = at;
  const rejected = (problems: readonly Problem[]): LoadedScript => ({
    kind: "rejected",
    diagnostics: toDiagnostics(problems, at),
  });
  const inspected = schema.inspect(value);
  if (inspected.kind === "refused") return rejected(inspected.problems);
  const problems: Problem[] = [];
  const position = (path: Path) => ({ file, ...locate(path), codePath: codePath(path) });
  const reader: Reader = {
    problem: (path, reason, hint) =>
      problems.push({ path, codePath: codePath(path), reason, ...defined({ hint }) }),
    placeOf(path) {
      const { line, column, codePath: at } = position(path);
      return `${at.replace(/^[a-z]+\.?/, "")} (${file}:${line}:${column})`;
    },
  };
  const { places } = inspected;
  checkExpressions(places, reader);
  const names = namesIn(places).map(({ path, ...name }) => ({ ...name, at: position(path) }));
  const script = { ...scriptOf(inspected.value, file, reader), names };
  return problems.length === 0 ? { kind: "loaded", script } : rejected(problems);
}

function checkExpressions(places: readonly MeantPlace[], { problem }: Reader): void {
  for (const { meaning, value, path } of places) {
    if (meaning !== ("expression" satisfies Meaning)) continue;
    const compiled = compileExpression(String(value));
    if (compiled.kind === "refused") problem(path, compiled.reason, compiled.hint);
  }
}

type NameInFile = Pick<Name, "kind" | "name"> & { readonly path: Path };

function namesIn(places: readonly MeantPlace[]): readonly NameInFile[] {
  return places.flatMap(({ meaning, value, path }): readonly NameInFile[] => {
    if (meaning === "task" || meaning === "activity")
      return [{ kind: meaning, name: String(value), path }];
    if (meaning !== "names of tasks" && meaning !== "names of asks") return [];
    const kind = meaning === "names of tasks" ? "task" : "ask";
    return Object.keys(value ?? {}).map((name) => ({ kind, name, path: [...path, name] }));
  });
}

function scriptOf(value: RehearsalFile, file: string, reader: Reader): Omit<Script, "names"> {
  const { $schema: _schema, sessions, expect = {}, workingDirectory, ...fields } = value;
  const { entry, params = {}, answers = {}, github, workspace, change } = fields;
  const beside = (path: string): string => (isAbsolute(path) ? path : join(dirname(file), path));
  if (Object.keys(params).length > 0 && !/\.wf\.md$/i.test(entry)) {
    const reason = "Only a workflow has parameters, and the entry is none.";
    reader.problem(["params"], reason, "a job sets those of its workflows in the entry");
  }
  if (workspace && workspace.include === undefined && workingDirectory) {
    const reason = "A rehearsal can't have both a workingDirectory and a workspace.";
    reader.problem(["workspace"], reason);
  }
  checkExpectation(expect, reader.problem);
  const texts = Object.entries(answers).map(([id, all]) => [id, [all].flat()] as const);
  return {
    ...fields,
    file,
    entryFile: beside(entry),
    answers: Object.fromEntries(texts),
    workingDirectory: workingDirectory && beside(workingDirectory),
    ...folderOf(workspace, reader),
    change: change && changeOf(change, reader),
    conversation: github && conversationOf(github, reader.problem),
    rules: sessions.map((rule, index) => ruleOf(rule, ["sessions", index], reader)),
    expect,
    placeOf: reader.placeOf,
  };
}

function changeOf(
  { base, head, files, notes, diff = "" }: NonNullable<RehearsalFile["change"]>,
  reader: Reader,
): Script["change"] {
  if (files === undefined) {
    if (head !== undefined || diff !== "" || base === undefined) {
      const reason = "A change has its files, or the base alone, which git is asked about.";
      reader.problem(["change"], reason, "add files; an empty list is an empty change");
    }
    return { base: base ?? "" };
  }
  const unchanged = { status: "modified", additions: 0, deletions: 0 } as const;
  return {
    base: base ?? "1".repeat(40),
    head: head ?? "2".repeat(40),
    files: files.map((one) => ({ ...unchanged, ...one })),
    ...defined({ notes }),
    diff,
  };
}

function folderOf(
  workspace: Workspace | undefined,
  reader: Reader,
): Pick<Script, "workspace" | "include"> {
  const { include = [], ...made } = workspace ?? {};
  const check = (names: readonly string[], pathOf: (name: string) => Path): void => {
    for (const name of names) {
      const why = refusedName(name);
      if (why !== undefined) reader.problem(pathOf(name), why.reason, why.hint);
    }
  };
  const fields = Object.keys(made);
  if (include.length > 0 && fields.length > 0) {
    const reason = "`include` adds files to a copy of the working directory, not to a new folder.";
    const hint = `remove ${fields.join(" and ")}, or include`;
    reader.problem(["workspace", "include"], reason, hint);
  }
  check(include, (name) => ["workspace", "include", include.indexOf(name)]);
  check(Object.keys(made.files ?? {}), (name) => ["workspace", "files", name]);
  for (const [index, { branch, files }] of (made.commits ?? []).entries()) {
    const path = ["workspace", "commits", index];
    check(Object.keys(files), (name) => [...path, "files", name]);
    if (branch !== undefined && !isBranchName(branch))
      reader.problem([...path, "branch"], "This is not a valid branch name.");
  }
  return include.length > 0 ? { include, workspace: undefined } : { workspace };
}

function ruleOf(fields: RuleFields, path: Path, reader: Reader): Rule {
  const turns = fields.turns.map((turn, index) =>
    turnOf(typeof turn === "string" ? { text: turn } : turn, [...path, "turns", index], reader),
  );
  const death = turns.findIndex(({ replies }) => replies.some(({ kind }) => kind === "die"));
  // The activity sends its next prompt in another session.
  if (fields.activity === undefined && death !== -1 && death < turns.length - 1) {
    reader.problem(
      [...path, "turns", death + 1],
      "This turn is unreachable: the runtime died in the previous turn, and the session with it.",
      'add a rule with "attempt: 2" for the session that follows',
    );
  }
  return { ...fields, place: reader.placeOf(path), turns };
}

function turnOf({ prompt, replies, ...own }: TurnFields, path: Path, reader: Reader): Turn {
  const names = Object.keys(own);
  const [first] = names;
  if (replies !== undefined && first !== undefined) {
    const reason = `A turn can't have both "replies" and the fields of its only reply (${names.join(", ")}).`;
    reader.problem([...path, first], reason, 'move them into "replies"');
  }
  if (replies === undefined && first === undefined) {
    const hint = 'add the model\'s answer, for example a "text"';
    reader.problem(path, "This turn has no reply.", hint);
  }
  const located = replies?.map((reply, index) => ({
    fields: typeof reply === "string" ? { text: reply } : reply,
    path: [...path, "replies", index],
  })) ?? [{ fields: own, path }];
  checkReplies(located, reader);
  const place = reader.placeOf(path);
  const all = located.map((reply) => replyOf(reply, reader));
  // After tools, the model always gets another request. A script may omit the reply to it.
  if (all.at(-1)?.tools.length !== 0)
    all.push({ place, implied: true, kind: "answer", text: "Done.", after: [], tools: [] });
  return { place, prompt, replies: all };
}

interface Located {
  readonly fields: ReplyFields;
  readonly path: Path;
}

function replyOf({ fields, path }: Located, { placeOf }: Reader): Reply {
  const { tools = [], after = [], ...others } = fields;
  return {
    ...others,
    place: placeOf(path),
    kind: kindOf(fields),
    after: [after].flat(),
    tools: tools.map((tool, index) => ({ ...tool, place: placeOf([...path, "tools", index]) })),
  };
}

function kindOf(fields: ReplyFields): Reply["kind"] {
  return endings.find((name) => fields[name] !== undefined) ?? "answer";
}

function checkReplies(replies: readonly Located[], reader: Reader): void {
  let last: ReplyFields | undefined;
  let final: Reply["kind"] | undefined;
  for (const { fields, path } of replies) {
    if (final !== undefined) {
      const reason = `This reply is unreachable: "${final}" before it happens on every request.`;
      const repeats = final === "error" || final === "cut";
      const hint = 'set "times" to limit how often it happens';
      return reader.problem(path, reason, repeats ? hint : undefined);
    }
    checkReply({ fields, path }, reader);
    if (fields.toolResults !== undefined && last?.tools === undefined)
      reader.problem([...path, "toolResults"], "The previous reply calls no tools.");
    const kind = kindOf(fields);
    if (kind === "answer") last = fields;
    else if (fields.times === undefined) final = kind;
  }
}

function checkReply({ fields, path }: Located, reader: Reader): void {
  const [ending, second] = endings.filter((name) => fields[name] !== undefined);
  const refuse = (name: keyof ReplyFields, reason: string): void => {
    if (fields[name] !== undefined) reader.problem([...path, name], reason);
  };
  if (ending !== "error" && ending !== "cut")
    refuse("times", 'Only "error" and "cut" can have "times".');
  if (ending === undefined) {
    const { text, document, reasoning, tools = [] } = fields;
    const isEmpty = [text, document, reasoning, fields.tools].every((one) => one === undefined);
    if (isEmpty && Object.keys(fields).length > 0) {
      const hint = 'give it a "text", "tools" or an "error"; an empty "text" is an empty answer';
      reader.problem(path, "This reply is empty.", hint);
    }
    if (text !== undefined) refuse("document", 'A reply has either a "text" or a "document".');
    for (const [index, { denied, fails }] of tools.entries()) {
      if (denied !== true || fails === undefined) continue;
      const reason = 'A call that is "denied" does not run, so it has no "fails".';
      reader.problem([...path, "tools", index, "fails"], reason, "remove one of them");
    }
    return;
  }
  if (second !== undefined) refuse(second, `A reply is either "${ending}" or "${second}".`);
  for (const name of ["document", "tools", "finish", "usage"] as const)
    refuse(name, `A reply with "${ending}" never ends, so it has no "${name}".`);
  if (ending === "cut" || ending === "hang") return;
  for (const name of ["text", "reasoning"] as const)
    refuse(name, `Nothing arrives before "${ending}".`);
}
