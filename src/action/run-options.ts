/** The inputs of a step as the options of a run. */
import { changeOfStep, eventChange, readIfThere, trustedCommitOf } from "../github/change.ts";
import { failedChecksOfStep } from "../github/failed-checks.ts";
import { originOf } from "../github/origin.ts";
import { valuesOn } from "../run/option-table.ts";
import { readUserInputFile } from "../run/options-paths.ts";
import { withKeysTold } from "../run/options-provider.ts";
import type { RunOptions } from "../run/prepare.ts";
import { telemetryTarget } from "../run/telemetry.ts";
import { cleanEventText } from "../text/harmless-text.ts";
import { asInput, type Inputs } from "./inputs.ts";
import { legOf, partOf } from "./journals.ts";
import { isInside, type Paths } from "./paths.ts";
import type { RunnerCore } from "./runner-core.ts";
import { apiOf, centralFiles, deliveryApiOf, Stop, type Setting } from "./setting.ts";
import type { Sources } from "./sources.ts";

/** A single rehearsal names its entry and its job. */
export interface Alone {
  readonly file: string;
  readonly entry: string;
  readonly job: string | undefined;
}

export async function runOptions(
  setting: Setting,
  paths: Paths,
  sources: Sources,
  alone: Alone | undefined,
): Promise<RunOptions> {
  const { inputs, environment, workspace, say } = setting;
  const { base, provider, gitHubToken, promptFile, limits = {} } = inputs;
  const leg = legOf(environment, inputs);
  const { api: github } = apiOf(setting);
  const { entryFile, isBelieved, workTree } = sources;
  const names = Object.keys(limits).map((name) => [name, "the input `limits`"]);
  return {
    ...valuesOn("run", inputs),
    ...namedTexts(setting),
    resume: paths.resume,
    // Nobody in CI can decide about interrupted commands.
    rerun: paths.resume !== undefined,
    outputDir: paths.outputDir,
    entryFile: alone?.entry ?? (promptFile === undefined ? entryFile : undefined),
    promptFile: promptFile === undefined ? undefined : entryFile,
    entryName: alone?.entry ?? paths.entry,
    environment,
    write: asInput,
    telemetry: telemetryTarget(environment, undefined),
    findChange: (folder, since) => changeOfStep(folder, { environment, base, github, say }, since),
    findConversation: async (jobName) => {
      const { readConversation } = await import("../github/conversation.ts");
      const origin = await originOf(environment, github);
      const entry = centralFiles(setting)?.name ?? paths.entry;
      return origin === undefined
        ? { findings: [], round: 0 }
        : readConversation(deliveryApiOf(setting), {
            job: jobName,
            entry,
            origin: { ...origin, leg },
          });
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
    limits,
    limitNames: Object.fromEntries(names),
    jobName: alone === undefined ? inputs.job : alone.job,
    userInput: await userInputOf(setting, paths),
    // A rehearsal may name its own folder.
    workingDirectory: paths.workingDirectory ?? (alone === undefined ? workspace : undefined),
    rehearse: alone?.file,
    leg,
    isolateServers: workTree.kind === "elsewhere",
    remembers: isBelieved && sources.distrust === undefined,
    ...withKeysTold({ provider }, (key) => setting.core.setSecret(key)),
    honorExpectations: alone !== undefined,
    gitHubToken: provider === undefined ? gitHubToken : undefined,
    checkFolder: (folder) => checkRehearsed(folder, workspace),
    ...(await partOf(inputs, paths)),
  };
}

async function userInputOf(
  { inputs, core, command }: Setting,
  { userInputFile }: Paths,
): Promise<string | undefined> {
  if (command !== undefined && command.text !== "") return command.text;
  const raw =
    userInputFile === undefined
      ? inputs.userInput
      : await readUserInputFile(userInputFile, asInput, { regular: true });
  if (raw !== undefined) return cleaned(raw, "The user input", core);
  // A command may stand alone, also where a prompt shows what follows it.
  return command === undefined ? undefined : "(none)";
}

function namedTexts({
  inputs: { inputs, params, answers },
  core,
}: Setting): Pick<Inputs, "inputs" | "params" | "answers"> {
  const each = <From, To>(
    texts: Readonly<Record<string, From>>,
    clean: (text: From, name: string) => To,
  ): Record<string, To> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, clean(text, name)]));
  return {
    inputs: each(inputs, (text, name) => cleaned(text, `The input ${name}`, core)),
    params: each(params, (text, name) => cleaned(text, `The parameter ${name}`, core)),
    answers: each(answers, (texts, id) =>
      texts.map((text) => cleaned(text, `An answer to ${id}`, core)),
    ),
  };
}

function cleaned(raw: string, what: string, core: RunnerCore): string {
  const { text, cut } = cleanEventText(raw);
  if (cut > 0) {
    core.warning(`${what} is too long. Its last ${cut} characters were cut off.`, {
      title: "agent-jobs",
    });
  }
  return text;
}

/** A rehearsal may name the folder itself. */
export async function checkRehearsed(folder: string, workspace: string): Promise<void> {
  if (await isInside(workspace, folder)) return;
  throw new Stop("failure", [
    `The working directory of the rehearsal, ${folder}, is not in the workspace.`,
  ]);
}
