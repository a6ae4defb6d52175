/** Relics, read anew each time: agents work on the files. A text is redacted before anything is taken from it. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Permissions, RelicDeclaration } from "../entry/model.ts";
import type { TextStream } from "../redaction/text-stream.ts";
import { isUnder, type PathContext } from "../permissions/paths.ts";
import { decidePermission } from "../permissions/policy.ts";
import { Breath } from "../platform/breath.ts";
import { openJudged } from "../platform/reading.ts";
import { matchingFiles } from "./matching-files.ts";
import { charactersPerToken, type CallContext, type Relic, type ToolOutcome } from "./tool.ts";
import type { Toolbox } from "./toolbox.ts";
import { cut } from "../events/cut.ts";

interface RelicOptions {
  readonly declarations: Readonly<Record<string, RelicDeclaration>>;
  readonly workingDirectory: string;
  readonly files: Omit<PathContext, "workingDirectory">;
  readonly redact: () => TextStream;
}

export const relicLimits = {
  files: 1_000,
  names: 50_000,
  /** Of one file, in bytes; the rest of it is not searched. */
  file: 512 * 1024,
  /** Of all files that are searched, in bytes. */
  total: 8 * 1024 * 1024,
} as const;

const defaultTokens = 2_000;
/** A shorter beginning of a file says nothing. */
const shortest = 120;
/** Longest passage, in characters. */
const longestPassage = 1_000;
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
  const read = async (query: string | undefined, { signal }: CallContext): Promise<ToolOutcome> => {
    const source = new Source({ ...options, globs, permissions, signal });
    const characters = maxTokens * charactersPerToken;
    const words = wordsOf(query ?? "");
    const text =
      words.length === 0
        ? await excerpt(source, characters)
        : await search(source, words, characters);
    if (signal.aborted) return { kind: "failed", reason: "The call was canceled." };
    return { kind: "succeeded", value: cut(text, characters) };
  };
  return { name, description, maxTokens, read };
}

interface FoundFile {
  /** Relative to the working directory. Redacted, and without control characters. */
  readonly name: string;
  readonly bytes: number;
  readonly text: (bytes: number) => Promise<string | undefined>;
}

interface SourceOptions extends RelicOptions {
  readonly globs: readonly string[];
  readonly permissions: Permissions;
  readonly signal: AbortSignal;
}

class Source {
  readonly #options: SourceOptions;
  #isComplete = true;
  omitted = 0;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  async files(): Promise<readonly FoundFile[]> {
    const { workingDirectory: folder, globs, signal } = this.#options;
    const bounds = { mostFiles: relicLimits.files, mostNames: relicLimits.names };
    const { files, complete } = await matchingFiles({ folder, globs, signal, ...bounds });
    this.#isComplete = complete;
    const root = await realpath(folder).catch(() => folder);
    const found: FoundFile[] = [];
    const breath = new Breath();
    for (const path of files) {
      if (signal.aborted) break;
      // Permissions ask the file system at once.
      if (breath.isDue) await breath.take();
      const file = await this.#found(path, root);
      if (file === undefined) this.omitted += 1;
      else found.push(file);
    }
    return found;
  }

  async #found(path: string, root: string): Promise<FoundFile | undefined> {
    const { workingDirectory, files, permissions } = this.#options;
    const at = join(workingDirectory, path);
    const request = { kind: "read", paths: [at], deep: false } as const;
    const context = { workingDirectory, ...files };
    const real = await realpath(at).catch(() => undefined);
    // Permissions may allow more than the working directory; a relic is a part of it.
    if (
      real === undefined ||
      !isUnder(real, root) ||
      decidePermission(permissions, request, context).kind !== "allowed"
    ) {
      return undefined;
    }
    const bytes = (await startOf(real, 0))?.size;
    if (bytes === undefined) return undefined;
    return { name: this.#shown(path), bytes, text: (most) => this.#text(real, bytes, most) };
  }

  async #text(real: string, bytes: number, most: number): Promise<string | undefined> {
    const start = (await startOf(real, most))?.start;
    if (start === undefined || start.subarray(0, 8_000).includes(0)) {
      this.omitted += 1;
      return undefined;
    }
    const stream = this.#options.redact();
    const text = stream.push(new TextDecoder().decode(start));
    // What may be the first half of a secret stays in the stream.
    return bytes > start.length ? text : text + stream.end();
  }

  omissions(): string {
    const some =
      this.omitted === 0
        ? []
        : [`${this.omitted} that this task may not read, without text, or too large`];
    const more = this.#isComplete ? [] : [`those beyond the limit of ${relicLimits.files}`];
    const all = [...some, ...more].join(", and ");
    return all === "" ? "" : `Left out of these files: ${all}.`;
  }

  #shown(path: string): string {
    const stream = this.#options.redact();
    const redacted = stream.push(path) + stream.end();
    // eslint-disable-next-line no-control-regex
    return redacted.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "?");
  }
}

const separator = "\n\n";
const longestOmissions = 160;

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(separator);
}

async function excerpt(source: Source, characters: number): Promise<string> {
  const files = await source.files();
  const table = tableOf(files, characters / 4);
  const parts = [table];
  let room = characters - table.length - longestOmissions;
  for (const [index, file] of files.entries()) {
    const share = Math.max(shortest, Math.floor(room / (files.length - index)));
    const head = `${file.name}:1\n`;
    const space = Math.min(share, room) - head.length - separator.length;
    if (space < shortest / 2) break;
    // More than is shown, so that a secret at the end is recognized.
    const text = await file.text(space * 4 + 64 * 1024);
    const beginning = wholeLines((text ?? "").trimEnd(), space);
    if (beginning === "") continue;
    parts.push(head + beginning);
    room -= head.length + beginning.length + separator.length;
  }
  return joined([...parts, source.omissions()]);
}

/** Returns the passages that have the most words of the query first. A longer word may begin with one of the query. */
async function search(
  source: Source,
  words: readonly string[],
  characters: number,
): Promise<string> {
  const files = await source.files();
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.join("|")})`, "gu");
  const found: { readonly passage: string; readonly count: number }[] = [];
  const breath = new Breath();
  let left: number = relicLimits.total;
  for (const file of files) {
    const most = Math.min(relicLimits.file, left);
    const text = await file.text(most);
    if (text === undefined) continue;
    if (file.bytes > most) source.omitted += 1;
    left -= Math.min(file.bytes, most);
    for (const [line, lines] of passagesOf(text)) {
      const passage = `${file.name}:${line}\n${lines}`;
      const { size: count } = new Set(passage.toLowerCase().match(pattern));
      if (count > 0) found.push({ passage, count });
    }
    if (breath.isDue) await breath.take();
  }
  const omissions = source.omissions();
  const room = characters - omissions.length - separator.length;
  const ranked = found.toSorted((a, b) => b.count - a.count).map(({ passage }) => passage);
  if (ranked.length > 0) return joined([...fitting(ranked, room), omissions]);
  const none = cut(`No passage has any of the words ${words.join(", ")}.`, characters / 4);
  return joined([none, tableOf(files, room - none.length - separator.length), omissions]);
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

/** Cuts a text at its headings, and else at blank lines. */
export function passagesOf(text: string): readonly (readonly [line: number, text: string])[] {
  const passages: [line: number, text: string][] = [];
  let lines: string[] = [];
  let first = 1;
  let length = 0;
  let hasText = false;
  const end = (): void => {
    if (length > 0) passages.push([first, lines.join("\n").trimEnd()]);
    [lines, length, hasText] = [[], 0, false];
  };
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    for (const part of line.match(longParts) ?? [""]) {
      const isBlank = part.trim() === "";
      const isHeading = /^#{1,6}\s/.test(part);
      const isLong = length + part.length > longestPassage;
      if (isLong || (hasText && isHeading) || (isBlank && length > longestPassage / 2)) end();
      if (isBlank && length === 0) continue;
      if (length === 0) first = index + 1;
      lines.push(part);
      length += part.length + 1;
      hasText ||= !isBlank && !isHeading;
    }
  }
  end();
  return passages;
}

const longParts = new RegExp(`.{1,${longestPassage - 1}}`, "gsu");

function fitting(passages: readonly string[], characters: number): readonly string[] {
  const parts: string[] = [];
  let room = characters;
  for (const passage of passages) {
    if (passage.length > room && parts.length > 0) continue;
    const part = wholeLines(passage, Math.max(0, room));
    parts.push(part);
    room -= part.length + separator.length;
  }
  return parts;
}

function tableOf(files: readonly FoundFile[], characters: number): string {
  if (files.length === 0) return "There are no files.";
  const lines = [`The files (${files.length}):`];
  let room = characters - 40;
  for (const [index, { name }] of files.entries()) {
    room -= name.length + 3;
    if (room < 0) {
      lines.push(`- … and ${files.length - index} more`);
      break;
    }
    lines.push(`- ${name}`);
  }
  return lines.join("\n");
}

function wholeLines(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const kept = cut(text, Math.max(0, characters - 2));
  const end = kept.lastIndexOf("\n");
  return `${end > kept.length / 2 ? kept.slice(0, end) : kept}\n…`;
}

/** Undefined if it was replaced since it was judged, or can't be read. */
async function startOf(
  path: string,
  bytes: number,
): Promise<{ readonly size: number; readonly start: Uint8Array } | undefined> {
  const handle = await openJudged(path);
  try {
    if (handle === undefined) return undefined;
    const { size } = await handle.stat();
    const buffer = new Uint8Array(Math.min(bytes, size));
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return { size, start: buffer.subarray(0, length) };
  } catch {
    return undefined;
  } finally {
    await handle?.close();
  }
}
