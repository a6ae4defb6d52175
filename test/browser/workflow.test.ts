/** A workflow in the portal: its parameters in the dialog, and a question that the page answers. */
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
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { startServer, useStarted } from "./portal.ts";

const open = useBrowser();

const text = `# Greeting of a guest\n\n${workflowText(`PARAMS["NAME, TONE=kind"]
START --> ASK_A["May I greet {{NAME}} in a {{TONE}} tone?"] --> ASK_B["And what shall I say?"] --> CHECK_B{RESULT CONTAINS hello}
CHECK_B -->|yes| SUCCESS
CHECK_B -->|no| FAILED`)}`;

const server = useStarted(async (owner) =>
  startServer(owner, await makeWorkspace(owner, { "greet.wf.md": text }), ["greet.wf.md"]),
);

async function start(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Start Greeting of a guest/ }).click();
  const dialog = page.getByRole("dialog", { name: "Start Greeting of a guest" });
  await dialog.getByRole("textbox", { name: "NAME" }).fill("Ada");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  await until(page, `location.hash.startsWith("#/run/")`);
}

describe("a workflow in the portal", () => {
  it("asks for its parameters, with an error at the field", browserTests, async () => {
    const { address } = await server();
    const { page } = await open({ kept: true });
    await page.goto(`${address}#/`);
    await page.getByRole("button", { name: /workflow · 2 parameters/ }).click();
    const dialog = page.getByRole("dialog", { name: "Start Greeting of a guest" });
    const name = dialog.getByRole("textbox", { name: "NAME" });
    const tone = dialog.getByRole("textbox", { name: "TONE" });
    assert.equal(await tone.inputValue(), "kind");
    assert.equal(await name.getAttribute("required"), "");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await dialog.getByRole("alert").getByText("Enter a value.").waitFor();
    assert.equal(await name.getAttribute("aria-invalid"), "true");
    assert.equal(await tone.getAttribute("aria-invalid"), "false");
    await picture(page, "workflow-start");
    await expectAccessible(page, "the dialog with parameters", "dialog");
    await name.fill("Ada");
    await tone.fill("cold\nand short");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("May I greet Ada in a cold\nand short tone?").first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: /Stop/ }).click();
    await page.getByRole("heading", { level: 1, name: /Canceled/ }).waitFor();
  });

  it("shows a question at once, and sends the answer", browserTests, async () => {
    const { address } = await server();
    const { page } = await open({ kept: true });
    const { page: other } = await open();
    await page.goto(`${address}#/`);
    await other.goto(address);
    await start(page);
    const form = page.getByRole("form", { name: /The workflow asks/ });
    await form.getByText("May I greet Ada in a kind tone?").waitFor();
    await picture(page, "workflow-question");
    await expectAccessible(page, "a run that waits for an answer", "form");
    // The other tab says so, too, and both may answer.
    await other.getByRole("link", { name: /greet\.wf\.md.*Waits for an answer/ }).click();
    const otherForm = other.getByRole("form", { name: /The workflow asks/ });
    await otherForm.getByText("May I greet Ada").waitFor();
    await form.getByRole("textbox", { name: "Your answer" }).fill("yes");
    await form.getByRole("button", { name: "Answer" }).click();
    await form.getByText("And what shall I say?").waitFor();
    await otherForm.getByText("And what shall I say?").waitFor();
    await otherForm.getByRole("textbox", { name: "Your answer" }).fill("hello\nthere");
    await other.keyboard.press("Control+Enter");
    await page.getByRole("heading", { level: 1, name: /greet\.wf\.md.*Succeeded/ }).waitFor();
    await form.waitFor({ state: "detached" });
    await picture(page, "workflow-answered");
  });

  it("fits a phone, and ends the question with the run", browserTests, async () => {
    const { address } = await server();
    const { page } = await open({ kept: true, viewport: phone });
    await page.goto(`${address}#/`);
    await start(page);
    const form = page.getByRole("form", { name: /The workflow asks/ });
    await form.waitFor();
    await picture(page, "workflow-question-phone");
    await expectNoSidewaysScroll(page, "a question");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: /Stop/ }).click();
    await page.getByRole("heading", { level: 1, name: /Canceled/ }).waitFor();
    await form.waitFor({ state: "detached" });
  });
});
