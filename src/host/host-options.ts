/** The options of a `JobHost`, and their check at run time, because a caller in JavaScript has no type checks. */
import { didYouMean, suggest } from "../document/diagnostic.ts";
import type { Limits, PermissionPreset, SandboxMode } from "../entry/model.ts";
import type { LimitSources } from "../engine/limits.ts";
import type { Budget, RateLimit, TurnGate } from "../engine/ports.ts";
import type { Clock } from "../platform/clock.ts";
import type { Reporter } from "../events/sink.ts";
import type { Tool } from "../sessions/sessions.ts";
import type { ModelTransport } from "../sessions/request-handler.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Asker } from "../workflow/model.ts";
import type { Executor } from "../workflow/run/executors.ts";
import { filled, limits, must, type Check, shard as shardKind } from "../run/option-kinds.ts";
import {
  optionsOn,
  optionTable,
  type Edge,
  type FieldsOn,
  type Option,
} from "../run/option-table.ts";
import { type Answers, type Models, asOption, UsageError } from "../run/options.ts";
import { addressProblem, type ModelAccess, type ProviderOptions } from "../run/options-provider.ts";
import { telemetryReporter, telemetryTarget } from "../run/telemetry.ts";
import { isList, isRecord, isText, defined } from "../text/guards.ts";
import type { JournalStore } from "../journal/store.ts";
import type { RunJobOptions } from "./job-callbacks.ts";
import { processEnvironment } from "../platform/environment.ts";
import { checkResumeOptions } from "../run/entry-options.ts";
import type { RunOptions } from "../run/prepare.ts";
import type { ContinueOptions } from "../run/prepared-run.ts";

/** The options of an application for its own host. */
export interface JobHostOptions extends Partial<ModelAccess> {
  /** Default permissions, and an upper bound for those of the entry. */
  readonly permissions?: PermissionPreset;
  /**
   * Whether programs run in a sandbox, if that is stricter than `permissions.sandbox` of the entry (default: `auto`). An
   * entry is refused if this is `off` and the entry doesn't say the same.
   */
  readonly sandbox?: SandboxMode;
  /** Override the limits of the entry. */
  readonly limits?: Limits;
  /** The option that set each of them, as the user wrote it. Default: the host itself. */
  readonly limitNames?: LimitSources;
  /** Answers every model request instead of a model server. */
  readonly transport?: ModelTransport;
  /**
   * Tools with handlers in this process, offered to every session. `permissions.tools` of the entry must name
   * them, unless they set `skipPermission`. A handler that throws, takes longer than 60 seconds or returns more
   * than 200,000 characters is a result for the model, never the end of the turn.
   */
  readonly tools?: readonly Tool[];
  /** See every event of every run. */
  readonly reporters?: readonly Reporter[];
  /**
   * Sends a trace of each run, and metrics, to this OpenTelemetry collector by OTLP over HTTP: an http or https address,
   * such as `http://127.0.0.1:4318`. Default: none; `OTEL_EXPORTER_OTLP_ENDPOINT` is not read.
   */
  readonly otlp?: string;
  /** Category to model id. Overrides `models` of the entry. */
  readonly models?: Models;
  /**
   * Plays the models instead of a model server: every run, and every session of no run, starts it anew. See
   * `readRehearsal`.
   */
  readonly rehearsal?: Rehearsal;
  /**
   * With `rehearsal`: work in the folder itself. Default: in a new `workspace` of the rehearsal, or where tools may
   * change the folder, in a copy of it.
   */
  readonly inPlace?: boolean;
  /** The change is what `HEAD` has done since it left this branch, tag or commit. Default: its last commit. */
  readonly base?: string;
  /** Whether uncommitted work and untracked files belong to the change. Default: false. */
  readonly uncommitted?: boolean;
  /** The folder in which each job writes its journal. Default: none. */
  readonly journals?: string;
  /**
   * Stores the journals that `journal`, `resume`, `shard` and `merge` of `runJob` name. Default: files.
   */
  readonly journalStore?: JournalStore;
  /** Bounds the concurrent turns of all hosts that share it, besides `limits.parallel` of this host. Default: none. */
  readonly turnGate?: TurnGate;
  /** Makes the turns of all hosts that share it wait when one of them meets a rate limit. Default: not shared. */
  readonly rateLimit?: RateLimit;
  /** Applies `limits.tokens` and `limits.cost` to the sum of all runs that share it. Default: not shared. */
  readonly budget?: Budget;
  /**
   * The folder for feeds of `live` that have become too long for the memory. Files in it are removed when their feed
   * is forgotten. Default: none, so the oldest responses are dropped.
   */
  readonly feedsFolder?: string;
  /** By the id of an ASK: what it is answered; several are used in order. Come before those of the front matter. */
  readonly answers?: Answers;
  /** Asks a person what `answers` doesn't answer. Default: such an ASK fails; in a run of `live`, it waits. */
  readonly ask?: Asker;
  /**
   * The names of the variables of `environment` that workflows and their scripts may read, and that tools and MCP
   * servers of the entry may be given. Default: none.
   */
  readonly env?: readonly string[];
  /** Run code fences of workflows with further tags, or those with `sh` or `python` in another way. */
  readonly executors?: readonly Executor[];
  /** Default: the time of the system. */
  readonly clock?: Clock;
}

/** A rehearsal that `readRehearsal` has read and checked. */
export type Rehearsal = Script;

const has =
  (...names: readonly string[]) =>
  (value: unknown): boolean =>
    Object(value) === value &&
    names.every((name) => typeof Reflect.get(Object(value), name) === "function");

type Checks = Readonly<Record<string, Check>>;

function checksOn(edge: Edge): Checks {
  const options = Object.entries<Option>(optionsOn(edge));
  return Object.fromEntries(options.map(([field, { kind }]) => [field, kind.check]));
}

/** Options that only the library has. */
const hostFields: Checks = {
  provider: must("be an object", isRecord),
  gitHubToken: filled.check,
  environment: must("be an object of variables", isRecord),
  limits: limits.check,
  limitNames: must("be an object of names", isRecord),
  transport: must("have a function send", has("send")),
  tools: must(
    "be a list of tools, each with a name",
    (value) => isList(value) && value.every((tool) => isRecord(tool) && isText(tool["name"])),
  ),
  reporters: must(
    "be a list of reporters, each with a function report",
    (value) => isList(value) && value.every(has("report")),
  ),
  rehearsal: must("be a rehearsal", (value) => isRecord(value) && isList(value["rules"])),
  journals: filled.check,
  journalStore: must("have the functions append and read", has("append", "read")),
  turnGate: must("have a function run", has("run")),
  rateLimit: must(
    "have the functions enter, met, pause and lifted",
    has("enter", "met", "pause", "lifted"),
  ),
  budget: must("have a function add", has("add")),
  feedsFolder: filled.check,
  ask: must("be a function", (value) => typeof value === "function"),
  executors: must(
    "be a list of executors, each with tags and a function run",
    (value) =>
      isList(value) &&
      value.every(
        (one) =>
          has("run")(one) && isRecord(one) && isList(one["tags"]) && one["tags"].every(isText),
      ),
  ),
  clock: must("have the functions now and sleep", has("now", "sleep")),
  ...checksOn("host"),
};

const providerFields: Readonly<Record<keyof ProviderOptions, Check>> = {
  type: optionTable.providerType.kind.check,
  headers: optionTable.inputs.kind.check,
  startSeconds: must("be a number over 0", (value) => typeof value === "number" && value > 0),
  baseUrl: (value) => addressProblem(isText(value) ? value : "", "provider.apiKey"),
  apiKey: must(
    "be a string or a function",
    (value) => isText(value) || typeof value === "function",
  ),
  wireApi: optionTable.providerWireApi.kind.check,
};

const signal = must("be an AbortSignal", (value) => value instanceof AbortSignal);

/** The options of a workflow that are not those of a host. */
export interface WorkflowOwnOptions extends Pick<
  RunJobOptions,
  "userInput" | "params" | "workingDirectory" | "signal" | "journal" | "rerun"
> {
  /** The folder in which each step becomes a Markdown file. Default: none. */
  readonly history?: string;
  /**
   * The journal of an earlier run of this workflow, which is continued after its last finished activity, with its
   * parameters and its user input. Default: none, so the workflow starts at its beginning.
   */
  readonly resume?: string;
}

const fieldsOf = {
  JobHost: hostFields,
  runJob: {
    ...checksOn("job"),
    plan: must("be an object with shards", (value) => isRecord(value) && "shards" in value),
    merge: must(
      "be a list of journals",
      (value) => isList(value) && value.length > 0 && value.every(isText),
    ),
    signal,
  },
  runWorkflow: { ...checksOn("workflow"), signal },
};

export function checkOptions(owner: keyof typeof fieldsOf, options: unknown): void {
  const problems = problemsOf(options, "", fieldsOf[owner]);
  if (owner === "JobHost" && isRecord(options)) {
    const { provider } = options;
    if (isRecord(provider)) {
      problems.push(...problemsOf(provider, "provider.", providerFields));
      if (provider["baseUrl"] === undefined) problems.push("provider.baseUrl is missing");
    }
  }
  if (problems.length === 0) return;
  throw new TypeError(`Invalid options of ${owner}: ${problems.join("; ")}.`);
}

function problemsOf(value: unknown, prefix: "" | "provider.", checks: Checks): string[] {
  if (!isRecord(value)) return ["they must be an object"];
  const known = Object.keys(checks);
  return Object.entries(value).flatMap(([field, given]) => {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    const problem = given === undefined ? undefined : check?.(given);
    if (problem !== undefined) return [`${prefix}${field} ${problem}`];
    if (check !== undefined) return [];
    const ofProvider = prefix === "" ? suggest(field, Object.keys(providerFields)) : undefined;
    const guess = suggest(field, known) ?? (ofProvider && `provider.${ofProvider}`);
    const hint = guess === undefined ? `known are ${known.join(", ")}` : didYouMean(guess);
    return [`${prefix}${field} is not an option: ${hint}`];
  });
}

export function withTelemetry<O extends JobHostOptions>(options: O): O {
  const { otlp, provider, reporters = [], environment = processEnvironment() } = options;
  const target = otlp === undefined ? undefined : telemetryTarget(environment, otlp);
  if (target === undefined) return options;
  const telemetry = telemetryReporter(target, { environment, provider });
  return { ...options, reporters: [...reporters, telemetry] };
}

/** Translates the options of `runJob` to those of the command line. */
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
