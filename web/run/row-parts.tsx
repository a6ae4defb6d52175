/** What the rows of a work are made of. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Block, TextBlock } from "../model/model.ts";
import { patternOf } from "../model/search.ts";
import { CodeBlock } from "../parts/code-block.tsx";
import { formatCount } from "../parts/format.ts";
import { Icon, Spinner, type IconName } from "../parts/icon.tsx";
import { useRunContext } from "./context.ts";
import { PlaceLink } from "./place-link.tsx";

/** What the reader has opened and closed. Rows that are not visible are not rendered, so they can't keep it. */
export interface Opened {
  /** Whether it is open; `normally`: if the reader has not touched it. */
  readonly isOpen: (thing: object, normally: boolean) => boolean;
  readonly toggle: (thing: object, open: boolean) => void;
}

export function Chevron() {
  return (
    <span class="chevron">
      <Icon name="chevron" size={14} />
    </span>
  );
}

export function Entry({
  icon,
  block,
  tone,
  class: name,
  children,
}: {
  icon: IconName;
  block: Block;
  tone?: "warn" | "fail";
  class: string;
  children: ComponentChildren;
}) {
  return (
    <div class={`row-entry ${name}`} data-tone={tone}>
      <span class="row-icon">
        <Icon name={icon} size={14} />
      </span>
      <div class="row-body">{children}</div>
      <PlaceLink place={block} />
    </div>
  );
}

export function Plain({ text }: { text: string }) {
  return <div class="plain">{text}</div>;
}

export function Writing({ block }: { block: TextBlock }) {
  const { live } = useRunContext();
  return live && block.turn.endedAt === undefined ? (
    <span class="muted small writing">
      <Spinner size={12} /> writing
    </span>
  ) : (
    <span class="muted small">It was not completed.</span>
  );
}

const CUT = 3000;

/** A text that may be very long, as it is. */
export function Cut({
  text,
  label,
  atEnd = false,
}: {
  text: string;
  label: string;
  atEnd?: boolean;
}) {
  const { query } = useRunContext();
  const [all, setAll] = useState(false);
  if (
    text.length <= CUT * 1.2 ||
    all ||
    (query.trim() !== "" && patternOf(query.trim()).test(text))
  )
    return <CodeBlock text={text} label={label} />;
  return (
    <>
      <CodeBlock text={atEnd ? text.slice(-CUT) : text.slice(0, CUT)} label={label} />
      <button type="button" class="text-button" onClick={() => setAll(true)}>
        Show all ({formatCount(text.length)} characters)
      </button>
    </>
  );
}

const LINE = 300;

export function oneLine(text: string): string {
  return text.slice(0, LINE).replace(/\s+/g, " ");
}
