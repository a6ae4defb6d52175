/** The state of the pull request or the workflow run, which a rehearsal doesn't read from GitHub. */
import { severities } from "../../entry/outputs.ts";
import type { SchemaType } from "../../document/describe.ts";
import { flag, list, nonEmpty, text, whole } from "./schema-parts.ts";

const finding = { ...nonEmpty, description: "F1 is the first one of `findings`." } as const;

export const github = {
  type: "object",
  description: "The state of the pull request or the workflow run on GitHub.",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    failedChecks: list("The failed checks of $failed-checks. An empty list: none has failed.", {
      type: "object",
      additionalProperties: false,
      required: ["name"],
      properties: {
        name: { ...nonEmpty, description: "The workflow, the job and the step." },
        log: text("The end of its log."),
      },
    }),
    findings: list(
      "$previous-findings: the findings of earlier runs, oldest first. Their ids are F1, F2, …",
      {
        type: "object",
        additionalProperties: false,
        required: ["path", "rule", "text"],
        properties: {
          path: text("Its file."),
          line: whole(1, "Its line now. Absent: the line is no longer in the diff."),
          code: text(
            "The text of its line. A finding with the same rule at such a line is the same finding.",
          ),
          rule: text("Its rule."),
          severity: { enum: severities, description: "Default: warning." },
          text: text("What it says."),
          key: text("Its fingerprint, in a recording. Default: made of rule, path and code."),
        },
      },
    ),
    threads: list("The threads of findings. Default: open.", {
      type: "object",
      additionalProperties: false,
      required: ["finding"],
      properties: {
        finding,
        resolved: flag("A run of the job, or an unknown user, has resolved it."),
        resolvedBy: text("The login of a person with write access who has resolved it."),
        outdated: flag("GitHub marks the thread as outdated."),
        gone: flag("The text of its line is no longer in the file."),
      },
    }),
    replies: list("The replies in threads, oldest first.", {
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
