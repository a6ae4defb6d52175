/** Kinds of values that are given by name, one `NAME=value` after the other. */
import { isRecord, isText, parsedJson } from "../text/guards.ts";
import type { Answers } from "../workflow/kinds/ask.ts";
import {
  addOnce,
  listOf,
  must,
  nameForm,
  quote,
  recordOf,
  right,
  wrong,
  type Assignment,
  type Check,
  type Line,
  type Parsed,
  type Repeated,
  type Texts,
} from "./option-kinds.ts";

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

/** `takesJson`: an input may also be a JSON object, whose values nobody can break out of. */
function assignments<T>(
  example: string,
  none: T,
  add: (assignment: Assignment, earlier: T) => Parsed<T>,
  check: Check,
  takesJson = false,
): Repeated<T> {
  const added = (read: Parsed<Assignment>, earlier: T): Parsed<T> =>
    read.kind === "wrong" ? read : add(read.value, earlier);
  const lines = (given: string): readonly Line<T>[] => {
    const isJson = takesJson && given.trimStart().startsWith("{");
    const read = isJson ? readObject(given) : readAssignments(given, example);
    return read.map(([line, one]) => ({ line, add: (earlier) => added(one, earlier) }));
  };
  return {
    parse: (given, earlier = none) => added(parseAssignment(given, example), earlier),
    check,
    several: { none, lines },
  };
}

type AssignmentLine = readonly [line: string, read: Parsed<Assignment>];

function readObject(given: string): readonly AssignmentLine[] {
  const value = parsedJson(given);
  if (!isRecord(value)) return [[given, wrong("is not a JSON object")]];
  // A list has several answers to one question.
  const values = Object.entries(value).flatMap(([name, one]) =>
    [one].flat().map((each: unknown) => [name, each] as const),
  );
  return values.map(([name, one]) =>
    ["string", "number", "boolean"].includes(typeof one)
      ? [name, right([name, String(one)] as const)]
      : [given, wrong(`has a value for ${quote(name)} that is not a string`)],
  );
}

/** `NAME=value`, trimmed; and values of several lines, as they are, in the format of GITHUB_OUTPUT. */
function readAssignments(given: string, example: string): readonly AssignmentLine[] {
  const found: AssignmentLine[] = [];
  const lines = given.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? "").trim();
    if (line === "") continue;
    const [, name, delimiter] = /^([^=<]*)<<(.*)$/.exec(line) ?? [];
    if (name === undefined || delimiter === undefined) {
      const read = parseAssignment(line, example);
      const value = read.kind === "wrong" ? "" : read.value[1].trim();
      found.push([line, read.kind === "wrong" ? read : right([read.value[0], value] as const)]);
      continue;
    }
    const closing = delimiter.trim();
    const end = lines.findIndex((one, index) => index > at && one.trim() === closing);
    if (closing === "" || end === -1) {
      const problem = `begins a value of several lines, but no line ${quote(closing)} ends it`;
      return [...found, [line, wrong(problem)]];
    }
    found.push([line, right([name.trim(), lines.slice(at + 1, end).join("\n")] as const)]);
    at = end;
  }
  return found;
}

const texts = must("be an object of strings", recordOf(isText));

/** Values that an entry or a workflow gets by name. */
export interface Named {
  readonly inputs: Inputs;
  readonly params: Params;
  readonly answers: Answers;
}

/** Inputs of an entry or parameters of a workflow, and answers, which have the ids of their questions. */
export function named(isWorkflow: boolean): Repeated<Named> {
  return assignments<Named>(
    isWorkflow ? "BRANCH=main" : "topic=security",
    { inputs: {}, params: {}, answers: {} },
    (assignment, earlier) => {
      const [name] = assignment;
      const field = /^ASK_\w+$/.test(name) ? "answers" : isWorkflow ? "params" : "inputs";
      const added =
        field === "answers"
          ? addAnswer(assignment, earlier.answers)
          : field === "params"
            ? addParam(assignment, earlier.params)
            : addOnce(assignment, earlier.inputs, "input");
      return added.kind === "wrong" ? added : right({ ...earlier, [field]: added.value });
    },
    must("be an object", isRecord),
    true,
  );
}

/** Inputs of an entry. `NAME=@FILE` on the command line, the text of a file, is read later. */
export const inputs = assignments<Inputs>(
  "topic=security",
  {},
  (assignment, earlier) => addOnce(assignment, earlier, "input"),
  texts,
  true,
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
    : addOnce([name, value], earlier, "parameter");
}

export const answers = assignments<Answers>(
  "ASK_NAME=yes",
  {},
  addAnswer,
  must("be an object of lists of strings", recordOf(listOf(isText))),
);

function addAnswer([id, answer]: Assignment, earlier: Answers): Parsed<Answers> {
  if (/^ASK\w*$/.test(id)) return right({ ...earlier, [id]: [...(earlier[id] ?? []), answer] });
  return wrong(
    `has the name ${quote(id)}. An answer has the id of its ASK, for example ASK_NAME=yes`,
  );
}
