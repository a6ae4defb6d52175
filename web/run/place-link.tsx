import { useAnnounce } from "../parts/announcer.tsx";
import { Icon } from "../parts/icon.tsx";
import type { Place } from "../model/model.ts";
import { titleOf } from "../model/places.ts";
import { placeHref, useRunContext } from "./context.ts";

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
