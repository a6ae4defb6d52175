import { truncate } from "../text/truncate.ts";
import { readUserInputFile } from "../run/options-paths.ts";
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
  return raw === undefined ? undefined : cleaned(raw, "The user input", core);
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

/** Text of an event is untrusted: what is invisible on GitHub must not reach a model either. */
export const MAX_EVENT_TEXT = 100_000;

/** `<!-->` and `<!--->` are whole comments. */
const comment = /<!--(?:-?>|[^]*?(?:-->|$))/g;

export function cleanEventText(raw: string): { readonly text: string; readonly cut: number } {
  const visible = raw
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/\p{Cs}/gu, "\uFFFD")
    .replace(/\p{Cc}/gu, (control) => (control === "\n" || control === "\t" ? control : ""))
    // Zero-width, bidirectional, tag and filler characters, variation selectors, annotation anchors.
    .replace(/[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu, "");
  // After the invisible ones, which could have split the markers. What is left of comments after two rounds was made
  // to hide something: it goes to the end, as one that is never closed does on GitHub.
  const text = visible
    .replace(comment, "")
    .replace(comment, "")
    .replace(/<!--[^]*/, "");
  const kept = truncate(text, MAX_EVENT_TEXT);
  return { text: kept, cut: text.length - kept.length };
}
