import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { executeRun, type RunReport } from "../../src/run/execute.ts";
import { runJson } from "../../src/reports/run-json.ts";
import { UsageError } from "../../src/run/options.ts";
import { prepareRun, type RunOptions } from "../../src/run/prepare.ts";
import { asReal } from "../journal/rig.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { workflowText } from "../workflow/rig.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const entry = `
models: { driving: m }
inputs: { where: { description: A place, default: here } }
tasks:
  list: { model: { category: driving }, prompt: "List. Then job_report." }
  each: { model: { category: driving }, prompt: "Look at $item." }
  end: { model: { category: driving }, prompt: "In $input-where, sum up: $report-of-list" }
jobs:
  main:
    work:
      kind: Seq
      works:
        - { kind: Ref, taskId: list }
        - kind: Each
          items: { lines: $report-of-list }
          work: { kind: Ref, taskId: each }
        - { kind: Ref, taskId: end }
  other: { work: { kind: Ref, taskId: list } }
`;
const list = `
  - task: list
    turns:
      - replies:
          - tools: [{ name: job_report, arguments: { markdown: "- a\\n- b\\n- c" } }]
          - { text: Done., usage: { input: 10, output: 5 } }`;
const item = (name: string): string => `
  - task: each
    item: ${name}
    turns: [{ prompt: "Look at ${name}.", text: Fine. }]`;
const end = `
  - task: end
    turns: [{ prompt: "- a\\n- b\\n- c", text: All fine. }]`;
/** The model server refuses the prompt about b. */
const broken = `
  - task: each
    item: b
    turns: [{ error: 400 }]`;

interface Setup {
  readonly workspace: Workspace;
  readonly run: (sessions: string, more?: Partial<RunOptions>) => Promise<RunReport>;
  /** Why `broken.jsonl` is not resumed. */
  readonly refusal: (more?: Partial<RunOptions>) => Promise<string>;
}

async function setup(t: TestContext): Promise<Setup> {
  const workspace = await makeWorkspace(t, { "jobs.yml": entry });
  const path = (name: string): string => `${workspace.path}/${name}`;
  const optionsOf = (more: Partial<RunOptions>): RunOptions => ({
    entryFile: path("jobs.yml"),
    jobName: "main",
    workingDirectory: workspace.path,
    environment: process.env,
    ...more,
    ...(more.resume === undefined ? {} : { resume: path(more.resume) }),
    ...(more.journal === undefined ? {} : { journal: path(more.journal) }),
  });
  return {
    workspace,
    async run(sessions, more = {}) {
      const rehearse = path("script.yml");
      await workspace.write("script.yml", `entry: jobs.yml\njob: main\nsessions:${sessions}\n`);
      const options = optionsOf({ rehearse, ...more });
      return executeRun(await prepareRun(options), options);
    },
    async refusal(more = {}) {
      try {
        const prepared = await prepareRun(optionsOf({ resume: "broken.jsonl", ...more }));
        await prepared.cleanUp();
        return "resumed";
      } catch (error) {
        assert.ok(error instanceof UsageError, String(error));
        return error.message.replaceAll(`${workspace.path}/`, "");
      }
    },
  };
}

/** With a star: of the run before. */
function stepsIn(journal: string): string {
  const own = parseJournal(journal).events.filter(({ past }) => past !== true);
  const ended = own.filter((event) => event.type === "step.ended");
  const texts = ended.map(({ activity, restored = false }) => `${activity}${restored ? "*" : ""}`);
  return texts.join(" ");
}

describe("a job that is resumed", () => {
  it("runs what is not done, with what the rest had left, and its journal is whole", async (t) => {
    const { run, workspace } = await setup(t);
    const first = await run(list + item("a") + broken, { journal: "broken.jsonl" });
    assert.equal(first.outcome.kind, "failed");
    const second = await run(item("b") + item("c") + end, {
      resume: "broken.jsonl",
      journal: "second.jsonl",
    });
    assert.deepEqual([second.outcome, second.rehearsalFailures], [{ kind: "succeeded" }, []]);
    assert.equal([...second.view.given.values()][0]?.report?.markdown, "- a\n- b\n- c");
    const works = [...second.view.works.values()];
    assert.equal(
      works.map(({ taskId, status, runs }) => `${taskId} ${status} ${runs}`).join(),
      "list succeeded 1,each succeeded 4,end succeeded 1",
    );
    // Nothing is left to do, and nobody is asked.
    const third = await run(" []", { resume: "second.jsonl", journal: "third.jsonl" });
    assert.deepEqual([third.outcome, third.rehearsalFailures], [{ kind: "succeeded" }, []]);
    // The whole job has cost as much as before.
    assert.deepEqual(third.view.totals, second.view.totals);
    assert.deepEqual([third.view.totals.modelCalls, third.view.totals.inputTokens], [6, 10]);
    const worksOf = ({ view }: RunReport): unknown => Reflect.get(runJson(view), "works");
    assert.deepEqual(worksOf(third), worksOf(second));
    const written = await workspace.read("third.jsonl");
    assert.match(written, /the run [0-9a-f-]+ has already succeeded: nothing to do/);
    assert.equal(third.view.plan?.resumed?.tokens, 15);
    const limits = { tokens: 1 };
    const stricter = await run(" []", { resume: "second.jsonl", limits });
    assert.deepEqual(stricter.outcome, { kind: "succeeded" });
  });

  it("is refused if what was done was something else, and each difference is named", async (t) => {
    const { run, refusal, workspace } = await setup(t);
    await run(list + item("a") + broken, { journal: "broken.jsonl", inputs: { where: "there" } });
    const script = `${workspace.path}/script.yml`;
    assert.equal(await refusal({ rehearse: script }), "resumed");
    const rehearsed =
      "it is of a rehearsal: a script played the model. Use the journal of a real run.";
    assert.equal(await refusal(), `--resume: can't resume broken.jsonl: ${rehearsed}`);
    // The models are asked, whatever the script says about the rest.
    assert.match(await refusal({ rehearse: script, live: true }), /it is of a rehearsal/);
    await asReal(`${workspace.path}/broken.jsonl`);
    assert.equal(await refusal(), "resumed");
    assert.equal(await refusal({ inputs: { where: "there" } }), "resumed");
    const can = "--resume: can't resume broken.jsonl: ";
    const changed = async (from: string, to: string, more?: Partial<RunOptions>) => {
      await workspace.write("jobs.yml", entry.replace(from, to));
      return refusal(more);
    };
    const other = await refusal({ jobName: "other" });
    assert.equal(other, `${can}it belongs to the job "main", not "other".`);
    assert.match(await refusal({ inputs: { where: "here" } }), /the input where had another value/);
    assert.match(await refusal({ userInput: "x" }), /the user input had another value/);
    const each = '"each" had already started in that run and has changed since.';
    const end =
      '"end" has changed since, but had not started. Use --resume-anyway to continue with the current entry.';
    for (const [from, to, resumeAnyway, expected] of [
      [
        "kind: Each",
        "kind: Each\n          parallel: true",
        false,
        "the tree of the job has changed since.",
      ],
      ["Look at", "Watch", true, each],
      ["sum up", "say", false, end],
    ] as const)
      assert.equal(await changed(from, to, { resumeAnyway }), can + expected);
    assert.equal(await refusal({ resumeAnyway: true }), "resumed");
    // Models and limits may change.
    const models = "models: { driving: m }";
    assert.equal(await changed(models, "models: { driving: n }\nlimits: { tokens: 9 }"), "resumed");
    const journal = await workspace.read("broken.jsonl");
    await workspace.write("broken.jsonl", journal.replaceAll("- b\\n", "***\\n"));
    assert.match(await changed("", ""), /does not hold the whole (report of "list"|list of items)/);
    await workspace.write("broken.jsonl", journal.replace('"seq":3', '"seq":4'));
    assert.match(await refusal(), /can't resume broken\.jsonl: line 4: /);
  });

  it("can't be resumed by two at once", async (t) => {
    const { run, refusal, workspace } = await setup(t);
    await run(list + item("a") + broken, { journal: "broken.jsonl" });
    await asReal(`${workspace.path}/broken.jsonl`);
    await workspace.write("broken.jsonl.lock", String(process.ppid));
    assert.match(await refusal(), /another run is resuming broken\.jsonl \(broken\.jsonl\.lock\)/);
    // Its process is gone.
    await workspace.write("broken.jsonl.lock", "4194304");
    assert.equal(await refusal(), "resumed");
    await assert.rejects(workspace.read("broken.jsonl.lock"));
  });

  it("is refused if it would be about another change", async (t) => {
    const { run, refusal, workspace } = await setup(t);
    const about = entry.replace('"Look at $item."', '"Look at $item. $change-head"');
    await workspace.write("jobs.yml", about);
    for (const command of ["init --quiet", "add --all", "commit --quiet --message=one"])
      await workspace.git(...command.split(" "));
    const quoted = (text: string): string =>
      text.replace(/prompt: "Look at \w\."/, "prompt: Look at");
    await run(list + quoted(item("a")) + broken, { journal: "broken.jsonl", base: "HEAD" });
    await asReal(`${workspace.path}/broken.jsonl`);
    assert.equal(await refusal({ base: "HEAD" }), "resumed");
    await workspace.write("more.txt", "more\n");
    for (const command of ["add more.txt", "commit --quiet --message=two"])
      await workspace.git(...command.split(" "));
    const said = /it is about the commit \w{40}, and the change now ends at \w{40}\./;
    assert.match(await refusal({ base: "HEAD" }), said);
  });

  it("continues a workflow after its last step, and reruns an interrupted command only if asked to", async (t) => {
    const { workspace, run, refusal } = await setup(t);
    const flow = "START --> EXECUTE_A[Execute: echo a >> log] --> ASK_A[Ask: who?] --> SUCCESS";
    await workspace.write("flow.wf.md", workflowText(flow));
    await workspace.write(
      "jobs.yml",
      `permissions: { preset: workspace, shell: true }
models: { driving: m }
tasks: {}
jobs:
  main:
    work:
      kind: Seq
      works: [{ kind: Flow, file: flow.wf.md }, { kind: Run, name: last, run: echo last >> log }]
`,
    );
    const inPlace = true;
    const failed = await run(" []", { journal: "failed.jsonl", inPlace });
    assert.equal(failed.outcome.kind, "failed");
    const answers = { ASK_A: ["me"] };
    const again = await run(" []", {
      resume: "failed.jsonl",
      journal: "whole.jsonl",
      answers,
      inPlace,
    });
    assert.equal(again.outcome.kind, "succeeded");
    assert.equal(await workspace.read("log"), "a\nlast\n");
    const steps = "START* EXECUTE_A* ASK_A SUCCESS";
    assert.equal(stepsIn(await workspace.read("whole.jsonl")), steps);

    await asReal(`${workspace.path}/whole.jsonl`);
    const lines = (await workspace.read("whole.jsonl")).split(/(?<=\n)/);
    const last = lines.findIndex((line) => /"work.started".*"taskId":"last"/.test(line));
    await workspace.write("broken.jsonl", lines.slice(0, last + 1).join(""));
    assert.equal(
      await refusal(),
      "--resume: last was running when broken.jsonl was interrupted. Pass --rerun to run it again.",
    );
    const more = { resume: "broken.jsonl", journal: "end.jsonl", rerun: true, inPlace };
    assert.equal((await run(" []", more)).outcome.kind, "succeeded");
    assert.equal(await workspace.read("log"), "a\nlast\nlast\n");
    assert.equal(stepsIn(await workspace.read("end.jsonl")), "");
  });

  it("lets shards of one machine continue from one plan at the same time", async (t) => {
    const { run, workspace } = await setup(t);
    await run(list, { journal: "plan.jsonl", plan: true });
    await workspace.write("plan.jsonl.1-2.lock", String(process.ppid));
    const shard = (name: string, index: number) =>
      run(item(name), { resume: "plan.jsonl", shard: { index, count: 2 } });
    assert.equal((await shard("b", 2)).outcome.kind, "succeeded");
    await assert.rejects(shard("a", 1), /another run is resuming .*\.1-2\.lock/);
  });
});
