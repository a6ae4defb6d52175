/** The replies of a turn: what their fields mean together, and what can't be together. */
import type { Path } from "../../document/problem.ts";
import type { Reading } from "./reading.ts";
import type { ReplyFields } from "./rehearsal-schema.ts";
import type { Reply, ReplyKind } from "./script.ts";

interface Located {
  readonly fields: ReplyFields;
  readonly path: Path;
}

const endings = ["error", "cut", "hang", "die"] as const;

export function checkReplies(replies: readonly Located[], reading: Reading): void {
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

export function toReply({ fields, path }: Located, reading: Reading): Reply {
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
export function withImpliedEnd(replies: readonly Reply[], place: string): readonly Reply[] {
  if ((replies.at(-1)?.tools ?? []).length === 0) return replies;
  return [
    ...replies,
    { place, implied: true, kind: "answer", text: "Done.", after: [], tools: [] },
  ];
}
