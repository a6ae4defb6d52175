/** How a rehearsal names an activity of a workflow: `ID`, or `FILE#ID` if several files have an activity with this id. */

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
