/** Collectors that don't work: the result of the run stays the same, and it waits for them two seconds at most. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Reporter } from "../../src/events/sink.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { defaultSampling } from "../../src/reports/otlp/settings.ts";
import { createTelemetry } from "../../src/reports/otlp/telemetry.ts";
import { story } from "../events/samples.ts";
import { files, inputs } from "../action/rig.ts";
import { runCli, startCli, type CliResult } from "../rig/cli.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { startCollector } from "../rig/otlp-collector.ts";
import { runStep } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { tell } from "../rig/tell.ts";

// A collector must answer within 1.5 s, and the first run would load it in this time.
await import("../../src/reports/otlp/sdk.ts");

/** Asks no model. */
const access = ["--provider-base-url", "http://127.0.0.1:9/v1"];
const entry = JSON.stringify({
  models: { driving: "driver" },
  tasks: {},
  jobs: { job: { work: { kind: "Run", run: "true", name: "note" } } },
});

async function run(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const { path: cwd } = await makeWorkspace(t, { "e.json": entry });
  return runCli(["run", "e.json", ...access, ...args], { cwd, env });
}

function telemetryTo(url: string, clock: Clock, timeoutMs = 1_500): Reporter {
  const signal = { json: false, timeoutMs };
  return createTelemetry({
    traces: { url: `${url}/v1/traces`, ...signal },
    metrics: { url: `${url}/v1/metrics`, ...signal },
    sampling: defaultSampling,
    warnings: [],
    version: "1.0.0",
    environment: {},
    content: false,
    provider: "openai",
    clock,
  });
}

describe("a collector that", () => {
  it("answers 503 changes nothing about the run but one line", async (t) => {
    const { url, requests } = await startCollector(t, (response) => response.writeHead(503).end());
    const { code, stdout, stderr } = await run(t, ["--otlp", url]);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^job job succeeded$/m);
    assert.match(
      stderr,
      /^agent-jobs: warning: the telemetry is incomplete: Can't send (traces|metrics) to http:\/\/127\.0\.0\.1:\d+\/v1\/\1: Export failed with retryable status; [^\n]+\n$/,
    );
    assert.ok(requests.includes("/v1/traces"));
  });

  it("is sent no spans of a trace that its caller does not sample", async (t) => {
    const { url, requests } = await startCollector(t);
    const { code } = await run(t, ["--otlp", url], {
      TRACEPARENT: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
    });
    assert.equal(code, 0);
    assert.deepEqual(requests, ["/v1/metrics"]);
  });

  it("has a wrong address in the environment changes nothing but one line; as an option it is refused", async (t) => {
    const wrong = await run(t, [], { OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" });
    assert.equal(wrong.code, 0);
    assert.match(
      wrong.stderr,
      /^agent-jobs: warning: the telemetry is incomplete: [^\n]*nowhere[^\n]*\n$/,
    );
    const { code, stderr } = await run(t, ["--otlp", "nowhere"]);
    assert.equal(code, 2);
    assert.match(stderr, /--otlp <url>.* must be an http or https address/);
  });

  it("hangs is waited for as long as OTEL_EXPORTER_OTLP_TIMEOUT says, and its connections are ended", async (t) => {
    for (const timeoutMs of [1_500, 30_000]) {
      const clock = new FakeClock();
      let hang = (_response: ServerResponse): void => {};
      const hanging = new Promise<ServerResponse>((resolve) => (hang = resolve));
      const { url } = await startCollector(t, (response) => hang(response));
      const telemetry = telemetryTo(url, clock, timeoutMs);
      tell(telemetry, ...story());
      const closed = telemetry.close?.() ?? Promise.resolve();
      closed.catch(() => {});
      const response = await hanging;
      // An answer that never ends, and is never silent.
      const drip = setInterval(() => response.write(" "), 50);
      const over = new Promise((resolve) => void response.on("close", resolve));
      await assert.rejects(
        clock.runUntil(closed),
        new RegExp(`did not answer within ${timeoutMs} ms`),
      );
      assert.ok(clock.now() < timeoutMs + 500 && (telemetry.closeMs ?? 0) > timeoutMs);
      await over;
      clearInterval(drip);
    }
  });

  it("is to get something once the time is over is no failure of the run", async (t) => {
    const clock = new FakeClock();
    const { url } = await startCollector(t);
    const telemetry = telemetryTo(url, clock);
    tell(telemetry, ...story());
    const closed = telemetry.close?.() ?? Promise.resolve();
    closed.catch(() => {});
    await assert.rejects(clock.runUntil(closed), /did not answer within 1500 ms/);
    // An uncaught error would fail this test.
    await import("../../src/reports/otlp/sdk.ts");
    await setTimeout(500);
  });

  it("gets all spans of a long run at its end, or is said to miss some", async (t) => {
    const { url, spans } = await startCollector(t);
    const send = async (works: number): Promise<void> => {
      const [started, ...events] = story();
      assert.ok(started !== undefined);
      const telemetry = telemetryTo(url, new FakeClock());
      tell(telemetry, started);
      const common = { at: started.at, runId: started.runId };
      for (let iteration = 1; iteration <= works; iteration += 1) {
        const work = { workId: 9, taskId: "many", iteration };
        tell(telemetry, { ...common, type: "work.started", work, modelId: "m" });
        tell(telemetry, { ...common, type: "work.ended", work, outcome: { kind: "succeeded" } });
      }
      tell(telemetry, ...events);
      await telemetry.close?.();
    };
    await send(600);
    assert.equal(spans.filter(({ name }) => name === "invoke_agent many").length, 600);
    await assert.rejects(send(18_000), /\d+ spans were dropped|timed out|did not/);
  });
});

describe("the variables of OpenTelemetry", () => {
  const warned = /^agent-jobs: warning: the telemetry is incomplete: (.*)\n$/;

  it("choose what is sent where", async (t) => {
    const { url, requests } = await startCollector(t, (response) => response.end());
    const own = (signal: string): Record<string, string> => ({
      [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]: `${url}/own/${signal}`,
    });
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
    for (const [env, ...sent] of [
      [own("TRACES"), "/own/TRACES"],
      [own("METRICS"), "/own/METRICS"],
      [{ ...base, ...own("METRICS") }, "/own/METRICS", "/v1/traces"],
      [{ ...base, OTEL_METRICS_EXPORTER: "none" }, "/v1/traces"],
      [{ ...base, OTEL_TRACES_EXPORTER: "none" }, "/v1/metrics"],
      [{ ...base, OTEL_TRACES_SAMPLER: "always_off" }, "/v1/metrics"],
      [
        { ...base, OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
        "/v1/metrics",
      ],
    ] as const) {
      const before = requests.length;
      const { code, stderr } = await run(t, [], env);
      assert.deepEqual([code, stderr], [0, ""], JSON.stringify(env));
      assert.deepEqual(requests.slice(before).toSorted(), sent, JSON.stringify(env));
    }
  });

  it("are named in one warning if they can't be honored", async (t) => {
    const { url, requests } = await startCollector(t);
    for (const [name, value, expected, ...sent] of [
      [
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "grpc",
        /PROTOCOL is "grpc", which is not supported: .* 4318\. Not sent: traces, metrics\.$/,
      ],
      ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc", /Not sent: metrics\.$/, "/v1/traces"],
      ["OTEL_TRACES_EXPORTER", "zipkin", /"zipkin", .* Not sent: traces\.$/, "/v1/metrics"],
      ["OTEL_TRACES_SAMPLER", "xray", /SAMPLER is "xray", which/, "/v1/metrics", "/v1/traces"],
      ["OTEL_EXPORTER_OTLP_TIMEOUT", "2s", /TIMEOUT is "2s", not/, "/v1/metrics", "/v1/traces"],
      ["OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", /"zstd"/, "/v1/metrics", "/v1/traces"],
      ["OTEL_EXPORTER_OTLP_CERTIFICATE", "no", /ENOENT/, "/v1/metrics", "/v1/traces"],
    ] as const) {
      const before = requests.length;
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, [name]: value };
      const { code, stderr } = await run(t, [], env);
      assert.equal(code, 0, name);
      assert.match(warned.exec(stderr)?.[1] ?? stderr, expected, name);
      assert.deepEqual(requests.slice(before).toSorted(), sent, name);
    }
  });

  it("choose JSON", async (t) => {
    const sent: string[] = [];
    const { url } = await startCollector(t, (response, body, path) => {
      sent.push(`${path} ${/\w+/.exec(body.toString())?.[0]}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
    assert.deepEqual((await run(t, [], env)).stderr, "");
    assert.deepEqual(sent.toSorted(), ["/v1/metrics resourceMetrics", "/v1/traces resourceSpans"]);
  });

  it("give addresses that a warning repeats with what was sent there", async (t) => {
    const { url } = await startCollector(t, (response) => response.writeHead(404).end());
    const run404 = await run(t, [], { OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/v1/traces` });
    assert.match(
      run404.stderr,
      /Can't send traces to http:\S+\/v1\/traces\/v1\/traces: HTTP 404 Not Found\. The address must not end with/,
    );
    const { stderr } = await run(t, [], { OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" });
    assert.match(
      stderr,
      /: OTEL_EXPORTER_OTLP_ENDPOINT is "localhost:4318", not an http or https address, such as http:\/\/127\.0\.0\.1:4318\. Not sent: traces, metrics\.\n$/,
    );
  });
});

it("spans that a collector rejects are a warning with its reason", async (t) => {
  for (const [protocol, type, answer] of [
    ["http/protobuf", "application/x-protobuf", "\x0a\x0b\x08\x02\x12\x07too old"],
    [
      "http/json",
      "application/json",
      '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}',
    ],
  ] as const) {
    const { url } = await startCollector(t, (response, _body, path) =>
      response.writeHead(200, { "content-type": type }).end(path === "/v1/traces" ? answer : ""),
    );
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_ENDPOINT: url };
    const { code, stderr } = await run(t, [], env);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^agent-jobs: warning: the telemetry is incomplete: http:\S+\/v1\/traces rejected 2 spans: too old\n$/,
    );
  }
});

describe("without an address", () => {
  const hook = `
    import { appendFileSync } from "node:fs";
    export function resolve(specifier, context, next) {
      if (specifier.startsWith("@opentelemetry/")) appendFileSync("loaded.txt", specifier + "\\n");
      return next(specifier, context);
    }`;
  const url = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
  const register = url(
    `import { register } from "node:module"; register(${JSON.stringify(url(hook))});`,
  );

  it("nothing of OpenTelemetry is loaded", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.json": entry });
    const main = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
    const env = { NODE_OPTIONS: `--import=${register}` };
    const args = ["run", "e.json", ...access];
    const { code, stderr } = await startCli(args, { cwd, main, env }).ended;
    assert.equal(code, 0, stderr);
    assert.equal(existsSync(join(cwd, "loaded.txt")), false);
    // It would have been noticed.
    const control = join(cwd, "control.mjs");
    await writeFile(control, `await import("@opentelemetry/api").catch(() => {});`);
    await startCli([], { cwd, main: control, env }).ended;
    assert.equal(existsSync(join(cwd, "loaded.txt")), true);
  });

  it("in the environment or with OTEL_SDK_DISABLED nothing is sent", async (t) => {
    const { url: OTEL_EXPORTER_OTLP_ENDPOINT, requests } = await startCollector(t);
    for (const [more, sent] of [
      [{ OTEL_SDK_DISABLED: "true" }, []],
      [{}, ["/v1/metrics", "/v1/traces"]],
    ] as const) {
      const { code } = await run(t, [], { OTEL_EXPORTER_OTLP_ENDPOINT, ...more });
      assert.equal(code, 0);
      assert.deepEqual([...requests].toSorted(), sent);
    }
  });
});

it("a collector that hangs is a warning of the step, which passes", async (t) => {
  const { url } = await startCollector(t, () => {});
  const { path: workspace } = await makeWorkspace(t, files);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const result = await runStep(t, { workspace, mode: "rehearse", inputs, env });
  assert.equal(result.code, 0, result.raw);
  assert.equal(result.outputs["result"], "success");
  const warnings = result.commands.filter(({ name }) => name === "warning");
  assert.equal(warnings.length, 1, result.raw);
  assert.match(JSON.stringify(warnings), /The telemetry is incomplete: /);
});
