import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import { runCli } from "../rig/cli.ts";
import { modelServer, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

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
    const workspace = await makeWorkspace(t, { "entry.json": JSON.stringify(entry) });
    const { code, stdout, stderr } = await runCli(
      `run entry.json --user-input-file - --provider-api-key a-key --provider-base-url ${server.baseUrl}`.split(
        " ",
      ),
      { cwd: workspace.path, stdin: "you" },
    );
    assert.equal(code, 0, stdout + stderr);
    assert.equal(stdout.trimEnd().split("\n").at(-1), "job only succeeded");
    const ask = "Is it so?\nCall job_boolean_true or job_boolean_false.";
    const prompt = "For you on worker:\nwrite $HOME";
    const missing = "\n\n## Required Tool Not Called: job_prepare_document";
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
      const workspace = await makeWorkspace(t, {
        "entry.json": hello,
        "bad.yml": "models: [x]\ntasks: {}\njobs: {}\n",
      });
      const { code, stdout, stderr } = await runCli(args.split(" "), { cwd: workspace.path });
      assert.equal(code, 2, stdout + stderr);
      assert.match(stderr, message);
      assert.doesNotMatch(stdout + stderr, /\n\s+at /, "no stack trace");
    });
  }

  it("runs a job that only runs commands without a model", async (t) => {
    const entry = `models: { driving: m }
tasks: {}
jobs: { j: { work: { kind: Run, run: echo done } } }
`;
    const workspace = await makeWorkspace(t, { "e.yml": entry });
    const { code, stderr } = await runCli(["run", "e.yml"], { cwd: workspace.path });
    assert.equal(code, 0, stderr);
  });

  it("says the three ways to reach a model when it has none", async (t) => {
    const workspace = await makeWorkspace(t, { "entry.json": hello });
    const { code, stderr } = await runCli(["run", "entry.json", "--user-input", "x"], {
      cwd: workspace.path,
    });
    assert.equal(code, 2);
    assert.match(stderr, /GitHub token.*--provider-base-url.*--rehearse/);
  });
});
