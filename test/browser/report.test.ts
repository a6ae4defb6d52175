/** A report from disk, without any network. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import {
  browserTests,
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  picture,
  until,
  useBrowser,
} from "../rig/browser.ts";
import { hostile, largeRun } from "../web/large-run.ts";
import { renamed, writeReport } from "./report.ts";

const open = useBrowser();

const hour = 3_600_000;
const small = largeRun({ events: 400 });

describe("a report", browserTests, () => {
  const week = Object.fromEntries(
    Array.from({ length: 7 }, (_, day) => [
      `night-${day + 1}.jsonl`,
      renamed(largeRun({ events: 200 + day * 40 }), {
        runId: `night-${day + 1}`,
        jobName: day < 5 ? "nightly" : "weekend",
        shift: day * 24 * hour,
      }),
    ]),
  );

  it("of one run opens on that run, and links to what is in it", async (t) => {
    const address = await writeReport(t, { "run.jsonl": small });
    const { page } = await open({ offline: true });
    await page.goto(address);
    await page.getByRole("heading", { level: 1, name: /nightly-review/ }).waitFor();
    await picture(page, "report-run");
    await page.getByRole("navigation", { name: "Works" }).getByRole("link").first().click();
    await until(page, `location.hash.includes("/work/")`);
    const deep = page.url();
    const again = await open({ offline: true });
    await again.page.goto(deep);
    await again.page.getByRole("tab").first().waitFor();
  });

  it("of a week is a list with totals, to search and to group", async (t) => {
    const address = await writeReport(t, week);
    const { page } = await open({ offline: true });
    await page.goto(address);
    const rows = page
      .getByRole("table")
      .getByRole("row")
      .filter({ has: page.getByRole("checkbox") });
    await rows.first().waitFor();
    assert.equal(await rows.count(), 7);
    await picture(page, "report-list");
    await expectAccessible(page, "the list of runs");
    await page.getByRole("combobox", { name: "Job" }).selectOption("weekend");
    await page.getByText("2 of 7 runs").waitFor();
    assert.equal(await rows.count(), 2);
    await page.getByRole("combobox", { name: "Job" }).selectOption("");
    await page.getByRole("searchbox", { name: "Search" }).fill("night-3");
    await page.getByText("1 of 7 runs").waitFor();
    await rows.getByRole("link").first().click();
    await page.getByRole("heading", { level: 1, name: /nightly/ }).waitFor();
    await page.goBack();
    await rows.first().waitFor();
  });

  it("compares two runs side by side", async (t) => {
    const address = await writeReport(t, week);
    const { page } = await open({ offline: true });
    await page.goto(address);
    await page.getByRole("checkbox").nth(0).check();
    await page.getByRole("checkbox").nth(3).check();
    await page.getByRole("link", { name: "Compare the two runs" }).click();
    await page.getByRole("heading", { level: 1, name: "Two runs side by side" }).waitFor();
    await page.getByRole("table").first().waitFor();
    await picture(page, "report-compare");
    await expectAccessible(page, "the comparison");
    const again = await open({ offline: true, viewport: phone });
    await again.page.goto(page.url());
    await again.page.getByRole("table").first().waitFor();
    await expectNoSidewaysScroll(again.page, "the comparison");
  });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`is accessible, ${colorScheme}`, async (t) => {
      const address = await writeReport(t, { "run.jsonl": small });
      const { page } = await open({ offline: true, colorScheme });
      await page.goto(address);
      await page.getByRole("heading", { level: 1, name: /nightly-review/ }).waitFor();
      await page.getByRole("navigation", { name: "Works" }).waitFor();
      await expectAccessible(page, "the run");
      await page.getByRole("navigation", { name: "Works" }).getByRole("link").first().click();
      await page.getByRole("tab").first().waitFor();
      await picture(page, `report-work-${colorScheme}`);
      await expectAccessible(page, "a work");
    });
  }

  it("fits a phone", async (t) => {
    const one = await writeReport(t, { "run.jsonl": small });
    const { page } = await open({ offline: true, viewport: phone });
    await page.goto(one);
    await page.getByRole("navigation", { name: "Works" }).waitFor();
    await picture(page, "report-run-phone");
    await expectNoSidewaysScroll(page, "the run");
    await page.getByRole("navigation", { name: "Works" }).getByRole("link").first().click();
    await page.getByRole("tab").first().waitFor();
    await picture(page, "report-work-phone");
    await expectNoSidewaysScroll(page, "a work");
    const many = await writeReport(t, week);
    await page.goto(many);
    await page.getByRole("checkbox").first().waitFor();
    await expectNoSidewaysScroll(page, "the list of runs");
  });

  it("of 26,000 events keeps few elements in the document, wherever one scrolls", async (t) => {
    const address = await writeReport(t, { "run.jsonl": largeRun({ events: 26_000 }) });
    const { page } = await open({ offline: true });
    await page.goto(address);
    await page.getByRole("navigation", { name: "Works" }).waitFor();
    await expectFew(page);
    await page.getByRole("navigation", { name: "Works" }).getByRole("link").first().click();
    await page.getByRole("tab").first().waitFor();
    await expectFew(page);
    for (let times = 0; times < 5; times += 1) {
      await page.mouse.move(640, 600);
      await page.mouse.wheel(0, 20_000);
      await page.keyboard.press("End");
      await expectFew(page);
    }
  });
});

/** The run has tens of thousands of blocks and decisions. */
async function expectFew(page: Page): Promise<void> {
  const count = await page.evaluate<number>(`document.querySelectorAll("*").length`);
  assert.ok(count < 4_000, `${count} elements`);
}

void hostile;
