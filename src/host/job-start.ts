/** Translates the options of `runJob` to those of the command line. */
import { shard as shardKind } from "../run/option-kinds.ts";
import { checkResumeOptions } from "../run/entry-options.ts";
import { asOption, UsageError } from "../run/options.ts";
import type { FieldsOn } from "../run/option-table.ts";
import type { RunOptions } from "../run/prepare.ts";
import type { ContinueOptions } from "../run/prepared-run.ts";
import { defined } from "../text/guards.ts";
import { checkOptions } from "./host-options.ts";
import type { RunJobOptions } from "./job-callbacks.ts";

export interface JobStartOptions
  extends FieldsOn<"job">, Omit<ContinueOptions, "store">, Pick<RunOptions, "asker" | "onResult"> {
  readonly jobName: string;
  readonly workingDirectory: string;
}

/** Each of these options selects another part of a job. */
const parts = ["plan", "shard", "merge"] as const;

/** Throws a `TypeError` for invalid options, and a `UsageError` for those that don't fit together. */
export async function startOf(jobName: string, options: RunJobOptions): Promise<JobStartOptions> {
  checkOptions("runJob", options);
  const { plan, shard: named, merge: journals, signal: _, ...others } = options;
  checkResumeOptions(options, asOption);
  const given = parts.filter((name) => options[name] !== undefined);
  if (given.length > 1) throw new UsageError(`${given.join(" and ")} can't be used together.`);
  if (plan !== undefined) {
    const { checkShards, missingJournal } = await import("../run/shards.ts");
    checkShards(plan.shards, "plan.shards");
    if (others.journal === undefined) throw missingJournal("journal");
  }
  const shard = named === undefined ? undefined : shardKind.parse(named);
  return {
    jobName,
    workingDirectory: ".",
    ...defined(others),
    plan: plan !== undefined,
    shards: plan?.shards,
    journals,
    shard: shard?.kind === "value" ? shard.value : undefined,
  };
}
