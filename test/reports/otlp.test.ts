/** Telemetry of whole runs: the command line, the real runtime, and a collector that reads OTLP. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readJournal } from "../../src/journal/read.ts";
import { parseTraceparent } from "../../src/reports/otlp/settings.ts";
import { everything, readsItself } from "../tools/mcp/rig.ts";
import { runCli, type CliResult } from "../rig/cli.ts";
import { startModelServer, type Reply, type Script } from "../rig/model-server.ts";
import { startCollector, type Collector } from "../rig/otlp-collector.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { traceOf, type MadeSpan } from "./otlp-rig.ts";

const calls = (name: string, given: Readonly<Record<string, unknown>>): Reply => ({
  toolCalls: [{ name, arguments: given }],
});
const key = "sk-0123456789abcdef";
const prompt = "PROMPT-TEXT of the first task";

/** One retry because of a criterion, a crash, a tool of the entry, a command, a workflow. */
const entry = {
  models: { driving: "driver", work: "worker" },
  prices: { default: { input: 1, output: 1 } },
  tools: {
    look: {
      description: "Says which trace it belongs to.",
      parameters: { type: "object", properties: { at: { type: "string" } } },
      command: ["sh", "-c", "echo RESULT-TEXT $TRACEPARENT"],
    },
  },
  tasks: {
    first: {
      model: { category: "work" },
      prompt,
      permissions: { preset: "workspace", shell: true, tools: ["look"] },
      criteria: { toolExecuted: ["job_report"], failureAction: { retryTimes: 1 } },
    },
  },
  jobs: {
    job: {
      work: {
        kind: "Seq",
        works: [
          { kind: "Ref", taskId: "first" },
          { kind: "Run", run: "echo $TRACEPARENT > run.txt", name: "note" },
          { kind: "Flow", file: "flow.wf.md" },
        ],
      },
    },
  },
};
/** With an MCP server, for one of the runs: each session starts it. */
const withServer = {
  ...entry,
  mcpServers: {
    all: { command: process.execPath, args: [everything, "stdio"], permissions: readsItself },
  },
  tasks: {
    first: {
      ...entry.tasks.first,
      permissions: { preset: "workspace", shell: true, tools: ["look", "all/get-env"] },
    },
  },
};
const flow = `---\npermissions: { shell: true, write: ["**"] }\n---\n${workflowText(
  "START --> PROMPT_ASK['Answer.'] --> EXECUTE_NOTE --> SUCCESS",
)}`;

const script: Script = ({ prompt: sent, toolResults, index }) => {
  if (sent.startsWith("Answer"))
    return { text: "ANSWER-TEXT\n\n```bash\necho $TRACEPARENT > flow.txt\n```" };
  if (index === 0) return { text: "" };
  if (!sent.includes("Required Tool")) {
    if (toolResults.length > 0) return { text: `ANSWER-TEXT with ${key}` };
    return {
      toolCalls: [
        { name: "look", arguments: { at: `ARGUMENT-TEXT ${key}` } },
        { name: "all-get-env", arguments: {} },
        { name: "bash", arguments: { command: "echo shell $TRACEPARENT", description: "d" } },
      ],
    };
  }
  return toolResults.length > 0 ? { text: "done" } : calls("job_report", { markdown: "Fine." });
};

interface Ran {
  readonly result: CliResult;
  readonly collector: Collector;
  readonly cwd: string;
  readonly toolResults: string;
}

async function run(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
  declared: typeof entry = entry,
  play: Script = script,
  more: readonly string[] = [],
): Promise<Ran> {
  const collector = await startCollector(t);
  const server = await startModelServer(play);
  t.after(() => server.close());
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": JSON.stringify(declared),
    "flow.wf.md": flow,
  });
  const args = ["run", "e.json", "--otlp", collector.url, "--journal", "j.jsonl"];
  const access = ["--provider-base-url", server.baseUrl, "--provider-api-key", key];
  const result = await runCli([...args, ...access, "--max-parallel", "1", ...more], { cwd, env });
  const toolResults = server.requests.flatMap((request) => request.toolResults).join("\n");
  return { result, collector, cwd, toolResults };
}

const text = (spans: unknown): string => JSON.stringify(spans);

describe("a run with --otlp", () => {
  it("sends spans of everything, each below what it belongs to, with the names of the conventions", async (t) => {
    const { result, collector, cwd, toolResults } = await run(t, {}, withServer);
    assert.equal(result.code, 0, result.stdout + result.stderr);
    const { spans } = collector;
    // No content by default.
    assert.match(text(spans), /execute_tool look/);
    assert.doesNotMatch(text(spans), /-TEXT|not called|decision\.text|sk-0123/i);
    const root = collector.span("invoke_workflow job");
    assert.equal(root.parentSpanId, "");
    assert.deepEqual([...new Set(spans.map(({ traceId }) => traceId))], [root.traceId]);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
    const paths = [...new Set(spans.map((span) => collector.pathOf(span).join(" > ")))].toSorted();
    const above = "invoke_workflow job > invoke_agent first";
    const turn = `${above} > turn prompt`;
    const activity = "invoke_workflow job > invoke_workflow flow.wf.md > activity";
    assert.deepEqual(
      paths,
      [
        "invoke_workflow job",
        above,
        turn,
        `${turn} > chat worker`,
        `${turn} > execute_tool all/get-env`,
        `${turn} > execute_tool bash`,
        `${turn} > execute_tool job_report`,
        `${turn} > execute_tool look`,
        "invoke_workflow job > invoke_workflow flow.wf.md",
        `${activity} EXECUTE_NOTE`,
        `${activity} START`,
        `${activity} SUCCESS`,
        `${activity} PROMPT_ASK`,
        `${activity} PROMPT_ASK > turn prompt`,
        `${activity} PROMPT_ASK > turn prompt > chat driver`,
        "invoke_workflow job > command note",
      ].toSorted(),
    );
    for (const span of spans) {
      const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
      assert.ok(span.end >= span.start, span.name);
      assert.ok(parent === undefined || parent.start <= span.start, span.name);
      assert.ok(parent === undefined || parent.end >= span.end, span.name);
    }

    const turns = spans.filter(({ name }) => name === "turn prompt").slice(0, 3);
    assert.deepEqual(
      turns.map(({ attributes }) => [
        attributes["agent_jobs.retry"],
        attributes["agent_jobs.attempt"],
      ]),
      [
        [0, 1],
        [0, 2],
        [1, 1],
      ],
    );
    const chat = spans.findLast(({ name }) => name === "chat worker");

    const usage = { "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1 };
    assert.ok(chat !== undefined);
    assert.equal(chat.kind, "CLIENT");
    const { attributes } = chat;
    assert.deepEqual(Object.keys({ ...attributes }).toSorted(), [
      "agent_jobs.usage.cost",
      "gen_ai.conversation.id",
      "gen_ai.operation.name",
      "gen_ai.provider.name",
      "gen_ai.request.model",
      "gen_ai.response.finish_reasons",
      "gen_ai.response.id",
      "gen_ai.response.model",
      "gen_ai.response.time_to_first_chunk",
      "gen_ai.usage.cache_read.input_tokens",
      ...Object.keys(usage),
      "gen_ai.usage.reasoning.output_tokens",
      "server.address",
      "server.port",
    ]);
    assert.equal(attributes["server.address"], "127.0.0.1");
    assert.match(String(attributes["gen_ai.response.id"]), /./);
    assert.ok(Number(attributes["gen_ai.response.time_to_first_chunk"]) > 0);
    assert.equal(attributes["gen_ai.operation.name"], "chat");
    assert.equal(attributes["gen_ai.provider.name"], "openai");
    assert.equal(attributes["gen_ai.request.model"], "worker");
    assert.deepEqual(attributes["gen_ai.response.finish_reasons"], ["stop"]);
    const tool = collector.span("execute_tool look").attributes;
    assert.equal(tool["gen_ai.operation.name"], "execute_tool");
    assert.equal(tool["gen_ai.tool.name"], "look");
    assert.match(String(tool["gen_ai.tool.call.id"]), /./);
    assert.equal(collector.span("invoke_agent first").attributes["gen_ai.agent.name"], "first");
    assert.equal(root.attributes["agent_jobs.outcome"], "succeeded");
    const sumOf = (name: string): number =>
      spans
        .filter(({ kind, attributes: own }) => kind === "CLIENT" && own[name] !== undefined)
        .reduce((sum, { attributes: own }) => sum + Number(own[name]), 0);
    for (const name of [...Object.keys(usage), "agent_jobs.usage.cost"])
      assert.equal(root.attributes[name], sumOf(name), name);
    assert.ok(Number(root.attributes["agent_jobs.model_calls"]) > 1);
    // The prompt of the workflow is the one call that is not of the task.
    const ofTask = collector.span("invoke_agent first").attributes;
    for (const name of ["agent_jobs.model_calls", "gen_ai.usage.input_tokens"])
      assert.ok(Number(ofTask[name]) > 0 && Number(ofTask[name]) < Number(root.attributes[name]));
    assert.equal(collector.resource["service.name"], "agent-jobs");
    assert.deepEqual(
      [...collector.schemas],
      ["https://opentelemetry.io/schemas/1.45.0", undefined],
    );

    const decided = collector.span("invoke_agent first").events;
    const names = decided.map(({ name }) => name);
    for (const name of ["session-crashed", "further-attempt", "criteria-failed", "criteria-retry"])
      assert.ok(names.includes(name), `${name}: ${names.join()}`);
    const crash = decided.find(({ name }) => name === "session-crashed")?.attributes;
    assert.equal(crash?.["agent_jobs.decision.category"], "SESSION CRASHED");
    assert.match(String(crash?.["error.type"]), /^[a-z-]+$/);

    const { points } = collector;
    const retries = points.filter(({ metric }) => metric === "agent_jobs.retries");
    assert.deepEqual(
      retries.map(({ attributes: of, value }) => [of["agent_jobs.retry.cause"], value]),
      [
        [crash?.["error.type"], 1],
        ["criteria", 1],
      ],
    );
    const runs = points.find(({ metric }) => metric === "agent_jobs.runs");
    assert.deepEqual(runs?.attributes, {
      "agent_jobs.job.name": "job",
      "agent_jobs.outcome": "succeeded",
    });
    assert.equal(runs?.value, 1);
    for (const { attributes: of } of points.filter(({ metric }) =>
      metric.startsWith("gen_ai.client."),
    ))
      assert.equal(of["server.address"], "127.0.0.1");
    assert.ok(points.some(({ metric }) => metric.endsWith("time_to_first_chunk")));
    // Agents, workflows and tools are measured as their spans are.
    const sum = (metric: string, of: Readonly<Record<string, string>> = {}): number =>
      points
        .filter((one) => one.metric === metric)
        .filter((one) => Object.entries(of).every(([key, text]) => one.attributes[key] === text))
        .reduce((total, { value }) => total + value, 0);
    for (const name of ["job", "first", "flow.wf.md"]) {
      const span = spans.find(({ attributes: of }) => of["gen_ai.agent.name"] === name);
      assert.ok(span !== undefined);
      const measured = sum("gen_ai.invoke_agent.duration", {
        "gen_ai.agent.name": name,
        "gen_ai.operation.name": String(span.attributes["gen_ai.operation.name"]),
        "agent_jobs.outcome": "succeeded",
      });
      assert.ok(Math.abs(measured * 1000 - (span.end - span.start)) < 1, name);
    }
    const toolSpan = collector.span("execute_tool look");
    const ofTool = { "gen_ai.tool.name": "look", "gen_ai.agent.name": "first" };
    const measured = sum("gen_ai.execute_tool.duration", ofTool);
    assert.ok(Math.abs(measured * 1000 - (toolSpan.end - toolSpan.start)) < 1);
    const agent = collector.span("invoke_agent first").attributes;
    const counts = { inference_calls: "model_calls", tool_calls: "tool_calls" };
    for (const [metric, name] of Object.entries(counts))
      assert.equal(sum(`gen_ai.invoke_agent.${metric}`), agent[`agent_jobs.${name}`], metric);
    for (const type of ["input_tokens", "output_tokens"])
      for (const family of ["usage", "operation"])
        assert.equal(
          sum(`gen_ai.client.inference.${family}.${type}`),
          root.attributes[`gen_ai.usage.${type}`],
          `${family} ${type}`,
        );
    // What the conventions have replaced is gone.
    const sent = text([spans, points]);
    assert.doesNotMatch(
      sent,
      /workflow\.name|token\.(?:type|usage)|client\.operation|run\.duration/,
    );

    // The programs of the run are below its span.
    const traceparent = `00-${root.traceId}-${root.spanId}-01`;
    assert.equal(readFileSync(join(cwd, "run.txt"), "utf8").trim(), traceparent);
    assert.equal(readFileSync(join(cwd, "flow.txt"), "utf8").trim(), traceparent);
    const look = collector.span("execute_tool look");
    const ofCall = `00-${root.traceId}-${look.spanId}-01`;
    assert.ok(toolResults.includes(`RESULT-TEXT ${ofCall}`), "a tool of the entry");
    assert.ok(toolResults.includes(`shell ${traceparent}`), "the runtime");
    assert.ok(toolResults.includes(`"TRACEPARENT": "${traceparent}"`), "an MCP server");

    // The journal alone makes the same trace.
    const { events } = readJournal(readFileSync(join(cwd, "j.jsonl"), "utf8"));
    const again = traceOf(events);
    type Essence = Pick<MadeSpan, "name" | "spanId" | "parentSpanId" | "start" | "end">;
    const essence = ({ name, spanId, parentSpanId, start, end }: Essence): Essence => ({
      name,
      spanId,
      parentSpanId,
      start,
      end,
    });
    assert.deepEqual(again.spans.map(essence), spans.map(essence));
    assert.equal(again.measured.filter((metric) => metric === "agent_jobs.retries").length, 2);
  });

  it("measures model calls that fail, and is an instance of its own for each run", async (t) => {
    const seen = [];
    for (const turn of [1, 2]) {
      const refuses: Script = () => ({ status: 400, delay: 250, text: `no ${turn}` });
      const { collector, result } = await run(t, {}, entry, refuses);
      assert.equal(result.code, 1);
      const span = collector.span("chat worker");
      assert.equal(span.attributes["error.type"], "400");
      assert.ok(span.end - span.start >= 250, `${span.end - span.start} ms`);
      const failed = collector.points.filter(
        ({ metric, attributes }) =>
          metric === "gen_ai.client.inference.duration" && attributes["error.type"] === "400",
      );
      assert.equal(failed.length, 1);
      assert.ok((failed[0]?.value ?? 0) >= 0.25);
      assert.equal(failed[0]?.attributes["gen_ai.request.model"], "worker");
      seen.push(collector.resource["service.instance.id"]);
    }
    for (const id of seen) assert.match(String(id), /^[0-9a-f-]{36}$/);
    assert.notEqual(seen[0], seen[1]);
  });

  it("has a span of a call that is in flight when the run is canceled", async (t) => {
    const hangs: Script = () => ({ hang: "mid" });
    const { collector, result } = await run(t, {}, entry, hangs, ["--timeout-minutes", "0.05"]);
    assert.equal(result.code, 1, result.stderr);
    const chat = collector.span("chat worker");
    assert.equal(collector.pathOf(chat).at(-2), "turn prompt");
    assert.equal(chat.attributes["agent_jobs.outcome"], "canceled");
    assert.ok(chat.end - chat.start > 500, `${chat.end - chat.start} ms`);
  });

  it("names the pipeline and the change on GitHub", async (t) => {
    const { collector } = await run(t, {
      GITHUB_ACTIONS: "true",
      GITHUB_WORKFLOW: "Review",
      GITHUB_RUN_ID: "42",
      GITHUB_REPOSITORY: "octo/cat",
      GITHUB_REF: "refs/pull/7/merge",
      GITHUB_REF_NAME: "7/merge",
      GITHUB_REF_TYPE: "branch",
      GITHUB_HEAD_REF: "topic",
      GITHUB_BASE_REF: "main",
      GITHUB_SHA: "merged",
    });
    const known = Object.entries(collector.resource).filter(([name]) =>
      /^(?:cicd|vcs)\./.test(name),
    );
    assert.deepEqual(Object.fromEntries(known), {
      "cicd.pipeline.name": "Review",
      "cicd.pipeline.run.id": "42",
      "cicd.pipeline.run.url.full": "https://github.com/octo/cat/actions/runs/42/attempts/1",
      "vcs.provider.name": "github",
      "vcs.owner.name": "octo",
      "vcs.repository.name": "cat",
      "vcs.repository.url.full": "https://github.com/octo/cat",
      "vcs.ref.head.name": "topic",
      "vcs.ref.head.type": "branch",
      "vcs.ref.base.name": "main",
      "vcs.change.id": "7",
    });
  });

  it("follows its environment: content without secrets, the trace of TRACEPARENT, headers and resource attributes", async (t) => {
    const parent = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
    const { collector, cwd } = await run(t, {
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
      TRACEPARENT: `00-${parent.traceId}-${parent.spanId}-01`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=of%20mine",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=nightly,team=a",
    });
    const [first] = collector.spans.filter(
      ({ name, attributes }) => name === "chat worker" && "gen_ai.input.messages" in attributes,
    );
    assert.deepEqual(JSON.parse(String(first?.attributes["gen_ai.input.messages"])), [
      { role: "user", parts: [{ type: "text", content: prompt }] },
    ]);
    const all = text(collector.spans);
    for (const part of ["PROMPT-TEXT", "ANSWER-TEXT with", "ARGUMENT-TEXT", "RESULT-TEXT"])
      assert.ok(all.includes(part), part);
    assert.match(all, /agent_jobs\.decision\.text/);
    assert.doesNotMatch(all, /sk-0123/);
    const root = collector.span("invoke_workflow job");
    assert.deepEqual([root.traceId, root.parentSpanId], [parent.traceId, parent.spanId]);
    const passed = parseTraceparent(readFileSync(join(cwd, "run.txt"), "utf8"));
    assert.deepEqual(passed, { traceId: parent.traceId, spanId: root.spanId, sampled: true });
    assert.equal(collector.headers["x-key"], "of mine");
    assert.equal(collector.resource["service.name"], "nightly");
    assert.equal(collector.resource["team"], "a");
  });
});
