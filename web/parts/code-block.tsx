import { useState } from "preact/hooks";
import { patternOf } from "../model/search.ts";
import { useAnnounce } from "./announcer.tsx";
import { formatCount } from "./format.ts";
import { IconButton } from "./icon.tsx";

/** UTF-16 units that are shown at first, and how many more each time. A browser needs seconds for some millions. */
const FIRST = 3_000;
const MORE = 100_000;

/**
 * Text as it is, in the fixed-width font, with a button to copy all of it. Of a long text, a part is shown: its
 * beginning, its end (`atEnd`), or what is around the first `find` (without regard to case). `label` names it.
 */
export function CodeBlock({
  text,
  label,
  atEnd = false,
  find = "",
}: {
  text: string;
  label: string;
  atEnd?: boolean;
  find?: string | undefined;
}) {
  const [more, setMore] = useState(0);
  const { from, to } = shownPart(text, more, atEnd, find);
  const hidden = text.length - (to - from);
  return (
    <>
      <div class="code-block">
        <pre tabIndex={0} role="region" aria-label={label}>
          <code>
            {from === 0 ? "" : "…"}
            {text.slice(from, to)}
            {to === text.length ? "" : "…"}
          </code>
        </pre>
        <CopyButton text={text} what={label} />
      </div>
      {hidden === 0 ? null : (
        <button type="button" class="text-button" onClick={() => setMore(more + MORE)}>
          {hidden <= MORE ? "Show all" : "Show more"} ({formatCount(hidden)} more characters)
        </button>
      )}
    </>
  );
}

function shownPart(text: string, more: number, atEnd: boolean, find: string) {
  const { length } = text;
  const room = FIRST + more;
  if (length <= room * 1.2) return { from: 0, to: length };
  const pattern = find.trim() === "" ? undefined : patternOf(find.trim());
  const hit = pattern?.exec(text)?.index ?? (atEnd ? length : 0);
  const from = Math.min(length - room, hit < room / 2 ? 0 : Math.floor(hit - room / 2));
  return { from, to: from + room };
}

function CopyButton({ text, what }: { text: string; what: string }) {
  const announce = useAnnounce();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce("Copied.");
      setTimeout(() => setCopied(false), 1_500);
    } catch {
      announce("The browser did not allow the page to copy.");
    }
  };
  return (
    <IconButton
      icon={copied ? "check" : "copy"}
      small
      class="copy-button"
      label={`Copy ${what}`}
      title="Copy"
      onClick={() => void copy()}
    />
  );
}
