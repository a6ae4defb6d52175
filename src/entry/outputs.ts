import type { SchemaType } from "../document/describe.ts";
import { choice, flag, listOf, named, names, object, text } from "./schema-parts.ts";

export const severities = ["notice", "warning", "error"] as const;
export type Severity = (typeof severities)[number];

export const verdicts = ["pass", "needs-work", "reject"] as const;
export type VerdictWord = (typeof verdicts)[number];

export const proposalKinds = [
  "comment",
  "label",
  "reviewers",
  "issue",
  "pull_request",
  "push",
  "close",
] as const;
export type ProposalKind = (typeof proposalKinds)[number];

export const defaultOutputs = {
  findings: { max: 50, failOn: "never", minSeverity: "notice" },
  verdict: { failOn: "reject" },
  proposals: { max: 1, branchPrefix: "agent-jobs/", draft: true },
} as const;

interface Publishing {
  readonly outputs?: Outputs;
}

export function outputsOf(
  { outputs, jobs }: Publishing & { readonly jobs: Readonly<Record<string, Publishing>> },
  jobName: string,
): Outputs | undefined {
  return (Object.hasOwn(jobs, jobName) ? jobs[jobName]?.outputs : undefined) ?? outputs;
}

const from = listOf("task", "The tasks whose contributions count.", { minItems: 1 });
const list = { ...names, minItems: 1 };

const most = {
  type: "integer",
  minimum: 1,
  maximum: 100,
  default: defaultOutputs.proposals.max,
} as const;

const changed = listOf(
  "glob",
  "Globs of the files that it may change. Default: all but .github/.",
  {
    minItems: 1,
  },
);

const kind = (description: string) => object({ max: most }, [], { description });

const report = object(
  {
    from,
    comment: {
      const: "sticky",
      description: "One comment on the pull request, which every run of the job updates.",
    },
    when: choice(["success", "always"], "success", "always: also if the job failed."),
    progress: flag("The comment shows the steps while the job runs.", false),
  },
  [],
  { description: "Default: the report of the last task that gave one, in the summary only." },
);

const findings = object(
  {
    from,
    max: { type: "integer", minimum: 1, maximum: 1000, default: defaultOutputs.findings.max },
    review: {
      enum: ["comment", "request-changes"],
      description:
        "A review of the pull request, with a comment at each line. request-changes: it also asks for changes while findings from failOn on (never: errors) are open.",
    },
    since: {
      const: "last-review",
      description:
        "The change contains only what is new since the head of the last review. Default: the whole pull request.",
    },
    quietAfter: object(
      {
        rounds: { type: "integer", minimum: 1, description: "The number of reviewed heads." },
        severity: choice(severities, "error", "New findings below it are only counted."),
      },
      ["rounds"],
      { description: "From then on, comments are made for severe new findings only." },
    ),
    approve: flag(
      "Approves the pull request of a person if the verdict is pass and no finding is open.",
      false,
    ),
    failOn: choice(
      [...severities, "never"],
      defaultOutputs.findings.failOn,
      "The step fails from this severity on.",
    ),
    minSeverity: choice(
      severities,
      defaultOutputs.findings.minSeverity,
      "Findings below it are dropped.",
    ),
  },
  [],
);

const verdict = object(
  {
    from,
    failOn: choice(
      ["needs-work", "reject", "never"],
      defaultOutputs.verdict.failOn,
      "The step fails from this verdict on.",
    ),
    required: {
      type: "boolean",
      default: false,
      description: "The step fails if no task gives a verdict.",
    },
  },
  [],
);

const proposals = object(
  {
    from,
    comment: kind("Comments on the issue or pull request of the event."),
    label: object(
      { max: most, allowed: { ...list, description: "The only labels that may be added." } },
      ["allowed"],
      { description: "Labels for the issue or pull request of the event." },
    ),
    reviewers: object(
      {
        max: most,
        allowed: { ...list, description: "The only logins, or org/team. Default: anybody." },
      },
      [],
      { description: "Reviewers of the pull request of the event." },
    ),
    issue: object({ max: most, titlePrefix: text }, [], { description: "New issues." }),
    pull_request: object(
      {
        max: most,
        branchPrefix: {
          type: "string",
          minLength: 1,
          default: defaultOutputs.proposals.branchPrefix,
          description: "The start of the name of the branch.",
        },
        draft: { type: "boolean", default: defaultOutputs.proposals.draft },
        paths: changed,
      },
      [],
      { description: "New pull requests with the changes in the working directory." },
    ),
    push: object(
      {
        max: {
          ...most,
          description:
            "How many commits of agent-jobs may follow each other on the branch. A commit of anybody else starts the count anew.",
        },
        paths: changed,
      },
      [],
      {
        description:
          "A commit with the changes in the working directory, on the branch of the pull request of the event. Never on a fork or the default branch.",
      },
    ),
    close: kind("Closes the issue or pull request of the event."),
  },
  [],
  { description: "What agents may propose; the runner does it after the job." },
);

const check = {
  oneOf: [
    { const: true },
    object({ name: named("The name that merge rules require. Default: agent-jobs: JOB.") }, [
      "name",
    ]),
  ],
  description:
    "A check run on the commit, which merge rules can require. For a job in parts, the step that delivers makes it.",
} as const;

export const outputsSchema = object({ report, findings, verdict, check, proposals }, [], {
  title: "Outputs",
  description: "What a job publishes. Default: annotations and the summary.",
});

export type Outputs = SchemaType<typeof outputsSchema>;
export type ProposalsOutput = NonNullable<Outputs["proposals"]>;
