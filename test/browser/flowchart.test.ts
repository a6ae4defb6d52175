/** The flowchart of a run: what of it is in view, and what a click on a node does. */
import { describe, it } from "node:test";
import type { Locator, Page } from "playwright-core";
import { browserTests, picture, until, useBrowser } from "../rig/browser.ts";
import { onlyNightly } from "../rig/nightly.ts";
import { usePortal } from "./portal.ts";

const open = useBrowser();
const portal = usePortal();

/** Starts a job, and shows its run. */
async function showRun(page: Page, job: string): Promise<string> {
  const { address, workspace } = await portal();
  const answer = await fetch(`${address}api/copilot/job/start/${job}`, {
    method: "POST",
    body: workspace.path,
  });
  const { jobId } = Object(await answer.json());
  await page.goto(`${address}#/run/${jobId}`);
  return `#/run/${jobId}`;
}

const node = (page: Page, name: RegExp): Locator =>
  page.getByRole("region", { name: "Flowchart" }).getByRole("button", { name });

describe("the flowchart of a run", onlyNightly, () => {
  it("shows all branches that run at the same time", browserTests, async () => {
    const { page } = await open();
    await showRun(page, "branches");
    const running = node(page, /^hang #\d Running/);
    await running.nth(8).waitFor();
    const frame = await page
      .getByRole("group", { name: /^Flowchart/ })
      .evaluate((box) => JSON.stringify(box.getBoundingClientRect()));
    const { left, right, top, bottom } = JSON.parse(frame);
    await until(
      page,
      `[...document.querySelectorAll("[data-status=running]")].every((one) => {
        const rect = one.getBoundingClientRect();
        return rect.left >= ${left} && rect.right <= ${right} && rect.top >= ${top} && rect.bottom <= ${bottom};
      })`,
    );
    await picture(page, "flowchart-branches");
  });

  it(
    "shows the work of a node that is clicked, and the run again with the next click",
    browserTests,
    async () => {
      const { page } = await open();
      const run = await showRun(page, "maintain");
      const look = node(page, /^look #0 Succeeded/);
      await look.click();
      await until(page, `location.hash === "${run}/work/0"`);
      await look.click();
      await until(page, `location.hash === "${run}"`);
      await look.dblclick();
      await until(page, `location.hash === "${run}/work/0"`);
      await look.press("Enter");
      await until(page, `location.hash === "${run}"`);
    },
  );
});
