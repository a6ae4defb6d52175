/** The files of an entry's prompts: regular files of its repository, which no link leads to. */
import { dirname, join } from "node:path";
import { isText } from "../document/guards.ts";
import type { ReadPrompt } from "../entry/prompt-files.ts";
import { filesAround } from "./workflow-files.ts";

/** `seen` gets the absolute path of each file that is looked for. */
export function promptsAround(
  entryFile: string,
  seen?: (path: string, isThere: boolean) => void,
): ReadPrompt {
  let around: ReturnType<typeof filesAround> | undefined;
  return (name) => {
    around ??= filesAround(entryFile, { seen, of: "entry" });
    const found = around.files.read(name, around.id);
    if (found.kind !== "found") return { ...found, kind: "refused" };
    const { content } = found;
    try {
      const text = isText(content)
        ? content
        : new TextDecoder("utf-8", { fatal: true }).decode(content);
      // The line break at the end of a file is not part of the prompt.
      const place = join(dirname(entryFile), name);
      return { kind: "read", place, text: text.replaceAll("\r\n", "\n").replace(/\n$/, "") };
    } catch {
      return { kind: "refused", reason: `${JSON.stringify(name)} is not valid UTF-8.` };
    }
  };
}
