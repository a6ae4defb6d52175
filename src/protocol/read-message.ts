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
import { compileSchema } from "../document/schema-check.ts";
import { textPositions } from "../document/text-position.ts";
import { messageSchema } from "./message-schema.ts";
import { type ActionDocument, pointerOf, type ProblemCode, type ProtocolProblem } from "./model.ts";

const messageLimits = {
  characters: 1_000_000,
  /** Objects, lists, texts, numbers… in a document. Bounds the time of checks that compare values pairwise. */
  values: 10_000,
  nesting: 100,
  /** Problems that are reported for one document. */
  problems: 20,
} as const;

export type Rejected = {
  readonly kind: "rejected";
  readonly problems: readonly ProtocolProblem[];
};
export type ReadMessage = { readonly kind: "read"; readonly document: ActionDocument } | Rejected;

/** More than are reported, because several can be one fault. Explaining thousands would take seconds. */
const explained = 10 * messageLimits.problems;
const schema = compileSchema<ActionDocument>(messageSchema, "document", () => false, explained);

/** `answer` is the text of a model, or a document as a value. */
export function readMessage(answer: unknown): ReadMessage {
  const parsed = typeof answer === "string" ? parse(answer) : copy(answer);
  if (parsed.kind === "rejected") return parsed;
  const { value } = parsed;
  const unsafe = scan(value);
  if (unsafe !== undefined) return reject([unsafe]);
  if (schema.accepts(value)) return { kind: "read", document: value };
  return reject(
    schema.problems(value).map(({ path, reason, hint }) => ({
      path: pointerOf(path),
      code: "schema",
      message: hint === undefined ? reason : `${reason} (${hint})`,
    })),
  );
}

/** The first problems, and how many there are beyond them. */
export function reject(problems: readonly ProtocolProblem[]): Rejected {
  const rest = problems.length - messageLimits.problems;
  if (rest <= 0) return { kind: "rejected", problems };
  const [first] = problems;
  const more: ProtocolProblem = {
    path: "",
    code: first?.code ?? "schema",
    message: `${rest} more problems are not listed.`,
  };
  return { kind: "rejected", problems: [...problems.slice(0, messageLimits.problems), more] };
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

/** The text within one code fence around the whole answer. Anything else stays as it is. */
function withoutFence(answer: string): string {
  const text = answer.replace(/^[ \t\r\n]+/, "").replace(/[ \t\r\n]+$/, "");
  const firstEnd = text.indexOf("\n");
  const lastStart = text.lastIndexOf("\n");
  if (firstEnd === -1 || lastStart <= firstEnd) return answer;
  const mark = fence.exec(text.slice(0, firstEnd).replace(/\r$/, ""))?.[1];
  if (mark === undefined || text.slice(lastStart + 1) !== mark) return answer;
  return text.slice(firstEnd + 1, lastStart);
}

/** Too many values, or a name that must never be a key. */
function scan(root: unknown): ProtocolProblem | undefined {
  let values = 0;
  const visit = (value: unknown, path: Path): ProtocolProblem | undefined => {
    if (++values > messageLimits.values) {
      return {
        path: "",
        code: "too_large",
        message: `The document has more than ${messageLimits.values} values.`,
      };
    }
    if (isList(value)) {
      for (const [index, item] of value.entries()) {
        const problem = visit(item, [...path, index]);
        if (problem !== undefined) return problem;
      }
    } else if (isRecord(value)) {
      for (const key of Object.keys(value)) {
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
