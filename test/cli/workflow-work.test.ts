/** Workflows that would end green without having done their work, with the real command line and runtime. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { modelServer, type RecordedRequest } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

interface Ran extends CliResult {
  readonly cwd: string;
  readonly requests: readonly RecordedRequest[];
  /** RESULT. */
  readonly report: string | undefined;
}

const open = "---\npermissions: { shell: true }\nlimits: { activityHits: 20 }\n---\n";
const driving = ["--model", "driving=claude-test"];

/** The answers of the model, one for each prompt. */
async function run(
  t: TestContext,
  text: string,
  answers: readonly string[],
  args: readonly string[] = driving,
): Promise<Ran> {
  const { path: cwd } = await makeWorkspace(t, { "a.wf.md": text });
  const server = await modelServer(t, ({ index }) => ({ text: answers[index] ?? "" }));
  const provider = ["--provider-base-url", server.baseUrl, "--journal", "run.jsonl"];
  const ended = await runCli(["run", "a.wf.md", ...args, ...provider], { cwd });
  const journal = join(cwd, "run.jsonl");
  const events: readonly { type: string; report?: string }[] = existsSync(journal)
    ? readFileSync(journal, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
  const { report } = events.find(({ type }) => type === "work.ended") ?? {};
  return { ...ended, cwd, requests: server.requests, report };
}

describe("an EXECUTE", () => {
  it("takes its failure edge if an answer can't be run as a whole, and RESULT says why", async (t) => {
    const text = `${open}${workflowText(
      "START --> PROMPT_DO['Do it.'] --> EXECUTE_IT\nEXECUTE_IT -->|FAILED| PROMPT_AGAIN['{{EXIT_CODE}}: {{RESULT}}'] --> EXECUTE_IT",
    )}`;
    const { code, stdout, requests, report, cwd } = await run(t, text, [
      "I can't do that.",
      "```console\n$ touch made\n```",
      "```bash\ntouch made\n```\n\n```sh\ntouch ma",
      "```bash\ntouch made\n```\n\n```json\n{}\n```",
      "```bash\n\n```",
      "Set it:\n\n```\nexport A=3\nshopt -s expand_aliases; alias say=echo\n```\n\n```python\nimport os\nprint(int(os.environ['A']) + 1)\n```\n\n```sh\nsay $A\n```",
    ]);
    assert.equal(code, 0, stdout);
    const tags = "sh, shell, bash, python, python3, py";
    assert.deepEqual(
      requests.slice(1).map(({ prompt }) => prompt),
      [
        "126: Nothing was run: RESULT has no code fence with commands.",
        `126: Nothing was run: code fences tagged "console" can't be run. Supported tags: ${tags}.`,
        "126: Nothing was run: a code fence is never closed.",
        `126: Nothing was run: code fences tagged "json" can't be run. Supported tags: ${tags}.`,
        "126: Nothing was run: RESULT has no code fence with commands.",
      ],
    );
    assert.equal(existsSync(join(cwd, "made")), false);
    assert.equal(
      report,
      "$ export A=3\nshopt -s expand_aliases; alias say=echo\n$ import os\nprint(int(os.environ['A']) + 1)\n4\n$ say $A\n3",
    );
  });

  it("doesn't let bash evaluate what a model wrote, and calculates with numbers", async (t) => {
    const fails = "EXECUTE_A -->|FAILED| SUCCESS";
    const flow = `START --> PROMPT_N['n?'] --> EXECUTE_A["n={{RESULT}}"] --> EXECUTE_B["[[ $n -gt 3 ]]; echo $n"]\n${fails}`;
    const hostile = await run(t, `${open}${workflowText(flow)}`, ["a[$(touch made)]"]);
    assert.equal(hostile.code, 0, hostile.stdout);
    assert.equal(existsSync(join(hostile.cwd, "made")), false);
    assert.match(hostile.stdout, /\{\{RESULT\}\} must be a whole number/);
    const number = await run(t, `${open}${workflowText(flow)}`, [" 42\n"]);
    assert.match(number.report ?? "", /\n42$/, number.stdout);
  });
});

describe("a workflow whose prompts are never sent", () => {
  it("is a warning of validate and of its run", async (t) => {
    const text = workflowText(
      "START --> PROMPT_SYSTEM[Prompt: System] --> SUCCESS",
      "## System\n\nFix all bugs.\n\n## User Fix\n\nGo.",
    );
    const said =
      /a\.wf\.md:5:11: warning: PROMPT_SYSTEM starts an agent that is never asked: no PROMPT with a User prompt follows/;
    const { code, stdout, stderr, requests, cwd } = await run(t, text, []);
    assert.deepEqual([code, requests.length], [0, 0], stdout);
    assert.match(stderr, said);
    const validated = await runCli(["validate", "a.wf.md"], { cwd });
    assert.equal(validated.code, 0);
    assert.match(validated.stdout, said);
  });
});

describe("AI_MODEL_NAME", () => {
  const text = workflowText("PARAMS[AI_MODEL_NAME=gpt-of-params]\nSTART --> PROMPT_A['Hi']");

  it("chooses the model where none is given", async (t) => {
    const cases: readonly (readonly [args: readonly string[], model: string, head?: string])[] = [
      [[], "gpt-of-params"],
      [["--param", "AI_MODEL_NAME=gpt-given"], "gpt-given"],
      [driving, "claude-test"],
      [["--param", "AI_MODEL_NAME=gpt-given"], "gpt-own", "---\nmodel: gpt-own\n---\n"],
    ];
    for (const [args, model, head = ""] of cases) {
      const { code, stdout, stderr, requests } = await run(t, `${head}${text}`, ["Hi"], args);
      assert.equal(code, 0, stdout + stderr);
      assert.deepEqual(
        requests.map((request) => request.model),
        [model],
      );
    }
  });
});
