/** Where the files that decide about a run come from: the work tree, or a commit of the repository that is trusted. */
import { mkdtemp, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { checkoutOf } from "../github/origin.ts";
import { filesOfBase, type CentralFiles, type CommitFiles } from "../github/commit-files.ts";
import { areAt, decideTrust, type CheckedOut } from "../github/trust.ts";
import { payloadOf, readEvent, sha } from "../github/webhook-event.ts";
import { findEntries } from "../run/entry-files.ts";
import { firstOf } from "../text/numbers.ts";
import { copyEntry, nameInRepository, reachedFiles } from "./entry-copies.ts";
import { asInput, type Inputs } from "./inputs.ts";
import { isBelow, isInside, type Paths } from "./paths.ts";
import { apiOf, centralFiles, isAct, Stop, temporaryFolder, type Setting } from "./setting.ts";

export type WorkTree =
  /** The user's own: no event decides which commit it is. */
  | { readonly kind: "own" }
  | { readonly kind: "at-commit"; readonly commit: string }
  /** It may hold untrusted files. `commit`: where the files that decide come from. */
  | { readonly kind: "elsewhere"; readonly commit: string };

export interface Sources {
  readonly workTree: WorkTree;
  /** Undefined for a prompt that is an input. */
  readonly entryFile: string | undefined;
  /** Holds copies of files that the API was asked for. */
  readonly copies: string | undefined;
  /** Whether files of the work tree may decide about the run. */
  readonly isBelieved: boolean;
  /** Why the job has to be harmless. Undefined if it may do what its entry says. */
  readonly distrust: string | undefined;
}

/** Throws a `Stop` unless the users who triggered the event may start an agent. `deciding`: more files that decide. */
export async function trustedSources(
  setting: Setting,
  paths: Paths,
  deciding: readonly string[] = [],
): Promise<Sources> {
  const { inputs, environment, say } = setting;
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
      allowed: inputs.allowedUsers,
      eventSha: environment["GITHUB_SHA"],
      builtInToken: token?.startsWith("ghs_") === true,
      onRunner: environment["GITHUB_ACTIONS"] === "true",
      onAct: isAct(environment),
      rehearses: inputs.mode === "rehearse",
    },
    {
      permissionOf: (login) => api.permissionOf(login),
      isForkPullRequest: (number) => api.isForkPullRequest(number),
      checkedOut: () => checkedOut(setting, paths, deciding),
    },
  );
  switch (decision.kind) {
    case "trusted":
      say(`Event: trusted, ${decision.reason}.`);
      break;
    case "skipped":
      throw new Stop("skipped", [decision.reason], true);
    case "refused": {
      // Anybody may write a command, and a failure would be visible to everybody.
      const isVain = setting.command !== undefined && decision.onlyStrangers === true;
      const result = isVain || decision.unattended ? "skipped" : "failure";
      throw new Stop(result, [decision.reason], true);
    }
    case "limited":
      say("Event: not trusted. The job runs only if it can do no harm.");
      break;
    case "allowed":
      say(`Event: not trusted, but \`allowed-users\` has \`*\`. ${decision.reason}`);
      break;
  }
  const { baseRef } = decision;
  const distrust = decision.kind === "limited" ? decision.reason : undefined;
  const central = centralFiles(setting);
  const what = inputs.mode === "rehearse" ? "There is no rehearsal" : "There is no entry";
  const missing = isFile(inputs)
    ? await missingFile(setting.workspace, what, paths.entry)
    : undefined;
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
  if (inputs.mode === "rehearse") throw new Stop("failure", [rehearsedElsewhere]);
  await refuseRuntimeOfCheckout(setting);
  if (paths.resume !== undefined || paths.journals.length > 0) {
    const name = paths.resume === undefined ? "journals" : "resume";
    throw new Stop("failure", [
      `${asInput(name)} names a journal, and the workspace may contain untrusted files, so no run is continued. Check out the commit of the event (actions/checkout without \`ref\` and \`repository\`), and take the journal from a run that you trust.`,
    ]);
  }
  const work = await commitsOfWork(setting, paths);
  const kind = areAt(work, baseRef) ? "at-commit" : "elsewhere";
  const base = filesOfBase(api, baseRef, howToReadTheBase);
  const files = await copied(setting, paths, { central, base });
  return { ...files, workTree: { kind, commit: baseRef }, isBelieved, distrust };
}

const rehearsedElsewhere =
  "Rehearsals are read from the workspace, and the workspace may contain untrusted files. Check out the commit of the event (actions/checkout without `ref` and `repository`).";

const howToReadTheBase =
  "The checkout may contain untrusted files, so this file is read from a commit of the repository through GitHub's API. " +
  "The commit must contain the file, and the token needs `contents: read`. To use the file of the checkout, check out the " +
  "commit of the event: actions/checkout without `ref` and `repository`, in an image that has git.";

/** Whether a file of the checkout is the entry. */
function isFile({ central, prompt }: Inputs): boolean {
  return central === undefined && prompt === undefined;
}

/** The entry, in a folder of its own unless the work tree has it. */
async function copied(
  setting: Setting,
  { entry }: Paths,
  { central, base }: { readonly central: CentralFiles | undefined; readonly base?: CommitFiles },
): Promise<Pick<Sources, "entryFile" | "copies">> {
  const { environment, inputs, say } = setting;
  const files = central ?? base;
  if (inputs.prompt !== undefined) return { entryFile: undefined, copies: undefined };
  if (files === undefined) return { entryFile: entry, copies: undefined };
  const copies = await realpath(
    await mkdtemp(join(temporaryFolder(environment), "agent-jobs-base-")),
  );
  const { api } = apiOf(setting);
  const named =
    central === undefined
      ? { path: entry, name: await nameInRepository(setting, api, entry) }
      : { path: central.name, name: central.path };
  const copying = { folder: copies, files, params: inputs.params, say };
  return { entryFile: await copyEntry(copying, named), copies };
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
  return `The workspace has these entries: ${firstOf(entries, SHOWN_ENTRIES)}.`;
}

/** By their names and through links, which may lead into another checkout. */
async function withLinks(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...paths, ...real];
}

async function commitsOf(
  { environment }: Setting,
  folders: readonly string[],
  files: readonly string[],
): Promise<(string | undefined)[]> {
  const holding = (await withLinks(files)).map((file) => dirname(file));
  const all = new Set([...(await withLinks(folders)), ...holding]);
  const checkouts = await Promise.all([...all].map((folder) => checkoutOf(folder, environment)));
  return checkouts.map((checkout) => checkout?.commit);
}

function commitsOfWork(
  setting: Setting,
  { workingDirectory = ".", userInputFile }: Paths,
): Promise<(string | undefined)[]> {
  const { workspace } = setting;
  const files = userInputFile === undefined ? [] : [resolve(workspace, userInputFile)];
  return commitsOf(setting, [resolve(workspace, workingDirectory)], files);
}

/** A journal that a step has left in the runner's folder is in no checkout. */
async function checkedOut(
  setting: Setting,
  paths: Paths,
  deciding: readonly string[],
): Promise<CheckedOut> {
  const { workspace, inputs, environment } = setting;
  const { entry, resume, journals } = paths;
  const work = await commitsOfWork(setting, paths);
  const isOwn = isFile(inputs);
  const named = [...(isOwn ? [entry] : []), ...deciding].map((file) => resolve(workspace, file));
  const temporary = temporaryFolder(environment);
  for (const journal of resume === undefined ? journals : [...journals, resume]) {
    const path = resolve(workspace, journal);
    const isLeft = (await isInside(temporary, path)) && !(await isInside(workspace, path));
    if (!isLeft) named.push(path);
  }
  const files = [...work, ...(await commitsOf(setting, [], named))];
  // With several commits, the files are not believed, and nothing needs to be read in them.
  if (!isOwn || new Set(files).size > 1) return { work, files };
  const { found } = reachedFiles(resolve(workspace, entry), inputs.params);
  return { work, files: [...files, ...(await commitsOf(setting, [], found))] };
}

/** The runtime enforces the sandbox, so it must not come from untrusted files. */
async function refuseRuntimeOfCheckout({ inputs, environment, workspace }: Setting): Promise<void> {
  for (const [name, path] of [
    ["AGENT_JOBS_RUNTIME_PATH", inputs.runtimePath],
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
