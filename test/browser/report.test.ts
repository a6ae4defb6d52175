/** A report from disk, without any network. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Locator, Page } from "playwright-core";
import { cliExits } from "../rig/cli.ts";
import {
  browserTests,
  expectAccessible,
  expectAccessibleInBoth,
  expectNoSidewaysScroll,
  phone,
  picture,
  until,
  useBrowser,
} from "../rig/browser.ts";
import type { RunEvent, RunEventBody } from "../../src/events/event.ts";
import type { PlannedTree } from "../../src/events/plan.ts";
import { nightly } from "../rig/nightly.ts";
import { planned, ref } from "../rig/plan.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { handedIn } from "../web/handed-in.ts";
import { largeRun } from "../web/large-run.ts";
import { useStarted } from "./portal.ts";
import { renamed, writeReport } from "./report.ts";

const open = useBrowser();

const hour = 3_600_000;
const small = largeRun({ events: 400 });

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

/** The report of many runs that the tests share. */
const shared = useStarted((owner) =>
  writeReport(owner, {
    ...week,
    "killed.jsonl": killed(),
    "handed-in.jsonl": handsIn(),
    "busy.jsonl": busy(),
    "large.jsonl": renamed(largeRun({ events: nightly ? 26_000 : 8_000 }), { runId: "large" }),
  }),
);

/** Opens the shared report at a place, in the tab that the tests share: nothing is loaded again. */
async function openShared(hash: string): Promise<Page> {
  const { page } = await open({ offline: true, kept: true });
  await page.goto(`${await shared()}${hash}`);
  return page;
}

const worksOf = (page: Page): Locator =>
  page.getByRole("navigation", { name: "Steps" }).getByRole("link");

describe("a report", () => {
  it(
    "of one run opens on that run, is accessible, fits a phone, and links to what is in it",
    browserTests,
    async (t) => {
      const { page } = await open({ offline: true, kept: true });
      await page.goto(await writeReport(t, { "run.jsonl": small }));
      await page.getByRole("heading", { level: 1, name: /nightly-review/ }).waitFor();
      const works = worksOf(page);
      await works.first().waitFor();
      await picture(page, "report-run");
      await expectAccessibleInBoth(page, "the run");
      await page.setViewportSize(phone);
      await picture(page, "report-run-phone");
      await expectNoSidewaysScroll(page, "the run");
      await works.first().click();
      await until(page, `location.hash.includes("/work/")`);
      await page.getByRole("tab").first().waitFor();
      await picture(page, "report-work-phone");
      await expectNoSidewaysScroll(page, "a work");
      await expectAccessibleInBoth(page, "a work", "[role=tabpanel]");
      await page.reload();
      await page.getByRole("tab").first().waitFor();
    },
  );

  it(
    "shows a run that was killed as incomplete, in the list and on its page",
    browserTests,
    async () => {
      const page = await openShared("#/");
      const row = page.getByRole("row", { name: /killed/ });
      await row.getByText("Incomplete").waitFor();
      await row.getByText("rehearsal").waitFor();
      assert.equal(await page.getByRole("table").getByText("rehearsal").count(), 1);
      await page.getByRole("combobox", { name: "Status" }).selectOption({ label: "Incomplete" });
      await page.getByText("1 of 11 runs").waitFor();
      await row.getByRole("link").first().click();
      await page.getByRole("heading", { level: 1, name: /Incomplete/ }).waitFor();
      // Nobody takes the verdict of a script for that of a model.
      await page.getByRole("heading", { level: 2, name: /Reject.*rehearsal/ }).waitFor();
      await worksOf(page)
        .filter({ hasText: /Incomplete/ })
        .first()
        .waitFor();
      assert.equal(await page.getByText(/^Running/).count(), 0);
      // The journal is weeks old: the clock stopped with it.
      assert.doesNotMatch(await page.getByRole("main").innerText(), /\d+ d \d+ h/);
    },
  );

  it("shows a run as loading until all of it has been read", browserTests, async (t) => {
    const events = largeRun({ events: 2_500 });
    const address = await writeReport(t, { "run.jsonl": events.slice(1) });
    const { page } = await open({ offline: true });
    // The page pauses by a message to itself. The first one passes, the others wait, so a part of the events is read.
    await page.addInitScript(`
      const post = MessagePort.prototype.postMessage;
      let passing = 1;
      const held = [];
      MessagePort.prototype.postMessage = function (...message) {
        if (passing > 0) post.apply(this, message);
        else held.push(() => post.apply(this, message));
        passing -= 1;
      };
      window.passAll = () => {
        passing = Infinity;
        for (const send of held.splice(0)) send();
      };`);
    await page.goto(address);
    await page.getByRole("heading", { level: 1, name: /Loading/ }).waitFor();
    await page
      .getByRole("region", { name: "Flowchart" })
      .getByText("Loading the plan of the run")
      .waitFor();
    assert.equal(await page.getByText(/^The run has ended/).count(), 0);
    await page.evaluate("passAll()");
    await page.getByRole("heading", { level: 1, name: /Failed/ }).waitFor();
    await page.getByText("The journal lacks the start of the run.").waitFor();
    assert.equal(await page.getByText(/^The run has ended/).count(), 1);
  });

  it(
    "shows what the agents handed in, with links to the lines on GitHub",
    browserTests,
    async () => {
      const page = await openShared("#/run/handed-in");
      const part = page.getByRole("region", { name: "What the agents handed in" });
      await part.getByRole("heading", { name: "⚠ Needs work" }).waitFor();
      const findings = part.getByRole("list", { name: "Findings" }).getByRole("listitem");
      assert.equal(await findings.count(), 50);
      await part.getByRole("button", { name: "Show more (50 more findings)" }).click();
      await until(page, `document.querySelectorAll(".findings > li").length === 102`);
      await part.getByText("20 more findings above").waitFor();
      assert.match(await findings.first().innerText(), /^Error\s+An error is lost\s+src\/cart/);
      assert.equal(
        await findings.first().getByRole("link").getAttribute("href"),
        `https://github.com/octo/shop/blob/${"a".repeat(40)}/src/cart.ts#L3-L4`,
      );
      // One report is open, as Markdown; results and suggestions are closed.
      await part.getByText("Summary", { exact: true }).waitFor();
      await part.getByRole("button", { name: "Result of review › src/cart.ts" }).click();
      await part.getByText('"risk": "high"').waitFor();
      assert.deepEqual(
        await part.getByRole("list", { name: "Proposals" }).getByRole("strong").allInnerTexts(),
        ["bug", "Await the save"],
      );
      await picture(page, "report-handed-in");
      await expectAccessible(page, "what agents handed in");
      await page.getByRole("searchbox", { name: "Search the run" }).fill("never emptied");
      await part.getByText("1 of 120 findings match the search").waitFor();
      assert.equal(await findings.count(), 1);
      await worksOf(page).first().click();
      await page.getByRole("button", { name: "2 items" }).click();
      assert.equal(
        await page.getByRole("list", { name: "Items" }).getByRole("listitem").count(),
        2,
      );
      await page.setViewportSize(phone);
      await picture(page, "report-handed-in-phone");
      await expectNoSidewaysScroll(page, "what agents handed in, on a phone");
    },
  );

  it(
    "of a week is a table with totals, to search, to sort and to compare",
    browserTests,
    async () => {
      const page = await openShared("#/");
      const rows = page
        .getByRole("table")
        .getByRole("row")
        .filter({ has: page.getByRole("checkbox") });
      await rows.first().waitFor();
      assert.equal(await rows.count(), 11);
      await picture(page, "report-list");
      await expectAccessible(page, "the list of runs");
      await page.getByRole("combobox", { name: "Job" }).selectOption("weekend");
      await page.getByText("2 of 11 runs").waitFor();
      assert.equal(await rows.count(), 2);
      await page.getByRole("combobox", { name: "Job" }).selectOption("");
      await page.getByRole("searchbox", { name: "Search" }).fill("night-3");
      await page.getByText("1 of 11 runs").waitFor();
      await rows.getByRole("link").first().click();
      await page.getByRole("heading", { level: 1, name: /nightly/ }).waitFor();
      await page.goBack();
      await rows.first().waitFor();
      await page.getByRole("searchbox", { name: "Search" }).fill("");
      await page.getByRole("checkbox").nth(0).check();
      await page.getByRole("checkbox").nth(3).check();
      const difference = page.getByRole("row", { name: /^From .* to / });
      assert.match(await difference.innerText(), /[+−]\S+ .*\([+−]\d+ %\)/);
      const days = (await difference.innerText()).match(/(?<=[A-Z][a-z]{2} )\d+(?=,)/g) ?? [];
      assert.ok(Number(days[0]) < Number(days[1]), `from the earlier run: ${days.join()}`);
      await page.getByRole("button", { name: "Duration" }).click();
      await page
        .getByRole("columnheader", { name: "Duration" })
        .and(page.locator("[aria-sort=descending]"))
        .waitFor();
      await picture(page, "report-compare");
      await expectAccessible(page, "the comparison");
      await page.setViewportSize(phone);
      await expectNoSidewaysScroll(page, "the list of runs");
    },
  );

  it(
    "of many events keeps few elements in the document, wherever one scrolls",
    browserTests,
    async () => {
      const page = await openShared("#/run/large");
      await worksOf(page).first().waitFor();
      await expectFew(page);
      await worksOf(page).first().click();
      await page.getByRole("tab").first().waitFor();
      await expectFew(page);
      for (let times = 0; times < 5; times += 1) {
        await page.mouse.move(640, 600);
        await page.mouse.wheel(0, 20_000);
        await page.keyboard.press("End");
        await expectFew(page);
      }
      // Bars that share a pixel are drawn once.
      await page.goto(`${await shared()}#/run/busy`);
      await page.locator(".lanes .bar-tool").first().waitFor();
      await expectFew(page);
    },
  );

  it(
    "of a loop that ends without passing tests opens at the last test, with its output",
    browserTests,
    async (t) => {
      const { path: cwd } = await makeWorkspace(t, nightlyLoop);
      const args = ["run", "e.yml", "--rehearse", "r.yml", "--output-dir", "."];
      const { stdout } = await cliExits(1, args, { cwd });
      assert.equal(
        stdout.trimEnd().split("\n").at(-1),
        'job nightly failed (rehearsal): the loop of "fix" would need more than 2 iterations (atMost). Its preCondition still fails: workflow "tests.wf.md" failed: The workflow reached FAILED. The end of its output: $ sh test.sh ⏎ ok 1 ⏎ test.js:12 expected 4 got 5',
      );
      const { page } = await open({ offline: true, kept: true });
      await page.goto(pathToFileURL(join(cwd, "report.html")).href);
      const step = page.locator("[aria-current=location]");
      await step.waitFor();
      await picture(page, "nightly");
      await page.getByRole("heading", { level: 1, name: /nightly.*rehearsal/ }).waitFor();
      assert.match(await step.innerText(), /EXECUTE_TESTS[^]*test\.js:12 expected 4 got 5/);
      await page.getByRole("tab", { name: "Iteration 3", selected: true }).waitFor();
      await page.getByRole("link", { name: "tests.wf.md #0, where it failed" }).click();
      assert.match(page.url(), /\/step\/\d+$/);
    },
  );
});

/** The beginning of a rehearsal, with a verdict. */
function killed(): readonly RunEvent[] {
  const events = renamed(small.slice(0, 200), { runId: "killed", jobName: "killed" });
  const verdict = { verdict: "reject", reason: "It loses errors." } as const;
  const work = { workId: 0, taskId: "gather", iteration: 1 };
  return [
    ...events.map((event) =>
      event.type === "run.started" ? { ...event, rehearsed: true as const } : event,
    ),
    { type: "verdict.given", at: events.at(-1)?.at ?? 0, runId: "killed", work, verdict },
  ];
}

/** A session with thousands of tool calls. */
function busy(): readonly RunEvent[] {
  const work = { workId: 0, taskId: "busy", iteration: 1 };
  const inTurn = { work, sessionId: "s", turnId: "t" };
  const bodies: readonly RunEventBody[] = [
    {
      type: "run.started",
      jobName: "busy",
      workingDirectory: "/project",
      ...planned(ref(0, "busy")),
    },
    ...Array.from({ length: 5_000 }, (_, call) => {
      const of = { toolCallId: `c${call}`, toolName: "bash" };
      return [
        { kind: "tool.started", ...of, arguments: {} },
        { kind: "tool.ended", ...of, succeeded: true },
      ] as const;
    })
      .flat()
      .map((activity) => ({ type: "activity" as const, ...inTurn, activity })),
    { type: "run.ended", outcome: { kind: "succeeded" } },
  ];
  return bodies.map((body, index) => ({ at: 100 * index, runId: "busy", ...body }));
}

/** Agents that handed in all that they may. */
function handsIn(): readonly RunEvent[] {
  const each: PlannedTree = {
    kind: "Each",
    items: { values: ["src/cart.ts", "src/shop.ts"] },
    work: ref(0, "review"),
  };
  const origin = {
    repository: "octo/shop",
    server: "https://github.com",
    workflowRun: "1",
    attempt: 1,
    event: "pull_request",
    head: "a".repeat(40),
  };
  const plan = { ...planned(each), origin, outputs: { findings: { max: 100 } } };
  const items = ["src/cart.ts", "src/shop.ts"].map((item, itemIndex) => ({
    workId: 0,
    taskId: "review",
    iteration: itemIndex + 1,
    item,
    itemIndex,
  }));
  const bodies: readonly RunEventBody[] = [
    { type: "run.started", jobName: "j", workingDirectory: "/project", ...plan },
    ...items.flatMap((work): readonly RunEventBody[] => [
      { type: "work.started", work, modelId: "m1" },
      ...(work.itemIndex === 0 ? handedIn(work, 120) : []),
      { type: "work.ended", work, outcome: { kind: "succeeded" } },
    ]),
    { type: "run.ended", outcome: { kind: "succeeded" } },
  ];
  return bodies.map((body, index) => ({ at: 1_000 * index, runId: "handed-in", ...body }));
}

/** A loop whose condition runs the tests, and gives their output to the task that repairs. */
const nightlyLoop = {
  "e.yml": `models: { driving: m }
permissions: { preset: workspace }
tasks:
  fix: { prompt: "Make the tests pass. They say: $previous-result", model: { category: driving } }
jobs:
  nightly:
    work:
      kind: Loop
      preCondition: [false, { kind: Flow, file: tests.wf.md }]
      body: { kind: Ref, taskId: fix }
      atMost: 2
`,
  "tests.wf.md": `---
permissions: { preset: workspace }
---
# Workflow
\`\`\`mermaid
flowchart TD
START --> EXECUTE_TESTS["sh test.sh"] --> SUCCESS
EXECUTE_TESTS -->|FAILED| FAILED
\`\`\`
`,
  "test.sh": 'echo "ok 1"\necho "test.js:12 expected 4 got 5"\nexit 1\n',
  "r.yml": `entry: e.yml
sessions:
  - task: fix
    repeat: any
    turns: [{ prompt: { contains: "test.js:12 expected 4 got 5" }, text: "I tried." }]
`,
};

/** The run has thousands of blocks and decisions. */
async function expectFew(page: Page): Promise<void> {
  const count = await page.evaluate<number>(`document.querySelectorAll("*").length`);
  assert.ok(count < 4_000, `${count} elements`);
}
