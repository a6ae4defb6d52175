/**
 * The portal in a browser: jobs are started, watched and stopped. The server is the real process. Loading the page and
 * searching it with axe are what costs, and drawing flowcharts: tests share a tab, each page is searched once, and
 * those that don't look at the flowchart are on a phone, which doesn't show it at first.
 */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { Locator, Page } from "playwright-core";
import {
  browserTests,
  expectAccessible,
  expectAccessibleInBoth,
  expectNoSidewaysScroll,
  phone,
  picture,
  until,
  useBrowser,
  type TabOptions,
} from "../rig/browser.ts";
import { prefixProxy } from "../rig/prefix-proxy.ts";
import { writeJournals } from "../rig/many-journals.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { notAStream, startPortal, usePortal } from "./portal.ts";

const open = useBrowser();
const question = "Why is the sky blue?";
const portal = usePortal(["--journals", "journals"], { job: "ask", userInput: question });

/** The panel of a tab, for axe. */
const panel = "[role=tabpanel]";

const title = (page: Page, name: RegExp | string): Locator =>
  page.getByRole("heading", { level: 1, name });

const works = (page: Page): Locator => page.getByRole("navigation", { name: "Steps" });

const work = (page: Page, name: RegExp): Locator => works(page).getByRole("link", { name });

/** The start page, in the tab that the tests share. Without the hash, it would be loaded again. */
async function openHome(options: TabOptions = {}): Promise<Page> {
  const { address } = await portal();
  const { page } = await open({ kept: true, ...options });
  await page.goto(`${address}#/`);
  return page;
}

/** Presses a button of the dialog that is open. */
async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
}

/** Chooses a job of the start page, and starts it with what the dialog proposes. */
async function start(page: Page, job: string): Promise<void> {
  await page.getByRole("button", { name: new RegExp(`^Start ${job}`) }).click();
  await choose(page, "Start");
  await until(page, `location.hash.startsWith("#/run/")`);
}

/** Opens the run of `maintain` that the tests share, and waits for its end. */
async function openMaintained(options: TabOptions = {}): Promise<Page> {
  const { address, maintained } = await portal();
  const { page } = await open({ kept: true, ...options });
  await page.goto(`${address}#/run/${await maintained()}`);
  await title(page, /maintain.*Succeeded/).waitFor();
  return page;
}

/** The tab counts all decisions, and its bar says how many of them are shown. */
async function expectCounts(page: Page): Promise<void> {
  const tab = await page.getByRole("tab", { name: /Decisions/ }).textContent();
  const total = Number(/\((\d+)\)/.exec(tab ?? "")?.[1]);
  const category = page.getByRole("combobox", { name: "Category" });
  const counted = await page.getByText(/^\d+ of \d+ decisions$/).textContent();
  assert.ok(Number.parseInt(counted ?? "", 10) < total, `${counted} of ${total}`);
  const option = category.getByRole("option", { name: /^CRITERIA \(/ });
  const [, criteria] = /\((\d+)\)/.exec((await option.textContent()) ?? "") ?? [];
  await category.selectOption("CRITERIA");
  await page.getByText(`${criteria} of ${total} decisions`, { exact: true }).waitFor();
  await category.selectOption({ label: "All categories" });
  await page.getByText(`${total} decisions`, { exact: true }).waitFor();
}

describe("the portal", () => {
  it(
    "has a grid of jobs, and shows the works of a run, its timeline and its decisions",
    browserTests,
    async () => {
      await openMaintained();
      const page = await openHome();
      const grid = page.getByRole("table", { name: "Jobs by keyword" });
      await grid.getByRole("rowheader", { name: "Every night" }).waitFor();
      await picture(page, "portal");
      await expectAccessibleInBoth(page, "the start page");
      await page.getByRole("link", { name: /maintain.*Succeeded/ }).click();
      await title(page, /maintain.*Succeeded/).waitFor();
      await picture(page, "portal-run");

      // Every work has its status, in the list and on its node of the flowchart.
      for (const [name, status] of [
        ["look", "Succeeded"],
        ["find", "Answered no"],
        ["correct", "Retried"],
        ["recover", "Retried"],
      ] as const) {
        await work(page, new RegExp(`${name}.*${status}`)).waitFor();
        await page
          .getByRole("region", { name: "Flowchart" })
          .getByRole("button", { name: new RegExp(`^${name} #\\d+ ${status}`) })
          .waitFor();
      }
      await page.getByRole("application", { name: /^Timeline/ }).waitFor();
      for (const kind of ["iteration", "turn", "model", "tool", "crash", "retry"])
        await page.locator(`.lanes .bar-${kind}`).first().waitFor();
      // Pointing at a bar says what it is, clicking it opens that, and the keyboard does both.
      const timeline = page.getByRole("application", { name: /^Timeline/ });
      await page.locator(".lanes .bar-crash").first().hover();
      await page.locator(".timeline-tip").getByText("recover #3").waitFor();
      await page.locator(".lanes .bar-crash").first().click();
      await until(page, `location.hash.includes("/decision/")`);
      await page.locator(".run-row-marked:focus").waitFor();
      for (const key of ["Home", "ArrowDown", "Enter"]) await timeline.press(key);
      await until(page, `location.hash.includes("/work/0")`);
      await page.getByRole("tab", { name: /Decisions/ }).click();
      const decisions = page.getByRole("list", { name: "Decisions" });
      await decisions.getByText("nothing was changed").first().waitFor();
      await expectCounts(page);
      await picture(page, "portal-decisions");
      await expectAccessibleInBoth(page, "the decisions of a run", panel);
      await page.getByRole("tab", { name: "Timeline" }).click();
      await page.getByRole("button", { name: "Table", exact: true }).click();
      await expectAccessible(page, "the table of a timeline", panel);
    },
  );

  it(
    "shows what happened in the sessions of each attempt: reasoning, Markdown, tool calls",
    browserTests,
    async () => {
      const page = await openMaintained();
      await work(page, /look/).click();
      const rows = page.getByRole("list", { name: "What happened in look" });
      await rows
        .getByRole("button", { name: /Reasoning/ })
        .first()
        .click();
      await rows.getByText("I think about the folder first.").waitFor();
      await rows.getByRole("button", { name: /job_prepare_document/ }).click();
      await rows
        .getByText(/"argument": "README.md"|README\.md/)
        .first()
        .waitFor();
      assert.equal(await rows.locator("strong").filter({ hasText: "README.md" }).count(), 1);
      await rows.getByRole("listitem").filter({ hasText: "and nothing else" }).first().waitFor();
      assert.equal(await rows.locator('td[align="right"]').textContent(), "1");
      assert.equal(await rows.locator("ol").getAttribute("start"), "3");
      await picture(page, "portal-work");
      await expectAccessible(page, "the sessions of a work", panel);

      // Each iteration and each attempt has a tab.
      await work(page, /find/).click();
      await page.getByRole("tab", { name: "Iteration 1" }).click();
      await page.getByText("one is left").first().waitFor();
      assert.match(page.url(), /\/work\/1\/1$/);
      await page.getByRole("tab", { name: "Iteration 1" }).press("ArrowRight");
      await page.getByRole("tab", { name: "Iteration 2", selected: true }).waitFor();
      await page.getByText("nothing is left").first().waitFor();
      await work(page, /recover/).click();
      await page.getByRole("tab", { name: /Attempt 2/ }).click();
      await page.getByText("Recovered.").first().waitFor();
      await work(page, /correct/).click();
      await page.getByRole("tab", { name: /Retry 1/ }).click();
      await page.getByText("Done in the second try.").first().waitFor();
      assert.equal(await page.getByText("Done at once.").count(), 0);
    },
  );

  it(
    "searches the whole run, and every hit has an address that can be opened afresh",
    browserTests,
    async () => {
      const page = await openMaintained();
      await page.keyboard.press("/");
      await page.keyboard.type("second try");
      await page.getByText(/^[1-9]\d* hits?$/).waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("Done in the second try.").first().waitFor();
      const deep = page.url();
      assert.match(deep, /#\/run\/[^/]+\/turn\//);
      const other = await open();
      await other.page.goto(deep);
      await other.page.getByText("Done in the second try.").first().waitFor();
      await work(other.page, /correct/)
        .and(other.page.locator("[aria-current]"))
        .waitFor();
    },
  );

  it(
    "starts a job of the grid, shows its decisions while it runs, survives a reload, and misses and doubles nothing",
    browserTests,
    async () => {
      const { address, openGate } = await portal();
      const { page } = await open({ kept: true });
      await page.goto(`${address}#/`);
      await start(page, "Gated");
      await page.getByText("Waiting at the gate.").first().waitFor();
      await work(page, /look.*Succeeded/).waitFor();
      await work(page, /wait.*Running/).waitFor();
      await picture(page, "portal-running");
      await page.reload();
      await page.getByText("Waiting at the gate.").first().waitFor();
      await openGate();
      await title(page, /gated.*Succeeded/).waitFor();
      await work(page, /wait/).click();
      await page.getByText("The gate is open.").first().waitFor();
      const rows = page.getByRole("list", { name: "What happened in wait" });
      assert.equal(await rows.getByText("Waiting at the gate.").count(), 1);
      assert.equal(await rows.getByText("The gate is open.").count(), 1);
      await page.getByRole("tab", { name: /Decisions/ }).click();
      const live = await page.getByRole("tab", { name: /Decisions/ }).textContent();
      await page.reload();
      await title(page, /gated.*Succeeded/).waitFor();
      assert.equal(await page.getByRole("tab", { name: /Decisions/ }).textContent(), live);
    },
  );

  it("stops a job after asking, and starts it again", browserTests, async () => {
    const page = await openHome({ viewport: phone });
    await start(page, "endless");
    await work(page, /hang.*Running/).waitFor();
    const first = page.url();
    for (const answer of ["Keep it running", "Stop the run"]) {
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await choose(page, answer);
    }
    await title(page, /endless.*Canceled/).waitFor();
    await page.getByRole("button", { name: "Start again" }).click();
    await page.getByRole("dialog", { name: "Start endless again" }).waitFor();
    await choose(page, "Start");
    await until(page, `location.href !== ${JSON.stringify(first)}`);
    await work(page, /hang.*Running/).waitFor();
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("button", { name: "Stop endless" }).click();
    await choose(page, "Stop the run");
    await page
      .getByRole("link", { name: /endless.*Canceled.*rehearsal/ })
      .nth(1)
      .waitFor();
  });

  it(
    "says that a script plays the models, fills in its input, and asks for that of another job",
    browserTests,
    async () => {
      const { address } = await portal();
      const { page } = await open({ kept: true });
      const note = page.getByText(/^This is a rehearsal/);
      await page.goto(`${address}#/session`);
      await title(page, "New session").waitFor();
      await note.waitFor();
      await expectAccessible(page, "a new session");
      await page.goto(`${address}#/`);
      await note.waitFor();
      assert.match(await note.innerText(), /all\.rehearsal\.yml.*an input other than/);
      assert.equal(await note.locator("q").textContent(), question);
      await page.getByRole("button", { name: /^Start other/ }).click();
      const dialog = page.getByRole("dialog");
      const input = dialog.getByRole("textbox", { name: "Input" });
      await input.waitFor();
      assert.equal(await input.inputValue(), "");
      await choose(page, "Start");
      await dialog.getByText("This job needs an input.").waitFor();
      assert.equal(await input.getAttribute("aria-invalid"), "true");
      await until(page, `document.activeElement?.tagName === "TEXTAREA"`);
      await picture(page, "portal-dialog");
      await expectAccessible(page, "the dialog", "dialog");
      await page.keyboard.press("Escape");

      await page.getByRole("button", { name: /^Start Ask/ }).click();
      await input.waitFor();
      assert.equal(await input.inputValue(), question);
      const folder = dialog.getByRole("textbox", { name: "Working directory" });
      const proposed = await folder.inputValue();
      await folder.fill("not/absolute");
      await choose(page, "Start");
      await dialog
        .getByText(/absolute/)
        .nth(1)
        .waitFor();
      assert.equal(await folder.getAttribute("aria-invalid"), "true");
      await folder.fill(proposed);
      await input.press("Control+Enter");
      await title(page, /ask.*Succeeded/).waitFor();
      await page.getByText("Because of scattering.").first().waitFor();
    },
  );

  it("can be opened at the addresses of earlier portals", browserTests, async () => {
    const { address, workspace, maintained } = await portal();
    const { page } = await open({ kept: true, viewport: phone });
    await page.goto(`${address}index.html?project=shop`);
    await page.getByRole("button", { name: /^Start Maintain/ }).click();
    const folder = page.getByRole("textbox", { name: "Working directory" });
    await folder.waitFor();
    assert.equal(await folder.inputValue(), join(dirname(workspace.path), "shop"));
    await page.goto(`${address}jobTracking.html?jobName=other`);
    const job = page.getByRole("combobox", { name: "Job" });
    await job.waitFor();
    assert.equal(await job.inputValue(), "other");
    await page.goto(`${address}jobTracking.html?jobName=maintain&jobId=${await maintained()}`);
    await title(page, /maintain.*Succeeded/).waitFor();
  });

  it(
    "says why a job can't be started whose name is no part of an address",
    browserTests,
    async () => {
      const page = await openHome();
      for (const [name, button] of [
        [".", /^Start \.(?!\.)/],
        ["..", /^Start \.\./],
      ] as const) {
        await page.getByRole("button").filter({ hasText: button }).click();
        const dialog = page.getByRole("dialog", { name: `Start ${name}`, exact: true });
        await choose(page, "Start");
        await dialog.getByText(`"${name}" can't be part of an address`).waitFor();
        await page.keyboard.press("Escape");
      }
      await expectNoSidewaysScroll(page, "the start page");
    },
  );

  it("says what is unknown, with a link to the portal", browserTests, async () => {
    const { address } = await portal();
    const { page, tolerate } = await open({ kept: true });
    tolerate(notAStream);
    tolerate(/status of 404/);
    await page.goto(`${address}#/no/such/page`);
    await title(page, "Page not found").waitFor();
    await expectAccessible(page, "an unknown page");
    await page.goto(`${address}#/run/unknown`);
    await page.getByRole("alert").waitFor();
    await expectAccessible(page, "an unknown run");
  });

  it("fits a phone", browserTests, async () => {
    const page = await openHome({ viewport: phone });
    await page.getByRole("button", { name: /^Start Maintain/ }).waitFor();
    await picture(page, "portal-phone");
    await expectNoSidewaysScroll(page, "the start page");
    await page.getByRole("button", { name: /^Start Ask/ }).click();
    await page.getByRole("dialog").waitFor();
    await expectNoSidewaysScroll(page, "the dialog");
    await page.keyboard.press("Escape");
    await openMaintained({ viewport: phone });
    await expectNoSidewaysScroll(page, "a run");
    await page.getByRole("tab", { name: "Flowchart" }).click();
    await page.getByRole("button", { name: /^recover #\d+ Retried/ }).waitFor();
    await picture(page, "portal-flowchart-phone");
    await expectNoSidewaysScroll(page, "the flowchart");
    await work(page, /correct/).click();
    await page.getByRole("tab", { name: /Retry 1/ }).waitFor();
    await expectNoSidewaysScroll(page, "a work");
    await picture(page, "portal-run-phone");
    await page.goto(page.url().replace(/#.*/, "#/session"));
    await title(page, "New session").waitFor();
    await expectNoSidewaysScroll(page, "a new session");
  });

  for (const says of [true, false])
    it(
      `works behind a path of a proxy that ${says ? "says" : "doesn't say"} which, from the login on`,
      browserTests,
      async (t) => {
        const token = "a-token-of-this-test";
        const args = ["--token", token, "--allowed-host", "127.0.0.1"];
        const { address } = await startPortal(t, args);
        const outside = await prefixProxy(t, address, "/agents", says);
        const { page } = await open();
        await page.goto(`${outside}?token=${token}`);
        assert.equal(page.url(), outside);
        await start(page, "Maintain");
        await title(page, /maintain.*Succeeded/).waitFor();
        const [cookie] = await page.context().cookies();
        assert.equal(cookie?.path, "/agents", "no other application of the host gets it");
      },
    );

  it(
    "reads older journals when asked to, and opens a run of any of them",
    browserTests,
    async (t) => {
      const { path } = await makeWorkspace(t);
      writeJournals(path, 150, 0);
      const { address } = await startPortal(t, ["--journals", path]);
      const { page } = await open();
      await page.goto(`${address}#/journals`);
      await page.getByText("150 files").waitFor();
      assert.equal(await page.getByRole("row", { name: /nightly/ }).count(), 100);
      await page.getByRole("button", { name: "Read older journals (50 more)" }).click();
      await page
        .getByRole("row", { name: /nightly/ })
        .nth(149)
        .waitFor();
      assert.equal(await page.getByRole("button", { name: /Read older/ }).count(), 0);
      // New ones push none of those out that were there.
      writeJournals(path, 155, 0);
      await page.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`);
      await page
        .getByRole("row", { name: /nightly/ })
        .nth(154)
        .waitFor();
      await page.goto(`${address}#/run/run-3`);
      await title(page, /nightly.*Failed/).waitFor();
    },
  );

  it(
    "says so when the server is gone; the next one keeps its runs, and is stopped after asking",
    browserTests,
    async (t) => {
      const server = await portal();
      const { tolerate } = await open({ kept: true, viewport: phone });
      tolerate(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/);
      const page = await openMaintained({ viewport: phone });
      const { hash } = new URL(page.url());
      await page.getByRole("link", { name: "Jobs", exact: true }).click();
      await start(page, "branches");
      await work(page, /hang.*Running/)
        .first()
        .waitFor();
      await server.kill();
      await page
        .getByText(/connection lost/i)
        .first()
        .waitFor();
      await picture(page, "portal-gone");
      await work(page, /look.*Succeeded/)
        .first()
        .waitFor();
      await page.getByRole("link", { name: "Jobs", exact: true }).click();
      await page.getByRole("alert").first().waitFor();
      // The next server knows both from their journals. One has no end.
      const next = await startPortal(t, ["--journals", `${server.workspace.path}/journals`]);
      await page.goto(next.address);
      await page.getByRole("link", { name: /branches.*Interrupted/ }).waitFor();
      await page.goto(`${next.address}#/journals`);
      await page
        .getByRole("row", { name: /branches/ })
        .getByText("Interrupted")
        .waitFor();
      await picture(page, "journals");
      await page.goto(`${next.address}${hash}`);
      await title(page, /maintain.*Succeeded/).waitFor();
      await work(page, /correct.*Retried/).waitFor();
      assert.equal(await page.getByRole("button", { name: "Stop", exact: true }).count(), 0);

      await page.getByRole("link", { name: "Jobs", exact: true }).click();
      await start(page, "endless");
      await work(page, /hang.*Running/).waitFor();
      await page.getByRole("button", { name: "Stop the server" }).click();
      const dialog = page.getByRole("dialog", { name: "Stop the server?" });
      await dialog.getByText("1 run will be canceled.").waitFor();
      await expectAccessible(page, "the question whether to stop the server", "dialog");
      await picture(page, "stop-server");
      await choose(page, "Keep it running");
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Stop the server" }).click();
      await choose(page, "Stop the server");
      await title(page, "The server has stopped").waitFor();
      await expectAccessible(page, "the page of a stopped server");
      await picture(page, "server-stopped");
      assert.equal(await next.child.exited, 0);
    },
  );
});
