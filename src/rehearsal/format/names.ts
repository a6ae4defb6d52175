/** How a rehearsal names what differs from run to run, and the activities of workflows. */
import type { RunStarted } from "../../events/event.ts";

/* An activity is `ID`, or `FILE#ID` if several files have an activity with this id. */

export interface ActivityName {
  readonly id: string;
  /** The end of its path. Absent: any file. */
  readonly file?: string;
}

export interface FoundActivity {
  readonly id: string;
  readonly file: string;
}

export function toActivityName(text: string): ActivityName {
  const at = text.lastIndexOf("#");
  return at === -1 ? { id: text } : { id: text.slice(at + 1), file: text.slice(0, at) };
}

export function writtenName({ id, file }: ActivityName): string {
  return file === undefined ? id : `${file}#${id}`;
}

export function namesActivity(name: ActivityName, { id, file }: FoundActivity): boolean {
  if (name.id !== id) return false;
  return name.file === undefined || file === name.file || file.endsWith(`/${name.file}`);
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
