/** The working directory of a job, for commands of the author, to which the permissions of agents don't apply. */
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join, sep } from "node:path";
import { defined } from "../text/guards.ts";
import type { CommandEnd, CommandRequest, Workspace } from "../engine/ports.ts";
import { isAmong } from "../entry/glob.ts";
import type { Clock } from "../platform/clock.ts";
import { childEnvironment } from "../platform/environment.ts";
import { GitRepository } from "../git/repository.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import type { Programs } from "../tools/tool-programs.ts";
import { OutputFolder, plainName, realPathOf, readJudged } from "../platform/files.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import { allowedOf, type AllowedVariables } from "./variables.ts";

export interface JobWorkspaceOptions extends AllowedVariables {
  readonly workingDirectory: string;
  readonly mark: string;
  readonly clock: Clock;
  readonly redact: () => TextStream;
  /** Absolute: where each command gets a file with all that it prints. */
  readonly outputDirectory?: string | undefined;
  /** Absolute: what the run writes about itself. */
  readonly records?: readonly string[] | undefined;
}

/** GitHub runs a step with `shell: bash` like this: a failing command in a script or pipeline fails the whole. */
const bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"];
const graceMs = 2_000;

export function createJobWorkspace(options: JobWorkspaceOptions): Workspace {
  const { workingDirectory, environment, clock, redact, mark } = options;
  let started: Programs | undefined;
  const programs = async (): Promise<Programs> => {
    const variables = childEnvironment(environment);
    const { Programs: All } = await import("../tools/tool-programs.ts");
    return (started ??= new All({
      workingDirectory,
      variables,
      clock,
      redact,
      mark,
      graceMs,
    }));
  };
  const { outputDirectory } = options;
  const logs = outputDirectory === undefined ? undefined : new OutputFolder(outputDirectory);

  async function runCommand(request: CommandRequest): Promise<CommandEnd> {
    const { command, label, variables, signal, keepsOutput = false } = request;
    const { run, env: named = [] } = command;
    const broken = Object.entries(variables).find(([, value]) => value.includes("\0"));
    if (broken !== undefined)
      return { kind: "failed", reason: `${broken[0]} would contain a NUL character`, tail: "" };
    const log = openLog(logs, label);
    const end = await (
      await programs()
    ).run(
      {
        command: typeof run === "string" ? [...bash, run] : run,
        field: "run",
        variables: { ...allowedOf({ environment, env: named }), ...variables },
        result: keepsOutput ? "stdout" : "none",
        ...defined({ onText: log?.write }),
      },
      { signal, onProgress: () => {} },
    );
    const file = defined({ file: log?.path });
    if (log?.problem !== undefined) {
      const reason = `what it printed could not be written to ${log.path}: ${log.problem}`;
      return { kind: "failed", reason, tail: end.tail ?? "", ...file };
    }
    if (end.kind === "exited")
      return { kind: "exited", code: end.code, tail: end.tail, output: end.result, ...file };
    const reason = end.reason.replace(/^run: /, "").replace(/\.$/, "");
    return { kind: "failed", reason, tail: end.tail ?? "", ...file };
  }

  // The repository that is there before an agent works.
  const repository = GitRepository.at(workingDirectory, { environment });

  async function files(globs: readonly string[]): Promise<readonly string[]> {
    if (repository === undefined)
      throw new Error(`${workingDirectory} was not in a git repository when the run started`);
    const deleted = new Set(await repository.files(["--deleted"]));
    const tracked = await repository.files(["--cached"]);
    return tracked.filter((path) => !deleted.has(path) && isAmong(globs, path));
  }

  async function watch(globs: readonly string[]): Promise<() => Promise<boolean>> {
    const own = [options.records ?? [], outputDirectory ?? []].flat();
    const state = (): Promise<string> =>
      fileState({ folder: workingDirectory, repository, own }, globs);
    const before = await state();
    return async () => (await state()) !== before;
  }

  return { runCommand, files, watch, close: async () => started?.close() };
}

interface CommandLog {
  readonly path: string;
  readonly write: (text: string) => void;
  problem: string | undefined;
}

/** The file of a command; what further runs of it print is added at its end. */
function openLog(folder: OutputFolder | undefined, label: string): CommandLog | undefined {
  if (folder === undefined) return undefined;
  const name = `${plainName(label, 80)}.log`;
  const log: CommandLog = {
    path: join(folder.path, name),
    problem: undefined,
    // Called while the command prints: what is thrown here would end the process.
    write(text) {
      if (log.problem !== undefined) return;
      try {
        folder.append(name, text);
      } catch (error) {
        log.problem = errorMessage(error);
      }
    },
  };
  return log;
}

/** A larger file is judged by its size and time. */
const longestFile = 20_000_000;
const most = { mostFiles: 100_000, mostNames: 1_000_000 };

interface Files {
  readonly folder: string;
  /** The one that was there before an agent worked. */
  readonly repository: GitRepository | undefined;
  /** The files that the run itself writes, as absolute paths. */
  readonly own: readonly string[];
}

/** A hash of the files by their content: those that git tracks or doesn't ignore; outside of a repository, of all. Rejects if git can't tell. */
async function fileState(files: Files, globs: readonly string[]): Promise<string> {
  const root = realPathOf(files.folder);
  const own = files.own.map(realPathOf);
  const hash = createHash("sha256");
  const yielder = new EventLoopYielder();
  for (const path of await pathsOf(files, globs)) {
    await yielder.yieldIfDue();
    const place = join(root, path);
    if (own.some((one) => one === place || place.startsWith(one + sep))) continue;
    const found = lstatSync(place, { throwIfNoEntry: false });
    const content = found && contentOf(place, found);
    if (content === undefined) continue;
    const isProgram = (found?.mode ?? 0) & 0o100;
    hash.update(JSON.stringify([path, isProgram, content.length])).update(content);
  }
  return hash.digest("hex");
}

async function pathsOf(
  { folder, repository }: Files,
  globs: readonly string[],
): Promise<readonly string[]> {
  const isListed =
    repository !== undefined && (repository.prefix === "" || !(await repository.isIgnored()));
  if (isListed) return (await repository.files()).filter((path) => isAmong(globs, path)).toSorted();
  const { matchingFiles } = await import("../tools/matching-files.ts");
  const { signal } = new AbortController();
  const all = globs.every((glob) => glob.startsWith("!")) ? ["**", ...globs] : globs;
  return (await matchingFiles({ folder, globs: all, signal, ...most })).files;
}

function contentOf(place: string, found: Stats): Uint8Array | string | undefined {
  try {
    if (found.isSymbolicLink()) return readlinkSync(place);
    if (found.size > longestFile) return `${found.size} ${found.mtimeMs}`;
    return found.isFile() ? readJudged(place, longestFile) : undefined;
  } catch {
    return undefined;
  }
}
