/** The replies of a turn: what their fields mean together, and what can't be together. */
import { defined } from "../../document/guards.ts";
import type { Path } from "../../document/problem.ts";
import { completeDocument } from "./document-fields.ts";
import type { Reading } from "./expectation.ts";
import type { ReplyFields, ToolField } from "./rehearsal-schema.ts";
import type { Play, Reply, ToolEnding } from "./script.ts";

interface Located {
  readonly fields: ReplyFields;
  readonly path: Path;
}

const endings = ["error", "cut", "hang", "die"] as const;

/** Reports what contradicts itself. */
export function checkReplies(replies: readonly Located[], reading: Reading): void {
  let last: ReplyFields | undefined;
  let final: string | undefined;
  for (const reply of replies) {
    const { fields, path } = reply;
    if (final !== undefined) {
      const reason = `This reply is unreachable: "${final}" before it happens on every request.`;
      const repeats = final === "error" || final === "cut";
      const hint = 'set "times" to limit how often it happens';
      return reading.problem(path, reason, repeats ? hint : undefined);
    }
    checkReply(reply, reading);
    if (fields.toolResults !== undefined && last?.tools === undefined)
      reading.problem([...path, "toolResults"], "The previous reply calls no tools.");
    const ending = endings.find((name) => fields[name] !== undefined);
    if (ending === undefined) last = fields;
    else if (fields.times === undefined) final = ending;
  }
}

function checkReply({ fields, path }: Located, reading: Reading): void {
  const [ending, second] = endings.filter((name) => fields[name] !== undefined);
  const refuse = (name: string, reason: string): void => reading.problem([...path, name], reason);
  if (ending === undefined) {
    if (fields.times !== undefined) refuse("times", 'Only "error" and "cut" can have "times".');
    const { text, document, reasoning, tools } = fields;
    const isEmpty = [text, document, reasoning, tools].every((one) => one === undefined);
    if (isEmpty && Object.keys(fields).length > 0) {
      const hint = 'give it a "text", "tools" or an "error"; an empty "text" is an empty answer';
      reading.problem(path, "This reply is empty.", hint);
    }
    if (text !== undefined && document !== undefined) {
      refuse("document", 'A reply has either a "text" or a "document".');
    }
    for (const [index, tool] of (tools ?? []).entries()) {
      if (tool.denied !== true || tool.fails === undefined) continue;
      const reason = 'A call that is "denied" does not run, so it has no "fails".';
      const hint =
        'remove one of them; "toolResults" of the next reply can check the text of the denial';
      reading.problem([...path, "tools", index, "fails"], reason, hint);
    }
    return;
  }
  if (second !== undefined) refuse(second, `A reply is either "${ending}" or "${second}".`);
  for (const name of ["document", "tools", "finish", "usage"] as const) {
    if (fields[name] !== undefined)
      refuse(name, `A reply with "${ending}" never ends, so it has no "${name}".`);
  }
  for (const name of ["text", "reasoning"] as const) {
    if (fields[name] !== undefined && (ending === "error" || ending === "die"))
      refuse(name, `Nothing arrives before "${ending}".`);
  }
  if (fields.times !== undefined && ending !== "error" && ending !== "cut") {
    refuse("times", 'Only "error" and "cut" can have "times".');
  }
}

export function toReply({ fields, path }: Located, reading: Reading): Reply {
  const { toolResults } = fields;
  return {
    place: reading.placeOf(path),
    implied: false,
    ...(toolResults === undefined
      ? {}
      : { toolResults: reading.condition(toolResults, [...path, "toolResults"]) }),
    after: [fields.after ?? []].flat(),
    delayMs: fields.delay ?? 0,
    play: toPlay({ fields, path }, reading),
  };
}

function toPlay({ fields, path }: Located, reading: Reading): Play {
  const { text = "", document, reasoning = "", error, cut, hang, die, times } = fields;
  const repeated = defined({ times });
  if (error !== undefined) {
    const { status, message, headers = {} } = typeof error === "number" ? { status: error } : error;
    return {
      kind: "error",
      status,
      message: message ?? `The rehearsal answers with status ${status}.`,
      headers,
      ...repeated,
    };
  }
  if (cut === true) return { kind: "cut", partial: { text, reasoning }, ...repeated };
  if (hang === true) return { kind: "hang", partial: { text, reasoning } };
  if (die === true) return { kind: "die" };
  const tools = (fields.tools ?? []).map((tool, index) => ({
    place: reading.placeOf([...path, "tools", index]),
    name: tool.name,
    input:
      typeof tool.arguments === "string" ? tool.arguments : JSON.stringify(tool.arguments ?? {}),
    unknown: tool.unknown === true,
    expected: endingOf(tool),
  }));
  const { finish, usage = {} } = fields;
  const { input = 0, output = 0 } = usage;
  return {
    kind: "answer",
    ...(document === undefined
      ? { text }
      : { text: JSON.stringify(completeDocument(document)), isDocument: true }),
    reasoning,
    tools,
    ...defined({ finish }),
    usage: { input, output },
  };
}

function endingOf({ denied, fails, unknown }: ToolField): ToolEnding {
  if (denied === true) return { kind: "denied" };
  if (fails !== undefined) return { kind: "fails", text: fails };
  return unknown === true ? { kind: "fails", text: "" } : { kind: "succeeds" };
}

/** After tools, the model always gets another request. A script may omit the reply to it. */
export function withImpliedEnd(replies: readonly Reply[], place: string): readonly Reply[] {
  const last = replies.at(-1)?.play;
  if (last?.kind !== "answer" || last.tools.length === 0) return replies;
  const play: Play = {
    kind: "answer",
    text: "Done.",
    reasoning: "",
    tools: [],
    usage: { input: 0, output: 0 },
  };
  return [...replies, { place, implied: true, after: [], delayMs: 0, play }];
}
