/** The sections of a `.wf.md` file. Only before the first prompt does an include stand for prompts, else for text. */
import {
  type MarkdownFence,
  type MarkdownFile,
  type MarkdownHeading,
  readMarkdown,
} from "../../document/markdown.ts";
import { type Position, linePositions } from "../../document/diagnostic.ts";
import { readSource } from "../../document/read-document.ts";
import type { Problems, Place } from "./problems.ts";
import type { WorkflowFile, WorkflowFiles, WorkflowPrompt } from "../model.ts";
import { roleOf, roles } from "../value.ts";
import { truncate } from "../../text/truncate.ts";

export interface Sections {
  readonly title?: string;
  readonly description: string;
  /** The place of the first `# Workflow…`; undefined if it is missing, which has been reported. */
  readonly flowAt: Position | undefined;
  readonly fences: readonly MarkdownFence[];
  readonly prompts: ReadonlyMap<string, WorkflowPrompt>;
}

/** `trail`: the ids of the files that include one another, its own last. */
interface Source {
  readonly file: string;
  readonly trail: readonly string[];
}

interface Line {
  readonly text: string;
  readonly file: string;
  readonly line: number;
}

/** Files that include each other twice are soon more than anybody can read. */
const mostIncludes = 1_000;
const includePattern = /^\s*!INCLUDE\s+(?:"([^"]*)"|'([^']*)'|(\S+))\s*$/;

/** The lines below a heading of the first level, or a whole file. */
interface Section {
  readonly name: string;
  readonly at: Position;
  readonly first: number;
  /** The line after the last. */
  readonly end: number;
  readonly headings: readonly MarkdownHeading[];
}

export function readSections(
  { file, id, document }: Pick<WorkflowFile, "file" | "id"> & { readonly document: MarkdownFile },
  files: WorkflowFiles,
  problems: Problems,
): Sections {
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
    const quoted = JSON.stringify(`${"#".repeat(level)} ${truncate(text, 80)}`);
    const reason = `${quoted} belongs to the HTML above it, and is not a heading.`;
    problems.warn({ file, at }, reason, "add an empty line before it, or close the HTML");
  }
  const reader = new PromptReader(files, problems);
  reader.read({ file, trail: [id] }, document, promptSections(all));
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
  readonly prompts = new Map<string, WorkflowPrompt>();
  readonly #files: WorkflowFiles;
  readonly #problems: Problems;
  #includes = 0;

  constructor(files: WorkflowFiles, problems: Problems) {
    this.#files = files;
    this.#problems = problems;
  }

  read(
    source: Source,
    { lines, fences }: MarkdownFile,
    sections: readonly Pick<Section, "first" | "end" | "headings">[],
  ): void {
    for (const { first, end, headings } of sections) {
      const linesOf = (from: number, to: number): readonly Line[] =>
        lines
          .slice(from, to - 1)
          .map((text, index) => ({ text, file: source.file, line: from + index + 1 }));
      const prompts = headings.filter((heading) => this.#startsPrompt(source, heading));
      for (const line of linesOf(first, prompts[0]?.at.line ?? end)) this.#prompts(source, line);
      for (const [index, { text: id, at }] of prompts.entries()) {
        const next = prompts[index + 1]?.at.line ?? end;
        this.#prompt(source, { file: source.file, at }, id, linesOf(at.line, next));
      }
    }
    const open = fences.find(({ isClosed }) => !isClosed);
    if (open === undefined || open.info.startsWith("mermaid")) return;
    const reason = "This code fence is never closed. The rest of the file belongs to it.";
    this.#problems.warn({ file: source.file, at: open.at }, reason);
  }

  #startsPrompt({ file }: Source, { text, at }: MarkdownHeading): boolean {
    if (roleOf(text) !== undefined) return true;
    const [word = ""] = /^\w*/.exec(text) ?? [];
    const meant = this.#problems.meant(word, Object.keys(roles));
    const reason = `"## ${truncate(text, 80)}" does not start a prompt. It belongs to the text above.`;
    const hint = meant ?? "headings of prompts begin with System, User or Assistant";
    this.#problems.warn({ file, at }, reason, hint);
    return false;
  }

  #prompt(source: Source, place: Place, id: string, written: readonly Line[]): void {
    const role = roleOf(id);
    if (role === undefined) return;
    const known = this.prompts.get(id)?.place;
    if (known !== undefined) {
      const reason = `There is already a prompt ${JSON.stringify(id)}, at ${known.file}:${known.at.line}.`;
      return this.#problems.error(place, reason);
    }
    const lines: Line[] = [];
    this.#expand(lines, source, written);
    const isFilled = (line: Line): boolean => line.text.trim() !== "";
    const filled = lines.slice(
      Math.max(0, lines.findIndex(isFilled)),
      lines.findLastIndex(isFilled) + 1,
    );
    const text = filled.map((line) => line.text).join("\n");
    if (text === "") this.#problems.warn(place, `The prompt ${JSON.stringify(id)} is empty.`);
    this.prompts.set(id, { role, text, place, locate: locateIn(filled, place) });
  }

  #expand(into: Line[], source: Source, lines: readonly Line[]): void {
    for (const line of lines) {
      const found = this.#include(source, line);
      if (found === undefined) into.push(line);
      if (typeof found !== "object") continue;
      const { file, content } = found;
      const read = readSource(content, file);
      if (read.kind === "rejected") this.#problems.include(read.diagnostics);
      else {
        const inner = read.text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
        this.#expand(
          into,
          found,
          inner.map((text, index) => ({ text, file, line: index + 1 })),
        );
      }
    }
  }

  /** An include before the first prompt: the prompts of the file. */
  #prompts(source: Source, line: Line): void {
    const found = this.#include(source, line);
    if (typeof found !== "object") return;
    const read = readMarkdown(found.content, found.file);
    if (read.kind === "rejected") return this.#problems.include(read.diagnostics);
    const { headings, lines } = read.document;
    const sections = promptSections(sectionsOf(read.document));
    const all = {
      first: 0,
      end: lines.length + 1,
      headings: headings.filter(({ level }) => level === 2),
    };
    this.read(found, read.document, sections.length > 0 ? sections : [all]);
  }

  /** Undefined: the line is none. */
  #include(
    { file, trail }: Source,
    { text, line }: Line,
  ): (Source & { readonly content: string | Uint8Array }) | "fault" | undefined {
    const path = includedPath(text);
    if (path === undefined) return undefined;
    const fail = (reason: string, hint?: string): "fault" => {
      this.#problems.error({ file, at: { line, column: text.indexOf("!") + 1 } }, reason, hint);
      return "fault";
    };
    this.#includes += 1;
    if (this.#includes > mostIncludes + 1) return "fault";
    if (this.#includes > mostIncludes)
      return fail(`The prompts include more than ${mostIncludes} files.`);
    const found = this.#files.read(path, trail.at(-1) ?? "");
    if (found.kind !== "found") return fail(found.reason, found.hint);
    if (trail.includes(found.id)) {
      const cycle = [...trail.slice(trail.indexOf(found.id)), found.id].join(" → ");
      return fail(`The file includes itself: ${cycle}.`);
    }
    return { file: found.file, content: found.content, trail: [...trail, found.id] };
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
