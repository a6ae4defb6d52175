import { mkdtemp, realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { sayLine } from "./github.ts";
import { valuesOn } from "../run/option-table.ts";
import { asPlural, limitsOf, type WriteName } from "../run/options.ts";
import type { RunOptions } from "../run/prepare.ts";
import { reachedFiles } from "./reached-files.ts";
import { checkoutOf } from "../github/checkout.ts";
import { findEntries } from "../run/find-files.ts";
import { payloadOf, readEvent, sha } from "../github/webhook-event.ts";
import { changeOfStep, eventChange, readIfThere, trustedCommitOf } from "../github/change.ts";
import { failedChecksOfStep } from "../github/failed-checks.ts";
import { originOf } from "../github/origin.ts";
import { namedTexts } from "./given-texts.ts";
import {
  filesOfBase,
  filesOfCentral,
  type CentralFiles,
  type CommitFiles,
} from "../github/commit-files.ts";
import type { CommentCommand } from "./comment-command.ts";
import { createGithubApi } from "../github/github-api.ts";
import { copyEntry, copyFile, nameInRepository } from "./copied-files.ts";
import { asInput, AUTO, isAct, type Environment, type Inputs } from "./inputs.ts";
import { insideWorkspace, isBelow, isInside } from "./workspace-paths.ts";
import { legOf } from "./leg.ts";
import type { RunnerCore } from "./runner-core.ts";
import { Stop } from "./stop.ts";
import { areAt, decideTrust, type CheckedOut } from "../github/trust.ts";
import { withKeysTold } from "../run/options-provider.ts";
import { telemetryTarget } from "../run/telemetry-target.ts";

export interface Setting {
  readonly inputs: Inputs;
  readonly environment: Environment;
  readonly workspace: string;
  readonly core: RunnerCore;
  readonly signal: AbortSignal;
  /** The comment of the event, if it is the command that starts the job. */
  readonly command: CommentCommand | undefined;
}

const pathInputs = [
  ["userInputFile", "user-input-file"],
  ["workingDirectory", "working-directory"],
  ["outputDir", "output-dir"],
  ["resume", "resume"],
  ["rehearse", "rehearse"],
  ["record", "record"],
  ["journal", "journal"],
  ["fromJournal", "from-journal"],
] as const;

type PathField = (typeof pathInputs)[number][0];

export type Paths = { readonly entry: string } & {
  readonly [Field in PathField]?: string;
};

/** `fallback`: stands for the entry where no single one runs. */
export async function checkPaths({ inputs, workspace }: Setting, fallback = ""): Promise<Paths> {
  const problems: string[] = [];
  const check = async (name: string, value: string): Promise<string> => {
    const checked = await insideWorkspace(workspace, name, value);
    if (checked.kind === "inside") return checked.path;
    problems.push(checked.problem);
    return "";
  };
  const isFile = inputs.central === undefined && inputs.prompt === undefined;
  const entry = isFile ? await check("entry", inputs.entry || fallback) : inputs.entry;
  const paths: { [Field in PathField]?: string } = {};
  for (const [field, name] of pathInputs) {
    const value = inputs[field];
    if (value === undefined || (field === "resume" && value === AUTO)) continue;
    paths[field] = await check(name, value);
  }
  if (problems.length > 0) throw new Stop("failure", problems);
  return { entry, ...paths };
}

export type WorkTree =
  /** The user's own: no event decides which commit it is. */
  | { readonly kind: "own" }
  | { readonly kind: "at-commit"; readonly commit: string }
  /** It may hold untrusted files. `commit`: where the files that decide come from. */
  | { readonly kind: "elsewhere"; readonly commit: string };

export interface Sources {
  readonly workTree: WorkTree;
  /** Undefined: there is only a prompt. */
  readonly entryFile: string | undefined;
  readonly rehearse: string | undefined;
  /** Holds copies of files that the API was asked for. */
  readonly copies: string | undefined;
  /** Whether files of the work tree may decide about the run. */
  readonly isBelieved: boolean;
  /** Why the job has to be harmless. Undefined if it may do what its entry says. */
  readonly distrust: string | undefined;
}

/** For an entry of another repository. Undefined: the entry is a file of this one. */
export function centralFiles(setting: Setting): CentralFiles | undefined {
  const { central, entryToken } = setting.inputs;
  return central && filesOfCentral(apiOf(setting, entryToken).api, central, asInput("entry-token"));
}

/** With the token that writes on GitHub. What it has written, only it finds again. */
export function deliveryApiOf(setting: Setting) {
  return apiOf(setting, setting.inputs.deliveryToken).api;
}

export function apiOf({ environment, inputs, core, signal }: Setting, other?: string) {
  // A token for models may lack the permission to look up users.
  const builtIn = environment["GITHUB_TOKEN"];
  // Where no model is asked, the input is the token to deliver with.
  const own = (inputs.mode === "deliver" && inputs.gitHubToken) || builtIn || inputs.gitHubToken;
  const token = other ?? own;
  const { GITHUB_REPOSITORY: repository, GITHUB_API_URL: apiUrl } = environment;
  const say = (line: string): void => sayLine(core, line);
  return { api: createGithubApi({ token, repository, apiUrl, log: say, signal }), token, say };
}

/** Throws a `Stop` unless the users who triggered the event may start an agent. `deciding`: more files that decide. */
export async function trustedSources(
  setting: Setting,
  paths: Paths,
  deciding: readonly string[] = [],
): Promise<Sources> {
  const { inputs, environment, core } = setting;
  const event = readEvent({
    name: environment["GITHUB_EVENT_NAME"] ?? "",
    payload: await payloadOf(environment["GITHUB_EVENT_PATH"]),
    actor: environment["GITHUB_ACTOR"],
    triggeringActor: environment["GITHUB_TRIGGERING_ACTOR"],
    attempt: environment["GITHUB_RUN_ATTEMPT"],
  });
  const { api, token } = apiOf(setting);
  const decision = await decideTrust(
    event,
    {
      allowUntrusted: inputs.allowUntrusted,
      allowedBots: inputs.allowedBots,
      allowedUsers: inputs.allowedUsers,
      eventSha: environment["GITHUB_SHA"],
      builtInToken: token?.startsWith("ghs_") === true,
      onRunner: environment["GITHUB_ACTIONS"] === "true",
      onAct: isAct(environment),
      rehearses: inputs.rehearse !== undefined || inputs.rehearsals.length > 0,
    },
    {
      permissionOf: (login) => api.permissionOf(login),
      isForkPullRequest: (number) => api.isForkPullRequest(number),
      checkedOut: () => checkedOut(setting, paths, deciding),
    },
  );
  switch (decision.kind) {
    case "trusted":
      sayLine(core, `Event: trusted, ${decision.reason}.`);
      break;
    case "skipped":
      throw new Stop("skipped", [decision.reason], true);
    case "refused": {
      // Anybody may write a command, and a failed run would be visible for everybody.
      const isVain = setting.command !== undefined && decision.onlyStrangers === true;
      const { unattended } = decision;
      const onRefused = isVain ? "skip" : (inputs.onRefused ?? (unattended ? "skip" : "fail"));
      throw new Stop(onRefused === "skip" ? "skipped" : "failure", [decision.reason], true);
    }
    case "limited":
      sayLine(core, "Event: not trusted. The job runs only if it can do no harm.");
      break;
    case "allowed":
      sayLine(core, `Event: not trusted, but \`allow-untrusted\` is set. ${decision.reason}`);
      break;
  }
  const { baseRef } = decision;
  const distrust = decision.kind === "limited" ? decision.reason : undefined;
  const central = centralFiles(setting);
  const none = inputs.entry === "" ? "There is no rehearsal" : "There is no entry";
  const isFile = central === undefined && inputs.prompt === undefined;
  const missing = isFile ? await missingFile(setting.workspace, none, paths.entry) : undefined;
  // The base may have an entry that a fork's head lacks, but a workspace without any checkout is a mistake.
  const folder = dirname(resolve(setting.workspace, paths.entry));
  if (
    missing !== undefined &&
    (baseRef === undefined || (await checkoutOf(folder, environment)) === undefined)
  ) {
    throw new Stop("failure", [missing]);
  }
  const isBelieved = baseRef === undefined;
  if (isBelieved) {
    const commit = sha(environment["GITHUB_SHA"]);
    const workTree: WorkTree =
      commit === undefined ? { kind: "own" } : { kind: "at-commit", commit };
    const files = await copied(setting, paths, { central });
    return { ...files, workTree, isBelieved, distrust };
  }
  await refuseRuntimeOfCheckout(setting);
  if (paths.resume !== undefined || inputs.journals.length > 0) {
    const name = paths.resume === undefined ? "journals" : "resume";
    throw new Stop("failure", [
      `${asInput(name)} names a journal, and the workspace may contain untrusted files, so no run is continued. Check out the commit of the event (actions/checkout without \`ref\` and \`repository\`), and take the journal from a run that you trust.`,
    ]);
  }
  const work = await commitsOf(setting, await workFolders(setting, paths));
  const kind = areAt(work, baseRef) ? "at-commit" : "elsewhere";
  const base = filesOfBase(api, baseRef, howToReadTheBase);
  const files = await copied(setting, paths, { central, base });
  return { ...files, workTree: { kind, commit: baseRef }, isBelieved, distrust };
}

const howToReadTheBase =
  "The checkout may contain untrusted files, so this file is read from a commit of the repository through GitHub's API. " +
  "The commit must contain the file, and the token needs `contents: read`. To use the file of the checkout, check out the " +
  "commit of the event: actions/checkout without `ref` and `repository`, in an image that has git.";

/** The entry and the rehearsal, in a folder of their own unless the work tree has them. */
async function copied(
  setting: Setting,
  { entry, rehearse }: Paths,
  { central, base }: { readonly central: CentralFiles | undefined; readonly base?: CommitFiles },
): Promise<Pick<Sources, "entryFile" | "rehearse" | "copies">> {
  const { environment, inputs } = setting;
  const source = central ?? base;
  const isPrompt = inputs.prompt !== undefined;
  if (source === undefined || (isPrompt && rehearse === undefined))
    return { entryFile: isPrompt ? undefined : entry, rehearse, copies: undefined };
  const temporary = environment["RUNNER_TEMP"] || tmpdir();
  const copies = await realpath(await mkdtemp(join(temporary, "agent-jobs-base-")));
  const { api, say } = apiOf(setting);
  const copying = { folder: copies, params: inputs.params, say };
  const named = async (path: string) => ({
    path,
    name: await nameInRepository(setting, api, path),
  });
  const entryFile = isPrompt
    ? undefined
    : await copyEntry(
        { ...copying, files: source },
        central === undefined ? await named(entry) : { path: central.name, name: central.path },
      );
  const script =
    rehearse === undefined || base === undefined
      ? rehearse
      : await copyFile({ ...copying, files: base }, await named(rehearse));
  return { entryFile, rehearse: script, copies };
}

const SHOWN_ENTRIES = 10;

async function missingFile(
  workspace: string,
  none: string,
  path: string,
): Promise<string | undefined> {
  const found = await stat(resolve(workspace, path)).catch(() => undefined);
  if (found !== undefined) return undefined;
  return `${none} ${path} in the workspace (${workspace}). Is \`actions/checkout\` missing before this step? ${await entriesThere(workspace)}`;
}

async function entriesThere(workspace: string): Promise<string> {
  const entries = await findEntries(workspace);
  if (entries.length === 0) return "No entries were found in the workspace.";
  const more = entries.length > SHOWN_ENTRIES ? ` and ${entries.length - SHOWN_ENTRIES} more` : "";
  return `The workspace has these entries: ${entries.slice(0, SHOWN_ENTRIES).join(", ")}${more}.`;
}

async function commitsOf(
  { environment }: Setting,
  folders: readonly string[],
): Promise<(string | undefined)[]> {
  const checkouts = await Promise.all(
    [...new Set(folders)].map((folder) => checkoutOf(folder, environment)),
  );
  return checkouts.map((checkout) => checkout?.commit);
}

/** By their names and through links, which may lead into another checkout. */
async function foldersOf(files: readonly string[]): Promise<string[]> {
  const real = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
  return [...files, ...real].map((file) => dirname(file));
}

async function workFolders(
  { workspace }: Setting,
  { workingDirectory = ".", userInputFile }: Paths,
): Promise<string[]> {
  const folder = resolve(workspace, workingDirectory);
  const input = userInputFile === undefined ? [] : [resolve(workspace, userInputFile)];
  return [folder, await realpath(folder).catch(() => folder), ...(await foldersOf(input))];
}

/** A rehearsal's own folder is not used beside a base. */
async function checkedOut(
  setting: Setting,
  paths: Paths,
  deciding: readonly string[],
): Promise<CheckedOut> {
  const { workspace, inputs } = setting;
  const { entry, rehearse, resume } = paths;
  const work = await commitsOf(setting, await workFolders(setting, paths));
  // No file of the checkout is the entry.
  const isElsewhere = inputs.central !== undefined || inputs.prompt !== undefined;
  const named = [isElsewhere ? undefined : entry, rehearse, resume, ...deciding]
    .filter((file) => file !== undefined)
    .map((file) => resolve(workspace, file));
  const files = [...work, ...(await commitsOf(setting, await foldersOf(named)))];
  // With several commits, the files are not believed, and nothing needs to be read in them.
  if (isElsewhere || new Set(files).size > 1) return { work, files };
  const { found } = reachedFiles(resolve(workspace, entry), inputs.params);
  return { work, files: [...files, ...(await commitsOf(setting, await foldersOf(found)))] };
}

/** The runtime enforces the sandbox, so it must not come from untrusted files. */
async function refuseRuntimeOfCheckout({ inputs, environment, workspace }: Setting): Promise<void> {
  for (const [name, path] of [
    ["runtime-path", inputs.runtimePath],
    ["COPILOT_CLI_PATH", environment["COPILOT_CLI_PATH"]],
  ] as const) {
    if (path === undefined || path === "") continue;
    // By its name or through links: a link in the checkout could also choose the program.
    const absolute = resolve(workspace, path);
    if (isBelow(workspace, absolute) || (await isInside(workspace, absolute))) {
      throw new Stop("failure", [
        `\`${name}\` leads into the workspace, which may contain untrusted files, so it is not started.`,
      ]);
    }
  }
}

const write: WriteName = (option) => asInput(asPlural(option));

export function runOptions(
  setting: Setting,
  paths: Paths,
  sources: Sources,
  userInput: string | undefined,
): RunOptions {
  const { inputs, environment, workspace } = setting;
  const { job, base, provider, gitHubToken, promptFile } = inputs;
  const leg = legOf(environment, inputs);
  const { api: github, say } = apiOf(setting);
  const { userInputFile: _, entry: _entry, ...files } = paths;
  const { entryFile, rehearse, isBelieved, workTree } = sources;
  // A rehearsal may name its own folder, which for a copy of the base would be next to the copy.
  const fallback = rehearse === undefined || !isBelieved ? workspace : undefined;
  const workingDirectory = paths.workingDirectory ?? fallback;
  return {
    ...valuesOn("run", inputs),
    ...files,
    resume: paths.resume,
    ...(promptFile === undefined ? { entryFile } : { promptFile: entryFile }),
    entryName: paths.entry,
    environment,
    write,
    telemetry: telemetryTarget(environment),
    findChange: (folder, since) => changeOfStep(folder, { environment, base, github, say }, since),
    findConversation: async (jobName) => {
      const { readConversation } = await import("../github/conversation.ts");
      const origin = await originOf(environment, github);
      const entry = centralFiles(setting)?.name ?? paths.entry;
      return origin === undefined
        ? { findings: [], round: 0 }
        : readConversation(github, { job: jobName, entry, origin: { ...origin, leg } });
    },
    instructionSource: async () => ({
      commit: await trustedCommitOf(
        { environment, github },
        isBelieved || workTree.kind === "own" ? undefined : workTree.commit,
      ),
      read: (path, commit) => readIfThere(github, path, commit),
    }),
    findFailedChecks: () => failedChecksOfStep(environment, github.get),
    isPullRequest: async () => (await eventChange(environment))?.kind === "pull-request",
    ...limitsOf(inputs, (name) => `the input ${asInput(name)}`),
    ...namedTexts(setting),
    jobName: job,
    userInput,
    workingDirectory,
    rehearse,
    leg,
    isolateServers: workTree.kind === "elsewhere",
    remembers: isBelieved && sources.distrust === undefined,
    ...withKeysTold({ provider }, (key) => setting.core.setSecret(key)),
    honorExpectations: rehearse !== undefined,
    gitHubToken: provider === undefined ? gitHubToken : undefined,
  };
}
