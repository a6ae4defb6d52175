/** The session page: a person talks to a model, and runs a task in the same conversation. */
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
import { notAStream, usePortal } from "./portal.ts";

const open = useBrowser();
const portal = usePortal();

async function startSession(page: Page, address: string): Promise<void> {
  await page.goto(`${address}#/session`);
  await page.getByRole("button", { name: "Start the session" }).click();
  await page.getByText("The session is ready.").waitFor();
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Prompt" }).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

describe("a session", browserTests, () => {
  it("answers, keeps its conversation over a reload, and is stopped", async () => {
    const { address } = portal();
    const { page } = await open();
    await startSession(page, address);
    await say(page, "Who are you?");
    const conversation = page.getByRole("list", { name: "Conversation" });
    await conversation.getByText("I am a script.").waitFor();
    assert.equal(await conversation.locator("strong").filter({ hasText: "a script" }).count(), 1);
    await conversation.getByRole("button", { name: /^Reasoning/ }).click();
    await conversation.getByText("A question about me.").waitFor();
    await picture(page, "session");
    await expectAccessible(page, "a session");
    await page.reload();
    await conversation.getByText("I am a script.").waitFor();
    assert.equal(await conversation.getByText("I am a script.").count(), 1);
    assert.equal(await conversation.getByText("Who are you?").count(), 1);
    await page.getByRole("button", { name: "Stop the session" }).click();
    const dialog = page.getByRole("dialog", { name: "Stop this session?" });
    await dialog.getByRole("button", { name: "Stop the session" }).click();
    await page.getByText("The session has ended.").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Prompt" }).count(), 0);
  });

  it("runs a task of the entry in the conversation, with its decisions", async () => {
    const { address } = portal();
    const { page } = await open();
    await startSession(page, address);
    await say(page, "Who are you?");
    await page.getByText("I am a script.").waitFor();
    const tasks = page.getByRole("region", { name: "Tasks" });
    await tasks.getByRole("combobox", { name: "Task" }).selectOption("look");
    await tasks.getByRole("button", { name: "Run the task" }).click();
    const run = tasks.getByRole("article").filter({ hasText: "look" });
    await run.getByText("Succeeded", { exact: true }).waitFor();
    await run
      .getByRole("list", { name: "Decisions of look" })
      .getByRole("listitem")
      .first()
      .waitFor();
    await picture(page, "session-task");
    await expectAccessible(page, "a session with a task");
    await tasks.getByRole("combobox", { name: "Task" }).selectOption("answer");
    await tasks.getByRole("textbox", { name: "Input" }).waitFor();
  });

  it("says what is wrong with a folder", async () => {
    const { address } = portal();
    const { page } = await open();
    await page.goto(`${address}#/session`);
    const folder = page.getByRole("textbox", { name: "Working directory" });
    await folder.fill("/no/such/folder");
    await page.getByRole("button", { name: "Start the session" }).click();
    await until(page, `document.querySelector("[aria-invalid=true]") !== null`);
  });

  it("that is unknown is an error with a way on", async () => {
    const { address } = portal();
    const { page, tolerate } = await open();
    tolerate(notAStream);
    await page.goto(`${address}#/session/unknown`);
    await page.getByRole("alert").waitFor();
    await page.getByRole("link", { name: "New session" }).waitFor();
    await expectAccessible(page, "an unknown session");
  });

  it("fits a phone", async () => {
    const { address } = portal();
    const { page } = await open({ viewport: phone });
    await startSession(page, address);
    await say(page, "Who are you?");
    await page.getByText("I am a script.").waitFor();
    await expectNoSidewaysScroll(page, "a session");
    await picture(page, "session-phone");
  });
});
