import { useLayoutEffect, useRef } from "preact/hooks";
import { markdownToNodes } from "./sanitize.ts";

/** Text of a model as Markdown. The nodes are sanitized; Preact doesn't know them. */
export function Markdown({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    element.current?.replaceChildren(markdownToNodes(text));
  }, [text]);
  return <div ref={element} class="markdown" />;
}
