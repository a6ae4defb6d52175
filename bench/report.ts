/**
 * How long a report of a long run takes to open, in a real browser: `npm run bench report [-- EVENTS]`. From the
 * start of the navigation until the works of the run are on the page; the median of five.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { createJournal } from "../src/journal/write.ts";
import { launchChromium, openTab } from "../test/rig/browser.ts";
import { runCli } from "../test/rig/cli.ts";
import { largeRun } from "../test/web/large-run.ts";
import { tell } from "../test/rig/tell.ts";

export async function main([count = "26000"]: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "agent-jobs-bench-report-"));
  const browser = await launchChromium();
  try {
    const file = await writeReport(folder, Number(count));
    const times: number[] = [];
    for (let run = 0; run < 5; run += 1) times.push(await timeToOpen(browser, file));
    times.sort((a, b) => a - b);
    const [fastest = 0, , median = 0, , slowest = 0] = times;
    const milliseconds = (time: number): string => `${Math.round(time)} ms`;
    console.log(
      `opens in ${milliseconds(median)} (${milliseconds(fastest)} to ${milliseconds(slowest)})`,
    );
  } finally {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeReport(folder: string, events: number): Promise<string> {
  const path = join(folder, "run.jsonl");
  const journal = createJournal(path);
  tell(journal, ...largeRun({ events }));
  await journal.close?.();
  const { code, stderr } = await runCli(["report", "run.jsonl", "-o", "report.html"], {
    cwd: folder,
  });
  if (code !== 0) throw new Error(stderr);
  return join(folder, "report.html");
}

async function timeToOpen(browser: Browser, file: string): Promise<number> {
  const { page, close } = await openTab(browser, { offline: true });
  const began = performance.now();
  await page.goto(pathToFileURL(file).href, { waitUntil: "commit" });
  await page.getByRole("navigation", { name: "Works" }).waitFor();
  const took = performance.now() - began;
  await close();
  return took;
}
