import assert from "node:assert/strict";
import { describe, it, test, type TestContext } from "node:test";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { outputsOf } from "../../src/github/step-outputs.ts";
import { report } from "../github/summary-rig.ts";
import { type CliChild, cliExits, type CliResult, runCli, startCli } from "../rig/cli.ts";
import { modelServer, type Reply, type Script, startModelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entryOf } from "./rig.ts";
import { viewOf } from "../rig/tell.ts";

const yes = { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "so it is" } }] };
const no = { toolCalls: [{ name: "job_boolean_false", arguments: { argument: "not yet" } }] };
const said = (text: string): { text: string } => ({ text });

const hello = JSON.stringify({
  models: { driving: "driver", work: "worker" },
  tasks: {
    greet: { prompt: "Greet $user-input", requireUserInput: true, model: { category: "work" } },
  },
  jobs: { hello: { work: { kind: "Ref", taskId: "greet" } } },
});

describe("agent-jobs run, against a model server on loopback", () => {
  it("sends exactly the prompts of engine.md, in order, to the right models", async (t) => {
    const entry = {
      models: { driving: "driver", work: "worker", other: "third" },
      promptVariables: { ask: ["Is it so?", "Call job_boolean_true or job_boolean_false."] },
      drivingSessionRetries: [
        { modelId: "driver", retries: 0 },
        { modelId: "reserve", retries: 1 },
      ],
      tasks: {
        first: {
          model: { category: "work" },
          prompt: ["For $user-input on $task-model:", "write $$HOME"],
          requireUserInput: true,
          availability: { condition: "Before? $ask" },
          criteria: {
            toolExecuted: ["job_prepare_document"],
            condition: ["After $reported-document? $ask"],
            runConditionInSameSession: false,
            failureAction: { retryTimes: 2, additionalPrompt: "Because $reported-false-reason" },
          },
        },
        second: {
          model: { id: "exact" },
          prompt: "Second",
          availability: { previousTasks: ["first"] },
        },
      },
      jobs: {
        only: {
          work: {
            kind: "Seq",
            works: [
              { kind: "Ref", taskId: "first" },
              { kind: "Ref", taskId: "second", modelOverride: { category: "other" } },
            ],
          },
        },
      },
    };
    let checks = 0;
    const script: Script = ({ model, prompt, toolResults }) => {
      if (toolResults.length > 0) return said("done");
      if (prompt.startsWith("Before")) return yes;
      if (prompt.includes("After")) {
        if (model === "driver")
          return {
            status: 408,
            raw: '{"error":{"message":"slow"}}',
            headers: { "x-should-retry": "false" },
          };
        return ++checks === 1 ? no : yes;
      }
      if (prompt.startsWith("For") && !prompt.includes("##")) return said("nothing");
      return prompt.startsWith("For")
        ? { toolCalls: [{ name: "job_prepare_document", arguments: { argument: " a.md \nmore" } }] }
        : said("second");
    };
    const server = await modelServer(t, script);
    const { path: cwd } = await makeWorkspace(t, { "entry.json": JSON.stringify(entry) });
    const { stdout } = await cliExits(
      0,
      `run entry.json --user-input-file - --provider-api-key a-key --provider-base-url ${server.baseUrl}`,
      { cwd, stdin: "you" },
    );
    assert.equal(stdout.trimEnd().split("\n").at(-1), "job only succeeded");
    const ask = "Is it so?\nCall job_boolean_true or job_boolean_false.";
    const prompt = "For you on worker:\nwrite $HOME";
    const missing =
      "\n\n## Required Tool Not Called: job_prepare_document\nCall job_prepare_document as a tool.";
    const stopped = "\n\n## You accidentally Stopped\nBecause ";
    const prompts = server.requests
      .filter(({ toolResults }) => toolResults.length === 0)
      .map((request) => `${request.model}: ${request.prompt}`)
      // The runtime repeats a 408 by itself.
      .filter((line, index, lines) => line !== lines[index - 1]);
    assert.deepEqual(prompts, [
      `driver: Before? ${ask}`,
      `worker: ${prompt}`,
      `worker: ${prompt}${missing}${stopped}<MISSING>`,
      `driver: After a.md? ${ask}`,
      `reserve: ${SESSION_CRASH_PREFIX}After a.md? ${ask}`,
      `worker: ${prompt}${stopped}not yet`,
      `driver: After a.md? ${ask}`,
      `reserve: ${SESSION_CRASH_PREFIX}After a.md? ${ask}`,
      "third: Second",
    ]);
    assert.equal(server.requests[0]?.headers["authorization"], "Bearer a-key");
  });

  const x = "run entry.json --user-input x";
  const usage: readonly (readonly [string, string, RegExp])[] = [
    ["a missing user input", "run entry.json", /requires user input. Pass it with --user-input/],
    ["an empty user input", "run entry.json --user-input=", /requires user input. Pass it with/],
    ["a missing entry", "run nope.json", /^nope\.json: The file doesn't exist\./],
    ["a folder as entry", "run .", /^\.: This is a folder, not a file\./],
    ["an invalid entry", "run bad.yml", /^bad\.yml:1:9: entry\.models: Must be an object/],
    [
      "a misspelled preset",
      "run entry.json --permissions workspaces",
      /did you mean "workspace"\?/,
    ],
    [
      "a password in an address",
      "run entry.json --provider-base-url http://me:hunter2@models.example",
      /--provider-base-url contains a user name or a password: .*AGENT_JOBS_PROVIDER_API_KEY\b/m,
    ],
    ["a working directory that is not there", `${x} --working-directory nope`, /does not exist/],
    ["both kinds of user input", `${x} --user-input-file y`, /cannot be used with/],
    [
      "a recording over the journal",
      `${x} --journal x.out --record ./x.out`,
      /recording \.\/x\.out would overwrite x\.out/,
    ],
    [
      "a runtime that is not there",
      `${x} --provider-base-url http://127.0.0.1:9 --runtime-path nope`,
      /nope/,
    ],
    [
      "a recording where no folder can be made",
      `${x} --provider-base-url http://127.0.0.1:9 --record /proc/nope/r.yml`,
      /Can't write the recording \/proc\/nope\/r\.yml/,
    ],
  ];
  for (const [name, args, message] of usage) {
    it(`exits with 2 and one clear message for ${name}`, async (t) => {
      const { path: cwd } = await makeWorkspace(t, {
        "entry.json": hello,
        "bad.yml": "models: [x]\ntasks: {}\njobs: {}\n",
      });
      const { stdout, stderr } = await cliExits(2, args.split(" "), { cwd });
      assert.match(stderr, message);
      assert.doesNotMatch(stdout + stderr, /\n\s+at /, "no stack trace");
    });
  }

  it("runs a job that only runs commands without a model", async (t) => {
    const entry = `models: { driving: m }
tasks: {}
jobs: { j: { work: { kind: Run, run: echo done } } }
`;
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry });
    await cliExits(0, "run e.yml", { cwd });
  });

  it("says the three ways to reach a model when it has none", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "entry.json": hello });
    const { stderr } = await cliExits(2, "run entry.json --user-input x", { cwd });
    assert.match(stderr, /GitHub token.*--provider-base-url.*--rehearse/);
  });
});

// A failed condition is shown with its answer, unless a limit kept it from one.

const ref = (taskId: string): object => ({ kind: "Ref", taskId });
const task = { prompt: "Go", model: { category: "driving" } };
const entry = JSON.stringify({
  models: { driving: "m" },
  permissions: "all",
  tasks: {
    ready: task,
    // No session is needed to find out that it is not available.
    tested: { ...task, requireUserInput: false, availability: { previousTasks: ["nobody"] } },
    quiet: {
      ...task,
      criteria: {
        toolExecuted: ["job_boolean_true"],
        runConditionInSameSession: true,
        failureAction: { retryTimes: 0 },
      },
    },
    nobody: task,
    release: task,
    wait: task,
  },
  jobs: {
    answered: {
      work: {
        kind: "Alt",
        condition: {
          kind: "Seq",
          works: [ref("ready"), { kind: "Par", works: [ref("tested"), ref("quiet")] }],
        },
        trueWork: ref("release"),
        falseWork: ref("wait"),
      },
    },
    unanswered: { work: { kind: "Alt", condition: ref("ready"), trueWork: ref("release") } },
  },
});

async function play(
  t: Parameters<typeof makeWorkspace>[0],
  job: string,
  sessions: object[],
  limits: object = {},
) {
  const workspace = await makeWorkspace(t, {
    "entry.json": entry,
    "r.json": JSON.stringify({ entry: "entry.json", job, limits, sessions }),
  });
  const args = ["run", "entry.json", job, "--rehearse", "r.json", "--journal", "j.jsonl"];
  const result = await runCli(args, { cwd: workspace.path });
  const { events } = parseJournal(await workspace.read("j.jsonl"));
  const view = viewOf(events);
  const github = await report(events);
  return { ...result, events, outputs: outputsOf(view), github };
}

const says = (name: string, reply: object = { text: "done" }): object => ({
  task: name,
  turns: [{ replies: [reply] }],
});

test("every work of a composite condition that fails has answered no", async (t) => {
  const sessions = [says("ready"), says("quiet"), says("wait")];
  const { code, stdout, stderr, events, outputs, github } = await play(t, "answered", sessions);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^1 +tested +answered no /m);
  assert.match(stdout, /^2 +quiet +answered no /m);
  assert.match(stdout, /#1 tested +answered no after .*: not available: /);
  assert.doesNotMatch(stdout, /TASK FAILED|#\d \w+ +failed/);
  assert.equal(outputs["failed-tasks"], "[]");
  assert.doesNotMatch(github.output, /^::(error|warning)/m);
  assert.match(github.output, /answered no/);
  assert.doesNotMatch(github.output, /TASK FAILED|#\d \w+ +failed/);
  assert.match(github.summary ?? "", /answered\u00A0no/);
  assert.match(github.summary ?? "", /ANSWERED NO/);
  assert.doesNotMatch(github.summary ?? "", /✗|TASK FAILED|What failed/);
  // Where it is not shown to a person it is what it is.
  const ends = events.flatMap((event) =>
    event.type === "work.ended" ? [`${event.work.taskId} ${event.outcome.kind}`] : [],
  );
  assert.deepEqual(ends.toSorted(), [
    "quiet failed",
    "ready succeeded",
    "tested failed",
    "wait succeeded",
  ]);
});

test("a condition that a limit keeps from its answer has failed", async (t) => {
  const tools = [{ name: "bash", arguments: { command: "true", description: "d" } }];
  const sessions = [says("ready", { text: "a", tools })];
  const { code, stdout, outputs, github } = await play(t, "unanswered", sessions, {
    modelCalls: 1,
  });
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^0 +ready +failed /m);
  assert.match(stdout, /\[TASK FAILED\] failed after .*modelCalls/);
  assert.doesNotMatch(stdout, /answered no/);
  assert.equal(outputs["failed-tasks"], '["ready"]');
  assert.match(github.output, /^::error .*TASK FAILED%3A ready/m);
  assert.match(github.output, /^[\d:]+ #0 ready: \[TASK FAILED\] /m);
  assert.match(github.summary ?? "", /✗\u00A0failed/);
});

/**
 * The last line of a run that failed says the cause, where it was, and what to do. Most of these runs wait, for a further
 * attempt or a limit, so they are processes that wait beside each other.
 */

interface Failed extends CliResult {
  readonly last: string;
  readonly baseUrl: string;
}

async function start(t: TestContext, baseUrl: string, limits: object, args: readonly string[]) {
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": entryOf({ models: { driving: "some-model" }, limits }),
  });
  const child = startCli(["run", "e.json", `--provider-base-url=${baseUrl}`, ...args], { cwd });
  t.after(() => child.kill());
  return child;
}

async function lastOf({ ended }: CliChild, baseUrl: string): Promise<Failed> {
  const result = await ended;
  assert.equal(result.code, 1, result.stdout + result.stderr);
  return { ...result, baseUrl, last: result.stdout.trimEnd().split("\n").at(-1) ?? "" };
}

async function fail(
  t: TestContext,
  script: Script,
  { limits = {}, args = [] }: { limits?: object; args?: readonly string[] } = {},
): Promise<Failed> {
  const server = await modelServer(t, script);
  return lastOf(await start(t, server.baseUrl, limits, args), server.baseUrl);
}

const refusal = (status: number, message: string): Reply => ({
  status,
  raw: JSON.stringify({ error: { message, type: "invalid_request_error" } }),
});

describe("the last line", { concurrency: true }, () => {
  it("of a 404 names task, model, address and the server's own words, below the calls that failed or were denied", async (t) => {
    const words = "The model `some-model` does not exist.";
    const { last, baseUrl, stdout } = await fail(t, ({ toolResults }) =>
      toolResults.length > 0
        ? refusal(404, words)
        : {
            toolCalls: [
              { name: "view", arguments: { path: "nothing-here.txt" } },
              { name: "no_such_tool", arguments: {} },
              { name: "view", arguments: { path: "/etc/passwd" } },
            ],
          },
    );
    assert.equal(
      last,
      `job job failed: task "a" crashed: The model server ${baseUrl} answered 404 to POST /v1/chat/completions for model "some-model": "The model \`some-model\` does not exist." Check the model id and the base URL: the server doesn't know one of them.`,
    );
    assert.match(stdout, /\[SESSION CRASHED\] Prompt: The model server/);
    assert.match(stdout, /\[DECISION\] .*Not retried: Check the model id/);
    assert.doesNotMatch(stdout, /attempt 1 of/);
    assert.match(stdout, /\[OPERATION\] Tool call no_such_tool failed: /);
    assert.match(stdout, /\[OPERATION\] Denied read \/etc\/passwd/);
    assert.equal([...stdout.matchAll(/etc\/passwd/g)].length, 1, stdout);
  });

  it("of a silent model names model, address, and the field to raise", async (t) => {
    const { last, baseUrl } = await fail(t, () => ({ hang: "before" }), {
      limits: { idleMinutes: 0.02 },
    });
    assert.equal(
      last,
      `job job failed: task "a" crashed: The model "some-model" of the model server ${baseUrl} was silent for 1.2 s (limits.idleMinutes). Gave up after 5 attempts. Raise limits.idleMinutes (set by limits.idleMinutes of the entry) if the model needs longer to answer.`,
    );
  });

  it("says what was waited for, when a limit ends the wait for a server that is down", async (t) => {
    const server = await modelServer(t, ({ toolResults }) => {
      if (toolResults.length === 0)
        return { toolCalls: [{ name: "view", arguments: { path: "e.json" } }] };
      server.refuse();
      return { reset: true };
    });
    const run = await start(t, server.baseUrl, {}, ["--timeout-minutes=0.3"]);
    await run.printed("Can't connect to the model server");
    const { last, stdout } = await lastOf(run, server.baseUrl);
    const error = `. The last error was: can't connect to the model server ${server.baseUrl}`;
    assert.ok(last.endsWith(error), last);
    assert.match(stdout, /Can't connect to the model server \S+: .*ECONNREFUSED/);
  });

  it("asks at once whether a server is running that has never answered, on whatever route", async (t) => {
    const server = await startModelServer(() => ({ text: "hi" }));
    await server.close();
    const { last, stdout } = await lastOf(await start(t, server.baseUrl, {}, []), server.baseUrl);
    const where = `task "a" crashed: The model server ${server.baseUrl} can't be reached`;
    assert.ok(last.startsWith(`job job failed: ${where}: connect ECONNREFUSED`), last);
    assert.match(last, /\. Is it running\? Check the address, and the network/);
    assert.match(stdout, /Not retried: Check the address/);
    const { origin } = new URL(server.baseUrl);
    const env = { GITHUB_TOKEN: "gho_token", HTTPS_PROXY: origin };
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entryOf({ models: { driving: "m" } }),
    });
    const account = await startCli("run e.json", { cwd, env }).ended;
    assert.match(
      account.stdout,
      /\[TASK FAILED\] crashed: The Copilot service can't be reached at https:\/\/\S+: connect ECONNREFUSED/,
    );
    assert.doesNotMatch(account.stdout, /attempt 3|base URL/);
  });

  it("names the last error of the model server, when a limit ends the wait for a rate limit", async (t) => {
    const { last } = await fail(t, () => ({ status: 429, headers: { "retry-after": "300" } }), {
      args: ["--timeout-minutes=0.1"],
    });
    assert.match(
      last,
      /limits\.jobMinutes \(0\.1 minutes\), set by --timeout-minutes.*The last error was: [Tt]he model server (?:\S+ )?answered 429(?: to POST \S+ for model "some-model")?: "scripted 429"\. Wait until the rate limit/,
    );
  });
});
