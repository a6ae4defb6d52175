/** The page without a mouse: every step is a key, and the focus is always somewhere one can see. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserTests, until, useBrowser } from "../rig/browser.ts";
import { onlyNightly } from "../rig/nightly.ts";
import { usePortal } from "./portal.ts";

const open = useBrowser();
const portal = usePortal();

/** The element that has the focus: its role or name, and its label. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const element = document.activeElement;
    const name = element.getAttribute("aria-label") ?? element.textContent.trim();
    return (element.getAttribute("role") ?? element.localName) + ": " + name.replaceAll(/\\s+/g, " ");
  })()`);
}

/** Presses Tab until the focus is on something that matches. */
async function tabTo(page: Page, wanted: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let times = 0; times < 60; times += 1) {
    await page.keyboard.press("Tab");
    const now = await focused(page);
    if (wanted.test(now)) return;
    passed.push(now.slice(0, 60));
  }
  assert.fail(`Tab does not lead to ${String(wanted)}: ${passed.join(" | ")}`);
}

describe("the keyboard", onlyNightly, () => {
  it("starts a job, opens a work and a tool call of it, and goes back", browserTests, async () => {
    const { address } = await portal();
    const { page } = await open();
    await page.goto(address);
    await page.getByRole("button", { name: /^Start Maintain/ }).waitFor();
    await tabTo(page, /Skip to content/);
    await page.keyboard.press("Enter");
    assert.match(await focused(page), /^main/);
    await tabTo(page, /^button: Start ?Maintain/);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Start maintain" }).waitFor();
    assert.match(await focused(page), /^(input|button|h2|dialog)/, "the focus is in the dialog");
    await tabTo(page, /^button: Start$/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /maintain.*Succeeded/ }).waitFor();
    assert.match(await focused(page), /^h1: maintain/, "the heading of the new page has the focus");

    await tabTo(page, /^a: look/);
    await page.keyboard.press("Enter");
    await until(page, `/\\/work\\/0$/.test(location.hash)`);
    await page.getByRole("list", { name: "What happened in look" }).waitFor();
    await tabTo(page, /^button: .*job_prepare_document/);
    await page.keyboard.press("Enter");
    assert.equal(
      await page.evaluate(`document.activeElement.getAttribute("aria-expanded")`),
      "true",
    );

    await page.goBack();
    await until(page, `!location.hash.includes("/work/")`);
  });

  it(
    "closes a dialog with Escape, and the focus returns to what opened it",
    browserTests,
    async () => {
      const { address } = await portal();
      const { page } = await open();
      await page.goto(address);
      await page.getByRole("button", { name: /^Start Ask/ }).waitFor();
      await tabTo(page, /^button: Start ?Ask/);
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: "Start ask" });
      await dialog.waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      assert.match(await focused(page), /^button: Start ?Ask/);
    },
  );
});
