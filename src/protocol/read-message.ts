/**
 * The answer of a model as a document of the protocol, checked against the schema.
 *
 * Never throws. Size and nesting are checked before anything that recurses or compares sees the text. Objects of the
 * document have no prototype, and `__proto__` is nowhere in it.
 */
import { isList, isRecord } from "../document/guards.ts";
import { readJson } from "../document/json.ts";
import { plainCopy } from "../document/plain.ts";
import type { Path } from "../document/problem.ts";
import { emptyObject } from "../document/read-text.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { textPositions } from "../document/text-position.ts";
import { messageSchema } from "./message-schema.ts";
import { type ActionDocument, pointerOf, type ProblemCode, type ProtocolProblem } from "./model.ts";
import { clipWords } from "../events/cut.ts";

const messageLimits = {
  characters: 1_000_000,
  /** Objects, lists, texts, numbers… in a document. Bounds the time of checks that compare values pairwise. */
  values: 10_000,
  nesting: 100,
  /** Problems that are reported for one document, and the size of each. */
  problems: 20,
  pathCharacters: 300,
  reasonCharacters: 500,
  /** Elements of lists whose faults are explained: of each list, and of all together. */
  listElements: 40,
  elements: 1_000,
} as const;

export type Rejected = {
  readonly kind: "rejected";
  readonly problems: readonly ProtocolProblem[];
};
export type ReadMessage = { readonly kind: "read"; readonly document: ActionDocument } | Rejected;

/** More than are reported, because several can be one fault. Explaining thousands would take seconds. */
const explained = 10 * messageLimits.problems;
const schema = schemaCheck<ActionDocument>(messageSchema, "document", explained);

/** `answer` is the text of a model, or a document as a value. */
export function readMessage(answer: unknown): ReadMessage {
  const parsed = typeof answer === "string" ? parse(answer) : copy(answer);
  if (parsed.kind === "rejected") return parsed;
  const { value } = parsed;
  const unsafe = scan(value);
  if (unsafe !== undefined) return reject([unsafe]);
  if (schema.accepts(value)) return { kind: "read", document: value };
  const listed = schema.problems(withoutRests(value));
  // Or what is wrong lies in the rests.
  const problems = listed.length > 0 ? listed : schema.problems(value);
  return reject(
    problems.flatMap((problem): ProtocolProblem[] => {
      if (problem === undefined) return [];
      const { path, reason, hint } = problem;
      const message = hint === undefined ? reason : `${reason} (${hint})`;
      return [{ path: pointerOf(path), code: "schema", message }];
    }),
  );
}

/** The document with the beginnings of its lists. To explain the same fault of thousands of elements takes seconds. */
function withoutRests(root: unknown): unknown {
  let rest: number = messageLimits.elements;
  const copied = (value: unknown): unknown => {
    if (isList(value)) {
      const elements: unknown[] = [];
      for (const element of value.slice(0, messageLimits.listElements)) {
        if (rest-- <= 0) break;
        elements.push(copied(element));
      }
      return elements;
    }
    if (!isRecord(value)) return value;
    const fields = emptyObject();
    for (const key of Object.keys(value)) fields[key] = copied(value[key]);
    return fields;
  };
  return copied(root);
}

/** The first problems, in a bounded size, and how many there are beyond them. */
export function reject(problems: readonly ProtocolProblem[]): Rejected {
  const { problems: most, pathCharacters, reasonCharacters } = messageLimits;
  const listed = problems.slice(0, most).map(({ path, code, message }) => ({
    path: shortened(path, pathCharacters),
    code,
    message: shortened(message, reasonCharacters),
  }));
  const rest = problems.length - most;
  if (rest <= 0) return { kind: "rejected", problems: listed };
  const [first] = problems;
  const more: ProtocolProblem = {
    path: "",
    code: first?.code ?? "schema",
    message: `At least ${rest} more problems are not listed.`,
  };
  return { kind: "rejected", problems: [...listed, more] };
}

function shortened(text: string, limit: number): string {
  return text.length <= limit ? text : clipWords(text, limit - 1);
}

type Parsed = { readonly kind: "parsed"; readonly value: unknown } | Rejected;

function parse(answer: string): Parsed {
  const whole = (code: ProblemCode, message: string): Parsed =>
    reject([{ path: "", code, message }]);
  if (answer.length > messageLimits.characters) {
    return whole(
      "too_large",
      `The answer has ${answer.length} characters. The maximum is ${messageLimits.characters}.`,
    );
  }
  const text = withoutFence(answer);
  if (/^\s*$/.test(text)) return whole("not_json", "The answer is empty.");
  const read = readJson(text, { bytes: messageLimits.characters, nesting: messageLimits.nesting });
  if (read.kind === "read") return { kind: "parsed", value: read.value };
  const positionOf = textPositions(text);
  return reject(
    read.faults.map(({ offset, reason, hint }) => {
      const { line, column } = positionOf(Math.min(offset, text.length));
      const said = reason.replace(/\b([Tt]he) file\b/, "$1 answer");
      const help = hint === undefined ? "" : ` (${hint})`;
      return {
        path: "",
        code: "not_json",
        message: `Not one JSON document: line ${line}, column ${column}: ${said}${help}`,
      };
    }),
  );
}

function copy(value: unknown): Parsed {
  const copied = plainCopy(value);
  if (copied.kind === "copied") return { kind: "parsed", value: copied.value };
  return reject([{ path: pointerOf(copied.path), code: "not_json", message: copied.reason }]);
}

const fence = /^(`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*$/;
/** The pattern takes the square of the length of a line that is no fence. */
const longestFence = 100;

/** The text within one code fence around the whole answer. Anything else stays as it is. */
function withoutFence(answer: string): string {
  const text = trimmed(answer);
  const firstEnd = text.indexOf("\n");
  const lastStart = text.lastIndexOf("\n");
  if (lastStart <= firstEnd || firstEnd > longestFence) return answer;
  const mark = fence.exec(text.slice(0, firstEnd).replace(/\r$/, ""))?.[1];
  if (mark === undefined || text.slice(lastStart + 1) !== mark) return answer;
  return text.slice(firstEnd + 1, lastStart);
}

/** Without white space of JSON around it. A pattern for the end would take the square of the length. */
function trimmed(text: string): string {
  const isSpace = (index: number): boolean => " \t\r\n".includes(text.charAt(index));
  let from = 0;
  let to = text.length;
  while (from < to && isSpace(from)) from += 1;
  while (to > from && isSpace(to - 1)) to -= 1;
  return text.slice(from, to);
}

/** Too many values, too much text, or a name that must never be a key. */
function scan(root: unknown): ProtocolProblem | undefined {
  let values = 0;
  let characters = 0;
  const tooMany = (limit: number, what: string): ProtocolProblem => ({
    path: "",
    code: "too_large",
    message: `The document has more than ${limit} ${what}.`,
  });
  const visit = (value: unknown, path: Path): ProtocolProblem | undefined => {
    if (++values > messageLimits.values) return tooMany(messageLimits.values, "values");
    if (typeof value === "string") characters += value.length;
    if (characters > messageLimits.characters) {
      return tooMany(messageLimits.characters, "characters");
    }
    if (isList(value)) {
      for (const [index, item] of value.entries()) {
        const problem = visit(item, [...path, index]);
        if (problem !== undefined) return problem;
      }
    } else if (isRecord(value)) {
      for (const key of Object.keys(value)) {
        characters += key.length;
        if (key === "__proto__") {
          const message = `The key "__proto__" is not allowed.`;
          return { path: pointerOf([...path, key]), code: "forbidden_name", message };
        }
        const problem = visit(value[key], [...path, key]);
        if (problem !== undefined) return problem;
      }
    }
    return undefined;
  };
  return visit(root, []);
}
