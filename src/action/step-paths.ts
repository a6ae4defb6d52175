/** The paths among the inputs of a step: inside of the workspace, or where the runner keeps temporary files. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainName } from "../platform/files.ts";
import { defined } from "../text/guards.ts";
import { asInput, AUTO, type Environment, type Inputs } from "./inputs.ts";
import { Stop } from "./stop.ts";
import { insideRunner, insideWorkspace, journalsAt } from "./workspace-paths.ts";

interface PathSetting {
  readonly inputs: Inputs;
  readonly workspace: string;
  readonly environment: Environment;
}

export interface Paths {
  /** The entry, the file with the prompt, or a rehearsal. Only a name for a prompt that is an input. */
  readonly entry: string;
  readonly workingDirectory?: string;
  readonly userInputFile?: string;
  readonly outputDir?: string;
  readonly resume?: string;
  /** The journal to deliver. */
  readonly journal?: string;
  /** The journals to merge. */
  readonly journals: readonly string[];
}

export function temporaryFolder(environment: Environment): string {
  return environment["RUNNER_TEMP"] || tmpdir();
}

/** `fallback`: stands for the entry where no single one runs. Throws a `Stop` with every problem. */
export async function checkPaths(
  { inputs, workspace, environment }: PathSetting,
  fallback = "",
): Promise<Paths> {
  const temporary = temporaryFolder(environment);
  const problems: string[] = [];
  const inside = async (
    name: string,
    value: string | undefined,
    where?: "runner",
  ): Promise<string | undefined> => {
    if (value === undefined) return undefined;
    const checked =
      where === undefined
        ? await insideWorkspace(workspace, name, value)
        : await insideRunner({ workspace, temporary }, name, value);
    if (checked.kind === "inside") return checked.path;
    problems.push(checked.problem);
    return undefined;
  };
  const journals = async (name: string, given: readonly string[]): Promise<readonly string[]> => {
    const found = new Set<string>();
    for (const one of given) {
      const path = await inside(name, one, "runner");
      const files = path === undefined ? [] : await journalsAt(workspace, path);
      if (typeof files === "string") problems.push(`${asInput(name)}: ${files}`);
      else for (const file of files) found.add(file);
    }
    return [...found];
  };
  const journal = async (name: string, given: string | undefined): Promise<string | undefined> => {
    const [first, ...others] = await journals(name, given === undefined ? [] : [given]);
    if (others.length > 0)
      problems.push(`${asInput(name)} names ${others.length + 1} journals. It must name one.`);
    return first;
  };
  const { central, prompt, promptFile, resume, mode } = inputs;
  const isFile = central === undefined && prompt === undefined;
  const name = promptFile === undefined ? "entry" : "prompt-file";
  const own = `agent-jobs/${plainName(environment["GITHUB_ACTION"] || "step")}`;
  const paths = {
    entry: isFile ? ((await inside(name, inputs.entry || fallback)) ?? "") : inputs.entry,
    ...defined({
      workingDirectory: await inside("working-directory", inputs.workingDirectory),
      userInputFile: await inside("user-input-file", inputs.userInputFile),
      outputDir:
        mode === "deliver"
          ? undefined
          : await inside("output-dir", inputs.outputDir ?? join(temporary, own), "runner"),
      resume: await journal("resume", resume === AUTO ? undefined : resume),
      journal: await journal("journal", inputs.journal),
    }),
    journals: await journals("journals", inputs.journals),
  };
  if (problems.length > 0) throw new Stop("failure", problems);
  return paths;
}
