import { useLayoutEffect, useRef } from "preact/hooks";
import { CodeBlock } from "./code-block.tsx";
import { markdownToNodes } from "./sanitize.ts";

/** UTF-16 units of a text that are read as Markdown: what follows is shown as it is. */
const MAX_MARKDOWN = 50_000;
/** A text that grows is read again after this many times the time that it took. */
const PAUSE = 8;

/**
 * Text of a model as Markdown. The nodes are sanitized; Preact doesn't know them. However long a text is and however
 * fast it grows, most of the time is left to the rest of the page. `find`: see `CodeBlock`.
 */
export function Markdown({ text, find }: { text: string; find?: string }) {
  const element = useRef<HTMLDivElement>(null);
  const last = useRef({ at: -Infinity, took: 0 });
  const end = endOfMarkdown(text);
  const head = text.slice(0, end);
  useLayoutEffect(() => {
    const show = () => {
      const begun = performance.now();
      element.current?.replaceChildren(markdownToNodes(head));
      const at = performance.now();
      last.current = { at, took: at - begun };
    };
    const { at, took } = last.current;
    const wait = at + took * PAUSE - performance.now();
    if (wait <= 0) return show();
    const timer = setTimeout(show, wait);
    return () => clearTimeout(timer);
  }, [head]);
  return (
    <>
      <div ref={element} class="markdown" />
      {end === text.length ? null : (
        <CodeBlock text={text.slice(end)} label="rest of the text" find={find} />
      )}
    </>
  );
}

/** At the end of a line, if there is one near the limit. */
function endOfMarkdown(text: string): number {
  if (text.length <= MAX_MARKDOWN) return text.length;
  const line = text.lastIndexOf("\n", MAX_MARKDOWN) + 1;
  return line > MAX_MARKDOWN / 2 ? line : MAX_MARKDOWN;
}
