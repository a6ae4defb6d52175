/** Telemetry of what is more than one run of the command line: a job on several machines, and the library. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobHost } from "../../src/index.ts";
import { runCli } from "../rig/cli.ts";
import { startCollector } from "../rig/otlp-collector.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const run = (name: string) => ({ kind: "Run", run: "true", name }) as const;
const entry = {
  models: { driving: "driver" },
  tasks: {},
  jobs: {
    main: {
      work: {
        kind: "Seq",
        works: [run("before"), { kind: "Par", works: [run("a"), run("b")] }, run("after")],
      },
    },
  },
} as const;
const parent = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

describe("a job on several machines", () => {
  it("is one trace, with the shards and the merge below the plan", async (t) => {
    const { spans, url } = await startCollector(t);
    const { path: cwd } = await makeWorkspace(t, { "e.json": JSON.stringify(entry) });
    const access = ["--provider-base-url", "http://127.0.0.1:9/v1", "--sandbox", "off"];
    const cli = async (line: string): Promise<void> => {
      const args = [...line.split(" "), ...access, "--otlp", url];
      const { code, stdout, stderr } = await runCli(args, { cwd });
      assert.equal(code, 0, stdout + stderr);
    };
    await cli("plan e.json main --shards 2 --journal plan");
    await cli("run e.json main --shard 1/2 --resume plan --journal 1");
    await cli("run e.json main --shard 2/2 --resume plan --journal 2");
    await cli("merge 1 plan 2 --journal all");
    const roots = spans.filter(({ name }) => name === "invoke_workflow main");
    assert.equal(roots.length, 4);
    const plan = roots.find(({ parentSpanId }) => parentSpanId === "");
    assert.ok(plan !== undefined);
    for (const root of roots) {
      assert.equal(root.traceId, plan.traceId);
      if (root !== plan) assert.equal(root.parentSpanId, plan.spanId);
    }
  });
});

describe("a JobHost with otlp", () => {
  it("sends the traces of its runs, below the trace of its environment", async (t) => {
    const collector = await startCollector(t);
    const { path: workingDirectory } = await makeWorkspace(t);
    const { PATH = "", HOME = "" } = process.env;
    const host = new JobHost({
      otlp: collector.url,
      environment: { PATH, HOME, TRACEPARENT: `00-${parent.traceId}-${parent.spanId}-01` },
      provider: { baseUrl: "http://127.0.0.1:9/v1" },
      sandbox: "off",
    });
    await host.installJobsEntry({ ...entry, permissions: { sandbox: "off" } });
    const { outcome } = await host.runJob("main", { workingDirectory });
    assert.deepEqual(outcome, { kind: "succeeded" });
    await host.close();
    const root = collector.span("invoke_workflow main");
    assert.deepEqual([root.traceId, root.parentSpanId], [parent.traceId, parent.spanId]);
    assert.deepEqual(collector.pathOf(collector.span("work before")), [root.name, "work before"]);
    assert.ok(collector.points.some(({ metric }) => metric === "agent_jobs.runs"));
  });

  it("refuses what is no address", () => {
    for (const otlp of ["", "nowhere", "ftp://127.0.0.1"])
      assert.throws(() => new JobHost({ otlp }), /otlp must be an http or https address/);
  });
});
