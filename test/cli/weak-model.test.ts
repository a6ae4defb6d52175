/** Behavior of small or badly served models, on the real runtime with a scripted model server. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { CONTINUE_PROMPT } from "../../src/engine/send-prompt.ts";
import { type CliResult, runCli } from "../rig/cli.ts";
import { modelServer, type RecordedRequest, type Reply, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { entryOf as entryWith } from "./rig.ts";

interface Ran extends CliResult {
  readonly requests: readonly RecordedRequest[];
  /** The prompts that were sent, each once. */
  readonly prompts: readonly string[];
}

async function runFile(
  t: TestContext,
  [file, text]: readonly [string, string],
  script: Script,
  options: readonly string[] = [],
): Promise<Ran> {
  const server = await modelServer(t, script);
  const { path: cwd } = await makeWorkspace(t, { [file]: text });
  const at = ["--provider-base-url", server.baseUrl];
  const ran = await runCli(["run", file, ...at, ...options], { cwd });
  const prompts = server.requests.filter(({ toolResults }) => toolResults.length === 0);
  return { ...ran, requests: server.requests, prompts: prompts.map(({ prompt }) => prompt) };
}

const entryOf = (task: object): readonly [string, string] => ["a.json", entryWith({}, task)];

const inTurn =
  (...replies: readonly Reply[]): Script =>
  ({ index }) =>
    replies[index] ?? { text: "That was not scripted." };

const call = (name: string, given: object): Reply => ({
  toolCalls: [{ name, arguments: { ...given } }],
});
const nothing: Reply = { text: " \n" };
const schema = { type: "object", properties: { ok: { type: "boolean" } } };

describe("an empty answer after a successful call", () => {
  const report = call("job_report", { markdown: "All is well." });

  it("ends a task whose result is there, in one session", async (t) => {
    const task = {
      prompt: "Say whether it is ok.",
      criteria: { result: schema, failureAction: { retryTimes: 1 } },
    };
    const ran = await runFile(t, entryOf(task), inTurn(call("job_result", { ok: true }), nothing));
    assert.equal(ran.code, 0, ran.stderr + ran.stdout);
    assert.deepEqual(ran.prompts, ["Say whether it is ok."]);
    assert.doesNotMatch(ran.stdout + ran.stderr, /crash|asked once/i);
  });

  it("ends a task without criteria whose prompt names the job tool that was called", async (t) => {
    const ran = await runFile(t, entryOf({ prompt: "Call job_report." }), inTurn(report, nothing));
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(ran.requests.length, 2);
  });

  it("is asked about once, in the same session, where nothing shows that the task is done", async (t) => {
    const { code, requests, prompts, stderr } = await runFile(
      t,
      entryOf({ prompt: "Look at a.json." }),
      inTurn(call("view", { path: "a.json" }), nothing, { text: "It is an entry." }),
    );
    assert.equal(code, 0, stderr);
    assert.match(prompts[1] ?? "", /^Your last answer was empty\./);
    // The session is still the first one: it knows what was asked before.
    assert.ok(requests[2]?.messages.some(({ content }) => content.endsWith("Look at a.json.")));
  });

  it("is asked about with what the criteria miss, and is no retry", async (t) => {
    const task = {
      prompt: "Name a document, then report.",
      criteria: {
        toolExecuted: ["job_prepare_document", "job_report"],
        failureAction: { retryTimes: 1 },
      },
    };
    const named = call("job_prepare_document", { argument: "a.md" });
    const { code, prompts, stdout, stderr } = await runFile(
      t,
      entryOf(task),
      inTurn(named, nothing, report, nothing),
    );
    assert.equal(code, 0, stdout + stderr);
    assert.match(prompts[1] ?? "", /^Your last[^]*\n\n## Required Tool Not Called: job_report\b/);
    assert.equal(prompts.length, 2);
  });

  it("is asked about once in a workflow, whose prompt has no criteria", async (t) => {
    const chart = "START --> PROMPT_A['How?'] --> CHECK_A{RESULT == fine} --> |TRUE| SUCCESS_A";
    const front = "---\nmodel: m\nagentTools: [view]\npermissions: read-only\n---\n\n";
    const text = front + workflowText(chart);
    const view = call("view", { path: "a.wf.md" });
    const script = inTurn(view, nothing, { text: "fine" });
    const { code, prompts, stdout, stderr } = await runFile(t, ["a.wf.md", text], script);
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual(prompts, ["How?", CONTINUE_PROMPT]);
  });

  it("stays a crash without a successful call", async (t) => {
    const missing = call("view", { path: "nowhere.txt" });
    const again = ({ toolResults }: RecordedRequest): Reply =>
      toolResults.length > 0 ? nothing : missing;
    const ran = await runFile(t, entryOf({ prompt: "Look." }), again);
    assert.equal(ran.code, 1);
    assert.match(ran.stdout, /answered with nothing/);
    assert.equal(ran.prompts.length, 5);
  });
});

describe("a tool call that is written as text", () => {
  const given = '{"name": "job_report", "arguments": {"markdown": "All is well."}}';
  const task = (criteria: object): readonly [string, string] =>
    entryOf({ prompt: "Report.", criteria: { ...criteria, failureAction: { retryTimes: 1 } } });
  const reports = task({ toolExecuted: ["job_report"] });
  const advice =
    /The model writes its calls as text\. Check the chat template .* `protocol: actions` .* or choose another model/;

  for (const [how, text] of [
    ["in a fence", `\`\`\`json\n${given}\n\`\`\``],
    ["in a tag", `<tool_call>\n${given}\n</tool_call>`],
    ["in a tag of its function", "<function=job_report>\n<parameter=markdown>x</parameter>"],
  ] as const) {
    it(`is not run, and the retry and the failure say so: ${how}`, async (t) => {
      const { code, prompts, stdout } = await runFile(t, reports, () => ({ text }));
      assert.equal(code, 1);
      assert.equal(
        prompts[1],
        "Report.\n\n## Required Tool Not Called: job_report\nYou wrote the call as text, which has no effect. Call job_report as a tool.",
      );
      assert.match(stdout.trimEnd().split("\n").at(-1) ?? "", advice);
    });
  }

  it("comes with advice in the failure, which the model isn't told", async (t) => {
    const failureAction = { retryTimes: 1, additionalPrompt: "Missed: $unmet-criteria" };
    const entry = entryOf({
      prompt: "Report.",
      criteria: { toolExecuted: ["job_report"], failureAction },
    });
    const { prompts, stdout } = await runFile(t, entry, () => ({ text: given }));
    assert.match(prompts[1] ?? "", /Missed: .*The model writes its calls as text$/);
    const lines = stdout.split("\n").filter((line) => line.includes("chat template"));
    assert.deepEqual(
      lines.map((line) => /TASK FAILED|^job job failed/.exec(line)?.[0]),
      ["TASK FAILED", "job job failed"],
    );
  });

  it("is said of a result and of a verdict, too", async (t) => {
    for (const [criteria, name] of [
      [{ result: schema }, "job_result"],
      [{ condition: "job_boolean_true?" }, "job_boolean_true"],
    ] as const) {
      const text = `{"name": "${name}", "arguments": {}}`;
      const { stdout } = await runFile(t, task(criteria), () => ({ text }));
      assert.match(stdout, advice, name);
    }
  });

  it("is not meant by a missing call, by prose, or by a call of another tool", async (t) => {
    for (const text of ["I can't call job_report.", '{"name": "view"}', ""]) {
      const { prompts, stdout } = await runFile(t, reports, () => ({ text: `${text} Done.` }));
      assert.match(
        prompts[1] ?? "",
        /\n## Required Tool Not Called: job_report\nCall job_report as/,
      );
      assert.doesNotMatch(stdout, advice);
    }
  });
});

describe("a model without function calls, with protocol: actions", () => {
  const document = (name: string, params: object): Reply => ({
    text: JSON.stringify({
      status: "EXECUTING",
      thoughts: [],
      actions: [{ action: name, type: "tool", params }],
      stop: false,
      response: null,
    }),
  });
  const end: Reply = {
    text: '{"status":"SUCCESS","thoughts":[],"actions":null,"stop":true,"response":"Done."}',
  };
  const argument = (text: string): object => ({ argument: text });

  it("hands in a report, a result and a document, and checks conditions, in a task without tools", async (t) => {
    const task = {
      protocol: "actions",
      prompt: "Report, and call job_prepare_document.",
      availability: { condition: "Ready? job_boolean_true or job_boolean_false" },
      criteria: {
        toolExecuted: ["job_report", "job_prepare_document"],
        result: schema,
        condition: "Is $reported-document done? job_boolean_true or job_boolean_false",
        failureAction: { retryTimes: 1, additionalPrompt: "Why not: $reported-false-reason" },
      },
    };
    const done = [
      document("job_report", { markdown: "All is well." }),
      document("job_result", { ok: "no" }),
      document("job_result", { ok: true }),
      document("job_prepare_document", argument("a.md")),
      end,
    ];
    const ran = await runFile(
      t,
      entryOf(task),
      inTurn(
        document("job_boolean_true", argument("ready")),
        ...done,
        document("job_boolean_false", argument("too short")),
        ...done,
        document("job_boolean_false", {}),
        document("job_boolean_true", argument("fine")),
      ),
      ["--output-dir", "out"],
    );
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    assert.equal(ran.requests.length, 14);
    assert.match(ran.prompts[3] ?? "", /result.*Must be a boolean|invalid_params/s);
    assert.match(ran.prompts[6] ?? "", /^Is a\.md done\?/);
    assert.match(ran.prompts[7] ?? "", /Why not: too short/);
    assert.match(ran.stdout, /All is well\./);
    assert.match(ran.stdout, /^reported document: a\.md$/m);
  });

  it("fails for a prerequisite, and is told to use an action for what is missing", async (t) => {
    const task = (prompt: string): readonly [string, string] =>
      entryOf({
        protocol: "actions",
        prompt,
        criteria: { toolExecuted: ["job_report"], failureAction: { retryTimes: 1 } },
      });
    const missing = await runFile(t, task("Report."), () => end);
    assert.equal(missing.code, 1);
    assert.match(missing.prompts[1] ?? "", /Call job_report through actions of your document\./);
    const failed = document("job_prerequisite_failed", argument("no network"));
    const { code, stdout } = await runFile(
      t,
      task("Or job_prerequisite_failed."),
      inTurn(failed, end),
    );
    assert.equal(code, 1);
    assert.match(stdout, /job_prerequisite_failed was called: no network/);
  });
});

describe("what a model is told", () => {
  const report = call("job_report", { markdown: "All is well." });
  const verdict = call("job_verdict", { verdict: "pass", reason: "It is fine." });

  it("after a job tool is whether anything is still asked for", async (t) => {
    const task = {
      prompt: "Report. Call job_prepare_document.",
      criteria: {
        toolExecuted: ["job_report", "job_verdict"],
        condition: "job_boolean_true?",
        failureAction: { retryTimes: 1 },
      },
    };
    const named = call("job_prepare_document", { argument: "a.md" });
    const yes = call("job_boolean_true", { argument: "yes" });
    const script = inTurn(verdict, named, report, { text: "ok" }, yes, { text: "ok" });
    const { requests } = await runFile(t, entryOf(task), script);
    const told = requests.map(({ toolResults }) => toolResults.at(-1));
    assert.deepEqual(
      told.filter((one) => one !== undefined),
      [
        "Noted. Also call job_report and job_prepare_document, unless you have.",
        "Reported.",
        "Noted. Also call job_prepare_document, unless you have.",
        "Reported. Nothing else is needed for the verdict.",
      ],
    );
    const { requests: again } = await runFile(t, entryOf({ prompt: "job_report" }), inTurn(report));
    assert.equal(again[1]?.toolResults[0], "Noted. Nothing else is needed.");
  });

  it("in a retry is what the criteria missed, whichever it was", async (t) => {
    const task = (criteria: object): readonly [string, string] =>
      entryOf({
        prompt: "Report.",
        criteria: {
          ...criteria,
          failureAction: { retryTimes: 1, additionalPrompt: "Not accepted: $unmet-criteria" },
        },
      });
    const no = call("job_boolean_false", { argument: "b.ts is missing" });
    for (const [criteria, script, text] of [
      [
        { toolExecuted: ["job_report"] },
        inTurn(),
        "not called successfully in the last turn: job_report",
      ],
      [{ commands: [{ run: "exit 3" }] }, inTurn(), "exit 3 failed (exit 3)"],
      [{ condition: "job_boolean_true?" }, inTurn({ text: "x" }, no), "b.ts is missing"],
    ] as const) {
      const { prompts, stdout } = await runFile(t, task(criteria), script);
      assert.ok(
        prompts.some((one) => one.endsWith(`\nNot accepted: ${text}`)),
        prompts.join("\n"),
      );
      assert.doesNotMatch(prompts.join() + stdout, /MISSING/);
    }
  });
});

it("system of an entry or a task is added to the runtime's prompt, or replaces it", async (t) => {
  const task = (system?: object, more = {}): object => ({
    model: { category: "driving" },
    prompt: "Go on.",
    ...(system === undefined ? {} : { system }),
    ...more,
  });
  const text = JSON.stringify({
    models: { driving: "m" },
    promptVariables: { tone: "Be brief" },
    system: { prompt: "$tone for $task-model.", mode: "replace" },
    tasks: {
      a: task(),
      b: task({ prompt: { file: "system.md" } }),
      c: task({ prompt: "Own.", mode: "replace" }, { protocol: "actions" }),
    },
    jobs: {
      job: {
        work: { kind: "Seq", works: ["a", "b", "c"].map((taskId) => ({ kind: "Ref", taskId })) },
      },
    },
  });
  const server = await modelServer(
    t,
    inTurn(
      { text: "x" },
      { text: "x" },
      {
        text: '{"status":"SUCCESS","thoughts":[],"actions":null,"stop":true,"response":"Done."}',
      },
    ),
  );
  const { path: cwd } = await makeWorkspace(t, { "a.json": text, "system.md": "From a file." });
  const { code, stderr } = await runCli(`run a.json --provider-base-url ${server.baseUrl}`, {
    cwd,
  });
  assert.equal(code, 0, stderr);
  const prompts = server.requests.map(
    ({ messages }) => messages.find(({ role }) => role === "system")?.content ?? "",
  );
  assert.equal(prompts[0]?.trim(), "Be brief for m.");
  assert.match(prompts[1] ?? "", /Copilot[^]*From a file\./);
  assert.match(prompts[2]?.trim() ?? "", /^Own\.\n\n# Action protocol/);
});

it("the end of an iteration counts what that iteration took", async (t) => {
  const text = JSON.stringify({
    models: { driving: "m" },
    tasks: { t: { model: { category: "driving" }, prompt: "Go on." } },
    jobs: { job: { work: { kind: "Loop", body: { kind: "Ref", taskId: "t" }, atMost: 3 } } },
  });
  const { stdout } = await runFile(t, ["a.json", text], () => ({ text: "done" }));
  assert.equal(
    stdout.match(/succeeded after [\d:]+: 1 attempt, 1 model call,/g)?.length,
    3,
    stdout,
  );
});

describe("criteria.changed", () => {
  const task = (globs: readonly string[]): readonly [string, string] =>
    entryOf({
      prompt: "Correct src/a.txt.",
      permissions: { preset: "read-only", write: ["**"] },
      criteria: { changed: globs, failureAction: { retryTimes: 1 } },
    });
  const write = (path: string, text: string): Reply => call("create", { path, file_text: text });
  const journal = ["--journal", "run.jsonl"];

  it("fails a task that has only described its change, and the retry says that no file was changed", async (t) => {
    const prose = { text: "Here is the corrected code." };
    for (const globs of [["src/**"], ["**", "!docs/**"]]) {
      const { code, prompts, stdout } = await runFile(t, task(globs), () => prose, journal);
      assert.equal(code, 1, stdout);
      assert.match(
        prompts[1] ?? "",
        /^Correct src\/a\.txt\.\n\n## No File Changed\nNo file that ma/,
      );
      assert.match(stdout, /criteria not met: no such file differs from the start of the task/);
    }
  });

  it("holds if a file that the globs match was changed in any round, and not if another was", async (t) => {
    const script = inTurn(write("other.txt", "x"), { text: "done" }, write("new.txt", "x"), {
      text: "done",
    });
    const { code, prompts, stdout, stderr } = await runFile(t, task(["new*"]), script);
    assert.equal(code, 0, stdout + stderr);
    assert.equal(prompts.length, 2);
  });
});
