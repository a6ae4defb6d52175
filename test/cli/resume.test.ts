import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { parseJournal } from "../../src/journal/read.ts";
import { runCli, startCli, cliExits, type CliChild, type CliResult } from "../rig/cli.ts";
import { type ModelServer, modelServer } from "../rig/model-server.ts";
import { share } from "../rig/nightly.ts";
import { startCollector } from "../rig/otlp-collector.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

// A collector must answer within 1.5 s, and the first run would load it in this time.
await import("../../src/reports/otlp/sdk.ts");

const main = `---
model: claude-test
permissions: { preset: workspace, shell: true }
answers: { ASK_A: [first, second] }
---

${workflowText(
  `PARAMS["NAME"]
START --> SET_N[N=x] --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> EXECUTE_A[Execute: ] --> ASK_A[Ask: who?] --> CALL_B[[b.wf.md]] --> PROMPT_B[Prompt: User B] --> EXECUTE_B[Execute: bash slow.sh] --> CHECK_A{N == xx}
CHECK_A -->|no| SET_M[N={{N}}x] --> PROMPT_A
CHECK_A -->|yes| PROMPT_X[Prompt: Assistant X] --> PROMPT_C[Prompt: User C] --> SUCCESS`,
  "## System\n\nYou are a test.\n\n## User A\n\na {{N}} {{NAME}}\n\n## User B\n\nb {{RESULT}}\n\n## Assistant X\n\nI said so.\n\n## User C\n\nc",
)}`;

const files = {
  "flow.wf.md": main,
  "b.wf.md": workflowText(
    "START --> EXECUTE_C[Execute: echo called >> effects.log] --> PROMPT_D[Prompt: User D]",
    "## User D\n\nd {{N}}",
  ),
  "sub/.keep": "",
  // Each run leaves a line; one run waits to be killed if there is a file that says so.
  "slow.sh":
    'echo "slow $DONE" >> effects.log\n[ ! -e wait ] || { touch waiting; sleep 60; }\npwd\n',
};

interface Setup {
  readonly workspace: Workspace;
  readonly server: ModelServer;
  /** In this process. */
  run(journal: string, ...args: string[]): Promise<CliResult>;
  start(journal: string): CliChild;
  /** Kills what was started when it asks for the nth time. */
  killAt(request: number): void;
}

async function setup(t: TestContext): Promise<Setup> {
  const workspace = await makeWorkspace(t, files);
  let last = -1;
  let running: CliChild | undefined;
  const server = await modelServer(t, ({ index, prompt }) => {
    if (index !== last) return { text: answerTo(prompt) };
    running?.signal("SIGKILL");
    return { hang: "before" };
  });
  const provider = ["--provider-base-url", server.baseUrl, "--provider-type", "openai"];
  const argsOf = (journal: string): readonly string[] => [
    "run",
    "flow.wf.md",
    "--param",
    "NAME=it",
    "--journal",
    journal,
    ...provider,
  ];
  const options = { cwd: workspace.path, env: { AGENT_JOBS_PROVIDER_API_KEY: "a-key" } };
  return {
    workspace,
    server,
    run: (journal, ...args) => runCli([...argsOf(journal), ...args], options),
    start(journal) {
      const child = startCli(argsOf(journal), options);
      t.after(() => child.kill());
      running = child;
      return child;
    },
    killAt: (request) => void (last = request),
  };
}

function answerTo(prompt: string): string {
  if (!prompt.startsWith("a ")) return `An answer to ${prompt}`;
  return `For ${prompt}:\n\n\`\`\`bash\nexport DONE="$DONE."\necho "fence $DONE" >> effects.log\n\`\`\`\n`;
}

interface Seen {
  readonly code: number | null;
  readonly path: readonly string[];
  readonly result: string | undefined;
  readonly effects: string;
  readonly requests: readonly string[];
}

async function seen(
  { workspace, server }: Setup,
  journal: string,
  code: CliResult["code"],
): Promise<Seen> {
  const { events, problems } = parseJournal(await workspace.read(journal));
  assert.deepEqual(problems, []);
  const own = events.filter(({ past }) => past !== true);
  return {
    code,
    path: own.flatMap((event) =>
      event.type === "step.ended" ? [`${event.step} ${event.activity} → ${event.to ?? "end"}`] : [],
    ),
    result: own.flatMap((event) => (event.type === "work.ended" ? [event.report ?? ""] : []))[0],
    effects: await workspace.read("effects.log"),
    requests: server.requests.map(({ messages }) =>
      messages
        .map(
          ({ role, content }) =>
            `${role}: ${content.replace(/^<current_datetime>[^<]*<\/current_datetime>\n\n/, "")}`,
        )
        .join("\n"),
    ),
  };
}

describe("agent-jobs run --resume", () => {
  it("ends as the run would have ended that was killed at a prompt, and asks nothing twice", async (t) => {
    const whole = await setup(t);
    const { code } = await whole.run("whole.jsonl");
    const expected = await seen(whole, "whole.jsonl", code);
    assert.equal(expected.code, 0);
    assert.ok(expected.path.length >= 20, expected.path.join("\n"));
    assert.equal(expected.requests.length, 7);
    // Nothing is left to do, so no model is needed.
    const over = await runCli("run flow.wf.md --resume whole.jsonl --journal over.jsonl", {
      cwd: whole.workspace.path,
    });
    assert.equal(over.code, 0, over.stderr);
    assert.match(over.stdout, /the run [0-9a-f-]+ has already succeeded: nothing to do/);
    assert.equal(whole.server.requests.length, 7);
    // It has run once.
    assert.deepEqual((await seen(whole, "over.jsonl", 0)).path, []);
    const starts = parseJournal(await whole.workspace.read("over.jsonl")).events.filter(
      ({ type }) => type === "work.started",
    );
    assert.equal(starts.length, 1);

    const killed = await setup(t);
    for (const at of share([4, 1, 6], 1)) {
      await killed.workspace.write("effects.log", "");
      const before = killed.server.requests.length;
      killed.killAt(before + at);
      await killed.start(`${at}.jsonl`).ended;
      killed.killAt(-1);
      const again = await killed.run(`${at}-again.jsonl`, "--resume", `${at}.jsonl`);
      const { requests, ...end } = await seen(killed, `${at}-again.jsonl`, again.code);
      const { requests: expectedRequests, ...expectedEnd } = expected;
      assert.deepEqual(end, expectedEnd, again.stderr);
      // The prompt that was under way is sent again, with the whole conversation before it.
      const own = requests.slice(before);
      assert.deepEqual([...own.slice(0, at), ...own.slice(at + 1)], expectedRequests);
      assert.equal(own[at], own[at + 1]);
    }
  });

  it("runs commands again that were under way only if asked to", async (t) => {
    const killed = await setup(t);
    const { workspace } = killed;
    await workspace.write("wait", "");
    const child = killed.start("1.jsonl");
    await workspace.holds("effects.log", "slow .");
    child.signal("SIGKILL");
    await child.ended;
    const refused = await killed.run("2.jsonl", "--resume", "1.jsonl");
    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /--resume: EXECUTE_B was running when 1\.jsonl was interrupted\. Pass --rerun to run it again\./,
    );
    await assert.rejects(workspace.read("2.jsonl"));
    await rm(`${workspace.path}/wait`);
    const again = await killed.run("2.jsonl", "--resume", "1.jsonl", "--rerun");
    assert.equal(again.code, 0, again.stderr);
    assert.equal(
      await workspace.read("effects.log"),
      "fence .\ncalled\nslow .\nslow .\nfence ..\ncalled\nslow ..\n",
    );
  });
});

const note = (name: string): object => ({ kind: "Run", run: `echo ${name} >> done`, name });
const entry = JSON.stringify({
  models: { driving: "m" },
  tasks: {},
  jobs: {
    main: {
      work: {
        kind: "Seq",
        works: [note("list"), { kind: "Par", works: [note("a"), note("b")] }, note("end")],
      },
    },
    alone: { work: note("list") },
  },
});

describe("plan, run --shard and merge", () => {
  it("share a job among machines, and end it as one, with one trace below the plan", async (t) => {
    const { spans, url } = await startCollector(t);
    const workspace = await makeWorkspace(t, { "jobs.json": entry });
    const provider = ["--provider-base-url", "http://127.0.0.1:9/v1", "--otlp", url];
    const cli = (line: string): ReturnType<typeof runCli> =>
      runCli([...line.split(" "), "--sandbox", "off", ...provider], { cwd: workspace.path });
    const planned = await cli("plan jobs.json main --shards 2 --journal plan.jsonl");
    assert.equal(planned.code, 0, planned.stderr);
    assert.equal(planned.stdout, '{"include":[{"shard":"1/2"},{"shard":"2/2"}]}\n');
    for (const shard of [1, 2]) {
      const leg = await cli(
        `run jobs.json main --shard ${shard}/2 --resume plan.jsonl --journal ${shard}.jsonl`,
      );
      assert.equal(leg.code, 0, leg.stderr + leg.stdout);
    }
    const merged = await cli("merge 2.jsonl plan.jsonl 1.jsonl --journal all.jsonl");
    assert.equal(merged.code, 0, merged.stderr + merged.stdout);
    assert.match(merged.stdout, /job main succeeded/);
    assert.equal(await workspace.read("done"), "list\na\nb\nend\n");
    const [plan, ...others] = spans.filter(({ name }) => name === "invoke_workflow main");
    assert.deepEqual([plan?.parentSpanId, others.length], ["", 3]);
    for (const { traceId, parentSpanId } of others)
      assert.deepEqual([traceId, parentSpanId], [plan?.traceId, plan?.spanId]);
    // The merge is linked to its shards, in the order of its journals or not.
    const [first, second, merge] = others;
    assert.deepEqual(new Set(merge?.links), new Set([first?.spanId, second?.spanId]));
    // Only another rehearsal continues a rehearsal.
    await workspace.write("r.yml", "entry: jobs.json\njob: main\nsessions: []\n");
    const rehearsed = await cli(
      "plan jobs.json main --shards 2 --rehearse r.yml --journal r.jsonl",
    );
    assert.equal(rehearsed.code, 0, rehearsed.stderr);
    const shard = "run jobs.json main --shard 1/2 --resume r.jsonl --journal r1.jsonl";
    const real = await cli(shard);
    assert.equal(real.code, 2, real.stderr);
    assert.match(real.stderr, /--resume: can't resume r\.jsonl: it is of a rehearsal/);
    const played = await cli(`${shard} --rehearse r.yml`);
    assert.equal(played.code, 0, played.stderr);
    const refused = await cli("merge r.jsonl r1.jsonl");
    assert.equal(refused.code, 2, refused.stdout);
    assert.match(refused.stderr, /Can't merge: r\.jsonl: it is of a rehearsal/);
    const missing = await cli("merge 2.jsonl plan.jsonl");
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, /shard 1\/2 is missing/);
  });

  it("a plan that is resumed is a plan, and no part is continued as the whole job", async (t) => {
    const workspace = await makeWorkspace(t, { "jobs.json": entry });
    const { path: cwd } = workspace;
    const cli = (line: string): ReturnType<typeof runCli> =>
      runCli(
        [...line.split(" "), "--sandbox", "off", "--provider-base-url", "http://127.0.0.1:9"],
        {
          cwd,
        },
      );
    const plan = await cli("plan jobs.json main --shards 2 --output-dir plan");
    const again = await cli(
      "plan jobs.json main --shards 2 --resume plan/journal.jsonl --journal 2.jsonl",
    );
    assert.equal(plan.stdout, again.stdout, plan.stderr);
    assert.equal(again.code, 0, again.stderr);
    assert.equal(again.stdout, '{"include":[{"shard":"1/2"},{"shard":"2/2"}]}\n');
    assert.equal(await workspace.read("done"), "list\n");
    const shard = await cli("run jobs.json main --shard 1/2 --resume 2.jsonl --journal 3.jsonl");
    assert.equal(shard.code, 0, shard.stderr);
    const whole = await cli("run jobs.json main --journal whole.jsonl");
    assert.equal(whole.code, 0, whole.stderr);
    const done = await workspace.read("done");
    for (const [line, reason] of [
      ["run jobs.json main --resume 2.jsonl", /it is the journal of a plan, .*Pass --shard/],
      ["run jobs.json main --resume 3.jsonl", /it is the journal of shard 1\/2, /],
      ["plan jobs.json main --journal 4 --resume whole.jsonl", /it is not the journal of a plan/],
      ["plan jobs.json main --journal 4 --resume 3.jsonl", /it is not the journal of a plan/],
    ] as const) {
      const { code, stderr } = await cli(line);
      assert.equal(code, 2, line);
      assert.match(stderr, reason);
    }
    assert.equal(await workspace.read("done"), done);
  });

  it("name what a merge goes on without: in the log, in run.json, and to the tasks after it", async (t) => {
    const shared = JSON.stringify({
      models: { driving: "m" },
      tasks: {
        look: { model: { id: "m" }, prompt: "Look at $item with job_report" },
        read: { model: { id: "m" }, prompt: "Read $item" },
        sum: {
          model: { id: "m" },
          prompt: "Sum up: $report-of-look $findings-of-look $report-of-read",
        },
      },
      jobs: {
        main: {
          work: {
            kind: "Seq",
            works: [
              {
                kind: "Each",
                items: { values: ["a", "b", "c", "d"] },
                work: {
                  kind: "Seq",
                  works: [
                    { kind: "Ref", taskId: "look" },
                    {
                      kind: "Each",
                      items: { values: ["x", "y"] },
                      work: { kind: "Ref", taskId: "read" },
                    },
                  ],
                },
              },
              { kind: "Ref", taskId: "sum" },
            ],
          },
        },
      },
    });
    const model = await modelServer(t, ({ prompt, toolResults }) =>
      prompt.startsWith("Look") && toolResults.length === 0
        ? { toolCalls: [{ name: "job_report", arguments: { markdown: `Saw ${prompt}` } }] }
        : { text: "Done" },
    );
    const workspace = await makeWorkspace(t, { "jobs.json": shared });
    const cli = (line: string): ReturnType<typeof runCli> =>
      runCli(`${line} --provider-base-url ${model.baseUrl}`, { cwd: workspace.path });
    await cli("plan jobs.json main --shards 2 --journal plan.jsonl");
    await cli("run jobs.json main --shard 1/2 --resume plan.jsonl --journal 1.jsonl");
    const merged = await cli("merge plan.jsonl 1.jsonl --on-missing continue --output-dir out");
    assert.equal(merged.code, 0, merged.stderr + merged.stdout);
    const prompt = model.requests.at(-1)?.prompt ?? "";
    const gap = (task: string): string =>
      `Task "${task}" was not done for all. Missing: item b (shard 2/2 is missing), item d (shard 2/2 is missing).`;
    assert.equal(prompt.split(gap("look")).length, 3, prompt);
    assert.ok(prompt.endsWith(gap("read")), prompt);
    assert.equal(prompt.match(/Saw Look at [ac]/g)?.length, 2, prompt);
    assert.match(merged.stdout, /\[OPERATION\] Skipped item "b": shard 2\/2 is missing/);
    assert.match(merged.stdout, /look, 4 items: 2 succeeded, 2 skipped +succeeded/);
    const { works } = JSON.parse(await workspace.read("out/run.json"));
    const [look] = works;
    assert.equal(look.model, "m");
    assert.deepEqual(
      look.items.map(({ item, result, reason }: Record<string, unknown>) => [item, result, reason]),
      [
        ["a", "success", null],
        ["b", "skipped", "shard 2/2 is missing"],
        ["c", "success", null],
        ["d", "skipped", "shard 2/2 is missing"],
      ],
    );
  });

  it("say what can't be shared", async (t) => {
    const workflow = "# Workflow\n\n```mermaid\nflowchart TD\n    START --> SUCCESS\n```\n";
    const files = { "jobs.json": entry, "flow.wf.md": workflow };
    const { path: cwd } = await makeWorkspace(t, files);
    for (const [args, reason] of [
      ["plan jobs.json main", /--journal or --output-dir is required/],
      ["plan jobs.json main --shards 257 --journal p", /from 1 to 256/],
      ["plan jobs.json alone --journal p", /has no Each and no Par at its top/],
      ["run jobs.json main --shard 1/2", /--shard requires --resume/],
      ["plan flow.wf.md --journal p", /flow\.wf\.md is a workflow, which can't be split/],
      ["run flow.wf.md --shard 1/2 --resume p", /can't be split into shards/],
      ["merge none.jsonl", /Can.t merge: none\.jsonl: the file or its folder doesn.t exist/],
    ] as const) {
      const { stderr } = await cliExits(2, args, { cwd });
      assert.match(stderr, reason);
    }
  });
});
