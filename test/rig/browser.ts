/**
 * A real browser for tests of the page: one Chromium for all test files of a process, and for each test a context of
 * its own without storage and without downloads.
 *
 * Nothing resolves but loopback. A test fails when the page asks for anything else, writes an error to the console,
 * throws, violates its Content-Security-Policy, or opens a dialog or a window. What a test provokes on purpose it
 * names with `tolerate`.
 */
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { findProgram } from "../../src/platform/search-path.ts";
import { skipUnlessCi } from "./programs.ts";

/** The shell draws the same pages, without the window around them that takes half of the time. */
const names = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** The browser that the tests drive, or undefined if none is installed. */
const executable = names.map((name) => findProgram(name, process.env)).find(Boolean);
const missing =
  "Chromium or Chrome is not installed. Install it with `sudo apt-get install chromium`";

/** For `it`. A machine without a browser skips each test by itself, so that all are counted. */
export const browserTests = { skip: executable === undefined && skipUnlessCi(missing) };

export interface TabOptions {
  readonly colorScheme?: "light" | "dark";
  readonly viewport?: { readonly width: number; readonly height: number };
  /** No network at all, not even loopback. */
  readonly offline?: boolean;
  readonly scale?: number;
  /** Ignores the Content-Security-Policy, to see what holds without it. */
  readonly bypassPolicy?: boolean;
  /** Tests share the tab: opening another part of the page loads nothing. */
  readonly kept?: boolean;
}

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Problems that match are expected from now on. */
  readonly tolerate: (pattern: RegExp) => void;
}

const desktop = { width: 1280, height: 800 };
/** A phone in portrait: the narrowest page that must be readable. */
export const phone = { width: 380, height: 780 };

let browser: Promise<Browser> | undefined;
/** With the network, and without. */
const kept = new Map<boolean, OpenTab>();
let opened: OpenTab[] = [];
let isUsed = false;

/**
 * Call it once at the top of a test file: the function that opens a tab for the test that runs. The tab is closed,
 * and its problems are counted, after the test and before its `t.after`, so servers may still be running.
 */
export function useBrowser(): (options?: TabOptions) => Promise<Tab> {
  if (!isUsed) {
    after(async () => (await browser)?.close());
    afterEach(async () => {
      const tabs = opened;
      opened = [];
      const problems = await Promise.all(tabs.map((tab) => tab.close()));
      const others = [...kept.values()].map((tab) => tab.problems());
      assert.deepEqual([...problems, ...others].flat(), [], "problems that the page had");
    });
  }
  isUsed = true;
  return async (options = {}) => {
    browser ??= launchChromium();
    if (options.kept === true) return keptTab(await browser, options);
    const tab = await openTab(await browser, options);
    opened.push(tab);
    return tab;
  };
}

async function keptTab(on: Browser, options: TabOptions): Promise<Tab> {
  const { offline = false, viewport = desktop, colorScheme = "light" } = options;
  const tab = kept.get(offline) ?? (await openTab(on, options));
  kept.set(offline, tab);
  await tab.page.setViewportSize(viewport);
  await tab.page.emulateMedia({ colorScheme });
  return tab;
}

interface OpenTab extends Tab {
  /** The problems since the last time that nobody tolerates. */
  readonly problems: () => readonly string[];
  /** Closes the tab: the same. */
  readonly close: () => Promise<readonly string[]>;
}

/** A tab in a context of its own. */
export async function openTab(browser: Browser, options: TabOptions = {}): Promise<OpenTab> {
  const context = await browser.newContext(contextOptions(options));
  context.setDefaultTimeout(20_000);
  const problems: string[] = [];
  const tolerated: RegExp[] = [];
  context.on("request", (request) => {
    if (!isLocal(request.url())) problems.push(`request: ${request.method()} ${request.url()}`);
  });
  context.on("console", (message) => {
    if (message.type() !== "error") return;
    problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on("weberror", (error) => void problems.push(`uncaught: ${String(error.error())}`));
  context.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss().catch(() => {});
  });
  const page = await context.newPage();
  context.on("page", (other) => void problems.push(`window: ${other.url()}`));
  const untolerated = (): readonly string[] => {
    const patterns = tolerated.splice(0);
    return problems.splice(0).filter((problem) => !patterns.some((one) => one.test(problem)));
  };
  return {
    page,
    context,
    tolerate: (pattern) => void tolerated.push(pattern),
    problems: untolerated,
    async close() {
      await context.close();
      return untolerated();
    },
  };
}

export function launchChromium(): Promise<Browser> {
  if (executable === undefined) throw new Error(missing);
  return chromium.launch({
    executablePath: executable,
    args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
  });
}

function contextOptions(options: TabOptions): BrowserContextOptions {
  return {
    acceptDownloads: false,
    colorScheme: options.colorScheme ?? "light",
    locale: "en-US",
    timezoneId: "UTC",
    offline: options.offline ?? false,
    bypassCSP: options.bypassPolicy ?? false,
    viewport: options.viewport ?? desktop,
    ...(options.scale === undefined ? {} : { deviceScaleFactor: options.scale }),
    reducedMotion: "reduce",
  };
}

/**
 * Fails with the serious and critical findings of axe on the page as it is now, or on the part of it that `within`
 * selects: what is around a dialog or a tab was searched without it.
 */
export async function expectAccessible(page: Page, what: string, within = "html"): Promise<void> {
  if (!(await page.evaluate<boolean>(`"axe" in window`))) await page.evaluate(await axe());
  assert.deepEqual(await findings(page, within, ""), [], `axe on ${what}`);
}

/** For a tab that was opened light: also checks what depends on colors, in the dark. */
export async function expectAccessibleInBoth(
  page: Page,
  what: string,
  within = "html",
): Promise<void> {
  await expectAccessible(page, what, within);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await findings(page, within, `runOnly: ["color-contrast"]`);
  assert.deepEqual(dark, [], `axe on dark ${what}`);
  await page.emulateMedia({ colorScheme: "light" });
}

async function findings(page: Page, within: string, options: string): Promise<readonly Finding[]> {
  const found = await page.evaluate<readonly Finding[]>(
    `axe.run(${JSON.stringify(within)}, { resultTypes: ["violations"], selectors: false, ${options} }).then(({ violations }) =>
      violations.map(({ id, impact, help, nodes }) => ({
        id, impact, help,
        where: nodes.slice(0, 5).map((node) => node.html.slice(0, 200) + " " + (node.any[0]?.message ?? "")),
      })))`,
  );
  return found.filter(({ impact }) => impact === "serious" || impact === "critical");
}

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly where: readonly string[];
}

/** Fails if the page can be scrolled sideways. */
export async function expectNoSidewaysScroll(page: Page, what: string): Promise<void> {
  const [content, window] = await page.evaluate<readonly [number, number]>(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  );
  if (content <= window) return;
  const wide = await page.evaluate<string[]>(
    `[...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > ${window} + 1)
      .slice(0, 8).map((element) => element.tagName + "." + element.className)`,
  );
  assert.fail(`${what} is ${content} px wide in a window of ${window} px: ${wide.join(", ")}`);
}

/** Writes a picture into the folder that AGENT_JOBS_SCREENSHOTS names, if it does. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["AGENT_JOBS_SCREENSHOTS"];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Waits until the expression is true in the page. (`waitForFunction` needs a policy with `unsafe-eval`.) */
export async function until(page: Page, expression: string): Promise<void> {
  for (let tries = 0; !(await page.evaluate<boolean>(`Boolean(${expression})`)); tries += 1) {
    if (tries === 400) assert.fail(`It did not become true: ${expression}`);
    await sleep(50);
  }
}

function isLocal(address: string): boolean {
  const url = new URL(address);
  if (["file:", "data:", "blob:", "about:"].includes(url.protocol)) return true;
  return url.hostname === "127.0.0.1" || url.hostname === "localhost";
}

let source: Promise<string> | undefined;

function axe(): Promise<string> {
  source ??= readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  return source;
}
