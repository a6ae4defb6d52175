/** A run of a workflow in a report from disk: its flowchart with the path, and its steps. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  browserTests,
  expectAccessible,
  expectNoSidewaysScroll,
  phone,
  picture,
  until,
  useBrowser,
} from "../rig/browser.ts";
import { buildStory, FlowTelling } from "../rig/flow-events.ts";
import { writeReport } from "./report.ts";

const open = useBrowser();
const chart = { name: /^Flowchart of the workflow/ };

describe("the page of a workflow", browserTests, () => {
  it("shows the path, lists the steps of a chosen activity, and opens one", async (t) => {
    const address = await writeReport(t, { "run.jsonl": buildStory().finish().events });
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await open({ offline: true, colorScheme });
      await page.goto(address);
      const flowchart = page.getByRole("group", chart);
      const prompt = flowchart.getByRole("button", { name: /PROMPT_PLAN: User Plan ✓ 2, 4/ });
      await prompt.waitFor();
      await flowchart.getByRole("button", { name: /SUCCESS ✓ 11/ }).waitFor();
      assert.equal(await page.locator('path[data-taken="true"]').count(), 9);
      assert.equal(await page.locator('path[data-taken="false"]').count(), 3);
      await picture(page, `workflow-${colorScheme}`);
      await expectAccessible(page, `the page of a workflow, ${colorScheme}`);
      await prompt.click();
      await until(page, `location.hash.includes("/activity/0/1")`);
      const steps = page.locator(".row-step");
      assert.equal(await steps.count(), 2);
      await page.getByRole("button", { name: "Show all steps" }).click();
      await until(page, `document.querySelectorAll(".row-step").length > 4`);
      await steps.getByRole("button", { name: /3 EXECUTE_BUILD.*npm run biuld/ }).click();
      await page.getByRole("region", { name: "Output, exit code 1 of step 3" }).waitFor();
      await expectAccessible(page, `an open step, ${colorScheme}`);
      await picture(page, `workflow-step-${colorScheme}`);
    }
  });

  it("fits a phone", async (t) => {
    const address = await writeReport(t, { "run.jsonl": buildStory().finish().events });
    const { page } = await open({ offline: true, viewport: phone });
    await page.goto(address);
    await page.getByRole("tab", { name: "Flowchart" }).click();
    await page.getByRole("group", chart).getByRole("button").first().waitFor();
    await picture(page, "workflow-phone-chart");
    await expectNoSidewaysScroll(page, "the page of a workflow");
    await page.locator(".row-step").first().scrollIntoViewIfNeeded();
    await picture(page, "workflow-phone-steps");
    await expectAccessible(page, "the page of a workflow on a phone");
  });

  it("shows ten thousand steps without a row for each in the document", async (t) => {
    const told = new FlowTelling();
    for (let round = 0; round < 5000; round += 1)
      told
        .step({ activity: "CHECK_OK" })
        .step({ activity: "ASK_NEVER", result: `result ${round}` });
    const address = await writeReport(t, { "run.jsonl": told.finish().events });
    const { page } = await open({ offline: true });
    await page.goto(address);
    await page.locator(".row-step").first().waitFor();
    assert.ok((await page.locator(".row-step").count()) < 200);
    await page
      .getByRole("group", chart)
      .getByRole("button", { name: /5000 times/ })
      .first()
      .waitFor();
  });
});
