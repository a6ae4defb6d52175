/** What a run that is resumed was given: the same as the earlier run. */
import { isWhole } from "../workflow/run/restore.ts";
import { asFlag, UsageError, type WriteName } from "./options.ts";

interface Resuming {
  readonly resume?: string;
  /** What begins each refusal, instead of `resume`. */
  readonly title?: string | undefined;
  readonly userInput?: string | undefined;
  readonly write?: WriteName;
}

export type Refuse = (reason: string) => UsageError;

export function refusing({ resume = "", write = asFlag, title }: Resuming): Refuse {
  const begins = title ?? `${write("resume")}: can't resume ${resume}`;
  return (reason) => new UsageError(`${begins}: ${reason}`);
}

const titles = { param: "parameter", input: "input" } as const;

/** The parameters or inputs of the earlier run. Secrets are not in its journal, and have to be given again. */
export function sameTexts(
  kind: keyof typeof titles,
  before: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
  options: Resuming,
): Readonly<Record<string, string>> {
  const { write = asFlag } = options;
  const refuse = refusing(options);
  const title = titles[kind];
  for (const [name, value] of Object.entries(before)) {
    const isGiven = Object.hasOwn(given, name);
    if (isWhole(value)) {
      if (isGiven && given[name] !== value)
        throw refuse(
          `the ${title} ${name} had another value in that run. ${goOn(write(kind), write)}`,
        );
    } else if (!isGiven) {
      throw refuse(
        `the journal does not hold the whole value of the ${title} ${name}. Give it again with ${write(kind)} ${name}=….`,
      );
    }
  }
  const added = Object.keys(given).find((name) => !Object.hasOwn(before, name));
  if (added !== undefined)
    throw refuse(`that run did not have the ${title} ${added}. ${goOn(write(kind), write)}`);
  return { ...before, ...given };
}

export function sameInput(before: string, options: Resuming): string {
  const { userInput, write = asFlag } = options;
  const refuse = refusing(options);
  if (!isWhole(before)) {
    if (userInput !== undefined) return userInput;
    throw refuse(
      `the journal does not hold the whole user input. Give it again with ${write("user-input")}.`,
    );
  }
  if (userInput !== undefined && userInput !== before)
    throw refuse(`the user input was another one in that run. ${goOn(write("user-input"), write)}`);
  return before;
}

/** What to do about a value that is not that of the earlier run. */
function goOn(option: string, write: WriteName): string {
  return `Omit ${option} to go on with what that run had, or start anew without ${write("resume")}.`;
}
