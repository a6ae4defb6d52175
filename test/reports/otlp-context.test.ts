/** Telemetry of the library. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobHost } from "../../src/index.ts";
import { startCollector } from "../rig/otlp-collector.ts";
import { makeWorkspace } from "../rig/workspace.ts";

// A collector must answer within 1.5 s, and the first run would load it in this time.
await import("../../src/reports/otlp/sdk.ts");

const work = { kind: "Run", run: "true", name: "before" } as const;
const entry = { models: { driving: "driver" }, tasks: {}, jobs: { main: { work } } };
const parent = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

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
    const command = collector.span("command before");
    assert.deepEqual(collector.pathOf(command), [root.name, command.name]);
    assert.ok(collector.points.some(({ metric }) => metric === "agent_jobs.runs"));
  });

  it("refuses what is no address", () => {
    for (const otlp of ["", "nowhere", "ftp://127.0.0.1"])
      assert.throws(() => new JobHost({ otlp }), /otlp must be an http or https address/);
  });
});
