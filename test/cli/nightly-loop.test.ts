/** A loop that repairs until the tests pass, and what it says when they don't: the real command line and its report. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { pathToFileURL } from "node:url";
import { browserTests, picture, useBrowser } from "../rig/browser.ts";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const open = useBrowser();

const nightly = `models: { driving: m }
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
`;
const tests = `---
permissions: { preset: workspace }
---
# Workflow
\`\`\`mermaid
flowchart TD
START --> EXECUTE_TESTS["sh test.sh"] --> SUCCESS
EXECUTE_TESTS -->|FAILED| FAILED
\`\`\`
`;

it("a loop whose condition runs the tests gives their output to the task that repairs, and ends red with the end of it, at which the report opens", async (t) => {
  const { path: cwd } = await makeWorkspace(t, {
    "e.yml": nightly,
    "tests.wf.md": tests,
    "test.sh": 'echo "ok 1"\necho "test.js:12 expected 4 got 5"\nexit 1\n',
    "r.yml": `entry: e.yml
sessions:
  - task: fix
    repeat: any
    turns: [{ prompt: { contains: "test.js:12 expected 4 got 5" }, text: "I tried." }]
`,
  });
  const args = ["run", "e.yml", "--rehearse", "r.yml", "--html-report", "report.html"];
  const { code, stdout } = await runCli(args, { cwd });
  assert.equal(code, 1, stdout);
  assert.equal(
    stdout.trimEnd().split("\n").at(-1),
    'job nightly failed: the loop of "fix" would need more than 2 iterations (atMost). Its preCondition still fails: workflow "tests.wf.md" failed: The workflow reached FAILED. The end of its output: $ sh test.sh ⏎ ok 1 ⏎ test.js:12 expected 4 got 5',
  );
  if (browserTests.skip !== false) return;
  const { page } = await open({ offline: true });
  await page.goto(pathToFileURL(join(cwd, "report.html")).href);
  const step = page.locator("[aria-current=location]");
  await step.waitFor();
  await picture(page, "nightly");
  assert.match(await step.innerText(), /EXECUTE_TESTS[^]*test\.js:12 expected 4 got 5/);
  await page.getByRole("tab", { name: "Iteration 3", selected: true }).waitFor();
  await page.getByRole("link", { name: "tests.wf.md #0, where it failed" }).click();
  assert.match(page.url(), /\/step\/\d+$/);
});
