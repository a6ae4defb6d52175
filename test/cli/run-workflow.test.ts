/** Workflows with the real command line, the real runtime, a real shell and a scripted model. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { RunEvent } from "../../src/events/event.ts";
import { processesMarked, waitUntilGone } from "../../src/platform/processes.ts";
import { runCli, cliExits, type CliResult } from "../rig/cli.ts";
import { startModelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

interface Ran extends CliResult {
  readonly requests: readonly RecordedRequest[];
  readonly events: readonly RunEvent[];
  readonly cwd: string;
}

interface RunOptions {
  readonly files: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function run(t: TestContext, options: RunOptions, script?: Script): Promise<Ran> {
  const { path: cwd } = await makeWorkspace(t, options.files);
  const server = script && (await startModelServer(script));
  if (server !== undefined) t.after(() => server.close());
  const model =
    server === undefined
      ? []
      : ["--model", "driving=claude-test", "--provider-base-url", server.baseUrl];
  const { args = ["a.wf.md"], env = {} } = options;
  const ended = await runCli(["run", ...args, ...model, "--journal", "run.jsonl"], { cwd, env });
  let events: RunEvent[] = [];
  try {
    const lines = readFileSync(join(cwd, "run.jsonl"), "utf8").trimEnd().split("\n");
    events = lines.map((line): RunEvent => JSON.parse(line));
  } catch {
    // Refused before it began.
  }
  return { ...ended, cwd, events, requests: server?.requests ?? [] };
}

const messages = ({ messages: all }: RecordedRequest): readonly string[] =>
  all.map(
    ({ role, content }) =>
      `${role}: ${content.replace(/<current_datetime>.*?<\/current_datetime>\s*/s, "")}`,
  );

describe("agent-jobs run FILE.wf.md", () => {
  it("reads only files that an agent may read", async (t) => {
    const read = (name: string): string =>
      `---\npermissions: { preset: read-only, read: ["!secret/**"] }\n---\n${workflowText(`START --> ASSIGN_A[Assign: file:${name}]`)}`;
    const files = { "secret/x.txt": "hidden", "open.txt": "shown" };
    const denied = await run(t, { files: { ...files, "a.wf.md": read("secret/x.txt") } });
    assert.equal(denied.code, 1, denied.stdout);
    assert.match(denied.stdout, /don't allow reading secret\/x\.txt/);
    assert.doesNotMatch(JSON.stringify(denied.events), /hidden/);
    const allowed = await run(t, { files: { ...files, "a.wf.md": read("open.txt") } });
    assert.equal(allowed.code, 0, allowed.stdout);
    assert.match(JSON.stringify(allowed.events), /"report":"shown"/);
  });

  it("needs neither a model nor a token if nothing is prompted", async (t) => {
    const text = workflowText("START --> EXECUTE_A[echo hello {{WHO}}] --> SUCCESS\nPARAMS[WHO]");
    const files = { "a.wf.md": `---\npermissions: { shell: [echo *] }\n---\n${text}` };
    const args = ["a.wf.md", "--param", "WHO=you & me"];
    const { code, stdout, stderr, events } = await run(t, { files, args });
    assert.equal(code, 0, stdout + stderr);
    const ended = events.find((one) => one.type === "work.ended");
    assert.equal(ended?.report, "$ echo hello 'you & me'\nhello you & me");
    assert.match(stdout, /Workflow succeeded/);
    const missing = await run(t, { files });
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /a\.wf\.md:\d+:\d+: The parameter WHO has no value/);
  });

  it("says that it needs a model", async (t) => {
    const text = workflowText("START --> PROMPT_A['Hi']");
    const { code, stderr } = await run(t, { files: { "a.wf.md": text } });
    assert.equal(code, 2);
    assert.match(stderr, /names no model.*model: ID.*--model driving=ID/);
  });

  it("replaces the system prompt, offers no tools, and goes on in one conversation", async (t) => {
    const files = {
      "a.wf.md": workflowText(
        "START --> PROMPT_SYSTEM[Prompt: System] --> PROMPT_1['one'] --> PROMPT_2['two after {{RESULT}}'] --> PROMPT_X[Prompt: Assistant X] --> PROMPT_3['three'] --> PROMPT_SYSTEM2[Prompt: System B] --> PROMPT_4['four']",
        "## System\n\nYou are A.\n\n## System B\n\nYou are B.\n\n## Assistant X\n\nI said x.",
      ),
    };
    const ran = await run(t, { files }, ({ prompt }) => ({ text: `answer ${prompt}` }));
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    assert.deepEqual(
      ran.requests.map(({ tools }) => tools),
      [[], [], [], []],
    );
    const first = ["system: You are A.", "user: one"];
    const second = [...first, "assistant: answer one", "user: two after answer one"];
    assert.deepEqual(ran.requests.map(messages), [
      first,
      second,
      [...second, "assistant: answer two after answer one", "assistant: I said x.", "user: three"],
      ["system: You are B.", "user: four"],
    ]);
  });

  it("offers the tools that the front matter names, within the permissions", async (t) => {
    const text = workflowText("START --> PROMPT_1['one']");
    const files = {
      "a.wf.md": `---\nagentTools: [view, bash, create]\npermissions: read-only\n---\n${text}`,
    };
    const ran = await run(t, { files }, ({ toolResults }) =>
      toolResults.length > 0
        ? { text: toolResults.join() }
        : { toolCalls: [{ name: "view", arguments: { path: "a.wf.md" } }] },
    );
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    assert.deepEqual(ran.requests[0]?.tools, ["view"]);
  });

  it("keeps the state of the shell into called workflows, and ends its servers", async (t) => {
    const head = "---\npermissions: workspace\n---\n";
    const files = {
      "a.wf.md": `${head}${workflowText('START --> EXECUTE_A["mkdir -p d && cd d && export SEEN=yes && (sleep 321 >/dev/null 2>&1 & echo $! > ../pid)"] --> CALL_B[[b.wf.md]] --> EXECUTE_C["exit 3"] -->|no| EXECUTE_D["printenv TOKEN NAME"]')}`,
      "b.wf.md": workflowText(
        'START --> EXECUTE_B["basename $PWD; echo $SEEN; kill -0 $(cat ../pid) && echo serving"]',
      ),
    };
    const user = randomUUID();
    const env = { TOKEN: "s3cret-of-the-run", NAME: "Ada", USER: user };
    const args = ["a.wf.md", "--env", "TOKEN", "--env", "NAME"];
    const ran = await run(t, { files, args, env });
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    const printed = ran.events
      .flatMap((one) => (one.type === "step.ended" ? (one.effects ?? []) : []))
      .flatMap((one) => (one.kind === "executed" ? one.runs.map(({ output }) => output) : []))
      .join("");
    assert.match(printed, /^d\nyes\nserving\n/);
    assert.match(printed, /Ada/);
    assert.doesNotMatch(JSON.stringify(ran.events) + ran.stdout + ran.stderr, /s3cret/);
    assert.ok(await waitUntilGone(await processesMarked("USER", user), 30_000));
  });
});

describe("agent-jobs run with workflows in a job", () => {
  const entry = `models: { driving: claude-test, cheap: small-test }
tasks: { t: { model: { category: driving }, prompt: Task } }
jobs:
  job:
    work:
      kind: Seq
      works:
        - { kind: Ref, taskId: t }
        - kind: Seq
          works:
            - { kind: Flow, file: a.wf.md, params: { WHO: "$user-input" } }
            - { kind: Flow, file: b.wf.md }
`;
  it("runs both beside a task, each with its own model", async (t) => {
    const files = {
      "e.yml": entry,
      "a.wf.md": `---\nmodel: { category: cheap }\n---\n${workflowText("START --> PROMPT_A['Hi {{WHO}}']\nPARAMS[WHO]")}`,
      "b.wf.md": workflowText("START --> PROMPT_B['Bye {{USER_INPUT}}']"),
    };
    const args = ["e.yml", "--user-input", "you"];
    const ran = await run(t, { files, args }, () => ({ text: "t" }));
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    assert.deepEqual(
      ran.requests.map(({ model, prompt }) => `${model}: ${prompt}`),
      ["claude-test: Task", "small-test: Hi you", "claude-test: Bye you"],
    );
  });

  it("reports what is wrong with a workflow where the job names it, and in the workflow", async (t) => {
    const files = {
      "e.yml": entry,
      "a.wf.md": workflowText("START --> PROMPT_A['Hi']\nPARAMS[\"WHO, OTHER\"]"),
      "b.wf.md": workflowText("START --> PROMPT_A[Prompt: User No]"),
    };
    const { path: cwd } = await makeWorkspace(t, files);
    const { stdout } = await cliExits(2, "validate e.yml", { cwd });
    const place = 'entry.jobs["job"].work.works[1].works';
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      `e.yml:11:35: ${place}[0].file: The parameter OTHER has no value. (add it to params)`,
      `e.yml:12:35: ${place}[1].file: The workflow has an error.`,
      'b.wf.md:5:11: There is no prompt "User No".',
    ]);
    const missing = await makeWorkspace(t, {
      ...files,
      "e.yml": entry.replace("b.wf.md", "c.wf.md"),
      "a.wf.md": workflowText("START\nPARAMS[WHO]"),
    });
    const other = await runCli("validate e.yml", { cwd: missing.path });
    assert.match(other.stdout, /^e\.yml:12:35: .*\[1\]\.file: Can't read the workflow: .*\n$/);
  });
});
