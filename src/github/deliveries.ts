import type { Delivery } from "./delivery.ts";
import { oneLine, codeBlock, inline } from "../text/harmless-text.ts";
import type { Section } from "./layout.ts";

const words: Readonly<Record<Delivery["status"], readonly [sign: string, word: string]>> = {
  done: ["✓", "done"],
  skipped: ["–", "skipped"],
  refused: ["✗", "refused"],
  staged: ["…", "staged, not written"],
};

export function deliveryLine({ what, status, reason, url }: Delivery): string {
  const why = reason === undefined ? "" : `: ${reason}`;
  return oneLine(`${what}: ${words[status][1]}${why}${url === undefined ? "" : ` (${url})`}`, 1000);
}

export function refusedOf(deliveries: readonly Delivery[]): readonly string[] {
  return deliveries.filter(({ status }) => status === "refused").map(deliveryLine);
}

const MAX_REFUSED = 10;

/** They stand below the heading of the page, since nobody looks for them. */
export function refusedMarkdown(deliveries: readonly Delivery[]): readonly string[] {
  const all = refusedOf(deliveries).map((line) => `**Not delivered:** ${inline(line, 1000)}`);
  const left = all.length - MAX_REFUSED;
  return left > 0 ? [...all.slice(0, MAX_REFUSED), `…and ${left} more, listed below.`] : all;
}

/** The summary of a step that does nothing else. */
export function deliveryPage(deliveries: readonly Delivery[]): string {
  const { heading, text } = deliveriesSection(deliveries);
  return ["## Delivery", ...refusedMarkdown(deliveries), heading, text, ""].join("\n\n");
}

const MAX_PREVIEWS = 100_000;

export function deliveriesSection(deliveries: readonly Delivery[]): Section {
  let room = MAX_PREVIEWS;
  const items = deliveries.map((delivery) => {
    const line = `- ${words[delivery.status][0]} ${inline(deliveryLine(delivery), 1000)}`;
    const { preview = "" } = delivery;
    if (preview === "" || Buffer.byteLength(preview) > room) return line;
    room -= Buffer.byteLength(preview);
    const text = codeBlock(preview, "text").replaceAll("\n", "\n  ");
    return `${line}\n  <details>\n  <summary>Preview</summary>\n\n  ${text}\n\n  </details>`;
  });
  return { name: "the deliveries", rank: 2, heading: "### Delivered", text: items.join("\n") };
}
