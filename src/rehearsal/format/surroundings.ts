/** The folder that a rehearsal works in, the change that it is about, and what GitHub has. */
import { posix, win32 } from "node:path";
import type { SchemaType } from "../../document/describe.ts";
import { severities } from "../../entry/outputs.ts";
import { list, map, name, object, text, textOf, whole } from "../../entry/schema-parts.ts";
import type { Conversation, PreviousFinding } from "../../events/output-shapes.ts";
import { fileStatus } from "../../events/plan.ts";
import { fingerprintOf } from "../../outputs/check-finding.ts";
import { defined } from "../../text/guards.ts";
import type { Report } from "./expect.ts";

const commit = object(
  {
    message: { ...name, description: "The commit message." },
    branch: {
      ...name,
      description:
        "The branch. A new branch starts at the previous commit. Default: the branch of the previous commit, or main.",
    },
    files: map({ type: ["string", "null"] } as const, {
      description: "New contents by path. null removes the file.",
    }),
  },
  ["message", "files"],
);

export const workspace = object(
  {
    files: map(text, { description: "Contents by path." }),
    include: list(
      name,
      "Instead of files: ignored files and folders that a copy of the working directory includes, such as node_modules. Relative to the working directory.",
      { minItems: 1 },
    ),
    git: {
      type: "boolean",
      description:
        "Makes the folder a git repository, with one commit of all the files on the branch main. Default: true if there are commits, else false.",
    } as const,
    commits: list(
      commit,
      "Further commits, in this order. The branch of the last one is checked out, so that `git diff main...HEAD` shows its changes.",
      { minItems: 1 },
    ),
  },
  [],
  {
    description:
      "A new folder with these files instead of `workingDirectory`, or what a copy of `workingDirectory` includes. Removed after the run.",
  },
);
export type Workspace = SchemaType<typeof workspace>;

const lines = (description: string) =>
  ({ type: ["integer", "null"], minimum: 0, description }) as const;

const changedFile = object(
  {
    path: textOf("With /, relative to the root of the repository."),
    status: { enum: fileStatus.enum, description: "Default: modified." },
    additions: lines("Added lines; null in a binary file. Default: 0."),
    deletions: lines("Removed lines; null in a binary file. Default: 0."),
    previousPath: textOf("Of a file that was renamed or copied."),
    isSubmodule: { const: true, description: "It is a submodule." } as const,
    isLeftOut: { const: true, description: "Its lines can't be shown." } as const,
  },
  ["path"],
);

export const change = object(
  {
    base: textOf("The base: its name in the workspace, or with `files` what $change-base is."),
    head: textOf("With `files`: what $change-head is."),
    files: list(changedFile, "The changed files, as data. An empty list is an empty change."),
    notes: list(text, "With `files`: what is not shown of them, in sentences."),
    diff: textOf("With `files`: the content of the file $change-diff. Default: empty."),
  },
  [],
  {
    description:
      "The change that the job is about. With `base` alone, git compares the workspace with it. Default: what the commits of the workspace have done since they left main, or the last of them.",
    minProperties: 1,
  },
);

const findingId = { ...name, description: "F1 is the first one of `findings`." } as const;
const yes = (description: string) => ({ type: "boolean", const: true, description }) as const;

const failedCheck = object(
  {
    name: { ...name, description: "The workflow, the job and the step." },
    log: textOf("The end of its log."),
  },
  ["name"],
);

const finding = object(
  {
    path: textOf("Its file."),
    line: whole("Its line now. Absent: the line is no longer in the diff."),
    code: textOf(
      "The text of its line. A finding with the same rule at such a line is the same finding.",
    ),
    rule: textOf("Its rule."),
    severity: { enum: severities, description: "Default: warning." },
    text: textOf("What it says."),
    key: textOf("Its fingerprint, in a recording. Default: made of rule, path and code."),
  },
  ["path", "rule", "text"],
);

const thread = object(
  {
    finding: findingId,
    resolved: yes("A run of the job, or an unknown user, has resolved it."),
    resolvedBy: textOf("The login of a person with write access who has resolved it."),
    outdated: yes("GitHub marks the thread as outdated."),
    gone: yes("The text of its line is no longer in the file."),
  },
  ["finding"],
);

const reply = object(
  {
    finding: findingId,
    author: textOf("A login with write access. Absent: an earlier run of the job."),
    text: textOf("What it says."),
  },
  ["finding", "text"],
);

export const github = object(
  {
    failedChecks: list(
      failedCheck,
      "The failed checks of $failed-checks. An empty list: none has failed.",
    ),
    findings: list(
      finding,
      "$previous-findings: the findings of earlier runs, oldest first. Their ids are F1, F2, …",
    ),
    threads: list(thread, "The threads of findings. Default: open."),
    replies: list(reply, "The replies in threads, oldest first."),
  },
  [],
  {
    description: "The state of the pull request or the workflow run on GitHub.",
    minProperties: 1,
  },
);
type GithubFields = SchemaType<typeof github>;

export function conversationOf(
  { findings = [], threads = [], replies = [] }: GithubFields,
  problem: Report,
): Conversation {
  const ids = findings.map((_, index) => `F${index + 1}`);
  for (const [list, all] of Object.entries({ threads, replies }))
    for (const [index, { finding: id }] of all.entries()) {
      const path = ["github", list, index, "finding"];
      const known = ids.length === 0 ? "add it to findings" : `the findings are ${ids.join(", ")}`;
      if (!ids.includes(id)) problem(path, `There is no finding ${JSON.stringify(id)}.`, known);
      else if (all === threads && threads.findIndex((one) => one.finding === id) !== index)
        problem(path, `${id} has two threads.`);
    }
  const previous = findings.map((one, index): PreviousFinding => {
    const { path, line, rule, text: words, code, severity = "warning" } = one;
    const id = ids[index] ?? "";
    const { resolvedBy, resolved, outdated, gone } = threads.find((of) => of.finding === id) ?? {};
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
        .filter((of) => of.finding === id)
        .map(({ author, text: said }) =>
          author === undefined
            ? { author: "github-actions", text: said, own: true }
            : { author, text: said },
        ),
    };
  });
  return { findings: previous, round: 0 };
}

/** For a recording. Undefined: there are no earlier findings. */
export function githubFields({ findings }: Conversation): GithubFields | undefined {
  if (findings.length === 0) return undefined;
  const threads = findings.flatMap(({ id, thread, resolvedBy, byPerson, outdated, gone }) => {
    const by = byPerson === true ? resolvedBy : undefined;
    const resolved = thread === "resolved" && by === undefined ? (true as const) : undefined;
    const fields = defined({ resolved, resolvedBy: by, outdated, gone });
    return Object.keys(fields).length === 0 ? [] : [{ finding: id, ...fields }];
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

export function refusedName(
  path: string,
): { readonly reason: string; readonly hint: string } | undefined {
  if (!isWithin(path)) {
    return {
      reason: "This is not a path inside the workspace.",
      hint: "write a relative path with /, without . and ..",
    };
  }
  if (path.split("/").some(isGitsOwn)) {
    return {
      reason:
        "On some systems, git would read this as a file of the repository, whose settings can start programs.",
      hint: 'set "git: true" to make the workspace a repository',
    };
  }
  return undefined;
}

/** A part of what git takes: no name that an option, a revision or a file of git's own could be taken for. */
export function isBranchName(branch: string): boolean {
  return (
    branch.length <= 200 &&
    /^[A-Za-z0-9_][A-Za-z0-9._/+=#-]*$/.test(branch) &&
    !/\.\.|\/\/|\/\.|[/.]$|\.lock(?:\/|$)/.test(branch) &&
    branch !== "HEAD"
  );
}

/** A relative path in its shortest form that stays below where it starts, with `/` on every system. */
function isWithin(path: string): boolean {
  return (
    path !== "" &&
    posix.normalize(path) === path &&
    !/^\.{0,2}(?:\/|$)|\/$|\\|\0/.test(path) &&
    !win32.isAbsolute(path)
  );
}

/** Also where a file system knows no case or ignores invisible characters, and with the endings that Windows ignores. */
function isGitsOwn(part: string): boolean {
  const seen = part.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC");
  return /^(?:\.git|git~\d+)[. ]*(?::.*)?$/is.test(seen);
}
