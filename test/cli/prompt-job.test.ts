/** `run --prompt`: a job without an entry. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promptEntry } from "../../src/run/prompt-job.ts";
import { cliExits } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const sticky = "{ report: { comment: sticky } }";
const rehearsal = `entry: review.prompt.md
change: { files: [{ path: a.ts }] }
sessions:
  - task: prompt
    turns:
      - prompt: { contains: modified a.ts }
        tools: [{ name: job_report, arguments: { markdown: "Fine." } }]
`;

function taskOf(job: Parameters<typeof promptEntry>[0]) {
  const { entry } = promptEntry(job);
  const task = entry.tasks["prompt"] ?? assert.fail();
  return { ...task, prompt: task.prompt[0] };
}

describe("a job that is a prompt", () => {
  test("is rehearsed, recorded in a journal and resumed", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "r.yml": rehearsal });
    const run = ["run", "--rehearse", "r.yml", "--outputs", sticky];
    const prompt = ["--prompt", "Review $change-files"];
    const first = await cliExits(0, [...run, ...prompt, "--journal", "j.jsonl"], { cwd });
    assert.match(first.stdout, /job prompt succeeded \(rehearsal\)/);
    const [, started = ""] = (await readFile(join(cwd, "j.jsonl"), "utf8")).split("\n");
    assert.match(started, /"jobName":"prompt"/);
    assert.match(started, /"entryFile":"prompt"/);
    const again = await cliExits(0, [...run, ...prompt, "--resume", "j.jsonl"], { cwd });
    assert.match(again.stdout, /nothing to do/);
    // Those of the first run.
    assert.match(again.stdout, /total, rehearsed +1 +2/);
    const other = [...run, "--prompt", "Other $change-files", "--resume", "j.jsonl"];
    assert.match((await cliExits(2, other, { cwd })).stderr, /has changed since/);
  });

  test("has the prompt of a file, which may be the entry of a rehearsal", async (t) => {
    const files = { "review.prompt.md": "\uFEFFReview\r\n$change-files\r\n", "r.yml": rehearsal };
    const { path: cwd } = await makeWorkspace(t, files);
    for (const args of [
      ["run", "review.prompt.md", "--rehearse", "r.yml"],
      ["run", "--prompt-file", "review.prompt.md", "--rehearse", "r.yml", "--outputs", sticky],
      ["rehearse", "r.yml"],
      ["validate", "review.prompt.md"],
    ])
      await cliExits(0, args, { cwd });
  });

  test("runs with the model of the environment, unless an option names one", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "r.yml": rehearsal });
    const run = ["run", "--rehearse", "r.yml", "--prompt", "Review $change-files"];
    const model = async (env: Record<string, string>, ...more: string[]): Promise<string> => {
      const { stdout } = await cliExits(0, [...run, ...more], { cwd, env });
      return /started, model (\S+)/.exec(stdout)?.[1] ?? "";
    };
    assert.equal(await model({}), "auto");
    assert.equal(await model({ AGENT_JOBS_MODEL: "gpt-5" }), "gpt-5");
    assert.equal(await model({ AGENT_JOBS_MODEL: "gpt-5" }, "--model", "other"), "other");
  });

  const server = ["--provider-base-url", "http://127.0.0.1:1/v1"];
  for (const [why, args, message] of [
    [
      "an unknown variable",
      ["--prompt", "See $chang-files"],
      '--prompt: Cannot find prompt variable: $chang-files. (did you mean "change-files"?)',
    ],
    [
      "an unknown variable in a file",
      ["--prompt-file", "wrong.md"],
      "wrong.md:2:5: Cannot find prompt variable: $nothing.",
    ],
    ["an empty prompt", ["--prompt", " "], "--prompt: The prompt is empty."],
    ["an empty file", ["--prompt-file", "empty.md"], "empty.md: The file is empty."],
    ["no file", ["--prompt-file", "none.md"], "none.md: The file doesn't exist."],
    [
      "outputs that are not YAML",
      ["--prompt", "x", "--outputs", "{ a"],
      "--outputs: Not valid YAML",
    ],
    [
      "unknown outputs",
      ["--prompt", "x", "--outputs", "{ reprt: {} }"],
      '--outputs: outputs.reprt: Unknown field "reprt". (did you mean "report"?)',
    ],
    [
      "an entry beside it",
      ["e.yml", "--prompt", "x"],
      "Only one of an entry, --prompt and --prompt-file can be used.",
    ],
    ["outputs of an entry", ["e.yml", "--outputs", "{}"], "--outputs is only for a prompt."],
    ["nothing to run", [], "There is no entry."],
    [
      "no model of the server",
      ["--prompt", "x", ...server],
      "name it with --model or AGENT_JOBS_MODEL",
    ],
    ["no user input", ["--prompt", "Hi $user-input"], "requires user input"],
    ["a recording without a file", ["--prompt", "x", "--record", "r.yml"], "--record needs a file"],
  ] as const)
    test(`is refused for ${why}`, async (t) => {
      const { path: cwd } = await makeWorkspace(t, {
        "wrong.md": "# A\nSee $nothing.",
        "empty.md": "",
      });
      const { stderr } = await cliExits(2, ["run", ...args], { cwd });
      assert.ok(stderr.includes(message), stderr);
    });

  for (const [what, prompt, outputs, asked] of [
    [
      "for a report, which the log would not show",
      "Look.",
      undefined,
      "Look.\n\nCall job_report with the result, in Markdown.",
    ],
    ["for nothing more than it names", "Call job_annotate.", undefined, "Call job_annotate."],
    [
      "for what the outputs publish",
      "Call job_report.",
      "{ report: {}, findings: {} }",
      "Call job_report.\n\nCall job_annotate for each finding.",
    ],
    ["for nothing if nothing is published", "Look.", "{}", "Look."],
  ] as const)
    test(`asks ${what}`, () => {
      assert.equal(taskOf({ prompt, outputs }).prompt, asked);
    });

  test("fails without the report that is published, and runs only for a change that it is about", () => {
    const { criteria, availability } = taskOf({ prompt: "See $change-diff.", outputs: sticky });
    assert.deepEqual(criteria?.toolExecuted, ["job_report"]);
    assert.deepEqual(availability, { change: true });
    assert.equal(taskOf({ prompt: "Look." }).criteria, undefined);
  });
});
