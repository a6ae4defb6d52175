/**
 * Bounds of a prepared job. If the issue of a user without write access starts it, it may read the checkout and add labels
 * that its entry lists. In a checkout of another commit than the entry's, it starts no tool, because the files there
 * decide what it does, and no server that names one of them.
 */
import { statSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { exceeded } from "../engine/limits.ts";
import { limitText } from "../events/exceeded-limit.ts";
import type { GithubApi } from "../github/github-api.ts";
import { at, textAt } from "../github/webhook-event.ts";
import { errorMessage } from "../platform/system-error.ts";
import { outputsOf, type Outputs } from "../entry/outputs.ts";
import { commandName, commandsOf } from "../entry/work.ts";
import { allowsCommands, ruleSet } from "../permissions/rules.ts";
import { realPathOf } from "../platform/files.ts";
import { isWithin } from "../platform/search-path.ts";
import { permissionScopes, type Caller } from "../run/callers.ts";
import type { PreparedRun } from "../run/prepare.ts";
import type { Environment } from "./inputs.ts";
import { apiOf, Stop, type Setting } from "./setting.ts";
import type { Sources, WorkTree } from "./sources.ts";

/** Throws a `Stop` if the job may not run. Returns warnings. */
export async function checkBounds(
  setting: Setting,
  sources: Sources,
  prepared: PreparedRun,
): Promise<readonly string[]> {
  checkHarmless(sources, prepared);
  await checkRunLimits(prepared, setting, apiOf(setting).api);
  return checkPrograms(setting.workspace, sources.workTree, prepared);
}

/** Throws a `Stop` if the event is not trusted and the job may do more. */
function checkHarmless({ distrust }: Sources, job: PreparedJob): void {
  if (distrust === undefined) return;
  const harms = harmsOf(job);
  if (harms.length === 0) return;
  throw new Stop("skipped", [
    `${distrust} An issue of anybody may start a job that only reads the checkout and adds labels from a list; this one does not qualify, since ${harms.join(", ")}.`,
  ]);
}

function harmsOf(job: PreparedJob): readonly string[] {
  const { entry, jobName } = job;
  const harms = new Set<string>();
  for (const caller of callersOf(job)) {
    const { preset, read, write, shell, url, hosts, tools } = ruleSet(caller.permissions);
    if (preset !== "read-only") harms.add(`it has the permissions \`${preset}\``);
    const lists = { read, write, shell, url, hosts, tools };
    for (const [name, { allow }] of Object.entries(lists))
      if (allow === true || allow.length > 0) harms.add(`it is granted \`${name}\``);
  }
  const own = entry.jobs[jobName];
  for (const command of own === undefined ? [] : commandsOf([own], entry.tasks))
    harms.add(`it runs ${commandName(command)}`);
  const outputs = outputsOf(entry, jobName) ?? {};
  for (const one of publishes(outputs)) harms.add(`it publishes \`${one}\``);
  // A job for maintainers, whose author hasn't thought of this, would spend tokens on anybody's issues.
  if (outputs.proposals?.label === undefined) harms.add("its `outputs` allow no label");
  return [...harms];
}

function publishes({ report, findings, proposals = {} }: Outputs): readonly string[] {
  const { label: _label, from: _from, ...others } = proposals;
  return [
    ...(report?.comment === undefined ? [] : ["report"]),
    ...(findings?.review === undefined ? [] : ["findings.review"]),
    ...(findings?.approve === true ? ["findings.approve"] : []),
    ...Object.keys(others).map((kind) => `proposals.${kind}`),
  ];
}

/** Throws a `Stop` with every program that may not be started. Returns warnings. */
function checkPrograms(
  workspace: string,
  workTree: WorkTree,
  prepared: PreparedJob & { readonly namedDirectory: string },
): readonly string[] {
  if (workTree.kind !== "elsewhere") return [];
  const { commit } = workTree;
  const found = declaredPrograms(prepared).flatMap((program) => refusal(program) ?? []);
  if (found.length > 0) throw new Stop("failure", found);
  return mayRunCommands(prepared)
    ? [
        `The checkout is not at ${commit}, so it may contain untrusted files, and the job may run commands in it. A command that runs its files, such as \`npm test\`, runs untrusted code with the rights of this step.`,
      ]
    : [];

  function refusal(program: DeclaredProgram): string | undefined {
    const { field } = program;
    const why = `The checkout is not at ${commit}, so it may contain untrusted files`;
    if (program.kind === "tool")
      return `${why}, and the job may call \`${field}\`, which runs code of the checkout. ${howToRun(commit)} Or don't allow the tool in \`permissions.tools\`.`;
    const file = program.command.map(inCheckout).find((path) => path !== undefined);
    if (file === undefined) return undefined;
    return `${why}, and \`${field}\` names ${relative(workspace, file) || "."}, which is in the checkout. ${howToRun(commit)} Or start a server that is installed elsewhere.`;
  }

  /** Finds the file of the checkout that a word of a command, or the part behind its `=`, names. */
  function inCheckout(word: string): string | undefined {
    return [word, word.slice(word.indexOf("=") + 1)]
      .filter((name) => isAbsolute(name) || isFile(resolve(prepared.namedDirectory, name)))
      .map((name) => resolve(prepared.namedDirectory, name))
      .find((path) =>
        // Through links, too; the file itself may be there under another ending only.
        [path, realPathOf(path), realPathOf(dirname(path))].some(
          (place) => isWithin(workspace, place) || isWithin(realPathOf(workspace), place),
        ),
      );
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function howToRun(commit: string): string {
  return `Check out ${commit} and let the agent work there (on most events, that is actions/checkout without \`ref\` and \`repository\`, in an image that has git). Files of another commit can be in a subfolder, as data.`;
}

export type DeclaredProgram =
  | { readonly kind: "tool"; readonly field: string }
  | { readonly kind: "server"; readonly field: string; readonly command: readonly string[] };

export type PreparedJob = Pick<PreparedRun, "entry" | "jobName" | "permissions" | "loaded">;

export function declaredPrograms(job: PreparedJob): readonly DeclaredProgram[] {
  // By declaration: several may call the same.
  const programs = new Map<object, DeclaredProgram>();
  for (const { declared, mayCall, mayUse } of callersOf(job)) {
    for (const [name, declaration] of Object.entries(declared.tools ?? {}))
      if (mayCall(name)) programs.set(declaration, { kind: "tool", field: `tools.${name}` });
    for (const [name, declaration] of Object.entries(declared.mcpServers ?? {})) {
      if (!("command" in declaration) || !mayUse(name)) continue;
      const command = [declaration.command, ...(declaration.args ?? [])];
      programs.set(declaration, { kind: "server", field: `mcpServers.${name}`, command });
    }
  }
  return [...programs.values()];
}

export function mayRunCommands(job: PreparedJob): boolean {
  return callersOf(job).some(({ permissions }) => allowsCommands(permissions));
}

export function callersOf({ entry, jobName, permissions, loaded }: PreparedJob): readonly Caller[] {
  return permissionScopes(entry, jobName, permissions, loaded.flows);
}

/*
 * `limits.runsPerDay` and `limits.runsPerActorPerDay`, counted from the runs of the workflow in the 24 hours before this
 * run. Runs count from their start, whatever came of them, except those that GitHub itself skipped (`if`). A run that
 * is refused is skipped: a flood of events must not paint a repository red.
 */

const DAY_MS = 24 * 60 * 60_000;

/** Throws a `Stop` if there were too many, or if the number is unknown. A part of a job belongs to a run that was counted. */
async function checkRunLimits(
  { limits, fanOut, past }: Pick<PreparedRun, "limits" | "fanOut" | "past">,
  { environment, inputs: { mode } }: Setting,
  api: Pick<GithubApi, "get">,
): Promise<void> {
  const isPart = fanOut !== undefined && past !== undefined;
  if (isPart || mode === "rehearse") return;
  for (const limit of ["runsPerDay", "runsPerActorPerDay"] as const) {
    if (!Number.isFinite(limits[limit])) continue;
    const used = await countRuns(api, environment, limit === "runsPerActorPerDay").catch(
      (error: unknown) => {
        throw new Stop("failure", [
          `limits.${limit} can't be checked: ${errorMessage(error)}. The token needs \`actions: read\`.`,
        ]);
      },
    );
    if (used < limits[limit]) continue;
    throw new Stop("skipped", [
      `Exceeded ${limitText(exceeded(limits, limit))}. ${used} were started in the 24 hours before this run.`,
    ]);
  }
}

/** Earlier runs of the workflow: those of all users, or of this run's user. */
async function countRuns(
  { get }: Pick<GithubApi, "get">,
  { GITHUB_RUN_ID: run_id }: Environment,
  ofActor: boolean,
): Promise<number> {
  const own = await get("GET /repos/{owner}/{repo}/actions/runs/{run_id}", { run_id });
  const workflow_id = at(own, "workflow_id");
  const created = textAt(own, "created_at") ?? "";
  // A further attempt has the same creation.
  const end = Date.parse(textAt(own, "run_started_at") ?? created);
  const actor = textAt(at(own, "actor"), "login");
  if (typeof workflow_id !== "number" || Number.isNaN(end) || (ofActor && actor === undefined))
    throw new Error("GitHub doesn't name the workflow and the user of this run");
  const [from, to] = [end - DAY_MS, end].map((time) => new Date(time).toISOString());
  const route = "GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs";
  const count = async (more: object): Promise<number> => {
    const asked = { workflow_id, created: `${from}..${to}`, per_page: 1, ...more };
    const total = at(await get(route, { ...asked, ...(ofActor && { actor }) }), "total_count");
    if (typeof total !== "number") throw new Error("GitHub's answer has no number of runs");
    return total;
  };
  const itself = Date.parse(created) >= end - DAY_MS ? 1 : 0;
  const [all, skipped] = [await count({}), await count({ status: "skipped" })];
  return Math.max(0, all - skipped - itself);
}
