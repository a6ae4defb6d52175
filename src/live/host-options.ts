/** The options of a `JobHost`, and their check at run time, because a caller in JavaScript has no type checks. */
import "../document/ajv-compiler.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { overridingLimits } from "../entry/limits-schema.ts";
import { didYouMean, suggest } from "../document/suggest.ts";
import {
  permissionPresets,
  sandboxModes,
  type Limits,
  type PermissionPreset,
  type SandboxMode,
} from "../entry/model.ts";
import type { LimitSources } from "../engine/limits.ts";
import type { Clock } from "../platform/clock.ts";
import type { Reporter } from "../events/sink.ts";
import type { Tool } from "../sessions/sessions.ts";
import type { ModelTransport } from "../sessions/transport.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Asker } from "../workflow/run/ask.ts";
import type { Executor } from "../workflow/run/executor.ts";
import { parseChoice, type Answers, type Models } from "../run/options.ts";
import {
  addressProblem,
  providerTypes,
  wireApis,
  type ModelAccess,
  type ProviderOptions,
} from "../run/options-provider.ts";
import { isCollector, telemetryReporter, telemetryTarget } from "../run/telemetry-target.ts";
import { defined, isRecord, isText } from "../document/guards.ts";
import type { RunJobOptions } from "./job-callbacks.ts";
import { processEnvironment } from "../platform/environment.ts";

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

type Check = (value: unknown, name: string) => readonly string[];

const hostFields: Readonly<Record<keyof JobHostOptions, Check>> = {
  provider: (value, name) => problemsOf(value, name, providerFields, ["baseUrl"]),
  gitHubToken: filledText,
  runtimePath: filledText,
  environment: must(isRecord, "be an object of variables"),
  permissions: oneOf(permissionPresets),
  sandbox: oneOf(sandboxModes),
  limits: limitsProblems,
  limitNames: must(isRecord, "be an object of names"),
  transport: must((value) => hasFunction(value, "send"), "have a function send"),
  tools: must(
    (value) => listOf(value, (tool) => isRecord(tool) && isText(tool["name"])),
    "be a list of tools, each with a name",
  ),
  reporters: must(
    (value) => listOf(value, (reporter) => hasFunction(reporter, "report")),
    "be a list of reporters, each with a function report",
  ),
  otlp: must(
    (value) => isText(value) && isCollector(value),
    "be an http or https address, such as http://127.0.0.1:4318",
  ),
  models: must(
    (value) => isRecord(value) && Object.values(value).every((id) => isText(id) && id !== ""),
    "be an object of model ids",
  ),
  rehearsal: must((value) => isRecord(value) && Array.isArray(value["rules"]), "be a rehearsal"),
  inPlace: trueOrFalse,
  base: filledText,
  uncommitted: trueOrFalse,
  journals: filledText,
  feedsFolder: filledText,
  answers: must(
    (value) => isRecord(value) && Object.values(value).every((list) => listOf(list, isText)),
    "be an object of lists of strings",
  ),
  ask: must((value) => typeof value === "function", "be a function"),
  env: must((value) => listOf(value, isText), "be a list of names"),
  executors: must(
    (value) =>
      listOf(
        value,
        (one) => hasFunction(one, "run") && isRecord(one) && listOf(one["tags"], isText),
      ),
    "be a list of executors, each with tags and a function run",
  ),
  clock: must(
    (value) => hasFunction(value, "now") && hasFunction(value, "sleep"),
    "have the functions now and sleep",
  ),
};

const providerFields: Readonly<Record<keyof ProviderOptions, Check>> = {
  type: oneOf(providerTypes),
  baseUrl: (value, name) => {
    const problem = addressProblem(isText(value) ? value : "", "provider.apiKey");
    return problem === undefined ? [] : [`${name} ${problem}`];
  },
  apiKey: text,
  wireApi: oneOf(wireApis),
};

/** Throws a TypeError that names every problem. */
export function checkHostOptions(options: unknown): void {
  const problems = problemsOf(options, "", hostFields, []);
  if (problems.length === 0) return;
  throw new TypeError(`Invalid options of JobHost: ${problems.join("; ")}.`);
}

/** The options, with a reporter for `otlp`. */
export function withTelemetry<O extends JobHostOptions>(options: O): O {
  const { otlp, provider, reporters = [], environment = processEnvironment() } = options;
  const target = otlp === undefined ? undefined : telemetryTarget(environment, otlp);
  if (target === undefined) return options;
  const telemetry = telemetryReporter(target, { environment, ...defined({ provider }) });
  return { ...options, reporters: [...reporters, telemetry] };
}

const texts = must(
  (value) => isRecord(value) && Object.values(value).every(isText),
  "be an object of strings",
);

const jobFields: Readonly<Record<keyof RunJobOptions, Check>> = {
  userInput: text,
  inputs: texts,
  params: texts,
  workingDirectory: filledText,
  signal: must((value) => value instanceof AbortSignal, "be an AbortSignal"),
};

/** Like `checkHostOptions`, for the options of a job. */
export function checkRunJobOptions(options: unknown): void {
  const problems = problemsOf(options, "", jobFields, []);
  if (problems.length === 0) return;
  throw new TypeError(`Invalid options of runJob: ${problems.join("; ")}.`);
}

const { inputs: _, ...ofAnyJob } = jobFields;

const workflowFields: Readonly<Record<keyof WorkflowOwnOptions, Check>> = {
  ...ofAnyJob,
  journal: filledText,
  history: filledText,
  resume: filledText,
  rerun: trueOrFalse,
};

/** The options of a workflow that are not those of a host. */
export interface WorkflowOwnOptions extends Omit<RunJobOptions, "inputs"> {
  /** The file in which the run writes its journal. Default: none. */
  readonly journal?: string;
  /** The folder in which each step becomes a Markdown file. Default: none. */
  readonly history?: string;
  /**
   * The journal of an earlier run of this workflow, which is continued after its last finished activity, with its
   * parameters and its user input. Default: none, so the workflow starts at its beginning.
   */
  readonly resume?: string;
  /** With `resume`: runs an EXECUTE again that was under way at the end of the journal. Default: rejects. */
  readonly rerun?: boolean;
}

/** Like `checkHostOptions`, for the options of a workflow that are its own. */
export function checkWorkflowOptions(
  options: Readonly<Record<keyof WorkflowOwnOptions, unknown>>,
): void {
  const problems = problemsOf(options, "", workflowFields, []);
  if (problems.length === 0) return;
  throw new TypeError(`Invalid options of runWorkflow: ${problems.join("; ")}.`);
}

function problemsOf(
  value: unknown,
  owner: string,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[],
): string[] {
  if (!isRecord(value)) return [`${owner === "" ? "they" : owner} must be an object`];
  const nameOf = (field: string): string => (owner === "" ? field : `${owner}.${field}`);
  const found = Object.entries(value).flatMap(([field, given]) => {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (check !== undefined) return given === undefined ? [] : check(given, nameOf(field));
    const known = Object.keys(checks);
    const ofProvider = owner === "" ? suggest(field, Object.keys(providerFields)) : undefined;
    const guess =
      suggest(field, known) ?? (ofProvider === undefined ? undefined : `provider.${ofProvider}`);
    const hint = guess === undefined ? `known are ${known.join(", ")}` : didYouMean(guess);
    return [`${nameOf(field)} is not an option: ${hint}`];
  });
  const missing = required.filter((field) => value[field] === undefined);
  return [...found, ...missing.map((field) => `${nameOf(field)} is missing`)];
}

const limitsCheck = schemaCheck<Limits>(
  { type: "object", properties: overridingLimits, additionalProperties: false },
  "limits",
);

function limitsProblems(limits: unknown): string[] {
  return limitsCheck
    .problems(isRecord(limits) ? defined(limits) : limits)
    .map(({ codePath, reason, hint }) => {
      const end = hint === undefined ? "" : `, ${hint}`;
      return `${codePath}: ${reason.replace(/\.$/, "")}${end}`;
    });
}

function must(fits: (value: unknown) => boolean, what: string): Check {
  return (value, name) => (fits(value) ? [] : [`${name} must ${what}`]);
}

function oneOf(known: readonly string[]): Check {
  return (value, name) => {
    if (!isText(value)) return [`${name} must be one of ${known.join(", ")}`];
    const parsed = parseChoice(value, known);
    return parsed.kind === "value" ? [] : [`${name} ${parsed.problem}`];
  };
}

function text(value: unknown, name: string): readonly string[] {
  return isText(value) ? [] : [`${name} must be a string`];
}

function trueOrFalse(value: unknown, name: string): readonly string[] {
  return typeof value === "boolean" ? [] : [`${name} must be true or false`];
}

function filledText(value: unknown, name: string): readonly string[] {
  return value === "" ? [`${name} must not be empty`] : text(value, name);
}

function listOf(value: unknown, fits: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => fits(one));
}

function hasFunction(value: unknown, name: string): boolean {
  return (
    typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function"
  );
}
