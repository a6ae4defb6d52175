import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = `
models: { driving: m }
tasks:
  list: { model: { category: driving }, prompt: "List. Then job_report." }
  each: { model: { category: driving }, prompt: "Look at $item. Then job_report." }
  end: { model: { category: driving }, prompt: "Sum up: $report-of-each" }
jobs:
  main:
    work:
      kind: Seq
      works:
        - { kind: Ref, taskId: list }
        - { kind: Each, items: { lines: $report-of-list }, work: { kind: Ref, taskId: each } }
        - { kind: Ref, taskId: end }
  alone: { work: { kind: Ref, taskId: list } }
`;
const report = (markdown: string): string =>
  `turns: [{ replies: [{ tools: [{ name: job_report, arguments: { markdown: ${JSON.stringify(markdown)} } }] }, { text: Done. }] }]`;
const look = (item: string): string =>
  `  - { task: each, item: ${item}, ${report(`${item} is fine.`)} }`;
const scripts = {
  "list.yml": `  - { task: list, ${report("- a\n- b\n- c")} }`,
  "one.yml": `${look("a")}\n${look("c")}`,
  "two.yml": look("b"),
  "end.yml": `  - { task: end, turns: [{ prompt: { matches: "a is fine[^]*b is fine[^]*c is fine" }, text: Fine. }] }`,
};

describe("plan, run --shard and merge", () => {
  it("share a job among machines, and end it as one", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "jobs.yml": entry,
      ...Object.fromEntries(
        Object.entries(scripts).map(([name, sessions]) => [
          name,
          `entry: jobs.yml\njob: main\nsessions:\n${sessions}\n`,
        ]),
      ),
    });
    const cli = (line: string): ReturnType<typeof runCli> => runCli(line.split(" "), { cwd });
    const planned = await cli(
      "plan jobs.yml main --shards 2 --journal plan.jsonl --rehearse list.yml",
    );
    assert.equal(planned.code, 0, planned.stderr);
    assert.equal(planned.stdout, '{"include":[{"shard":"1/2"},{"shard":"2/2"}]}\n');
    for (const [shard, script] of [
      ["1/2", "one.yml"],
      ["2/2", "two.yml"],
    ] as const) {
      const leg = await cli(
        `run jobs.yml main --shard ${shard} --resume plan.jsonl --journal ${script}.jsonl --rehearse ${script}`,
      );
      assert.equal(leg.code, 0, leg.stderr + leg.stdout);
    }
    const [some, all] = ["two.yml.jsonl plan.jsonl", "two.yml.jsonl plan.jsonl one.yml.jsonl"];
    const merged = await cli(`merge ${all} --rehearse end.yml --journal all.jsonl`);
    assert.equal(merged.code, 0, merged.stderr + merged.stdout);
    assert.match(merged.stdout, /job main succeeded/);
    const missing = await cli(`merge ${some} --rehearse end.yml`);
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, /shard 1\/2 is missing/);
  });

  it("say what can't be shared", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "jobs.yml": entry });
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [["plan", "jobs.yml", "main"], /--journal is missing/],
      [["plan", "jobs.yml", "main", "--shards", "257", "--journal", "p"], /from 1 to 256/],
      [["plan", "jobs.yml", "alone", "--journal", "p"], /has no Each and no Par at its top/],
      [["run", "jobs.yml", "main", "--shard", "1/2"], /--shard requires --resume/],
      [["merge", "none.jsonl"], /none\.jsonl does not contain the start of a run/],
    ];
    for (const [args, reason] of wrong) {
      const { code, stderr } = await runCli(args, { cwd });
      assert.equal(code, 2, stderr);
      assert.match(stderr, reason);
    }
  });
});
