/** How a rehearsal names what differs from run to run, and the activities of workflows. */
import type { RunStarted } from "../../events/event.ts";

export interface FoundActivity {
  readonly id: string;
  readonly file: string;
}

/** `name`: `ID`, or `FILE#ID` if several files have an activity with this id. FILE is the end of its path. */
export function namesActivity(name: string, { id, file }: FoundActivity): boolean {
  const at = name.lastIndexOf("#");
  if (name.slice(at + 1) !== id) return false;
  return at === -1 || `/${file}`.endsWith(`/${name.slice(0, at)}`);
}

/** The activities of the first file go by their ids. `files`: the ids of all files of the workflow. */
export function activityName(
  { id, file }: FoundActivity,
  main: string,
  files: readonly string[],
): string {
  if (file === main) return id;
  const base = file.slice(file.lastIndexOf("/") + 1);
  const isUnique = files.filter((one) => one === base || one.endsWith(`/${base}`)).length === 1;
  return `${isUnique ? base : file}#${id}`;
}

/** Paths that differ from run to run, and that a rehearsal names. */
export interface Places {
  readonly workingDirectory: string;
  readonly changeDiff?: string | undefined;
}

export function placesOf({ workingDirectory, change }: RunStarted): Places {
  return { workingDirectory, changeDiff: change?.diffFile };
}

const PLACEHOLDER = /(\$?)\$\{(workingDirectory|changeDiff)\}/g;

/** `$${workingDirectory}` → `${workingDirectory}`, literally. */
export function fillIn(template: string, places: Places): string {
  return template.replace(PLACEHOLDER, (whole: string, escape: string, name: keyof Places) =>
    escape === "" ? (places[name] ?? whole) : whole.slice(1),
  );
}

export function takeOut(text: string, { workingDirectory, changeDiff = "" }: Places): string {
  const escaped = text.replace(/\$\{(?:workingDirectory|changeDiff)\}/g, "$$$&");
  return withoutPath(
    withoutPath(escaped, changeDiff, "${changeDiff}"),
    workingDirectory,
    "${workingDirectory}",
  );
}

function withoutPath(text: string, path: string, placeholder: string): string {
  // The root and the empty path occur in every text.
  if (path.length < 2) return text;
  return text.replaceAll(path, (found, at: number) => {
    const longerName = /^[\w-]/.test(text.slice(at + found.length));
    return longerName || text[at - 1] === "$" ? found : placeholder;
  });
}
