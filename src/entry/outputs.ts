import { choice, listOf, names, object, text } from "./schema-parts.ts";

export const severities = ["notice", "warning", "error"] as const;
export type Severity = (typeof severities)[number];

export const verdicts = ["pass", "needs-work", "reject"] as const;
export type VerdictWord = (typeof verdicts)[number];

interface From {
  /** Default: for findings and proposals, all tasks; for the report and the verdict, the last that gave one. */
  readonly from?: readonly string[];
}

export interface ReportOutput extends From {
  /** One comment on the pull request, which every run of the job updates. Default: none. */
  readonly comment?: "sticky";
  /** `always`: also if the job failed. Default: `success`. */
  readonly when?: "success" | "always";
}

export interface FindingsOutput extends From {
  /** Default: 50. */
  readonly max?: number;
  /** `comment`: one review with a comment at each line. Default: no review. */
  readonly review?: "comment";
  /** The step fails from this severity on. Default: `never`. */
  readonly failOn?: Severity | "never";
  /** Those below are dropped. Default: `notice`. */
  readonly minSeverity?: Severity;
}

export interface VerdictOutput extends From {
  /** The step fails from this verdict on. Default: `reject`. */
  readonly failOn?: Exclude<VerdictWord, "pass"> | "never";
  /** The step fails if no task gives a verdict. Default: false. */
  readonly required?: boolean;
}

interface Most {
  /** So many in one run. Default: 1. */
  readonly max?: number;
}

/** Kinds that are not named are not offered. */
export interface ProposalsOutput extends From {
  readonly comment?: Most;
  /** At most `max` labels in all. */
  readonly label?: Most & { readonly allowed: readonly string[] };
  /** `allowed`: logins, or `org/team`. Default: anybody. */
  readonly reviewers?: Most & { readonly allowed?: readonly string[] };
  readonly issue?: Most & { readonly titlePrefix?: string };
  readonly pull_request?: Most & {
    /** Default: `agent-jobs/`. */
    readonly branchPrefix?: string;
    /** Default: true. */
    readonly draft?: boolean;
    /** Globs of the files that the patch may touch. Default: all but `.github/`. */
    readonly paths?: readonly string[];
  };
  readonly close?: Most;
}

export interface Outputs {
  readonly report?: ReportOutput;
  readonly findings?: FindingsOutput;
  readonly verdict?: VerdictOutput;
  readonly proposals?: ProposalsOutput;
}

export const proposalKinds = [
  "comment",
  "label",
  "reviewers",
  "issue",
  "pull_request",
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
    when: choice(["success", "always"], "success", "always: also if the job failed."),
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
      [...verdicts.filter((word) => word !== "pass"), "never"],
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
      paths: listOf("glob", "Globs of the files that it may change. Default: all but .github/.", {
        minItems: 1,
      }),
    }),
    close: kind("Closes the issue or pull request of the event."),
  },
  [],
  { description: "What agents may propose; the runner does it after the job." },
);

export const outputsSchema = object({ report, findings, verdict, proposals }, [], {
  title: "Outputs",
  description: "What a job publishes. Default: annotations and the summary.",
});
