/**
 * Takes the pictures of the page into build/screenshots/. A server plays the rehearsals of scripts/screenshots/, so the runs are real except for the model. Those in docs/images/ are
 * copies: reduce their colors first (`pngquant 128`), they are at most 300 KB each.
 *
 * The page uses the system's fonts. With the packages fonts-inter and fonts-jetbrains-mono of Debian, the pictures
 * look as they do in the documentation.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { RunEvent } from "../src/events/event.ts";
import { readJournal } from "../src/journal/read.ts";
import { createJournal } from "../src/journal/write.ts";
import { launchChromium, openTab, type TabOptions } from "../test/rig/browser.ts";
import { runCli, startCli } from "../test/rig/cli.ts";
import { tell } from "../test/rig/tell.ts";

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, "build", "screenshots");
const source = join(root, "scripts", "screenshots");
const slide = { viewport: { width: 1360, height: 960 }, scale: 2 } as const;
const looks: readonly (readonly [string, TabOptions])[] = [
  ["light", { ...slide, colorScheme: "light" }],
  ["dark", { ...slide, colorScheme: "dark" }],
];

const work = await mkdtemp(join(tmpdir(), "agent-jobs-screenshots-"));
await mkdir(folder, { recursive: true });
const browser = await launchChromium();
try {
  await portalPictures(browser);
  await reportPictures(browser);
} finally {
  await browser.close();
  await rm(work, { recursive: true, force: true });
}

async function portalPictures(browser: Browser): Promise<void> {
  const args = ["--rehearse", join(source, "nightly.rehearsal.yml"), "--port", "0"];
  const server = startCli(["serve", ...args], { cwd: work });
  try {
    await server.printed("/api/");
    const [address = ""] = /http:\/\/[^/]*:\d+\//.exec(server.output.stdout) ?? [];
    const first = await start(address, "nightly");
    await start(address, "review");
    await start(address, "dependencies");
    await ended(address, first);
    await start(address, "describe");
    const running = await start(address, "nightly");
    await Promise.all(
      looks.map(([look, options]) =>
        onTab(browser, options, async (page) => {
          await page.goto(`${address}#/run/${running}`);
          await page.getByText("Retry 1").or(page.getByText("Retrying")).first().waitFor();
          await picture(page, `running-${look}`);
        }),
      ),
    );
    await start(address, "nightly");
    for (const [look, options] of looks) {
      await onTab(browser, options, async (page) => {
        await page.goto(address);
        await page
          .getByRole("link", { name: /nightly.*Succeeded/ })
          .first()
          .waitFor();
        await picture(page, `portal-${look}`);
        await page.goto(`${address}#/session`);
        await page.getByRole("button", { name: "Start the session" }).click();
        await page.getByRole("textbox", { name: "Prompt" }).fill("Which prices are wrong today?");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByText("corrects all of them").waitFor();
        await picture(page, `session-${look}`);
      });
    }
  } finally {
    server.signal("SIGTERM");
    await server.ended;
  }
}

async function start(address: string, job: string): Promise<string> {
  const answer = await fetch(`${address}api/copilot/job/start/${job}`, {
    method: "POST",
    body: work,
  });
  const { jobId } = Object(await answer.json());
  return String(jobId);
}

async function ended(address: string, jobId: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${address}api/copilot/job/${jobId}/status`);
    if (Object(await answer.json()).status !== "Running") return;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

/** A week of nights: the two rehearsals, at other times, and as slow as models are. */
async function reportPictures(browser: Browser): Promise<void> {
  const busy = await rehearsed("nightly");
  const quiet = await rehearsed("quiet");
  const nights = [quiet, busy, quiet, quiet, busy, quiet, busy];
  const names: string[] = [];
  for (const [index, events] of nights.entries()) {
    const name = `night-${index + 1}.jsonl`;
    const journal = createJournal(join(work, name));
    tell(journal, ...moved(events, index));
    await journal.close?.();
    names.push(name);
  }
  const { code, stderr } = await runCli(["report", ...names, "-o", "report.html"], { cwd: work });
  if (code !== 0) throw new Error(stderr);
  const address = pathToFileURL(join(work, "report.html")).href;
  for (const [look, options] of looks) {
    await onTab(browser, { ...options, offline: true }, async (page) => {
      await page.goto(address);
      await page.getByRole("checkbox").nth(0).check();
      await page.getByRole("checkbox").nth(1).check();
      await picture(page, `report-${look}`);
    });
  }
}

async function rehearsed(name: string): Promise<readonly RunEvent[]> {
  const journal = join(work, `${name}.jsonl`);
  const rehearsal = join(source, `${name}.rehearsal.yml`);
  const { code, stderr } = await runCli(
    ["run", join(source, "nightly.yml"), "nightly", "--rehearse", rehearsal, "--journal", journal],
    { cwd: work },
  );
  if (code !== 0) throw new Error(stderr);
  return readJournal(await readFile(journal, "utf8")).events;
}

function moved(events: readonly RunEvent[], index: number): readonly RunEvent[] {
  const [first] = events;
  if (first === undefined) return [];
  const begin = Date.UTC(2026, 10, 15 + index, 2, 0, index * 7);
  const slower = 24 + ((index * 5) % 7);
  return events.map((event) => ({
    ...event,
    runId: `${event.runId.slice(0, -1)}${index}`,
    at: begin + (event.at - first.at) * slower,
  }));
}

async function onTab(
  browser: Browser,
  options: TabOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const tab = await openTab(browser, options);
  await use(tab.page);
  const problems = await tab.close();
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

async function picture(page: Page, name: string): Promise<void> {
  // Charts are drawn, and lists measured, after the texts are there.
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`${name}.png`);
}
