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
  useBrowser,
} from "../rig/browser.ts";
import { notAStream, usePortal } from "./portal.ts";

const open = useBrowser();
const portal = usePortal();

/** Starts a session in the tab that the tests share, and asks a question. */
async function startSession(): Promise<Page> {
  const { address } = await portal();
  const { page } = await open({ kept: true });
  await page.goto(`${address}#/session`);
  await page.getByRole("button", { name: "Start the session" }).click();
  await page.getByText("The session is ready.").waitFor();
  await say(page, "Who are you?");
  await page.getByText("I am a script.").waitFor();
  return page;
}

/** Answers the question whether to stop. */
async function stopSession(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Stop this session?" });
  await dialog.getByRole("button", { name: "Stop the session" }).click();
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Prompt" }).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

describe("a session", () => {
  it("answers, keeps its conversation over a reload, and is stopped", browserTests, async () => {
    const page = await startSession();
    const conversation = page.getByRole("list", { name: "Conversation" });
    assert.equal(await conversation.locator("strong").filter({ hasText: "a script" }).count(), 1);
    await conversation.getByRole("button", { name: /^Reasoning/ }).click();
    await conversation.getByText("A question about me.").waitFor();
    await picture(page, "session");
    await expectAccessible(page, "a session");
    const size = page.viewportSize();
    await page.setViewportSize(phone);
    await expectNoSidewaysScroll(page, "a session on a phone");
    await picture(page, "session-phone");
    if (size !== null) await page.setViewportSize(size);
    await page.reload();
    await conversation.getByText("I am a script.").waitFor();
    assert.equal(await conversation.getByText("I am a script.").count(), 1);
    await conversation.getByText("Who are you?").waitFor();
    assert.equal(await conversation.getByText("Who are you?").count(), 1);
    await page.getByRole("button", { name: "Stop the session" }).click();
    await stopSession(page);
    await page.getByText("The session has ended.").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Prompt" }).count(), 0);
  });

  it(
    "has the prompts, the model and the folder in another tab, and is found from elsewhere",
    browserTests,
    async () => {
      const { address, workspace } = await portal();
      const page = await startSession();
      const { page: other } = await open();
      await other.goto(page.url());
      const conversation = other.getByRole("list", { name: "Conversation" });
      await conversation.getByText("I am a script.").waitFor();
      await conversation.getByText("Who are you?").waitFor();
      assert.match(
        (await conversation.getByRole("listitem").first().textContent()) ?? "",
        /Who are/,
      );
      await other.getByRole("heading", { level: 1, name: "gpt-5-mini" }).waitFor();
      await other.getByText(workspace.path).first().waitFor();
      await say(page, "Look at the folder");
      await conversation.getByText("Look at the folder").waitFor();

      for (const place of ["#/", "#/session"]) {
        await other.goto(`${address}${place}`);
        const sessions = other.getByRole("region", { name: "Open sessions" });
        await sessions
          .getByRole("link", { name: /Who are you/ })
          .first()
          .waitFor();
        await expectAccessible(
          other,
          `open sessions at ${place}`,
          "[aria-labelledby=open-sessions]",
        );
        await picture(other, place === "#/" ? "open-sessions-start" : "open-sessions");
      }
      const id = page.url().split("/").at(-1) ?? "";
      const row = other.getByRole("listitem").filter({ has: other.locator(`a[href$="${id}"]`) });
      await row.getByRole("button", { name: /^Stop the session/ }).click();
      await stopSession(other);
      await row.waitFor({ state: "detached" });
      await page.getByText("The session has ended.").waitFor();
    },
  );

  it("runs a task of the entry in the conversation, with its decisions", browserTests, async () => {
    const page = await startSession();
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
    await page.reload();
    await run.getByText("Succeeded", { exact: true }).waitFor();
    await tasks.getByRole("combobox", { name: "Task" }).selectOption("answer");
    await tasks.getByRole("textbox", { name: "Input" }).waitFor();
  });

  it("that is unknown is an error with a way on", browserTests, async () => {
    const { address } = await portal();
    const { page, tolerate } = await open({ kept: true });
    tolerate(notAStream);
    await page.goto(`${address}#/session/unknown`);
    await page.getByRole("alert").waitFor();
    await page.getByRole("link", { name: "New session" }).waitFor();
    await expectAccessible(page, "an unknown session");
  });

  it("whose stream breaks off has ended, and keeps what was said", browserTests, async () => {
    const { address } = await portal();
    const { page } = await open({ kept: true });
    const headers = { "content-type": "text/event-stream" };
    for (const [index, last] of ['{"error":"SessionNotFound"}', "null", "{bad}"].entries()) {
      const said = { callback: "onEndMessage", messageId: "m", completeContent: `answer ${index}` };
      const body = `id: 1\ndata: ${JSON.stringify(said)}\n\nid: 2\ndata: ${last}\n\n`;
      await page.route(`**/copilot/session/broken-${index}/events`, (route) =>
        route.fulfill({ headers, body }),
      );
      await page.goto(`${address}#/session/broken-${index}`);
      await page.getByText(`answer ${index}`).waitFor();
      await page.getByText("Ended", { exact: true }).waitFor();
      await page.getByRole("link", { name: "New session" }).waitFor();
    }
  });
});
