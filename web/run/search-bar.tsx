/** Search over the whole run: its hits as a list, and one after the other. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Place } from "../model/model.ts";
import { iterationOfPlace, partOf, titleOf } from "../model/places.ts";
import { MAX_HITS, search, snippetOf } from "../model/search.ts";
import { Icon, IconButton } from "../parts/icon.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { placeHref, useRunContext } from "./context.ts";

const REFRESH_MS = 1000;

export function SearchBar({ onQuery }: { onQuery: (query: string) => void }) {
  const { model, version, runId, open, query } = useRunContext();
  const input = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [isListed, setListed] = useState(false);
  const [at, setAt] = useState<Place | undefined>(undefined);
  const recent = useThrottled(version, REFRESH_MS);
  const { places, more } = useMemo(() => search(model, query), [model, query, recent]);
  const index = at === undefined ? -1 : places.indexOf(at);

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isEditable(event.target)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);

  const go = (step: 1 | -1) => {
    const next =
      index < 0
        ? step === 1
          ? 0
          : places.length - 1
        : (index + step + places.length) % places.length;
    const place = places[next];
    if (place === undefined) return;
    setAt(place);
    setListed(false);
    open(partOf(place));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      if (isListed) setListed(false);
      else onQuery("");
    } else if (event.key === "ArrowDown") {
      setListed(true);
      box.current?.querySelector<HTMLElement>(".search-hits a")?.focus();
    } else return;
    event.preventDefault();
  };
  const isSearching = query.trim() !== "";
  const count = `${more ? `more than ${MAX_HITS}` : places.length} ${places.length === 1 ? "hit" : "hits"}`;
  return (
    <div
      ref={box}
      class="search row"
      role="search"
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node && box.current?.contains(relatedTarget)))
          setListed(false);
      }}
    >
      <div class="icon-field grow">
        <Icon name="search" size={14} />
        <input
          ref={input}
          class="input"
          type="search"
          placeholder="Search the run"
          aria-label="Search the run"
          aria-keyshortcuts="/"
          value={query}
          onInput={({ currentTarget }) => {
            setAt(undefined);
            setListed(true);
            onQuery(currentTarget.value);
          }}
          onFocus={() => setListed(true)}
          onKeyDown={onKeyDown}
        />
        {isSearching ? null : <kbd aria-hidden="true">/</kbd>}
      </div>
      <span class="small muted number" role="status">
        {isSearching
          ? index < 0
            ? count
            : `${index + 1} of ${more ? `${MAX_HITS}+` : places.length}`
          : ""}
      </span>
      {isSearching ? (
        <>
          <IconButton
            icon="up"
            small
            label="Previous hit"
            title="Previous hit (Shift+Enter)"
            disabled={places.length === 0}
            onClick={() => go(-1)}
          />
          <IconButton
            icon="down"
            small
            label="Next hit"
            title="Next hit (Enter)"
            disabled={places.length === 0}
            onClick={() => go(1)}
          />
        </>
      ) : null}
      {isSearching && isListed && places.length > 0 ? (
        <VirtualList
          label="Hits"
          class="search-hits"
          items={places}
          keyOf={(place) => placeHref(runId, place)}
          estimate={48}
          render={(place) => (
            <a
              class="list-link lines"
              href={placeHref(runId, place)}
              onClick={() => {
                setAt(place);
                setListed(false);
              }}
            >
              <HitText place={place} query={query} />
            </a>
          )}
        />
      ) : null}
    </div>
  );
}

function HitText({ place, query }: { place: Place; query: string }) {
  const iteration = iterationOfPlace(place);
  const { before, match, after } = snippetOf(place, query);
  return (
    <>
      <span class="small muted truncate">
        {titleOf(place)}
        {iteration === undefined ? "" : ` · ${titleOf(iteration)}`}
      </span>
      <span class="truncate">
        {before}
        <mark>{match}</mark>
        {after}
      </span>
    </>
  );
}

function isEditable(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** `value`, but not more often than every `ms`. */
function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      setShown(latest.current);
    }, ms);
  }, [value, ms]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return shown;
}
