/** Kinds of values that are given by name, one `NAME=value` after the other. */
import { isRecord, isText, parsedJson } from "../text/guards.ts";
import type { Answers } from "../workflow/model.ts";
import * as kind from "./option-kinds.ts";
import { andThen, must, nameForm, quote, right, wrong, type Assignment } from "./option-kinds.ts";
import type { Line, Parsed, Repeated, Texts } from "./option-kinds.ts";

export type Params = Texts;
export type Inputs = Texts;
export type { Answers };

function parseAssignment(given: string, example: string): Parsed<Assignment> {
  const at = given.indexOf("=");
  const name = given.slice(0, Math.max(0, at)).trim();
  return name === ""
    ? wrong(`must have the form NAME=value, for example ${example}`)
    : right([name, given.slice(at + 1)]);
}

function assignments<T>(
  example: string,
  none: T,
  add: (assignment: Assignment, earlier: T) => Parsed<T>,
  check: kind.Check,
): Repeated<T> {
  const parse = (given: string, earlier: T): Parsed<T> =>
    andThen(parseAssignment(given, example), (assignment) => add(assignment, earlier));
  return kind.several(none, parse, check, linesOf);
}

/** Lines of `NAME=value`, or a JSON object, whose values nobody can break out of. */
function linesOf(given: string): readonly Line[] {
  return given.trimStart().startsWith("{") ? readObject(given) : readLines(given);
}

function readObject(given: string): readonly Line[] {
  const value = parsedJson(given);
  if (!isRecord(value)) return [{ line: given, argument: wrong("is not a JSON object") }];
  // A list has several answers to one question.
  const values = Object.entries(value).flatMap(([name, one]) =>
    [one].flat().map((each: unknown) => [name, each] as const),
  );
  return values.map(([name, one]) => {
    if (name.includes("=")) return { line: given, argument: wrong(`has the name ${quote(name)}`) };
    return ["string", "number", "boolean"].includes(typeof one)
      ? { line: name, argument: right(`${name}=${String(one)}`) }
      : { line: given, argument: wrong(`has a value for ${quote(name)} that is not a string`) };
  });
}

/** Values of one line are trimmed. Those of several lines, in the format of GITHUB_OUTPUT, stay as they are. */
function readLines(given: string): readonly Line[] {
  const found: Line[] = [];
  const lines = given.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? "").trim();
    if (line === "") continue;
    const [, name, delimiter] = /^([^=<]*)<<(.*)$/.exec(line) ?? [];
    if (name === undefined || delimiter === undefined) {
      found.push({ line, argument: right(line.replace(/^([^=]*=)\s+/, "$1")) });
      continue;
    }
    const closing = delimiter.trim();
    const end = lines.findIndex((one, index) => index > at && one.trim() === closing);
    if (closing === "" || end === -1) {
      const problem = `begins a value of several lines, but no line ${quote(closing)} ends it`;
      return [...found, { line, argument: wrong(problem) }];
    }
    found.push({ line, argument: right(`${name}=${lines.slice(at + 1, end).join("\n")}`) });
    at = end;
  }
  return found;
}

const texts = must("be an object of strings", kind.recordOf(isText));

/** Inputs of an entry. `NAME=@FILE` on the command line, the text of a file, is read later. */
export const inputs = assignments<Inputs>(
  "topic=security",
  {},
  (assignment, earlier) => kind.addOnce(assignment, earlier, "input"),
  texts,
);

/** The run sets these itself, or they are options of their own: a parameter of such a name could never be read. */
const ownNames: readonly string[] = ["STATUS", "RESULT", "CONTENT", "USER_INPUT"];

export const params = assignments<Params>("BRANCH=main", {}, addParam, texts);

function addParam([name, value]: Assignment, earlier: Params): Parsed<Params> {
  if (!nameForm.test(name)) {
    return wrong(
      `has the name ${quote(name)}. A name consists of letters, digits and _, and doesn't begin with a digit`,
    );
  }
  return ownNames.includes(name)
    ? wrong(`names ${name}, which the run sets itself and can't be a parameter`)
    : kind.addOnce([name, value], earlier, "parameter");
}

export const answers = assignments<Answers>(
  "ASK_NAME=yes",
  {},
  addAnswer,
  must("be an object of lists of strings", kind.recordOf(kind.listOf(isText))),
);

function addAnswer([id, answer]: Assignment, earlier: Answers): Parsed<Answers> {
  if (/^ASK\w*$/.test(id)) return right({ ...earlier, [id]: [...(earlier[id] ?? []), answer] });
  return wrong(
    `has the name ${quote(id)}. An answer has the id of its ASK, for example ASK_NAME=yes`,
  );
}

/** Values that an entry or a workflow gets by name. */
export interface Named {
  readonly inputs: Inputs;
  readonly params: Params;
  readonly answers: Answers;
}

/** Inputs of an entry or parameters of a workflow, and answers, which have the ids of their questions. */
export function named(isWorkflow: boolean): Repeated<Named> {
  const add = (given: string, earlier: Named): Parsed<Named> => {
    if (/^\s*ASK_\w+\s*=/.test(given))
      return andThen(answers.parse(given, earlier.answers), (all) =>
        right({ ...earlier, answers: all }),
      );
    const field = isWorkflow ? "params" : "inputs";
    const texts = (isWorkflow ? params : inputs).parse(given, earlier[field]);
    return andThen(texts, (all) => right({ ...earlier, [field]: all }));
  };
  const none = { inputs: {}, params: {}, answers: {} };
  return kind.several<Named>(none, add, must("be an object", isRecord), linesOf);
}
