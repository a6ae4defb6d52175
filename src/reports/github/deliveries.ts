import type { Delivery } from "../../outputs/delivery.ts";
import { oneLine } from "../text.ts";
import { fenced, inline } from "./escape.ts";

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

const MAX_PREVIEWS = 100_000;

export function deliveriesMarkdown(deliveries: readonly Delivery[]): string {
  let room = MAX_PREVIEWS;
  const items = deliveries.map((delivery) => {
    const line = `- ${words[delivery.status][0]} ${inline(deliveryLine(delivery), 1000)}`;
    const { preview = "" } = delivery;
    if (preview === "" || Buffer.byteLength(preview) > room) return line;
    room -= Buffer.byteLength(preview);
    const text = fenced(preview, "text").replaceAll("\n", "\n  ");
    return `${line}\n  <details>\n  <summary>Preview</summary>\n\n  ${text}\n\n  </details>`;
  });
  return `\n### Delivered\n\n${items.join("\n")}\n`;
}
