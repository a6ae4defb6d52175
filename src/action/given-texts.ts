import { readUserInputFile } from "../run/options-paths.ts";
import { cleanEventText } from "../text/harmless-text.ts";
import { asInput, type Inputs } from "./inputs.ts";
import type { RunnerCore } from "./runner-core.ts";

interface Step {
  readonly inputs: Inputs;
  readonly core: RunnerCore;
  readonly command?: { readonly text: string } | undefined;
}

export async function userInputOf(
  { inputs, core, command }: Step,
  { userInputFile }: { readonly userInputFile?: string },
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

export function namedTexts({
  inputs: { inputs, params, answers },
  core,
}: Step): Pick<Inputs, "inputs" | "params" | "answers"> {
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
