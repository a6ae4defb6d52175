import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { version } from "../../src/generated/version.ts";
import { runCli, cliExits } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { sealed } from "../journal/rig.ts";
import { plannedTasks } from "../rig/plan.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const good =
  "models: { driving: m }\ntasks:\n  a: { prompt: Say $user-input, requireUserInput: true, model: { category: driving } }\njobs:\n  j: { work: { kind: Ref, taskId: a } }\n  k: { work: { kind: Seq, works: [{ kind: Ref, taskId: a, modelOverride: { id: other } }] } }\n";
const bad =
  "models: { driving: m }\ntasks:\n  a: { prompt: Say $nope, model: { category: driven } }\njobs:\n  j: { work: { kind: Ref, taskId: b } }\n";

describe("agent-jobs validate", () => {
  it("prints all problems of all files with their places, and exits with 2", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "good.yml": good, "bad.yml": bad });
    const { stdout } = await cliExits(2, "validate bad.yml good.yml nope.yml", { cwd });
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines[0], "good.yml: valid");
    assert.match(
      stdout,
      /^bad\.yml:3:\d+: entry\.tasks\["a"\]\.prompt: Cannot find prompt variable: \$nope\./m,
    );
    assert.match(stdout, /^bad\.yml:3:\d+: entry\.tasks\["a"\]\.model\.category: /m);
    assert.match(stdout, /^bad\.yml:5:\d+: entry\.jobs\["j"\]\.work\.taskId: /m);
    assert.match(stdout, /^nope\.yml: The file doesn't exist\./m);
    assert.equal(lines.length, 5);
  });

  it("prints workflow commands, escaped, with --format github", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "b,a:d%.yml": bad.replace("$nope", '"%0A::stop $nope"'),
    });
    const { stdout } = await cliExits(2, "validate --format github b,a:d%.yml", { cwd });
    for (const line of stdout.trimEnd().split("\n"))
      assert.match(line, /^::error file=b%2Ca%3Ad%25\.yml,line=\d+,col=\d+::entry\./);
  });
});

describe("agent-jobs list, chart, schema, help", () => {
  it("lists jobs with the input they need, their tasks and models", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "good.yml": good });
    const table = await runCli("list good.yml", { cwd });
    assert.deepEqual(table.stdout.trimEnd().split("\n"), [
      "JOB  USER INPUT  TASKS  MODELS",
      "j    required    a      m",
      "k    required    a      other",
    ]);
    const json = await runCli("list good.yml --json", { cwd });
    assert.deepEqual(JSON.parse(json.stdout), {
      entry: "good.yml",
      jobs: [
        { name: "j", requireUserInput: true, tasks: ["a"], models: ["m"] },
        { name: "k", requireUserInput: true, tasks: ["a"], models: ["other"] },
      ],
    });
  });

  it("lists the inputs of an entry, and what its jobs publish", async (t) => {
    const entry = [
      "models: { driving: m }",
      "outputs: { report: { comment: sticky } }",
      "inputs:",
      "  topic: { description: What about., required: true }",
      "  tone: { description: How., default: kind, options: [kind, cold] }",
      "tasks: { a: { model: { category: driving }, prompt: $input-topic $input-tone } }",
      "jobs: { j: { work: { kind: Ref, taskId: a } } }",
    ].join("\n");
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry });
    const { stdout } = await runCli("list e.yml", { cwd });
    assert.deepEqual(stdout.trimEnd().split("\n").slice(2), [
      "",
      "INPUT  DEFAULT   VALUES      DESCRIPTION",
      "topic  required  any         What about.",
      "tone   kind      kind, cold  How.",
    ]);
    const json = await runCli("list e.yml --format json", { cwd });
    const { inputs, jobs } = JSON.parse(json.stdout);
    assert.deepEqual(Object.keys(inputs), ["topic", "tone"]);
    assert.deepEqual(jobs[0].outputs, { report: { comment: "sticky" } });
  });

  it("lists the tools and servers of an entry with the tasks that may call them", async (t) => {
    const entry = [
      "models: { driving: m }",
      "tools:",
      "  build: { description: Builds., parameters: {}, command: [make] }",
      '  test: { description: "Tests.\\nAll.", parameters: {}, module: t.ts }',
      "mcpServers: { docs: { command: docs-server } }",
      "tasks:",
      '  ship: { protocol: actions, model: { category: driving }, prompt: x, permissions: { tools: ["docs/*", build] } }',
      "  look: { model: { category: driving }, prompt: x, permissions: { tools: [build] } }",
      "jobs:",
      "  j: { work: { kind: Seq, works: [{ kind: Ref, taskId: look }, { kind: Ref, taskId: ship }] } }",
    ].join("\n");
    const { path: cwd } = await makeWorkspace(t, { "e.yml": entry });
    const { stdout } = await runCli("list e.yml", { cwd });
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      "JOB  USER INPUT  TASKS                 MODELS",
      "j    none        look, ship (actions)  m",
      "",
      "TOOL    TASKS       DESCRIPTION",
      "build   ship, look  Builds.",
      "test    none        Tests.",
      "docs/*  ship        docs-server",
    ]);
    const json = await runCli("list e.yml --json", { cwd });
    assert.deepEqual(JSON.parse(json.stdout), {
      entry: "e.yml",
      jobs: [
        {
          name: "j",
          requireUserInput: false,
          tasks: ["look", "ship"],
          models: ["m"],
          protocols: { ship: "actions" },
        },
      ],
      tools: [
        { name: "build", description: "Builds.", tasks: ["ship", "look"] },
        { name: "test", description: "Tests.\nAll.", tasks: [] },
      ],
      mcpServers: [{ name: "docs", source: "docs-server", tasks: ["ship"] }],
    });
  });

  it("lists the workflows of a job among its tasks, with the models of their prompts", async (t) => {
    const flow = (model: string, node: string): string =>
      `---\nmodel: ${model}\npermissions: workspace\n---\n\n${workflowText(`START --> ${node}`, "## User A\n\nHi")}`;
    const work = {
      kind: "Seq",
      works: [
        { kind: "Ref", taskId: "a" },
        { kind: "Flow", file: "ask.wf.md" },
        { kind: "Flow", file: "only-commands.wf.md" },
      ],
    };
    const entry = {
      models: { driving: "m" },
      tasks: { a: { model: { category: "driving" }, prompt: "A" } },
      jobs: { j: { work } },
    };
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": JSON.stringify(entry),
      "ask.wf.md": flow("x", "PROMPT_A[Prompt: User A]"),
      "only-commands.wf.md": flow("y", "EXECUTE_A[Execute: true]"),
    });
    const { stdout } = await runCli("list e.json", { cwd });
    assert.match(stdout, /\nj +none +a, ask\.wf\.md, only-commands\.wf\.md +m, x\n$/);
  });

  it("draws a job as a Mermaid flowchart", async (t) => {
    const one = good.replace(/^ {2}k: .*\n/m, "");
    const { path: cwd } = await makeWorkspace(t, { "good.yml": good, "one.yml": one });
    const { stdout } = await cliExits(0, "chart good.yml j", { cwd });
    assert.match(stdout, /^flowchart TD\n/);
    const only = await runCli("chart one.yml", { cwd });
    assert.equal(only.stdout, stdout);
    const many = await runCli("chart good.yml", { cwd });
    assert.deepEqual(
      [many.code, many.stderr],
      [2, 'agent-jobs: The entry has several jobs: "j", "k". Name one.\n'],
    );
  });

  it("draws the run of a journal, the last one or the one that is named", async (t) => {
    const started = (runId: string, taskId: string): object => ({
      type: "run.started",
      at: 1,
      runId,
      jobName: "j",
      workingDirectory: "/w",
      ...plannedTasks([[taskId, "m"]]),
    });
    const ended = { type: "run.ended", at: 2, runId: "two", outcome: { kind: "succeeded" } };
    const lines = sealed([started("one", "first"), started("two", "second"), ended]);
    const { path: cwd } = await makeWorkspace(t, {
      "whole.jsonl": lines.join(""),
      "torn.jsonl": lines.join("").slice(0, -5),
      "damaged.jsonl": lines.join("").replace('"seq":3', '"seq":x'),
      "empty.jsonl": lines[0] ?? "",
      "other.txt": "Dear reader,\n\nGoodbye.\n",
      "good.yml": good,
    });
    execFileSync("mkfifo", [join(cwd, "pipe.jsonl")]);
    const draw = (args: string): ReturnType<typeof runCli> =>
      runCli(`chart ${args}`.trim(), { cwd });
    const last = await draw("--journal whole.jsonl");
    assert.deepEqual([last.code, last.stderr], [0, ""]);
    assert.match(last.stdout, /^flowchart TD\n[^]*second[^]*class n1 skipped\n$/);
    const first = await draw("--journal whole.jsonl --run one");
    assert.match(first.stdout, /first[^]*class n1 pending/);
    const torn = await draw("--journal torn.jsonl");
    assert.deepEqual([torn.code, torn.stderr.startsWith("torn.jsonl:4: ")], [0, true]);
    const damaged = await draw("--journal damaged.jsonl");
    assert.deepEqual([damaged.code, damaged.stderr.startsWith("damaged.jsonl:4: ")], [1, true]);
    assert.match(damaged.stdout, /second/);
    for (const [args, why] of [
      ["--journal empty.jsonl", /empty\.jsonl contains no run/],
      ["--journal other.txt", /^agent-jobs: other\.txt is not a journal\.\n$/],
      ["--journal pipe.jsonl", /Can't read the journal pipe\.jsonl: it is not a regular file/],
      ["--journal whole.jsonl --run three", /no run "three"\. .*one, two\./],
      ["good.yml --journal whole.jsonl", /an entry or a journal, not both/],
      ["good.yml --run one", /--run requires --journal/],
      ["", /Name an entry, or a journal with --journal/],
    ] as const) {
      const { code, stdout, stderr } = await draw(args);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, why);
    }
  });

  it("prints the published schemas", async () => {
    for (const [args, file] of [
      [[], "entry"],
      [["entry"], "entry"],
      [["rehearsal"], "rehearsal"],
    ] as const) {
      const { code, stdout } = await runCli(["schema", ...args], { cwd: root });
      assert.deepEqual(
        [code, stdout],
        [0, await readFile(join(root, "schema", `${file}.schema.json`), "utf8")],
      );
    }
    await cliExits(2, "schema toString", { cwd: root });
  });

  it("has a help text for every command, and exits with 0", async () => {
    for (const command of ["run", "validate", "list", "chart", "rehearse", "schema"]) {
      const { stdout } = await cliExits(0, [command, "--help"], { cwd: root });
      assert.match(stdout, new RegExp(`^Usage: agent-jobs ${command} `));
    }
  });

  it("suggests names and the help of the command for a mistake", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "hello.yml": good.replace(/\bk: /, "hello: "),
      "task.rehearsal.yml": [
        "entry: hello.yml",
        "job: hello",
        "userInput: x",
        "sessions: [{ turns: [done] }]",
        "expect: { decisions: { exclude: [{ kind: task-failed, task: taskk }, { kind: note, task: A }] } }",
      ].join("\n"),
    });
    for (const [args, why] of [
      ["run hello.yml helo", /There is no job "helo" \(did you mean "hello"\?\)\. The entry/],
      ["chart hello.yml helo", /There is no job "helo" \(did you mean "hello"\?\)\. The entry/],
      [
        "run hello.yml hello --model drivin=m",
        /no model category "drivin" in the entry \(did you mean "driving"\?\)\. It has: /,
      ],
      ["run hello.yml --no-such", /\(run agent-jobs run --help for its options\)\n$/],
      ["--no-such", /\(run agent-jobs --help for a list of commands\)\n$/],
      [
        "rehearse task.rehearsal.yml",
        /task\.rehearsal\.yml:5:\d+: rehearsal\.expect\.decisions\.exclude\[0\]\.task: The entry has no task "taskk"\.\n.*exclude\[1\]\.task: The entry has no task "A"\.? .*did you mean "a"\?/,
      ],
    ] as const) {
      const { stdout, stderr } = await cliExits(2, args, { cwd });
      assert.match(stdout + stderr, why);
    }
  });

  it("tells its version, which is the package's", async () => {
    const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    assert.ok(typeof manifest === "object" && manifest !== null && "version" in manifest);
    assert.equal(version, manifest.version);
    assert.equal((await runCli("--version", { cwd: root })).stdout, `${version}\n`);
  });
});
