/** Relics, read anew each time: agents work on the files. A text is redacted before anything is taken from it. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Permissions, RelicDeclaration } from "../entry/model.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import { isUnder, type PathContext } from "../permissions/paths.ts";
import { decidePermission } from "../permissions/policy.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import { readJudged } from "../platform/files.ts";
import { matchingFiles } from "./matching-files.ts";
import { charactersPerToken, type CallContext, type Relic, type ToolOutcome } from "./tool.ts";
import type { Toolbox } from "./toolbox.ts";
import { truncate } from "../text/truncate.ts";

interface RelicOptions {
  readonly declarations: Readonly<Record<string, RelicDeclaration>>;
  readonly workingDirectory: string;
  readonly files: Omit<PathContext, "workingDirectory">;
  readonly redact: () => TextStream;
}

export const relicLimits = {
  files: 1_000,
  names: 50_000,
  /** Longer files are left out, in bytes. */
  file: 512 * 1024,
  /** Files beyond it are left out, in bytes. */
  total: 8 * 1024 * 1024,
} as const;

const defaultTokens = 2_000;
/** A shorter beginning of a file says nothing. */
const shortest = 120;
const longestQuery = 1_000;
const mostWords = 32;

export function createRelics(options: RelicOptions): Toolbox["relicsFor"] {
  return (names, permissions) => {
    const chosen = new Set(names ?? Object.keys(options.declarations));
    return Object.entries(options.declarations)
      .filter(([name]) => chosen.has(name))
      .map(([name, declaration]) => relicOf(name, declaration, permissions, options));
  };
}

function relicOf(
  name: string,
  { description, files: globs, maxTokens = defaultTokens }: RelicDeclaration,
  permissions: Permissions,
  options: RelicOptions,
): Relic {
  const read = async (query = "", { signal }: CallContext): Promise<ToolOutcome> => {
    const found = await readFiles({ ...options, globs, permissions, signal });
    if (signal.aborted) return { kind: "failed", reason: "The call was canceled." };
    const characters = maxTokens * charactersPerToken;
    const room = characters - found.omissions.length - separator.length;
    const words = wordsOf(query);
    const parts =
      words.length === 0 ? beginnings(found.files, room) : await passages(found.files, words, room);
    const text = [...parts, found.omissions].filter((part) => part !== "").join(separator);
    return { kind: "succeeded", value: truncate(text, characters) };
  };
  return { name, description, maxTokens, read };
}

interface FoundFile {
  /** Relative to the working directory. Redacted, and without control characters. */
  readonly name: string;
  readonly text: string;
}

interface FileOptions extends RelicOptions {
  readonly globs: readonly string[];
  readonly permissions: Permissions;
  readonly signal: AbortSignal;
}

async function readFiles(
  options: FileOptions,
): Promise<{ readonly files: readonly FoundFile[]; readonly omissions: string }> {
  const { workingDirectory: folder, globs, signal } = options;
  const bounds = { mostFiles: relicLimits.files, mostNames: relicLimits.names };
  const { files: paths, complete } = await matchingFiles({ folder, globs, signal, ...bounds });
  const root = await realpath(folder).catch(() => folder);
  const files: FoundFile[] = [];
  let omitted = 0;
  let left: number = relicLimits.total;
  const yielder = new EventLoopYielder();
  for (const path of paths) {
    if (signal.aborted) break;
    await yielder.yieldIfDue();
    const real = await permittedPath(path, root, options);
    const bytes = real && contentOf(real, Math.min(relicLimits.file, left));
    if (!bytes || bytes.subarray(0, 8_000).includes(0)) {
      omitted += 1;
      continue;
    }
    left -= bytes.length;
    files.push({
      name: withoutControls(redacted(path, options)),
      text: redacted(new TextDecoder().decode(bytes), options),
    });
  }
  const all = [
    ...(omitted === 0
      ? []
      : [`${omitted} that this task may not read, without text, or too large`]),
    ...(complete ? [] : [`those beyond the limit of ${relicLimits.files}`]),
  ].join(", and ");
  return { files, omissions: all === "" ? "" : `Left out of these files: ${all}.` };
}

/** Permissions may allow more than the working directory; a relic is a part of it. */
async function permittedPath(
  path: string,
  root: string,
  { workingDirectory, files, permissions }: FileOptions,
): Promise<string | undefined> {
  const at = join(workingDirectory, path);
  const real = await realpath(at).catch(() => undefined);
  if (real === undefined || !isUnder(real, root)) return undefined;
  const request = { kind: "read", paths: [at], deep: false } as const;
  const { kind } = decidePermission(permissions, request, { workingDirectory, ...files });
  return kind === "allowed" ? real : undefined;
}

function redacted(text: string, { redact }: FileOptions): string {
  const stream = redact();
  return stream.push(text) + stream.end();
}

function withoutControls(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "?");
}

const separator = "\n\n";

/** The list of the files, and the beginning of each: all get the same share of the room. */
function beginnings(files: readonly FoundFile[], characters: number): readonly string[] {
  const table = tableOf(files, characters / 4);
  const room = characters - table.length;
  const share = Math.max(shortest, Math.floor(room / files.length) - separator.length);
  const parts = files
    .filter(({ text }) => text.trim() !== "")
    .map(({ name, text }) => wholeLines(`${name}:1\n${text.trimEnd()}`, share));
  return [table, ...fitting(parts, room - separator.length)];
}

/** The passages that have the most words of the query come first. A longer word may begin with one of the query. */
async function passages(
  files: readonly FoundFile[],
  words: readonly string[],
  characters: number,
): Promise<readonly string[]> {
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.join("|")})`, "gu");
  const found: { readonly passage: string; readonly count: number }[] = [];
  const yielder = new EventLoopYielder();
  for (const { name, text } of files) {
    for (const [line, lines] of passagesOf(text)) {
      const passage = `${name}:${line}\n${lines}`;
      const { size: count } = new Set(passage.toLowerCase().match(pattern));
      if (count > 0) found.push({ passage, count });
    }
    await yielder.yieldIfDue();
  }
  const ranked = found.toSorted((a, b) => b.count - a.count).map(({ passage }) => passage);
  if (ranked.length > 0) return fitting(ranked, characters);
  const none = truncate(`No passage has any of the words ${words.join(", ")}.`, characters / 4);
  return [none, tableOf(files, characters - none.length - separator.length)];
}

/** Short words are in every text, so they only count where there are no others. */
function wordsOf(query: string): readonly string[] {
  const all =
    query
      .slice(0, longestQuery)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? [];
  const long = all.filter((word) => word.length > 2);
  return [...new Set(long.length > 0 ? long : all)].slice(0, mostWords);
}

/** The sections of a text, by its headings; long ones in parts of whole lines. */
function passagesOf(text: string): readonly (readonly [line: number, text: string])[] {
  const passages: [line: number, text: string][] = [];
  let line = 1;
  for (const section of text.replaceAll("\r\n", "\n").split(/^(?=#{1,6}\s)/m)) {
    for (const part of section.match(partPattern) ?? []) {
      if (part.trim() !== "") passages.push([line, part.trimEnd()]);
      line += part.split("\n").length - 1;
    }
  }
  return passages;
}

/** Up to 1,000 characters that end with a line, or the beginning of a longer line. */
const partPattern = /[^]{1,999}(?:\n|$)|[^]{1,999}/gu;

function fitting(passages: readonly string[], characters: number): readonly string[] {
  const chosen: string[] = [];
  let room = characters;
  for (const passage of passages) {
    if (passage.length > room && chosen.length > 0) continue;
    const part = wholeLines(passage, Math.max(0, room));
    chosen.push(part);
    room -= part.length + separator.length;
  }
  return chosen;
}

function tableOf(files: readonly FoundFile[], characters: number): string {
  if (files.length === 0) return "There are no files.";
  let room = characters - 40;
  const shown = files.filter(({ name }) => (room -= name.length + 3) >= 0);
  const more = files.length - shown.length;
  return [
    `The files (${files.length}):`,
    ...shown.map(({ name }) => `- ${name}`),
    ...(more === 0 ? [] : [`- … and ${more} more`]),
  ].join("\n");
}

function wholeLines(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const kept = truncate(text, Math.max(0, characters - 2));
  const end = kept.lastIndexOf("\n");
  return `${end > kept.length / 2 ? kept.slice(0, end) : kept}\n…`;
}

/** Undefined if the file was replaced since it was judged, is longer, or can't be read. */
function contentOf(path: string, longest: number): Uint8Array | undefined {
  try {
    return readJudged(path, longest);
  } catch {
    return undefined;
  }
}
