/** What earlier runs left on the pull request, and what people did with it. A rehearsal asks GitHub nothing. */
import { severities } from "../../entry/outputs.ts";
import type { SchemaType } from "../../document/describe.ts";
import type { Conversation, PreviousFinding } from "../../events/conversation.ts";
import { fingerprintOf } from "../../outputs/check-finding.ts";
import { defined } from "../../text/guards.ts";
import type { Reading } from "./reading.ts";
import { flag, list, nonEmpty, text, whole } from "./schema-parts.ts";

const finding = { ...nonEmpty, description: "F1 is the first one of `findings`." } as const;

export const github = {
  type: "object",
  description:
    "The pull request as earlier runs of the job left it: $previous-findings. GitHub is not asked.",
  additionalProperties: false,
  properties: {
    findings: list("The findings of earlier runs, the oldest first. They are F1, F2, …", {
      type: "object",
      additionalProperties: false,
      required: ["path", "rule", "text"],
      properties: {
        path: text("Its file."),
        line: whole(1, "Where it is now. Absent: GitHub finds its line no more."),
        code: text(
          "The text of its line. A finding with the same rule at such a line is the same finding.",
        ),
        rule: text("Its rule."),
        severity: { enum: severities, description: "Default: warning." },
        text: text("What it says."),
        key: text("Its fingerprint, in a recording. Default: made of rule, path and code."),
      },
    }),
    threads: list("The threads of findings. Default: open.", {
      type: "object",
      additionalProperties: false,
      required: ["finding"],
      properties: {
        finding,
        resolved: flag("A run of the job, or an unknown user, has resolved it."),
        resolvedBy: text("The login of a person with write access who has resolved it."),
        outdated: flag("GitHub finds its line no more."),
        gone: flag("The text of its line is no longer in the file."),
      },
    }),
    replies: list("The replies in threads, the oldest first.", {
      type: "object",
      additionalProperties: false,
      required: ["finding", "text"],
      properties: {
        finding,
        author: text("A login with write access. Absent: an earlier run of the job."),
        text: text("What it says."),
      },
    }),
  },
} as const;

export type GithubFields = SchemaType<typeof github>;

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
