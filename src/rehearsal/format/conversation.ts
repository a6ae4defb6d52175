import type { Conversation, PreviousFinding } from "../../events/output-shapes.ts";
import { fingerprintOf } from "../../outputs/check-finding.ts";
import { defined } from "../../text/guards.ts";
import type { GithubFields } from "./fields.ts";
import type { Reading } from "./reading.ts";

export function conversationOf(
  { findings = [], threads = [], replies = [] }: GithubFields,
  reading: Reading,
): Conversation {
  const ids = findings.map((_, index) => `F${index + 1}`);
  const check = (list: string, all: readonly { readonly finding: string }[]): void => {
    for (const [index, { finding: id }] of all.entries())
      if (!ids.includes(id))
        reading.problem(
          ["github", list, index, "finding"],
          `There is no finding ${JSON.stringify(id)}.`,
          ids.length === 0 ? "add it to findings" : `the findings are ${ids.join(", ")}`,
        );
  };
  check("threads", threads);
  check("replies", replies);
  for (const [index, { finding: id }] of threads.entries())
    if (threads.findIndex((one) => one.finding === id) !== index)
      reading.problem(["github", "threads", index, "finding"], `${id} has two threads.`);
  const all = findings.map((one, index): PreviousFinding => {
    const { path, line, rule, text: words, code, severity = "warning" } = one;
    const id = ids[index] ?? "";
    const thread = threads.find((each) => each.finding === id);
    const { resolvedBy, resolved, outdated, gone } = thread ?? {};
    return {
      id,
      key: one.key ?? (code === undefined ? id : fingerprintOf(rule, path, code, 0)),
      severity,
      rule,
      path,
      ...defined({ line, resolvedBy, outdated, gone }),
      text: words,
      thread: resolved === true || resolvedBy !== undefined ? "resolved" : "open",
      ...(resolvedBy !== undefined && { byPerson: true }),
      replies: replies
        .filter((each) => each.finding === id)
        .map(({ author, text: reply }) =>
          author === undefined
            ? { author: "github-actions", text: reply, own: true }
            : { author, text: reply },
        ),
    };
  });
  return { findings: all, round: 0 };
}

/** For a recording. Undefined: there are no earlier findings. */
export function githubFields({ findings }: Conversation): GithubFields | undefined {
  if (findings.length === 0) return undefined;
  const threads = findings.flatMap(({ id, thread, resolvedBy, byPerson, outdated, gone }) => {
    const by = byPerson === true ? resolvedBy : undefined;
    const isResolved = thread === "resolved" && by === undefined;
    const fields = defined({ resolvedBy: by, outdated, gone });
    if (!isResolved && Object.keys(fields).length === 0) return [];
    return [{ finding: id, ...(isResolved && { resolved: true as const }), ...fields }];
  });
  const replies = findings.flatMap(({ id, replies: all }) =>
    all.map(({ author, text: words, own }) => ({
      finding: id,
      ...(own === true ? {} : { author }),
      text: words,
    })),
  );
  return {
    findings: findings.map(({ path, line, rule, severity, text: words, key }) => ({
      path,
      ...defined({ line }),
      rule,
      severity,
      text: words,
      key,
    })),
    ...(threads.length > 0 && { threads }),
    ...(replies.length > 0 && { replies }),
  };
}
