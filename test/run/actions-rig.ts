/** Jobs with the action protocol on the real runtime, with real commands as tools. */
import type { TestContext } from "node:test";
import { defined } from "../../src/text/guards.ts";
import type { JobHostOptions } from "../../src/host/host-options.ts";
import { JobHost } from "../../src/host/job-host.ts";
import type { Entry, Task, ToolDeclaration } from "../../src/entry/model.ts";
import type { RunEvent, RunOutcome } from "../../src/events/event.ts";
import { ref } from "../rig/engine.ts";
import { modelServer, type Reply } from "../rig/model-server.ts";
import type { RecordedRequest } from "../rig/model-server.ts";
import { unconfined } from "../rig/sandbox.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

/** A command that does what its first argument says, with its params on stdin. */
const program = `
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
const params = JSON.parse(readFileSync(0, "utf8") || "{}");
const print = (value) => process.stdout.write(JSON.stringify(value));
const [what] = process.argv.slice(2);
appendFileSync("calls.txt", what + "\\n");
switch (what) {
  case "echo":
    print(params);
    break;
  case "build":
    process.stderr.write("compiling\\n");
    while (params.until !== undefined && !existsSync(params.until)) await sleep(20);
    print({ id: "build-7", target: params.target });
    break;
  case "touch":
    writeFileSync(params.file, "");
    print({ touched: params.file });
    break;
  case "text":
    process.stdout.write(params.text ?? "x".repeat(params.length));
    break;
  case "env":
    print({ value: process.env[params.name] ?? null });
    break;
  case "size":
    print({ size: readFileSync(params.path, "utf8").length });
    break;
  case "fail":
    process.stderr.write("it broke\\n");
    process.exit(3);
  case "hang": {
    spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)", "tool.mjs"], { stdio: "ignore" });
    process.on("SIGTERM", () => {});
    writeFileSync("begun.txt", "begun");
    setInterval(() => {}, 1e6);
  }
}
`;

function tool(
  what: string,
  more: Partial<Extract<ToolDeclaration, { command: unknown }>> = {},
): ToolDeclaration {
  return {
    description: `Does ${what}.`,
    parameters: { type: "object" },
    timeoutSeconds: 60,
    ...more,
    command: [process.execPath, "tool.mjs", what],
  };
}

const tools: Readonly<Record<string, ToolDeclaration>> = {
  echo: tool("echo", { readOnly: true, parallelSafe: true }),
  build: tool("build", {
    parallelSafe: true,
    parameters: {
      type: "object",
      properties: { target: { type: "string" }, until: { type: "string" } },
      required: ["target"],
      additionalProperties: false,
    },
  }),
  touch: tool("touch", { parallelSafe: true }),
  text: tool("text", { readOnly: true }),
  env: tool("env", { readOnly: true }),
  size: tool("size", { readOnly: true }),
  fail: tool("fail"),
  hang: tool("hang", { parallelSafe: true }),
};

type Answer = string | Reply | ((request: RecordedRequest) => string | Reply);

interface ActionRun {
  readonly outcome: RunOutcome;
  /** The requests of the task with the protocol. */
  readonly requests: readonly RecordedRequest[];
  readonly prompts: readonly string[];
  readonly events: readonly RunEvent[];
  /** `id status` of each action, in the order of their ends. */
  readonly ended: readonly string[];
  readonly report: string | undefined;
  /** The calls, in order. */
  readonly calls: () => Promise<readonly string[]>;
}

interface ActionSetup {
  readonly task?: Partial<Task>;
  readonly entry?: Partial<Entry>;
  readonly options?: Partial<JobHostOptions>;
  readonly files?: Readonly<Record<string, string>>;
  /** One for each request of the task that is not for a condition; the last one is repeated. */
  readonly answers: readonly Answer[];
  /** Requests whose prompt begins with `OTHER`. */
  readonly others?: (request: RecordedRequest) => Reply;
  readonly onEvent?: (event: RunEvent, workspace: Workspace) => void;
  readonly signal?: AbortSignal;
}

export async function runActions(t: TestContext, setup: ActionSetup): Promise<ActionRun> {
  const workspace = await makeWorkspace(t, { "tool.mjs": program, ...setup.files });
  const requests: RecordedRequest[] = [];
  const server = await modelServer(t, (request) => {
    if (request.prompt.startsWith("OTHER")) return setup.others?.(request) ?? {};
    // The runtime compacts a long conversation.
    if (request.prompt.startsWith("Please create a detailed summary")) return { text: "So far…" };
    requests.push(request);
    const answer = setup.answers[Math.min(requests.length, setup.answers.length) - 1] ?? "";
    const given = typeof answer === "function" ? answer(request) : answer;
    return typeof given === "string" ? { text: given } : given;
  });
  const events: RunEvent[] = [];
  const report = (event: RunEvent): void => {
    events.push(event);
    setup.onEvent?.(event, workspace);
  };
  const host = new JobHost({
    provider: { baseUrl: server.baseUrl },
    reporters: [{ report }],
    ...setup.options,
  });
  t.after(() => host.close());
  await host.installJobsEntry({
    models: { driving: "m" },
    permissions: unconfined({ preset: "workspace", tools: ["*"] }),
    tools,
    ...setup.entry,
    tasks: {
      ship: {
        prompt: "Ship it.",
        protocol: "actions",
        model: { category: "driving" },
        ...setup.task,
      },
      ...setup.entry?.tasks,
    },
    jobs: { ship: { work: ref("ship") } },
  });
  const { outcome } = await host.runJob("ship", {
    workingDirectory: workspace.path,
    ...(setup.task?.requireUserInput === true && { userInput: "it" }),
    ...defined({ signal: setup.signal }),
  });
  const actions = events.flatMap((event) => (event.type === "action" ? [event.action] : []));
  const end = events.find((event) => event.type === "work.ended");
  return {
    outcome,
    requests,
    prompts: requests.map(({ prompt }) => prompt),
    events,
    ended: actions.flatMap((event) =>
      event.type === "action.ended" ? [`${event.id} ${event.status}`] : [],
    ),
    report: end?.type === "work.ended" ? end.report : undefined,
    calls: async () => (await workspace.read("calls.txt").catch(() => "")).split("\n").slice(0, -1),
  };
}
