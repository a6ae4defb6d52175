/** The texts of a flowchart: what Mermaid shows for what was written, and the way back. */

export interface FlowLabel {
  readonly text: string;
  readonly offset: number;
  /** Whether the characters of the text are those at the offset. */
  readonly isVerbatim: boolean;
}

const entities: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  amp: "&",
  lt: "<",
  gt: ">",
  nbsp: " ",
};
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** `#quot;` and `#35;` are characters, `<br/>` is a line break, and `` "`…`" `` is Markdown. */
export function labelText(
  written: string,
  offset: number,
  quoting: "plain" | "yaml" = "plain",
): FlowLabel {
  const unescaped =
    quoting === "plain"
      ? written
      : written.replace(/\\([ntr"\\/])/g, (whole, sign: string) => escapes[sign] ?? whole);
  const trimmed = unescaped.trim();
  const isMarkdown = trimmed.length > 1 && trimmed.startsWith("`") && trimmed.endsWith("`");
  const text = (isMarkdown ? trimmed.slice(1, -1) : trimmed)
    .replace(/#(\d{1,7}|[a-z]{2,4});|<br\s{0,9}\/?>/gi, (whole, entity: string | undefined) =>
      entity === undefined ? "\n" : character(entity, whole),
    )
    .trim();
  const start = isMarkdown ? written.indexOf("`") + 1 : 0;
  const lead = written.length - written.slice(start).trimStart().length;
  const isVerbatim = written.startsWith(text, lead);
  return { text, offset: offset + lead, isVerbatim };
}

function character(entity: string, whole: string): string {
  const code = Number(entity);
  if (Number.isNaN(code)) return entities[entity.toLowerCase()] ?? whole;
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
}
