/** Tasks with the action protocol in a report: documents, actions, their lanes, and what is said of them. */
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
import { act, ActionTelling, documentOf, releaseStory } from "../rig/action-events.ts";
import { hostile as all } from "../web/large-run.ts";
import { writeReport } from "./report.ts";

const open = useBrowser();

describe("actions in a report", () => {
  it(
    "are rows and lanes that the keyboard reaches, and fit a dark phone",
    browserTests,
    async (t) => {
      const told = await (await releaseStory()).finish();
      const { page } = await open({ offline: true, kept: true });
      await page.goto(await writeReport(t, { "run.jsonl": told.events }));
      await page.getByRole("heading", { level: 1, name: /release/ }).waitFor();
      const rows = page.getByRole("list", { name: "What happened in ship" });
      await rows.getByText("Document 1", { exact: true }).waitFor();
      await picture(page, "actions-rows");
      // Thoughts are closed, and open with the document.
      const document = rows.getByRole("button", { name: /Document 1.*3 actions.*1 thought/ });
      assert.equal(await document.getAttribute("aria-expanded"), "false");
      await document.focus();
      await page.keyboard.press("Enter");
      await rows.getByRole("heading", { name: "PLAN" }).waitFor();
      await rows.getByText("Variables: target set").waitFor();
      const lint = rows.getByRole("button", { name: /lint.*succeeded/ });
      await lint.focus();
      await page.keyboard.press("Enter");
      await rows.getByRole("heading", { name: "Params" }).waitFor();
      await rows.getByText('{"problems":0}', { exact: true }).waitFor();
      await picture(page, "actions-open");
      await expectAccessible(page, "open documents and actions");
      await rows.evaluate((list) => list.scrollTo(0, list.scrollHeight));
      await rows.getByText("Document 3", { exact: true }).waitFor();
      await rows.getByText("Deployed to staging. Two end-to-end tests fail.").waitFor();
      await picture(page, "actions-end");

      await page.getByRole("tab", { name: "Timeline" }).click();
      await page.getByRole("list", { name: "What the colors mean" }).getByText("action").waitFor();
      const canvas = page.getByRole("application", { name: /Timeline/ });
      await canvas.focus();
      const said = page.locator(".lanes-place [role=status]");
      for (let moves = 0; moves < 12; moves += 1) {
        await page.keyboard.press("ArrowDown");
        if ((await said.innerText()).startsWith("Action ")) break;
      }
      assert.match(await said.innerText(), /^Action .* of ship #0, /);
      await picture(page, "actions-timeline");
      await page.keyboard.press("Enter");
      await until(page, `location.hash.includes("/action/")`);
      await page.getByRole("button", { name: "Table" }).click();
      const table = page.getByRole("list", { name: "Everything on the timeline, by time" });
      const build = table.getByRole("link", {
        name: /Action build of ship #0, 20 s, npm\/build, Building the app, background, succeeded/,
      });
      await build.waitFor();
      await picture(page, "actions-table");
      await build.click();
      await page.locator(".run-row-marked").getByText("build", { exact: true }).waitFor();
      await expectAccessible(page, "the timeline's table with actions", "[role=tabpanel]");

      await page.emulateMedia({ colorScheme: "dark" });
      await page.setViewportSize(phone);
      await rows.getByText("Document 1", { exact: true }).scrollIntoViewIfNeeded();
      await expectNoSidewaysScroll(page, "a run with actions");
      await picture(page, "actions-phone");
      await rows.getByRole("button", { name: /build.*succeeded/, expanded: true }).waitFor();
      await expectAccessible(page, "actions on a dark phone", "[role=tabpanel]");
      await expectNoSidewaysScroll(page, "open actions");
      await page.getByRole("tab", { name: "Timeline" }).click();
      await picture(page, "actions-phone-timeline");
    },
  );

  it("show what a model writes as text", browserTests, async (t) => {
    const hostile = all.join(" ");
    const evil = new ActionTelling();
    const display = { type: "progress_bar", label: hostile };
    await evil.turn(documentOf([act(hostile, "x")]));
    await evil.turn(
      documentOf([act("lint", "lint", { fails: hostile, [hostile]: hostile }, { display })], {
        thoughts: [{ type: "PLAN", content: hostile }],
        response: hostile,
      }),
    );
    const address = await writeReport(t, { "run.jsonl": (await evil.finish()).events });
    const { page } = await open({ offline: true, kept: true });
    await page.goto(address);
    const rows = page.getByRole("list", { name: "What happened in ship" });
    await rows.getByRole("button", { name: /Document 1/ }).click();
    await rows.getByRole("button", { name: /lint.*failed/ }).click();
    await rows.getByRole("heading", { name: "Params" }).waitFor();
    await expectNoSidewaysScroll(page, "hostile actions");
  });
});
