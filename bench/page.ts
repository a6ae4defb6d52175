/** How long the report of a long run takes to open in a real browser, until its steps are on the page. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createJournal } from "../src/journal/write.ts";
import { launchChromium, openTab } from "../test/rig/browser.ts";
import { tell } from "../test/rig/tell.ts";
import { largeRun } from "../test/web/large-run.ts";
import { cli, command, temporary, type Row, type Side } from "./rig.ts";

function opened(events: number): Side {
  return {
    name: `${events} events`,
    run: async (dist) => {
      const name = `page-${events}`;
      const journal = createJournal(join(temporary, `${name}.jsonl`));
      tell(journal, ...largeRun({ events }));
      await journal.close?.();
      await command([cli(dist), "report", `${name}.jsonl`, "-o", `${name}.html`]);
      const browser = await launchChromium();
      try {
        const { page } = await openTab(browser, { offline: true });
        const began = performance.now();
        const address = pathToFileURL(join(temporary, `${name}.html`)).href;
        await page.goto(address, { waitUntil: "commit" });
        await page.getByRole("navigation", { name: "Steps" }).waitFor();
        return { "opens in, ms": performance.now() - began };
      } finally {
        await browser.close();
      }
    },
  };
}

export const rows: readonly Row[] = [
  { name: "open a report", sides: [opened(26_000), opened(2_600)] },
];
