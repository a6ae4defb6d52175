/** Whatever size and depth the parts of a journal have, the page stays usable. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import type { RunEvent, RunEventBody } from "../../src/events/event.ts";
import type { PlannedTree } from "../../src/events/plan.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { browserTests, useBrowser } from "../rig/browser.ts";
import { onlyNightly } from "../rig/nightly.ts";
import { planned, ref } from "../rig/plan.ts";
import { writeReport } from "./report.ts";

const open = useBrowser();

function runOf(tree: PlannedTree, bodies: readonly RunEventBody[]): readonly RunEvent[] {
  const started: RunEventBody = {
    type: "run.started",
    jobName: "huge",
    workingDirectory: "/project",
    ...planned(tree),
  };
  const ended: RunEventBody = { type: "run.ended", outcome: { kind: "succeeded" } };
  return [started, ...bodies, ended].map((body, index) => ({
    at: 1_795_000_000_000 + index,
    runId: "huge",
    ...body,
  }));
}

/** One turn in which this happens. */
function turnWith(...activities: readonly SessionActivity[]): readonly RunEvent[] {
  const work = { workId: 0, taskId: "task", iteration: 1 };
  const inSession = { work, sessionId: "session" };
  const inTurn = { ...inSession, turnId: "turn", purpose: "prompt" } as const;
  const attempted = { modelId: "m1", retry: 0, attempt: 1 };
  return runOf(ref(0, "task"), [
    { type: "work.started", work, modelId: "m1" },
    { type: "session.started", ...inSession, ...attempted, role: "task" },
    { type: "turn.started", ...inTurn, ...attempted, prompt: "Go on." },
    ...activities.map((activity): RunEventBody => ({
      ...inSession,
      type: "activity",
      turnId: "turn",
      activity,
    })),
    { type: "turn.ended", ...inTurn, outcome: "completed" },
    { type: "work.ended", work, outcome: { kind: "succeeded" } },
  ]);
}

async function openRun(t: TestContext, events: readonly RunEvent[]): Promise<Page> {
  const address = await writeReport(t, { "run.jsonl": events });
  const { page } = await open();
  await page.goto(address);
  await page.getByRole("navigation", { name: "Steps" }).getByRole("link").first().waitFor();
  return page;
}

const message = (text: string): SessionActivity => ({
  kind: "message.ended",
  messageId: "message",
  text,
});

describe("a journal with huge parts", onlyNightly, () => {
  const deep: readonly (readonly [string, string])[] = [
    ["quotes", `${">".repeat(5_000)} deep`],
    [
      "lists",
      Array.from({ length: 2_000 }, (_, depth) => `${"  ".repeat(depth)}- deep`).join("\n"),
    ],
  ];
  for (const [what, text] of deep) {
    it(`shows ${what} that are nested thousands of times`, browserTests, async (t) => {
      const page = await openRun(t, turnWith(message(text), message("the next one")));
      await page.getByText("the next one").waitFor();
      await page.getByText("deep").first().waitFor();
    });
  }

  it("reads Markdown in linear time", browserTests, async (t) => {
    const hostile = ["_a_", "*a_", "a-\n-\n", "![", "**a _b "].map((part) =>
      message(part.repeat(45_000 / part.length)),
    );
    const address = await writeReport(t, {
      "run.jsonl": turnWith(...hostile, message(`${"a".repeat(45_000)}@`), message("the last")),
    });
    const { page, context } = await open();
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable");
    await page.goto(address);
    await page.getByText("the last").waitFor();
    const { metrics } = await session.send("Performance.getMetrics");
    const seconds = metrics.find(({ name }) => name === "ScriptDuration")?.value;
    assert.ok(seconds !== undefined && seconds < 8, `The scripts of the page took ${seconds} s.`);
  });

  it(
    "shows a part of a message of megabytes, and more of it on demand",
    browserTests,
    async (t) => {
      const page = await openRun(t, turnWith(message("*one* line of many\n".repeat(250_000))));
      await page.getByText("one line of many").first().waitFor();
      const shown = (): Promise<number> =>
        page.evaluate(`document.querySelector("[role=list].rows").textContent.length`);
      const before = await shown();
      assert.ok(before < 100_000, `${before} characters are shown`);
      await page.getByRole("button", { name: /^Show more/ }).click();
      assert.ok((await shown()) > before + 50_000);
    },
  );

  it("shows what a search found in the middle of a long result", browserTests, async (t) => {
    const line = "a line of the result\n";
    const content = `${line.repeat(50_000)}the NEEDLE itself\n${line.repeat(50_000)}`;
    const call = { toolCallId: "call", toolName: "bash" };
    const page = await openRun(
      t,
      turnWith(
        { kind: "tool.started", ...call, arguments: { command: "print" } },
        { kind: "tool.ended", ...call, succeeded: true, result: { content } },
      ),
    );
    await page.getByRole("searchbox", { name: "Search the run" }).fill("needle");
    await page
      .getByText(/^1 hit$/)
      .first()
      .waitFor();
    await page.getByRole("searchbox", { name: "Search the run" }).press("Enter");
    await page
      .getByRole("region", { name: "result of bash" })
      .getByText(/the NEEDLE/)
      .waitFor();
  });

  it(
    "has the search and the flowchart before the reports of a thousand items",
    browserTests,
    async (t) => {
      const items = Array.from({ length: 1_000 }, (_, index) => `item ${index}`);
      const each: PlannedTree = {
        kind: "Each",
        items: { values: items },
        work: ref(0, "survey"),
      };
      const bodies = items.flatMap((item, itemIndex): RunEventBody[] => {
        const work = { workId: 0, taskId: "survey", iteration: itemIndex + 1, item, itemIndex };
        const markdown = `# About ${item}\n\n${"It is fine. ".repeat(100)}`;
        return [
          { type: "work.started", work, modelId: "m1" },
          { type: "report.given", work, markdown },
          { type: "result.given", work, result: { item } },
          { type: "work.ended", work, outcome: { kind: "succeeded" } },
        ];
      });
      const page = await openRun(t, runOf(each, bodies));
      const tops = await Promise.all(
        [
          page.getByRole("searchbox", { name: "Search the run" }),
          page.getByRole("button", { name: "1,000 reports" }),
          page.getByRole("button", { name: "1,000 results" }),
          page.getByRole("region", { name: "Flowchart" }),
        ].map(async (one) => (await one.boundingBox())?.y ?? Infinity),
      );
      assert.deepEqual(
        tops,
        tops.toSorted((a, b) => a - b),
      );
      assert.ok((tops.at(-1) ?? 0) < 600, String(tops));
      await page.getByRole("button", { name: "1,000 reports" }).click();
      await page.getByRole("button", { name: "Report of survey › item 49" }).waitFor();
      await page.getByRole("button", { name: "Show more (950 more reports)" }).click();
      await page.getByRole("button", { name: "Report of survey › item 99" }).waitFor();
      await page.getByRole("searchbox", { name: "Search the run" }).fill("item 777");
      await page.getByRole("button", { name: "1 of 1,000 reports match the search" }).waitFor();
      await page.getByRole("button", { name: "Report of survey › item 777" }).click();
      await page.getByText("It is fine. It is fine.").first().waitFor();
    },
  );

  it("draws the flowchart of hundreds of works only when asked to", browserTests, async (t) => {
    const works = Array.from({ length: 120 }, (_, id) => ref(id, `task-${id}`));
    const page = await openRun(t, runOf({ kind: "Par", works }, []));
    const flowchart = page.getByRole("region", { name: "Flowchart" });
    await flowchart.getByText("The flowchart has 120 steps.").waitFor();
    await flowchart.getByRole("button", { name: "Draw the flowchart" }).click();
    await flowchart.getByRole("button", { name: /^task-119 #119/ }).waitFor();
  });
});
