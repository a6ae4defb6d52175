/** Makes from a checked run what the engine takes: variables, tools, workflows, and the checks of what agents hand in. */
import { randomUUID } from "node:crypto";
import { defined } from "../text/guards.ts";
import type { FanOut } from "../engine/fan-out.ts";
import type { PastRun } from "../engine/past.ts";
import type { RunSpec } from "../engine/plan.ts";
import type { OutputChecks, ToolSource } from "../engine/ports.ts";
import type { Permissions, PreparedEntry, ProviderSettings } from "../entry/model.ts";
import { commandsOf, leafWorks } from "../entry/work.ts";
import { failedChecksText, type FailedCheck } from "../events/failed-checks.ts";
import type { Origin } from "../events/output-shapes.ts";
import { factsOf, type RunFacts } from "../events/plan.ts";
import { version } from "../generated/version.ts";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { Confinement } from "../sessions/confinement.ts";
import type { McpServers } from "../tools/mcp/servers.ts";
import type { McpHost } from "../tools/toolbox.ts";
import { addressOf } from "../tools/mcp/variables.ts";
import { actionDialogues } from "./action-dialogues.ts";
import { declaredFor, gitSandbox, permissionsOfTask } from "./callers.ts";
import { entryFingerprint, jobFingerprints } from "./fingerprint.ts";
import { flowSpecs, modelLimitsOf } from "./flows.ts";
import type { FlowInputs, Flows, LoadedFlow } from "./workflow-run.ts";
import { inputValues, withDefaults } from "./options.ts";
import { createJobWorkspace } from "./job-workspace.ts";
import {
  changeOfSpec,
  conversationOfSpec,
  type JobChange,
  type JobConversation,
} from "./job-subject.ts";
import type { Instructions } from "./instructions.ts";
import { memoryForPrompt } from "./memory.ts";
import { runTools } from "./run-tools.ts";
import type { RunTrace } from "./telemetry.ts";
import { allowedOf } from "./variables.ts";
import { join } from "node:path";
import { GitRepository } from "../git/repository.ts";
import type { SourceTree } from "../git/source-tree.ts";
import { decidePermission } from "../permissions/policy.ts";
import { realPathOf } from "../platform/files.ts";
import { realFiles } from "../sessions/permission-handler.ts";

export interface SpecHost {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly redactor: Pick<Redactor, "stream" | "text">;
  readonly mark?: string;
  readonly rehearses?: boolean;
  readonly confinement?: Confinement;
  readonly mcp?: () => Promise<Pick<McpServers, "forRun">>;
}

/** A run that has been checked: `prepareRun` makes it from options, and a host for its installed entry. */
export interface Run extends FlowInputs, RunFacts {
  /** The entry before its models were overridden. Default: the same. */
  readonly originalEntry?: PreparedEntry;
  readonly entryFile?: string;
  readonly userInput: string;
  /** Absolute: a folder for all that commands print. */
  readonly outputDirectory?: string | undefined;
  readonly change?: JobChange | undefined;
  readonly conversation?: JobConversation | undefined;
  readonly instructions?: Instructions | undefined;
  readonly failedChecks?: readonly FailedCheck[] | undefined;
  readonly past?: PastRun | undefined;
  readonly fanOut?: FanOut | undefined;
  /** Absolute: what the run writes about itself. */
  readonly records?: readonly string[] | undefined;
  readonly workingDirectory: string;
  readonly flows?: Flows;
  /** The names of the environment that workflows, tools and MCP servers may be given. */
  readonly env?: readonly string[] | undefined;
  /** MCP servers start in an empty folder, because the working directory may hold untrusted files. */
  readonly isolateServers?: boolean | undefined;
  readonly trace?: RunTrace | undefined;
}

export function runSpec(host: SpecHost, run: Run): RunSpec {
  const { entry, originalEntry = entry, entryFile, userInput, workingDirectory, limits } = run;
  const { permissions, flows = {}, env, isolateServers = false, change } = run;
  const { outputDirectory, memory, trace } = run;
  const inputs = withDefaults(entry, run.inputs ?? {});
  const ofChange = changeOfSpec(change);
  const ofConversation = conversationOfSpec(run.conversation, (text) => host.redactor.text(text));
  const { environment, clock, mark, confinement } = host;
  const redact = (): ReturnType<Redactor["stream"]> => host.redactor.stream();
  const servers = async (): Promise<McpHost | undefined> =>
    (await host.mcp?.())?.forRun({
      workingDirectory: isolateServers ? undefined : workingDirectory,
      variables: allowedOf({ environment, env }),
    });
  const readable = change === undefined ? [] : [change.folder];
  const resumed = run.past !== undefined && run.fanOut === undefined;
  const common = { environment, env, mark, confinement, redact, clock, readable, trace, resumed };
  const toolsOf = (callable: PreparedEntry): ReturnType<typeof runTools> =>
    runTools({ ...common, servers, entry: callable, flows, workingDirectory });
  const tools = toolsOf(entry);
  const toolSourceOf = ({ workflow }: LoadedFlow): ToolSource | undefined => {
    const { agentTools = [], tools: own = entry.tools } = workflow.settings;
    const { mcpServers = entry.mcpServers } = workflow.settings;
    if (agentTools.length === 0) return undefined;
    // It declares nothing itself, or the entry was made from it.
    if (own === entry.tools && mcpServers === entry.mcpServers) return tools;
    return toolsOf({ ...entry, ...declaredFor(workflow, entry), tasks: {} });
  };
  const permissionsOf = (taskId: string): Permissions =>
    permissionsOfTask(entry, taskId, permissions);
  const dialogues = tools && actionDialogues({ entry, limits, permissionsOf, tools, redact });
  const workspace = createJobWorkspace({
    environment,
    env,
    workingDirectory,
    redact,
    clock,
    mark: mark ?? randomUUID(),
    outputDirectory,
    records: run.records,
  });
  return {
    ...factsOf(run),
    entry,
    userInput,
    inputs: Object.keys(inputs).length === 0 ? undefined : inputs,
    ...ofChange,
    ...ofConversation,
    ...defined({
      instructions: run.instructions?.planned,
      instructionsOf: run.instructions?.of,
    }),
    values: {
      ...ofChange.values,
      ...ofConversation.values,
      ...inputValues(inputs),
      ...defined({ memory: memory && memoryForPrompt(memory) }),
      "failed-checks": host.redactor.text(failedChecksText(run.failedChecks)),
    },
    resultChecks: resultChecks(entry),
    outputChecks: outputChecks(
      host,
      run,
      gitSandbox(entry, permissions),
      onlyTasksWrite(entry) ? Object.keys(entry.tasks).map(permissionsOf) : undefined,
    ),
    workingDirectory,
    limits,
    modelLimits: modelLimitsOf(originalEntry, flows),
    modelServer: modelServerOf(entry, allowedOf({ environment, env })),
    version,
    entryFingerprint: entryFingerprint(originalEntry, flows),
    fingerprintsOf: (jobName) => jobFingerprints(originalEntry, jobName, flows),
    flows: flowSpecs(flows, { ...run, ...common, toolSourceOf }),
    entryFile,
    dialogues,
    traceparent: trace?.traceparent,
    links: trace?.links,
    past: run.past,
    fanOut: run.fanOut,
    toolSource: tools,
    workspace,
    permissionsOf,
  };
}

function modelServerOf(
  { provider = {} }: PreparedEntry,
  variables: Readonly<Record<string, string>>,
): ProviderSettings {
  const address = addressOf({ url: "", ...provider }, variables);
  // A rehearsal may lack them.
  const headers = address.kind === "url" ? address.headers : {};
  return { ...provider, headers };
}

/** No program of the author's own, which may write what it likes. */
function onlyTasksWrite({ jobs, tasks, tools = {}, mcpServers = {} }: PreparedEntry): boolean {
  const all = Object.values(jobs);
  return (
    commandsOf(all, tasks).length === 0 &&
    Object.keys({ ...tools, ...mcpServers }).length === 0 &&
    !all.some(({ work }) => leafWorks(work).some(({ kind }) => kind === "Flow"))
  );
}

function resultChecks({ tasks }: PreparedEntry): NonNullable<RunSpec["resultChecks"]> {
  return Object.fromEntries(
    Object.entries(tasks).flatMap(([name, { criteria }]) => {
      const schema = criteria?.result;
      if (schema === undefined) return [];
      const check = async (value: unknown): Promise<readonly string[]> => {
        const { compileValueCheck } = await import("../document/value-check.ts");
        const compiled = compileValueCheck({ ...schema, type: "object" });
        return compiled.kind === "invalid"
          ? [compiled.reason]
          : compiled
              .check(value)
              .map(({ path, reason }) => `${["result", ...path].join(".")}: ${reason}`);
      };
      return [[name, check]];
    }),
  );
}

/** `writers`: what the tasks may do, if only they can have changed files. Where there is a sandbox, it sees to that already. */
function outputChecks(
  { environment, redactor, rehearses }: SpecHost,
  { entry, workingDirectory: folder, change, origin, conversation, records = [] }: Run,
  sandbox: "off" | undefined,
  writers: readonly Permissions[] | undefined,
): OutputChecks {
  const proposes = [entry, ...Object.values(entry.jobs)].some(
    ({ outputs }) => (outputs?.proposals?.pull_request ?? outputs?.proposals?.push) !== undefined,
  );
  // The repository that is there before an agent works.
  const place = { folder, environment, sandbox };
  const repository = GitRepository.at(folder, place);
  let made: Promise<SourceTree> | undefined;
  const tree = (): Promise<SourceTree> =>
    (made ??= import("../git/source-tree.ts").then(
      ({ SourceTree: Tree }) => new Tree(place, change, repository),
    ));
  return {
    ...(proposes && { prepare: async () => (await tree()).prepare(rehearses) }),
    async finding(value, task) {
      const { checkFinding } = await import("../outputs/check-finding.ts");
      const read = async (path: string) => (await tree()).read(path);
      return checkFinding(
        value,
        task,
        read,
        conversation?.isShown ? conversation.planned.findings : [],
      );
    },
    async proposal(value, allowed) {
      const { checkProposal } = await import("../outputs/check-proposal.ts");
      return checkProposal(value, allowed, {
        number: origin?.number,
        // A rehearsal works in a repository of its own.
        head: rehearses || origin === undefined ? undefined : pullRequestHead(origin),
        async changed() {
          const { root, ...changed } = await (await tree()).changed(records.map(realPathOf));
          return {
            ...changed,
            ...(writers && {
              notWritable: (path) => notWritable(join(root, path), writers, folder),
            }),
          };
        },
        hasSecret: (text) => redactor.text(text) !== text,
      });
    },
  };
}

function pullRequestHead({ isPullRequest, head }: Origin): string | null {
  return isPullRequest === true ? head : null;
}

/** Why nobody may write a file; undefined if one of them may. */
function notWritable(
  path: string,
  writers: readonly Permissions[],
  workingDirectory: string,
): string | undefined {
  let reason = "the entry has no tasks";
  for (const permissions of writers) {
    const decision = decidePermission(
      permissions,
      { kind: "write", paths: [path] },
      { workingDirectory, ...realFiles },
    );
    if (decision.kind === "allowed") return undefined;
    ({ reason } = decision);
  }
  return reason;
}
