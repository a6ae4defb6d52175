/** The parts of the rows of a step. */
import type { ComponentChildren } from "preact";
import type { Block, Place, TextBlock } from "../model/model.ts";
import { titleOf } from "../model/places.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { Icon, Spinner, type IconName } from "../parts/icon.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { placeHref, useRunContext } from "./context.ts";

/** Keeps which rows the reader has opened and closed, because rows out of view are not rendered. */
export interface Opened {
  /** Whether it is open; `normally`: if the reader has not touched it. */
  readonly isOpen: (thing: object, normally: boolean) => boolean;
  readonly toggle: (thing: object, open: boolean) => void;
}

/** The line of a row, which opens and closes what is below it. */
export function Heading({
  thing,
  opened,
  isOpen,
  children,
}: {
  thing: object;
  opened: Opened;
  isOpen: boolean;
  children: ComponentChildren;
}) {
  return (
    <button
      type="button"
      class="row-toggle row"
      aria-expanded={isOpen}
      onClick={() => opened.toggle(thing, !isOpen)}
    >
      <Icon name="chevron" size={14} />
      {children}
    </button>
  );
}

/** A row with a line that opens and closes its details; without any, it is only a line. */
export function FoldRow({
  place,
  opened,
  normally = false,
  nested = false,
  heading,
  details,
  children,
}: {
  place: Place;
  opened: Opened;
  /** Whether it is open until the reader touches it. */
  normally?: boolean;
  nested?: boolean;
  heading: (isOpen: boolean) => ComponentChildren;
  details: (() => ComponentChildren) | undefined;
  /** Shown in any case, below the line. */
  children?: ComponentChildren;
}) {
  const isOpen = details !== undefined && opened.isOpen(place, normally);
  return (
    <div class={`row-entry ${nested ? "nested" : ""}`}>
      <div class="grow">
        {details === undefined ? (
          <div class="row-toggle row">{heading(false)}</div>
        ) : (
          <Heading thing={place} opened={opened} isOpen={isOpen}>
            {heading(isOpen)}
          </Heading>
        )}
        {children}
        {isOpen ? <div class="indented details">{details()}</div> : null}
      </div>
      <PlaceLink place={place} />
    </div>
  );
}

/** A text of the details of a row, with its title; nothing if there is none. */
export function Detail({
  title,
  text = "",
  ...others
}: {
  title: string;
  text: string | undefined;
  label: string;
  atEnd?: boolean;
}) {
  if (text === "") return null;
  return (
    <>
      <h4 class="muted small strong">{title}</h4>
      <Cut text={text} {...others} />
    </>
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
      <div class="grow">{children}</div>
      <PlaceLink place={block} />
    </div>
  );
}

export function Writing({ block }: { block: TextBlock }) {
  const { live } = useRunContext();
  return live && block.turn.endedAt === undefined ? (
    <span class="muted small row">
      <Spinner size={12} /> writing
    </span>
  ) : (
    <span class="muted small">It was not completed.</span>
  );
}

/** A text as it is. What is searched for is in the part that is shown. */
export function Cut(props: { text: string; label: string; atEnd?: boolean }) {
  return <CodeBlock {...props} find={useRunContext().query} />;
}

export function Prose({ text }: { text: string }) {
  return <Markdown text={text} find={useRunContext().query} />;
}

/** Leads to a place of the run, and copies its address. */
export function PlaceLink({ place }: { place: Place }) {
  const { runId } = useRunContext();
  const announce = useAnnounce();
  const href = placeHref(runId, place);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(new URL(href, location.href).href);
      announce("Link copied.");
    } catch {
      // The address bar has it.
    }
  };
  return (
    <a
      class="place-link"
      href={href}
      aria-label={`Link to this: ${titleOf(place)}`}
      title="Link to this"
      onClick={() => void copy()}
    >
      <Icon name="link" size={14} />
    </a>
  );
}
