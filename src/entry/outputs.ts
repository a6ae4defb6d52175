/** What a job publishes, and what its agents may have done on GitHub. */

export const severities = ["notice", "warning", "error"] as const;
export type Severity = (typeof severities)[number];

export const verdicts = ["pass", "needs-work", "reject"] as const;
export type VerdictWord = (typeof verdicts)[number];

/** Tasks whose contributions count. */
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

/** Those of the job replace those of the entry. */
export function outputsOf(
  { outputs, jobs }: Publishing & { readonly jobs: Readonly<Record<string, Publishing>> },
  jobName: string,
): Outputs | undefined {
  return (Object.hasOwn(jobs, jobName) ? jobs[jobName]?.outputs : undefined) ?? outputs;
}
