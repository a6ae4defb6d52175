import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { cliExits, type CliResult, runCli } from "../rig/cli.ts";
import { commandLine } from "../rig/dist.ts";
import { modelServer, type RecordedRequest } from "../rig/model-server.ts";
import { noTerminal, startOnTerminal, type TerminalChild } from "../rig/terminal.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const good = `# Hello\n\n${workflowText('PARAMS["NAME, GREETING=Hi"]\nSTART --> PROMPT_A[Prompt: User Ask] --> CALL_B[[b.wf.md]]', "## User Ask\n\n{{GREETING}} {{NAME}}")}`;
const files = {
  "good.wf.md": good,
  "b.wf.md": workflowText("START --> CHECK_A{RESULT == yes}"),
  "bad.wf.md": workflowText("START --> PROMPT_A[Prompt: User Ask]", "## User Aks\n\nHi"),
};

describe("the command line with workflows", () => {
  it("validates them, and what they call", async (t) => {
    const { path: cwd } = await makeWorkspace(t, files);
    const { stdout } = await cliExits(2, "validate good.wf.md bad.wf.md", { cwd });
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      "good.wf.md: valid",
      "b.wf.md:5:11: warning: This CHECK has no edge for the case that it doesn't hold. The workflow then fails. (add an edge --> |FALSE| …)",
      'bad.wf.md:5:11: There is no prompt "User Ask". (did you mean "User Aks"?)',
    ]);
    await cliExits(0, "validate good.wf.md", { cwd });
    await cliExits(2, "validate --strict good.wf.md", { cwd });
  });

  it("draws them", async (t) => {
    const { path: cwd } = await makeWorkspace(t, files);
    const { stdout } = await cliExits(0, "chart good.wf.md", { cwd });
    assert.match(stdout, /^flowchart TD\n.*PROMPT_A#58; User Ask/s);
    const job = await runCli("chart good.wf.md job", { cwd });
    assert.deepEqual(
      [job.code, job.stderr],
      [2, "agent-jobs: A workflow has no jobs. Name only the file.\n"],
    );
  });

  it("lists what a run of them needs", async (t) => {
    const { path: cwd } = await makeWorkspace(t, files);
    const { stdout } = await cliExits(0, "list good.wf.md", { cwd });
    assert.match(stdout, /^WORKFLOW +Hello\nPARAMETERS +NAME, GREETING="Hi"\n/);
    assert.match(stdout, /\nRUN +agent-jobs run good\.wf\.md --model driving=… --param NAME=…\n$/);
    const json = await runCli("list --json good.wf.md", { cwd });
    assert.deepEqual(JSON.parse(json.stdout), {
      entry: "good.wf.md",
      workflow: {
        title: "Hello",
        parameters: [{ name: "NAME" }, { name: "GREETING", default: "Hi" }],
        activities: 5,
        asks: [],
        models: [],
        files: ["b.wf.md"],
      },
    });
    await cliExits(2, "list bad.wf.md", { cwd });
  });

  it("shows the path of a run in its log, chart and history", async (t) => {
    const flow = `---\nmodel: { id: m }\npermissions: { shell: ["seq *"] }\nlimits: { outputCharacters: 50000 }\n---\n${workflowText(
      'START --> PROMPT_A[Prompt: User Ask] --> EXECUTE_B["Execute: seq 1 100"] --> CALL_C[[c.wf.md]]',
      "## User Ask\n\nHi",
    )}`;
    const workspace = await makeWorkspace(t, {
      "flow.wf.md": flow,
      "c.wf.md": workflowText("START --> SET_X[Set: X=1]"),
      "r.yml":
        "entry: flow.wf.md\nsessions:\n  - activity: PROMPT_A\n    turns:\n      - text: Hello.\n",
    });
    const { path: cwd } = workspace;
    const { stdout } = await cliExits(
      0,
      "run flow.wf.md --rehearse r.yml --output-dir out --journal run.jsonl",
      { cwd },
    );
    for (const line of ["2 PROMPT_A: said: Hello.", "3 EXECUTE_B: seq 1 100, exit code 0"])
      assert.ok(stdout.includes(line), stdout);
    // The whole RESULT, and not what the agent said, which led to it.
    assert.match(
      stdout,
      /\nRESULT of #0 flow\.wf\.md:\n {2}\$ seq 1 100\n {2}1\n(?: {2}\d+\n)+ {2}100\n\n/,
    );
    assert.doesNotMatch(stdout, /#0 flow\.wf\.md said:/);
    const real = ["--resume", "run.jsonl", "--provider-base-url", "http://127.0.0.1:9/v1"];
    const resumed = await cliExits(2, ["run", "flow.wf.md", ...real], { cwd });
    assert.match(resumed.stderr, /can't resume run\.jsonl: it is of a rehearsal/);
    assert.match(
      await workspace.read("out/steps/002-PROMPT_A.md"),
      /## Prompt\n\n```text\nHi\n```/,
    );
    assert.match(
      await workspace.read("out/steps/006-SET_X.md"),
      /## Variables\n\n```text\nX=1\n```/,
    );
    const chart = await runCli("chart --journal run.jsonl", { cwd });
    assert.match(chart.stdout, /subgraph f1\["c.wf.md"\]/);
    assert.match(chart.stdout, /"SET_X#58; X#61;1<br\/>✓ 6 · last"/);
    await workspace.write("out/steps/107-OLD.md", "of an earlier run");
    const again = "run flow.wf.md --rehearse r.yml --output-dir out".split(" ");
    await cliExits(0, again, { cwd });
    assert.match(await workspace.read("out/steps/002-PROMPT_A.md"), /## Prompt/);
    await assert.rejects(workspace.read("out/steps/107-OLD.md"));
    await workspace.write("out/steps/notes.txt", "mine");
    const refused = await cliExits(2, again, { cwd });
    assert.match(
      refused.stderr,
      /Can't write the history out\/steps: the folder contains other files/,
    );
  });
});

const entry = `models: { driving: gpt-5 }
tasks: { a: { model: { category: driving }, prompt: A } }
jobs:
  one: { work: { kind: Ref, taskId: a } }
`;
const given = {
  "e.yml": entry,
  "w.wf.md": workflowText("START --> ASK_A[Who?] --> SUCCESS"),
  "run.jsonl": "",
};

/** No model is given: what isn't refused before ends for the lack of one. */
async function tried(t: TestContext, args: string): Promise<CliResult> {
  const { path: cwd } = await makeWorkspace(t, given);
  return runCli(`run ${args}`, { cwd, env: { SET: "1" } });
}

describe("the options of workflows at the command line", () => {
  for (const [args, why] of [
    ["w.wf.md --param A", /--param <name=value>' argument 'A' is invalid\. It must have/],
    ["w.wf.md --answer A=yes", /An answer has the id of its ASK/],
    ["w.wf.md --env A=b", /Its value is taken from the environment/],
    ["w.wf.md job", /A workflow has no jobs\. Name only the file/],
    ["w.wf.md --rerun", /--rerun requires --resume/],
    ["w.wf.md --resume no.jsonl", /can't resume no\.jsonl: the file or its folder doesn't/],
    ["e.yml --param A=1", /Only a workflow .* has parameters, but --param is given/],
    ["e.yml --resume run.jsonl", /run\.jsonl is empty: the job starts from its beginning/],
    ["e.yml --rerun", /--rerun requires --resume/],
    [
      "e.yml --answer ASK_A=1",
      /--answer answers \w+, but the job "one" has no workflow that could ask\./,
    ],
  ] as const) {
    it(`refuses run ${args}`, async (t) => {
      const { code, stderr } = await tried(t, args);
      assert.equal(code, 2);
      assert.match(stderr, why);
    });
  }
});

const answering = {
  "flow.wf.md": workflowText(`PARAMS["TITLE, TEXT=none"]
  START --> ASK_A["{{TITLE}}?"] --> SET_B["ONE={{RESULT}}"] --> ASK_C[Again?]
  ASK_C --> ASSIGN_D["{{TITLE}}|{{TEXT}}|{{ONE}}|{{RESULT}}|{{SEEN}}|{{HIDDEN}}"] --> CHECK_E{RESULT == 'x'} --> SUCCESS
  CHECK_E --> |FALSE| SET_F["A_TOKEN={{A_TOKEN}}"] --> SUCCESS`),
};
const offline = ["--provider-base-url", "http://127.0.0.1:9/v1"];

describe("agent-jobs run with a workflow", () => {
  const env = { SEEN: "seen", HIDDEN: "hidden", A_TOKEN: "hunter2hunter2" };

  it("has parameters, answers and names of the environment", async (t) => {
    const workspace = await makeWorkspace(t, answering);
    const { path: cwd } = workspace;
    const args =
      "--param TITLE=a=b --answer ASK_C=later --answer ASK_A=now --env SEEN --env SEEM --env A_TOKEN --journal j.jsonl";
    const { stderr } = await cliExits(0, ["run", "flow.wf.md", ...args.split(" "), ...offline], {
      cwd,
      env,
    });
    const journal = await workspace.read("j.jsonl");
    assert.ok(journal.includes("a=b|none|now|later|seen|{{HIDDEN}}"), journal.slice(0, 5000));
    assert.doesNotMatch(journal, /hunter2/);
    assert.match(stderr, /warning: The environment has no variable "SEEM"\. .*did you mean "SEEN"/);
    assert.match(stderr, /warning: Workflows may read A_TOKEN, which has the name of a secret/);
    assert.doesNotMatch(stderr, /read SEEN/);
  });
});

describe("agent-jobs run on a terminal", { skip: noTerminal }, () => {
  const start = async (t: TestContext, ...more: string[]): Promise<TerminalChild> => {
    const { path: cwd } = await makeWorkspace(t, answering);
    const args = ["run", "flow.wf.md", "--param", "TITLE=Sure", ...offline, ...more];
    const child = startOnTerminal(commandLine, args, { cwd });
    t.after(() => child.type("\u0003\u0003"));
    return child;
  };

  it("asks what no option answers", async (t) => {
    const child = await start(t, "--answer", "ASK_C=later");
    await child.printed("\u001B[0J> ", "ASK_A of flow.wf.md asks:\r\nSure?\r\n");
    child.type("yes\r");
    const { code, stdout } = await child.ended;
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /ASK_C of/);
    assert.match(stdout, /job flow\.wf\.md succeeded/);
  });

  it("ends with 130 at Ctrl-C", async (t) => {
    const child = await start(t);
    await child.printed("\u001B[0J> ", "Sure?\r\n");
    child.type("\u0003");
    const { code, stdout } = await child.ended;
    assert.equal(code, 130, stdout);
    assert.match(stdout, /job flow\.wf\.md canceled/);
  });

  it("asks nobody in CI", async (t) => {
    const { path: cwd } = await makeWorkspace(t, answering);
    const args = ["run", "flow.wf.md", "--param", "TITLE=Sure", ...offline];
    const { code, stdout } = await startOnTerminal(commandLine, args, { cwd, env: { CI: "true" } })
      .ended;
    assert.equal(code, 1, stdout);
    assert.match(stdout, /ASK_A has no answer/);
  });
});

// Workflows that would end green without having done their work, with the real command line and runtime.

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
      "Set it:\n\n```\nexport A=3\nshopt -s expand_aliases; alias say=echo\n```\n\n```bash\necho $((A + 1))\n```\n\n```sh\nsay $A\n```",
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
      "$ export A=3\nshopt -s expand_aliases; alias say=echo\n$ echo $((A + 1))\n4\n$ say $A\n3",
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
      /a\.wf\.md:5:11: warning: PROMPT_SYSTEM starts an agent that is never asked: there is no PROMPT with a User prompt/;
    const { code, stdout, stderr, requests, cwd } = await run(t, text, []);
    assert.deepEqual([code, requests.length], [0, 0], stdout);
    assert.match(stderr, said);
    const validated = await cliExits(0, "validate a.wf.md", { cwd });
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
