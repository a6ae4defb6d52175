/**
 * A strict reading of the job summary, as an oracle: what of it is alive that must not be. It knows of
 * Markdown only what our own pages use, and takes everything else for an attack.
 */

const tags = /<\/?(?:details|summary|code|b|sub)>/g;

/** The page without the content of its fences, which close as CommonMark says. */
export function outsideOfFences(page: string): string {
  const kept: string[] = [];
  let fence: string | undefined;
  for (const line of page.split("\n")) {
    const run = /^ {0,3}(`{3,})/.exec(line)?.[1];
    if (fence === undefined) {
      kept.push(line);
      if (run !== undefined) fence = run;
    } else if (run !== undefined && run.length >= fence.length && /^ {0,3}`+[ \t]*$/.test(line)) {
      fence = undefined;
      kept.push(run);
    }
  }
  return kept.join("\n") + (fence === undefined ? "" : "\nUNCLOSED");
}

/**
 * Empty if nothing of the page is alive. With `structure`, what the page is built of, without the texts:
 * foreign text must not change it.
 */
export function hidden(page: string, structure = false): string {
  const outside = outsideOfFences(page);
  const found: string[] = [];
  if (outside.endsWith("UNCLOSED")) found.push("a fence that is not closed");
  if (/(?!\n)\p{Cc}|[\u2028-\u202E]/u.test(outside)) found.push("a control");
  const open: string[] = [];
  for (const [tag] of outside.matchAll(tags)) {
    const name = tag.replace(/[</>]/g, "");
    if (!tag.startsWith("</")) open.push(name);
    else if (open.pop() !== name) found.push(`a wrong ${tag}`);
  }
  if (open.length > 0) found.push(`open: ${open.join(" ")}`);
  const ours = /<b>#\d+<\/b>/g;
  const bare = outside
    .replace(ours, "")
    .replace(tags, "")
    .replace(/^`{3,}(?:text|mermaid|sh|bash|python)?$/gm, "");
  for (const [what, pattern] of alive) {
    const match = pattern.exec(bare);
    if (match !== null) found.push(`${what}: ${JSON.stringify(match[0])}`);
  }
  if (!structure) return found.join("; ");
  const lines = outside.split("\n").map((line) => {
    if (line.startsWith("|")) return `row of ${line.split("|").length}`;
    return (line.match(tags) ?? [line.slice(0, 3)]).join("");
  });
  return lines.join("\n");
}

const alive: readonly (readonly [string, RegExp])[] = [
  ["HTML", /[<>]/],
  ["an entity that we did not make", /&(?!#\d{2,3};)/],
  ["a link, an image or a footnote", /[[\]]/],
  ["code", /`/],
  ["emphasis", /(?<!\*)\*(?!\*)|_|~/],
  ["an escape", /\\/],
  ["mathematics", /\$/],
  ["an address that becomes a link", /:\/\/|www\.|mailto:[^\u2060]/i],
  ["a mention or a mail address", /(?:@|&#64;)[\p{L}\p{N}_-]/u],
  ["a reference", /(?<!&)#\d|&#35;\d|GH-\d/i],
  ["a line that starts a block", /^(?:(?!-{3}|##? |###? |- |- and )[-+=]|\d+[.)]\s|\t| {4})/m],
];
