/** Telemetry of a step: the action, and the variables of its environment. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { files, inputs } from "../action/rig.ts";
import { startCollector } from "../rig/otlp-collector.ts";
import { runStep } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";

it("a collector that hangs is a warning of the step, which passes", async (t) => {
  const { url } = await startCollector(t, () => {});
  const { path: workspace } = await makeWorkspace(t, files);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const result = await runStep(t, { workspace, inputs, env });
  assert.equal(result.code, 0, result.raw);
  assert.equal(result.outputs["result"], "success");
  const warnings = result.commands.filter(({ name }) => name === "warning");
  assert.equal(warnings.length, 1, result.raw);
  assert.match(JSON.stringify(warnings), /The telemetry is incomplete: /);
});
