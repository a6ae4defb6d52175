/** The JSON Schema of what a job publishes. */
import { defaultOutputs, severities, verdicts } from "./outputs.ts";
import { listOf, names, object, text } from "./schema-parts.ts";

const from = {
  ...listOf("task"),
  minItems: 1,
  description: "The tasks whose contributions count.",
};
const list = { ...names, minItems: 1 };

function kind(description: string, more: object = {}, required: readonly string[] = []): object {
  const { max } = defaultOutputs.proposals;
  const most = { type: "integer", minimum: 1, maximum: 100, default: max };
  return object({ max: most, ...more }, required, { description });
}

const report = object(
  {
    from,
    comment: {
      const: "sticky",
      description: "One comment on the pull request, which every run of the job updates.",
    },
    when: {
      enum: ["success", "always"],
      default: "success",
      description: "always: also if the job failed.",
    },
  },
  [],
  { description: "Default: the report of the last task that gave one, in the summary only." },
);

const findings = object(
  {
    from,
    max: { type: "integer", minimum: 1, maximum: 1000, default: defaultOutputs.findings.max },
    review: {
      const: "comment",
      description: "One review of the pull request, with a comment at each line.",
    },
    failOn: {
      enum: [...severities, "never"],
      default: defaultOutputs.findings.failOn,
      description: "The step fails from this severity on.",
    },
    minSeverity: {
      enum: severities,
      default: defaultOutputs.findings.minSeverity,
      description: "Findings below it are dropped.",
    },
  },
  [],
);

const verdict = object(
  {
    from,
    failOn: {
      enum: [...verdicts.filter((word) => word !== "pass"), "never"],
      default: defaultOutputs.verdict.failOn,
      description: "The step fails from this verdict on.",
    },
  },
  [],
);

const proposals = object(
  {
    from,
    comment: kind("Comments on the issue or pull request of the event."),
    label: kind(
      "Labels for the issue or pull request of the event.",
      { allowed: { ...list, description: "The only labels that may be added." } },
      ["allowed"],
    ),
    reviewers: kind("Reviewers of the pull request of the event.", {
      allowed: { ...list, description: "The only logins, or org/team. Default: anybody." },
    }),
    issue: kind("New issues.", { titlePrefix: text }),
    pull_request: kind("New pull requests with the changes in the working directory.", {
      branchPrefix: {
        type: "string",
        minLength: 1,
        default: defaultOutputs.proposals.branchPrefix,
        description: "The start of the name of the branch.",
      },
      draft: { type: "boolean", default: defaultOutputs.proposals.draft },
      paths: {
        ...listOf("glob"),
        minItems: 1,
        description: "Globs of the files that it may change. Default: all but .github/.",
      },
    }),
    close: kind("Closes the issue or pull request of the event."),
  },
  [],
  { description: "What agents may propose; the runner does it after the job." },
);

export const outputs = object({ report, findings, verdict, proposals }, [], {
  title: "Outputs",
  description: "What a job publishes. Default: annotations and the summary.",
});
