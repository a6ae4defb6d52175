import assert from "node:assert/strict";
import { existsSync, realpathSync } from "node:fs";
import { describe, it, test, type TestContext } from "node:test";
import { makeTemporaryDirectory, removeDirectory } from "../../src/platform/files.ts";
import { type CliResult, runCli, startCli } from "../rig/cli.ts";
import { commandLine } from "../rig/dist.ts";
import { modelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { noTerminal, startOnTerminal } from "../rig/terminal.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { writeFiles } from "../tools/rig.ts";
import { entryOf } from "./rig.ts";

const node = process.execPath;
const entry = entryOf({
  tools: {
    greet: {
      description: "Greets",
      parameters: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
        additionalProperties: false,
      },
      module: "tools/greet.mjs",
    },
    text: tool({ command: [node, "-e", "console.error('50% half'); console.log('plain')"] }),
    broken: tool({
      command: [node, "-e", "console.log('a'); console.error('b'); process.exit(3)"],
    }),
    slow: tool({
      command: [node, "-e", "console.error('started !'); setInterval(() => {}, 1000)"],
    }),
    env: tool({ command: [node, "-p", "JSON.stringify([process.env.GIVEN, process.env.OTHER])"] }),
    results: tool({
      command: [
        node,
        "-p",
        "[require('node:fs').statSync(process.env.AGENT_JOBS_RESULTS).isDirectory(), process.env.AGENT_JOBS_RESULTS].join(' ')",
      ],
    }),
    hostile: tool({
      command: [
        node,
        "-e",
        String.raw`
          const evil = "::error::x\n##[warning]y\n\x1b]52;c;aGk=\x07\x1b[2J" + process.env.GIVEN;
          console.error(evil); console.log(evil);
          process.exitCode = Number(require("node:fs").readFileSync(0, "utf8").length > 5)`,
      ],
    }),
    built: tool({
      command: [node, "-p", "'used'"],
      build: { command: [node, "-e", "console.log('built !')"], inputs: [] },
    }),
    recipe: tool({ command: ["./tools/own/run.sh"] }),
    needy: tool({ command: ["./tools/needy/run.sh"] }),
  },
});

function tool(fields: object): object {
  return { description: "A tool", parameters: { type: "object" }, ...fields };
}

const files = {
  "entry.json": entry,
  "tools/greet.mjs": "export default ({ name }) => ({ hello: name })",
  "tools/own/run.sh": "#!/bin/sh\necho $A",
  "tools/own/build.tool.yml": 'run: ["echo it\'s > made"]\nenv: { A: $B }\n',
  "tools/needy/run.sh": "#!/bin/sh\n",
  "tools/needy/build.tool.yml": "from: node:24-slim\npackages: [jq]\n",
};

async function workspace(
  t: TestContext,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = realpathSync(await makeTemporaryDirectory("tool-"));
  t.after(() => removeDirectory(path));
  writeFiles(path, { ...files, ...more });
  return path;
}

async function cli(
  t: TestContext,
  more: Readonly<Record<string, string>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<(...args: string[]) => Promise<CliResult>> {
  const cwd = await workspace(t, more);
  return (...args) =>
    runCli(["tool", ...args], { cwd, env: { GIVEN: "yes", OTHER: "no", ...env } });
}

test("tool call prints the result: JSON, or a text as it is", async (t) => {
  const run = await cli(t);
  const greeted = await run("call", "greet", '{"name": "Ada"}');
  assert.deepEqual([greeted.code, JSON.parse(greeted.stdout)], [0, { hello: "Ada" }]);
  const text = await run("call", "text", "--entry", "entry.json");
  assert.deepEqual([text.code, text.stdout, text.stderr], [0, "plain\n", "50% half\n"]);
});

test("arguments that don't fit are wrong usage", async (t) => {
  const run = await cli(t);
  for (const [args, reason] of [
    ["{}", /arguments\.name: .*required/i],
    ['{"name": 1}', /arguments\.name: /],
    ["{", /not JSON/],
    ["[]", /must be a JSON object/],
  ] as const) {
    const { code, stderr, stdout } = await run("call", "greet", args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, reason);
  }
});

test("a tool that fails exits with 1, and prints the reason and the end of its log once", async (t) => {
  const run = await cli(t);
  const { code, stdout, stderr } = await run("call", "broken");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^b\na\nagent-jobs: .* exited with code 3\.\n$/);
});

test("a tool that the entry doesn't have is named, with a guess", async (t) => {
  const run = await cli(t);
  for (const command of ["call", "build"]) {
    const { code, stderr } = await run(command, "great");
    assert.equal(code, 2);
    assert.match(stderr, /no tool "great" \(did you mean "greet"\?\)/);
  }
});

test("without --entry the current directory must have one entry", async (t) => {
  const several = await (await cli(t, { "other.json": entry }))("call", "text");
  assert.equal(several.code, 2);
  assert.match(several.stderr, /several entries: entry\.json, other\.json.*--entry FILE/);
  const none = await (await cli(t, { "entry.json": "{}" }))("call", "text");
  assert.equal(none.code, 2);
  assert.match(none.stderr, /has no entry.*--entry FILE/);
});

test("a tool sees only the variables that --env names", async (t) => {
  const { stdout } = await (await cli(t))("call", "env", "--env", "GIVEN");
  assert.deepEqual(JSON.parse(stdout), ["yes", null]);
});

test("a tool finds the folder of long results, which is gone afterwards", async (t) => {
  const { code, stdout } = await (await cli(t))("call", "results");
  assert.equal(code, 0);
  const [isFolder, folder = ""] = stdout.trim().split(" ");
  assert.equal(isFolder, "true");
  assert.equal(existsSync(folder), false);
});

for (const [name, params] of [
  ["succeeds", "{}"],
  ["fails", '{ "fail": true }'],
] as const) {
  test(`in GitHub Actions, a tool that ${name} prints no workflow command, control sequence or secret`, async (t) => {
    const run = await cli(
      t,
      {},
      { GITHUB_ACTIONS: "true", GIVEN: "https://me:hunter2-hunter2@host/" },
    );
    const { code, stdout, stderr } = await run("call", "hostile", params, "--env", "GIVEN");
    assert.equal(code, name === "fails" ? 1 : 0);
    const shown = stdout + stderr;
    assert.match(shown, /\| ::error::x\n## \[warning\]y\n/);
    assert.doesNotMatch(shown, /^\s*::|##\[/m);
    assert.doesNotMatch(shown, /hunter2/);
    assert.doesNotMatch(stderr, /[^\P{Cc}\n]/u);
  });
}

test(
  "on a terminal, a tool can't write to the clipboard or clear the screen",
  { skip: noTerminal },
  async (t) => {
    const folder = await workspace(t);
    const { ended } = startOnTerminal(commandLine, ["tool", "call", "hostile"], { cwd: folder });
    const { code, stdout } = await ended;
    assert.equal(code, 0, stdout);
    assert.match(stdout, /::error::x/);
    assert.doesNotMatch(stdout, /[^\P{Cc}\r\n]/u);
  },
);

test("tool build builds, and says when there is nothing to build", async (t) => {
  const run = await cli(t);
  const built = await run("build", "built");
  assert.deepEqual([built.code, built.stdout], [0, "built is built.\n"]);
  assert.match(built.stderr, /built !\n$/);
  assert.deepEqual((await run("build", "text")).stdout, "text needs no build.\n");
});

test("tool build --print prints the Dockerfile of a recipe, or the commands of one that needs no image", async (t) => {
  const run = await cli(t);
  for (const more of [[], ["--plain"]]) {
    const { code, stdout } = await run("build", "recipe", "--print", ...more);
    assert.deepEqual([code, stdout], [0, `export A='$B'\n/bin/sh -ec 'echo it'\\''s > made'\n`]);
  }
  const dockerfile = await run("build", "needy", "--print");
  assert.match(dockerfile.stdout, /^FROM node:24-slim\nRUN apt-get update /);
  const command = await run("build", "built", "--print");
  assert.equal(command.stdout, `${node} -e 'console.log('\\''built !'\\'')'\n`);
  const needy = await run("build", "needy", "--plain");
  assert.equal(needy.code, 2);
  assert.match(needy.stderr, /needs the image node:24-slim and the packages jq/);
  assert.equal((await run("build", "text", "--print")).code, 2);
});

test("Ctrl-C cancels a call, ends the tool, and exits with 130", async (t) => {
  const cwd = await workspace(t);
  const child = startCli("tool call slow", { cwd });
  await child.printed("started");
  child.signal("SIGINT");
  assert.equal((await child.ended).code, 130);
});

// Tools that an entry declares, called in an ordinary task: the real process, the real runtime, real commands.

const parameters = {
  type: "object",
  properties: { words: { type: "array", items: { type: "string" } } },
  required: ["words"],
  additionalProperties: false,
};

const evaluates = (script: string): readonly string[] => [process.execPath, "-e", script];

const echo = {
  description: "Joins words.",
  parameters,
  command: evaluates(
    `let text = ""; process.stdin.on("data", (part) => (text += part)).on("end", () => {
       console.error("joining");
       console.log(JSON.stringify({ joined: JSON.parse(text).words.join(" ") }));
     });`,
  ),
};

interface Setup {
  readonly tools?: object;
  readonly task?: object;
  readonly permissions?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

interface Ran extends CliResult {
  readonly requests: readonly RecordedRequest[];
  readonly results: readonly string[];
}

async function run(t: TestContext, script: Script, setup: Setup = {}): Promise<Ran> {
  const { tools = { echo }, task = {}, env = {}, args = [] } = setup;
  const { permissions = { preset: "read-only", tools: ["echo"] } } = setup;
  const entry = entryOf({ tools }, { permissions, ...task });
  const server = await modelServer(t, script);
  const { path: cwd } = await makeWorkspace(t, { "entry.json": entry });
  const address = ["--provider-base-url", server.baseUrl, "--provider-api-key", "a-key"];
  const result = await runCli(["run", "entry.json", ...address, "--verbose", ...args], {
    cwd,
    env,
  });
  const { requests } = server;
  return { ...result, requests, results: requests.at(-1)?.toolResults ?? [] };
}

const once =
  (name: string): Script =>
  ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "Done" }
      : { toolCalls: [{ name, arguments: { words: ["a", "b"] } }] };

describe("a tool of the entry", () => {
  it("is offered with its parameters, run as a command, and its result reaches the model as data", async (t) => {
    const { code, requests, results, stdout, stderr } = await run(t, once("echo"));
    assert.equal(code, 0, stdout + stderr);
    assert.ok(requests[0]?.tools.includes("echo"));
    assert.match(JSON.stringify(requests[0]?.body), /Joins words\..*"words"/);
    assert.equal(results.length, 1);
    assert.match(results[0] ?? "", /is data.*\n```\n\{"joined":"a b"\}\n```$/);
    assert.match(stdout, /echo/);
  });

  it("sees what --env names of the environment, and its secrets are masked before the model sees them", async (t) => {
    const secret = "hunter2-but-much-longer";
    const print = "console.error(process.env.API_TOKEN); console.log(`${process.env.API_TOKEN}`)";
    const { results, requests, stdout, stderr, code } = await run(t, once("echo"), {
      tools: { echo: { ...echo, command: evaluates(print) } },
      env: { API_TOKEN: secret },
      args: ["--env", "API_TOKEN"],
    });
    assert.equal(code, 0, stdout + stderr);
    assert.ok((results[0] ?? "").includes("***"), results[0]);
    const all = requests.map(({ body }) => JSON.stringify(body)).join("") + stdout + stderr;
    assert.ok(!all.includes(secret), "the secret is in a request or in the log");
  });
});

describe("a task with a protocol", () => {
  const document = JSON.stringify({
    status: "SUCCESS",
    thoughts: [],
    actions: [],
    stop: true,
    response: "Done.",
  });
  const isFormatted = ({ body }: RecordedRequest): boolean =>
    JSON.stringify(body).includes('"name":"action_document"');

  it("asks the model for a document in JSON, and for nothing of the kind in its conditions", async (t) => {
    const yes = { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] };
    const { code, requests, stdout } = await run(
      t,
      ({ prompt, toolResults }) => {
        if (prompt.includes("Is it?")) return toolResults.length > 0 ? { text: "Yes" } : yes;
        return { text: document };
      },
      {
        task: {
          protocol: "actions",
          criteria: {
            condition: "Is it? job_boolean_true",
            failureAction: { retryTimes: 0 },
          },
        },
      },
    );
    assert.equal(code, 0, stdout);
    assert.deepEqual(
      requests.map((request) => [request.prompt.includes("Is it?"), isFormatted(request)]),
      [
        [false, true],
        [true, false],
        [true, false],
      ],
    );
    // Its actions call the tools of the entry, not the model.
    assert.ok(!requests[0]?.tools.includes("echo"));
  });
});
