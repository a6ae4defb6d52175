/**
 * The sections of a `.wf.md` file: title and description, the flowcharts below `# Workflow…`, the prompts below
 * `# Prompts…`, with `!INCLUDE "file"`.
 *
 * An include in a prompt is part of its text, whatever headings the file has. Between `# Prompts` and the first
 * prompt, it stands for the prompts of that file.
 */
import {
  type MarkdownFence,
  type MarkdownFile,
  type MarkdownHeading,
  readMarkdown,
} from "../../document/markdown.ts";
import type { Position } from "../../document/problem.ts";
import { linePositions } from "../../document/text-position.ts";
import { readSource } from "../../document/read-document.ts";
import type { Problems, Place } from "./problems.ts";
import type { FoundFile, WorkflowFiles } from "../files.ts";
import type { Activity, WorkflowFile } from "../model.ts";
import { roleOf, roles, type PromptRole } from "../value.ts";
import { cut } from "../../events/cut.ts";

export interface Sections {
  readonly title?: string;
  readonly description: string;
  /** Of the first `# Workflow…`; undefined without one, which has been reported. */
  readonly flowAt: Position | undefined;
  readonly fences: readonly MarkdownFence[];
  readonly prompts: ReadonlyMap<string, PromptSection>;
}

/** A file that has been read, before its calls have. */
export interface ReadFile extends Omit<WorkflowFile, "start" | "activities" | "prompts"> {
  /** Of the first flowchart; undefined if one is missing or can't be read, which has been reported. */
  readonly flowAt: Position | undefined;
  readonly activities: Map<string, Activity>;
  readonly prompts: ReadonlyMap<string, PromptSection>;
}

export interface PromptSection {
  readonly role: PromptRole;
  readonly text: string;
  readonly place: Place;
  /** Where an offset of the text comes from. */
  readonly locate: (offset: number) => Place;
}

interface Source {
  readonly id: string;
  readonly file: string;
  readonly document: MarkdownFile;
}

interface Line {
  readonly text: string;
  readonly file: string;
  readonly line: number;
}

/** Files that include each other twice are soon more than anybody can read. */
const mostIncludes = 1_000;
const includePattern = /^\s*!INCLUDE\s+(?:"([^"]*)"|'([^']*)'|(\S+))\s*$/;

/** What is below a heading of the first level, or all of a file. */
interface Section {
  readonly name: string;
  readonly at: Position;
  readonly first: number;
  /** The line after the last. */
  readonly end: number;
  readonly headings: readonly MarkdownHeading[];
}

export function readSections(source: Source, files: WorkflowFiles, problems: Problems): Sections {
  const { document, file } = source;
  const all = sectionsOf(document);
  const title = all.find(({ name }) => !isSection(name));
  const flows = all.filter(({ name }) => name.startsWith("Workflow"));
  let flow = 0;
  const fences = document.fences.filter(({ at: { line } }) => {
    while ((flows[flow]?.end ?? Number.POSITIVE_INFINITY) <= line) flow += 1;
    return line > (flows[flow]?.first ?? Number.POSITIVE_INFINITY);
  });
  if (flows.length === 0) {
    const similar = all.find(({ name }) => /^workflow/i.test(name));
    const at = similar?.at ?? { line: 1, column: 1 };
    const hint = similar === undefined ? "add one, with a flowchart" : "write # Workflow";
    problems.error({ file, at }, "There is no section `# Workflow`.", hint);
  }
  for (const { level, text, at } of document.hidden) {
    if (level === 1 ? !isSection(text) : level > 2 || roleOf(text) === undefined) continue;
    const quoted = JSON.stringify(`${"#".repeat(level)} ${cut(text, 80)}`);
    const reason = `${quoted} belongs to the HTML above it, and is not a heading.`;
    problems.warn({ file, at }, reason, "add an empty line before it, or close the HTML");
  }
  const reader = new PromptReader(files, problems);
  reader.read(source, promptSections(all), [source.id]);
  const read = { flowAt: flows[0]?.at, fences, prompts: reader.prompts };
  if (title === undefined) return { description: "", ...read };
  const description = document.lines
    .slice(title.first, title.end - 1)
    .join("\n")
    .trim();
  return { title: title.name, description, ...read };
}

function sectionsOf({ headings, lines }: MarkdownFile): readonly Section[] {
  const sections: (Section & { end: number; headings: MarkdownHeading[] })[] = [];
  for (const heading of headings) {
    const current = sections.at(-1);
    if (heading.level === 2) current?.headings.push(heading);
    if (heading.level !== 1) continue;
    const { text: name, at } = heading;
    if (current !== undefined) current.end = at.line;
    sections.push({ name, at, first: at.line, end: lines.length + 1, headings: [] });
  }
  return sections;
}

function promptSections(sections: readonly Section[]): readonly Section[] {
  return sections.filter(({ name }) => name.startsWith("Prompts"));
}

function isSection(name: string): boolean {
  return name.startsWith("Workflow") || name.startsWith("Prompts");
}

class PromptReader {
  readonly prompts = new Map<string, PromptSection>();
  readonly #files: WorkflowFiles;
  readonly #problems: Problems;
  #includes = 0;

  constructor(files: WorkflowFiles, problems: Problems) {
    this.#files = files;
    this.#problems = problems;
  }

  read(source: Source, sections: readonly Section[], trail: readonly string[]): void {
    for (const section of sections) this.#section(source, section, trail);
    const open = source.document.fences.find(({ isClosed }) => !isClosed);
    if (open === undefined || open.info.startsWith("mermaid")) return;
    const reason = "This code fence is never closed. The rest of the file belongs to it.";
    this.#problems.warn({ file: source.file, at: open.at }, reason);
  }

  #section(source: Source, { first, end, headings }: Section, trail: readonly string[]): void {
    const prompts = headings.filter((heading) => {
      if (roleOf(heading.text) !== undefined) return true;
      const [word = ""] = /^\w*/.exec(heading.text) ?? [];
      const meant = this.#problems.meant(word, Object.keys(roles));
      const reason = `"## ${cut(heading.text, 80)}" does not start a prompt. It belongs to the text above.`;
      const hint = meant ?? "headings of prompts begin with System, User or Assistant";
      this.#problems.warn({ file: source.file, at: heading.at }, reason, hint);
      return false;
    });
    const preamble = prompts[0]?.at.line ?? end;
    for (let line = first + 1; line < preamble; line++) {
      this.#includePrompts(source, line, trail);
    }
    for (const [index, heading] of prompts.entries()) {
      const next = prompts[index + 1]?.at.line ?? end;
      this.#prompt(source, heading, next, trail);
    }
  }

  #prompt(source: Source, heading: MarkdownHeading, end: number, trail: readonly string[]): void {
    const { file, document } = source;
    const role = roleOf(heading.text);
    if (role === undefined) return;
    const place = { file, at: heading.at };
    const known = this.prompts.get(heading.text);
    if (known !== undefined) {
      const at = `${known.place.file}:${known.place.at.line}`;
      const reason = `There is already a prompt ${JSON.stringify(heading.text)}, at ${at}.`;
      this.#problems.error(place, reason);
      return;
    }
    const lines: Line[] = [];
    const first = heading.at.line;
    this.#expand(lines, source, document.lines.slice(first, end - 1), first + 1, trail);
    const isFilled = (line: Line): boolean => line.text.trim() !== "";
    const filled = lines.slice(
      Math.max(0, lines.findIndex(isFilled)),
      lines.findLastIndex(isFilled) + 1,
    );
    const text = filled.map((line) => line.text).join("\n");
    if (text === "")
      this.#problems.warn(place, `The prompt ${JSON.stringify(heading.text)} is empty.`);
    this.prompts.set(heading.text, { role, text, place, locate: locateIn(filled, place) });
  }

  /** Puts the lines into the list, with those of included files in place of their includes. */
  #expand(
    into: Line[],
    source: Pick<Source, "id" | "file">,
    lines: readonly string[],
    first: number,
    trail: readonly string[],
  ): void {
    for (const [index, text] of lines.entries()) {
      const line = first + index;
      const path = includedPath(text);
      if (path === undefined) {
        into.push({ text, file: source.file, line });
        continue;
      }
      const found = this.#include(source, path, line, text, trail);
      if (found === undefined) continue;
      const inner = this.#linesOf(found);
      if (inner !== undefined) this.#expand(into, found, inner, 1, [...trail, found.id]);
    }
  }

  /** An include before the first prompt. */
  #includePrompts(source: Source, line: number, trail: readonly string[]): void {
    const text = source.document.lines[line - 1] ?? "";
    const path = includedPath(text);
    if (path === undefined) return;
    const found = this.#include(source, path, line, text, trail);
    if (found === undefined) return;
    const read = readMarkdown(found.content, found.file);
    if (read.kind === "rejected") return this.#problems.include(read.diagnostics);
    const inner = { id: found.id, file: found.file, document: read.document };
    const { headings, lines } = read.document;
    const sections = promptSections(sectionsOf(read.document));
    const whole = {
      name: "",
      at: { line: 1, column: 1 },
      first: 0,
      end: lines.length + 1,
      headings: headings.filter(({ level }) => level === 2),
    };
    this.read(inner, sections.length > 0 ? sections : [whole], [...trail, found.id]);
  }

  #include(
    source: Pick<Source, "id" | "file">,
    path: string,
    line: number,
    text: string,
    trail: readonly string[],
  ): Extract<FoundFile, { kind: "found" }> | undefined {
    const place = { file: source.file, at: { line, column: text.indexOf("!") + 1 } };
    const fail = (reason: string, hint?: string): undefined => {
      this.#problems.error(place, reason, hint);
    };
    this.#includes += 1;
    if (this.#includes > mostIncludes) {
      if (this.#includes > mostIncludes + 1) return undefined;
      return fail(`The prompts include more than ${mostIncludes} files.`);
    }
    const found = this.#files.read(path, source.id);
    if (found.kind !== "found") return fail(found.reason, found.hint);
    if (trail.includes(found.id)) {
      const cycle = [...trail.slice(trail.indexOf(found.id)), found.id].join(" → ");
      return fail(`The file includes itself: ${cycle}.`);
    }
    return found;
  }

  #linesOf(found: Extract<FoundFile, { kind: "found" }>): readonly string[] | undefined {
    const source = readSource(found.content, found.file);
    if (source.kind === "text")
      return source.text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
    this.#problems.include(source.diagnostics);
    return undefined;
  }
}

function includedPath(line: string): string | undefined {
  if (!line.includes("!INCLUDE") || line.length > 2_000) return undefined;
  const found = includePattern.exec(line);
  return found === null ? undefined : (found[1] ?? found[2] ?? found[3]);
}

function locateIn(lines: readonly Line[], heading: Place): (offset: number) => Place {
  const place = linePositions(() => lines.map(({ text }) => text.length));
  return (offset) => {
    const { line: index, column } = place(offset);
    const line = lines[index - 1];
    return line === undefined ? heading : { file: line.file, at: { line: line.line, column } };
  };
}
