import { dirname, isAbsolute, join } from "node:path";
import { stringify } from "yaml";
import { type Diagnostic, toDiagnostics, type Path } from "../../document/diagnostic.ts";
import { defined, isRecord } from "../../text/guards.ts";
import { formatOfFile, readDocument } from "../../document/read-document.ts";
import { schemaCheck } from "../../document/schema-check.ts";
import { conversationOf, Reading, type ScriptPlace, toExpectation } from "./reading.ts";
import {
  rehearsalSchema,
  type RehearsalFile,
  type ReplyFields,
  type RuleFields,
  type TurnFields,
} from "./rehearsal-schema.ts";
import type { Reply, ReplyKind, Rule, Script, Turn } from "./script.ts";
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

export function renderRehearsal(
  rehearsal: RehearsalFile,
  format: "yaml" | "json" = "yaml",
): string {
  if (format === "json") return `${JSON.stringify(rehearsal, undefined, 2)}\n`;
  return stringify(rehearsal, {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    blockQuote: "literal",
  });
}

export function buildScript(value: RehearsalFile, place: ScriptPlace): LoadedScript {
  const reading = new Reading(place);
  const script = scriptOf(value, place.file, reading);
  return reading.problems.length === 0
    ? { kind: "loaded", script }
    : { kind: "rejected", diagnostics: toDiagnostics(reading.problems, place) };
}

function scriptOf(value: RehearsalFile, file: string, reading: Reading): Script {
  const { description, job, userInput, permissions, inputs, params, models, limits } = value;
  const beside = (path: string): string => (isAbsolute(path) ? path : join(dirname(file), path));
  if (Object.keys(params ?? {}).length > 0 && !/\.wf\.md$/i.test(value.entry)) {
    const reason = "Only a workflow has parameters, and the entry is none.";
    reading.problem(["params"], reason, "a job sets those of its workflows in the entry");
  }
  const answers = Object.entries(value.answers ?? {}).map(([id, texts]) => {
    reading.ask(id, ["answers", id]);
    return [id, [texts].flat()] as const;
  });
  if (value.workspace?.include === undefined && value.workspace && value.workingDirectory) {
    const reason = "A rehearsal can't have both a workingDirectory and a workspace.";
    reading.problem(["workspace"], reason);
  }
  return {
    file,
    entryFile: beside(value.entry),
    ...defined({ description, job, userInput, permissions }),
    inputs: inputs ?? {},
    params: params ?? {},
    answers: Object.fromEntries(answers),
    ...defined({ workingDirectory: value.workingDirectory && beside(value.workingDirectory) }),
    ...(value.workspace && folderOf(value.workspace, reading)),
    ...(value.change && { change: changeOf(value.change, reading) }),
    ...defined({ github: value.github }),
    ...(value.github && { conversation: conversationOf(value.github, reading) }),
    models: models ?? {},
    limits: limits ?? {},
    rules: value.sessions.map((rule, index) => ruleOf(rule, ["sessions", index], reading)),
    expect: toExpectation(value.expect ?? {}, reading),
    namedTasks: reading.namedTasks,
    namedActivities: reading.namedActivities,
  };
}

function changeOf(
  { base, head, files, notes, diff = "" }: NonNullable<RehearsalFile["change"]>,
  reading: Reading,
): NonNullable<Script["change"]> {
  if (files === undefined) {
    if (head !== undefined || diff !== "" || base === undefined) {
      const reason = "A change has its files, or the base alone, which git is asked about.";
      reading.problem(["change"], reason, "add files; an empty list is an empty change");
    }
    return { kind: "git", base: base ?? "" };
  }
  const unchanged = { status: "modified", additions: 0, deletions: 0 } as const;
  return {
    kind: "data",
    change: {
      base: base ?? "1".repeat(40),
      head: head ?? "2".repeat(40),
      files: files.map((one) => ({ ...unchanged, ...one })),
      ...defined({ notes }),
      diff,
    },
  };
}

function folderOf(
  { include, ...made }: WorkspaceFields,
  reading: Reading,
): Pick<Script, "workspace" | "include"> {
  const check = (names: readonly string[], pathOf: (name: string) => Path): void => {
    for (const name of names) {
      const why = refusedName(name);
      if (why !== undefined) reading.problem(pathOf(name), why.reason, why.hint);
    }
  };
  if (include !== undefined) {
    const path = ["workspace", "include"];
    if (Object.keys(made).length > 0) {
      const reason =
        "`include` adds files to a copy of the working directory, not to a new folder.";
      reading.problem(path, reason, `remove ${Object.keys(made).join(" and ")}, or include`);
    }
    check(include, (name) => [...path, include.indexOf(name)]);
    return { include };
  }
  const { files = {}, git = false, commits = [] } = made;
  check(Object.keys(files), (name) => ["workspace", "files", name]);
  for (const [index, { branch, files: changed }] of commits.entries()) {
    const path = ["workspace", "commits", index];
    check(Object.keys(changed), (name) => [...path, "files", name]);
    if (branch !== undefined && !isBranchName(branch))
      reading.problem([...path, "branch"], "This is not a valid branch name.");
  }
  return { workspace: { files, git, commits } };
}

function ruleOf(fields: RuleFields, path: Path, reading: Reading): Rule {
  const { turns, repeat = 1, optional, subAgent, activity, ...selectors } = fields;
  if (selectors.hit !== undefined && activity === undefined) {
    const hint = "name the activity, or select by iteration, retry or attempt";
    reading.problem([...path, "hit"], '"hit" needs an "activity".', hint);
  }
  const built = turns.map((turn, index) =>
    turnOf(typeof turn === "string" ? { text: turn } : turn, [...path, "turns", index], reading),
  );
  const death = built.findIndex(({ replies }) => replies.some(({ kind }) => kind === "die"));
  // The activity sends its next prompt in another session.
  if (activity === undefined && death !== -1 && death < built.length - 1) {
    reading.problem(
      [...path, "turns", death + 1],
      "This turn is unreachable: the runtime died in the previous turn, and the session with it.",
      'add a rule with "attempt: 2" for the session that follows',
    );
  }
  const [first, ...rest] = built;
  if (first === undefined) throw new Error("The schema asks for at least one turn.");
  return {
    place: reading.placeOf(path),
    selectors: {
      ...selectors,
      ...(activity !== undefined && {
        activity: reading.activity(activity, [...path, "activity"]),
      }),
      subAgent: subAgent === true,
    },
    repeat,
    optional: optional === true,
    turns: [first, ...rest],
  };
}

function turnOf({ prompt, replies, ...own }: TurnFields, path: Path, reading: Reading): Turn {
  const names = Object.keys(own);
  const [first] = names;
  if (replies !== undefined && first !== undefined) {
    const reason = `A turn can't have both "replies" and the fields of its only reply (${names.join(", ")}).`;
    reading.problem([...path, first], reason, 'move them into "replies"');
  }
  if (replies === undefined && first === undefined) {
    const hint = 'add the model\'s answer, for example a "text"';
    reading.problem(path, "This turn has no reply.", hint);
  }
  const list =
    replies === undefined
      ? [{ fields: own, path }]
      : replies.map((reply, index) => ({
          fields: typeof reply === "string" ? { text: reply } : reply,
          path: [...path, "replies", index],
        }));
  checkReplies(list, reading);
  const built = list.map((reply) => toReply(reply, reading));
  const place = reading.placeOf(path);
  return {
    place,
    ...(prompt !== undefined && { prompt: reading.condition(prompt, [...path, "prompt"]) }),
    replies: withImpliedEnd(built, place),
  };
}

interface Located {
  readonly fields: ReplyFields;
  readonly path: Path;
}

const endings = ["error", "cut", "hang", "die"] as const;

function checkReplies(replies: readonly Located[], reading: Reading): void {
  let last: ReplyFields | undefined;
  let final: ReplyKind | undefined;
  for (const { fields, path } of replies) {
    if (final !== undefined) {
      const reason = `This reply is unreachable: "${final}" before it happens on every request.`;
      const repeats = final === "error" || final === "cut";
      const hint = 'set "times" to limit how often it happens';
      return reading.problem(path, reason, repeats ? hint : undefined);
    }
    checkReply({ fields, path }, reading);
    if (fields.toolResults !== undefined && last?.tools === undefined)
      reading.problem([...path, "toolResults"], "The previous reply calls no tools.");
    const kind = kindOf(fields);
    if (kind === "answer") last = fields;
    else if (fields.times === undefined) final = kind;
  }
}

function kindOf(fields: ReplyFields): ReplyKind {
  return endings.find((name) => fields[name] !== undefined) ?? "answer";
}

function checkReply({ fields, path }: Located, reading: Reading): void {
  const [ending, second] = endings.filter((name) => fields[name] !== undefined);
  const refuse = (name: keyof ReplyFields, reason: string): void => {
    if (fields[name] !== undefined) reading.problem([...path, name], reason);
  };
  if (ending !== "error" && ending !== "cut")
    refuse("times", 'Only "error" and "cut" can have "times".');
  if (ending === undefined) {
    const { text, document, reasoning, tools = [] } = fields;
    const isEmpty = [text, document, reasoning, fields.tools].every((one) => one === undefined);
    if (isEmpty && Object.keys(fields).length > 0) {
      const hint = 'give it a "text", "tools" or an "error"; an empty "text" is an empty answer';
      reading.problem(path, "This reply is empty.", hint);
    }
    if (text !== undefined) refuse("document", 'A reply has either a "text" or a "document".');
    for (const [index, { denied, fails }] of tools.entries()) {
      if (denied !== true || fails === undefined) continue;
      const reason = 'A call that is "denied" does not run, so it has no "fails".';
      reading.problem([...path, "tools", index, "fails"], reason, "remove one of them");
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

function toReply({ fields, path }: Located, reading: Reading): Reply {
  const { toolResults, tools = [], after = [], ...others } = fields;
  return {
    ...others,
    place: reading.placeOf(path),
    kind: kindOf(fields),
    ...(toolResults !== undefined && {
      toolResults: reading.condition(toolResults, [...path, "toolResults"]),
    }),
    after: [after].flat(),
    tools: tools.map((tool, index) => ({
      ...tool,
      place: reading.placeOf([...path, "tools", index]),
    })),
  };
}

/** After tools, the model always gets another request. A script may omit the reply to it. */
function withImpliedEnd(replies: readonly Reply[], place: string): readonly Reply[] {
  if ((replies.at(-1)?.tools ?? []).length === 0) return replies;
  return [
    ...replies,
    { place, implied: true, kind: "answer", text: "Done.", after: [], tools: [] },
  ];
}
