/** A task with the action protocol in the portal, while its actions run: real commands, which wait for a file. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { browserTests, expectAccessible, picture, useBrowser } from "../rig/browser.ts";
import { onlyNightly } from "../rig/nightly.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { startServer, type Server } from "./portal.ts";

const open = useBrowser();

const tool = `
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
const { until } = JSON.parse(readFileSync(0, "utf8"));
process.stderr.write("compiling 12 files\\n");
while (!existsSync(until)) await sleep(20);
process.stdout.write(JSON.stringify({ files: 12 }));
`;

const entry = `
models: { driving: gpt-5-mini }
permissions: { preset: read-only, tools: ["*"], sandbox: off }
tools:
  build:
    description: Builds the app.
    parameters: { type: object, required: [until], properties: { until: { type: string } } }
    command: [node, build.mjs]
    timeoutSeconds: 120
    parallelSafe: true
grid: [{ keyword: All, jobs: [{ name: Ship, jobName: ship }] }]
tasks:
  ship: { protocol: actions, model: { category: driving }, prompt: Ship it. }
jobs:
  ship: { work: { kind: Ref, taskId: ship } }
`;

const rehearsal = (gate: string): string => `
entry: entry.yml
job: ship
sessions:
  - task: ship
    turns:
      - document:
          status: TASK_STARTED
          thoughts: [{ type: PLAN, content: Build in the background. }]
          actions:
            - action_id: build-app
              action: build
              type: tool
              execution: ASYNC
              params: { until: ${JSON.stringify(gate)} }
              display: { type: progress_bar, label: Building the app, estimated_duration_seconds: 2 }
            - { action_id: lint, action: build, type: tool, params: { until: ${JSON.stringify(`${gate}-lint`)} } }
          stop: false
          response: null
      - document: { status: SUCCESS, thoughts: [], actions: null, stop: true, response: "It is **built**." }
`;

/** A server of the job, with files that let its actions go on. */
async function serve(t: TestContext): Promise<Server> {
  const workspace = await makeWorkspace(t, { "build.mjs": tool, "entry.yml": entry });
  await workspace.write("ship.rehearsal.yml", rehearsal(`${workspace.path}/gate`));
  return startServer(
    t,
    workspace,
    ["--entry", "entry.yml", "--rehearse", "ship.rehearsal.yml"],
    () => Promise.all([workspace.write("gate", ""), workspace.write("gate-lint", "")]),
  );
}

async function start(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Start Ship/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
}

describe("actions that run, in the portal", onlyNightly, () => {
  it(
    "show their progress, which a reload keeps, and then how they ended",
    browserTests,
    async (t) => {
      const { address, workspace } = await serve(t);
      const { page } = await open();
      await page.goto(address);
      await start(page);
      const underWay = page.getByRole("region", { name: "Actions under way" });
      const progress = underWay.getByRole("progressbar", { name: "Progress of Building the app" });
      await progress.waitFor();
      // By the estimate it should be done; only its end is 100 %.
      await underWay.getByText("95 %", { exact: true }).waitFor();
      assert.equal(await progress.getAttribute("value"), "95");
      await underWay.getByText("compiling 12 files").first().waitFor();
      await underWay.getByRole("link", { name: "lint" }).waitFor();
      await picture(page, "actions-live");
      await expectAccessible(page, "a run with actions under way");
      await page.reload();
      await underWay.getByText("95 %", { exact: true }).waitFor();
      await underWay.getByText("compiling 12 files").first().waitFor();
      const rows = page.getByRole("list", { name: "What happened in ship" });
      await rows.getByRole("button", { name: /build-app.*running/ }).waitFor();
      await workspace.write("gate-lint", "");
      await rows.getByRole("button", { name: /lint.*succeeded/ }).waitFor();
      await workspace.write("gate", "");
      await page.getByRole("heading", { level: 1, name: /ship.*Succeeded/ }).waitFor();
      await underWay.waitFor({ state: "detached" });
      const built = rows.getByRole("button", { name: /build-app.*succeeded/ });
      await built.click();
      await rows.getByText('{"files":12}', { exact: true }).waitFor();
      assert.equal(await rows.getByRole("button", { name: /^build-app/ }).count(), 1);
      await rows.getByText("It is built.").waitFor();
      await picture(page, "actions-live-end");
    },
  );
});
