/**
 * The same job of five tools with plain parallel tool calls and with the action protocol: two slow tools that are
 * independent, one that needs both, one that needs that, and a report. The runtime and the commands are real, the
 * model is scripted. Prints model calls, tokens (characters / 4 of the requests and the answers) and wall time.
 *
 *   npm run bench:protocol-comparison -- [--rounds 5]        (takes about two minutes)
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Task, ToolDeclaration } from "../src/entry/model.ts";
import { JobHost } from "agent-jobs";
import { type RecordedRequest, type Reply, startModelServer } from "../test/rig/model-server.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
const rounds = Number(values.rounds);
const charactersPerToken = 4;

/** Name, milliseconds, and the fields of its params. */
const steps = [
  ["fetch_pr", 1000, ["number"]],
  ["run_build", 1500, ["target"]],
  ["analyze", 300, ["pr", "build"]],
  ["summarize", 300, ["analysis"]],
  ["post_report", 100, ["summary"]],
] as const;
const program = `
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
const params = JSON.parse(readFileSync(0, "utf8"));
const [name, milliseconds] = process.argv.slice(2);
await sleep(Number(milliseconds));
const text = "What " + name + " found in " + JSON.stringify(params) + ". ";
process.stdout.write(JSON.stringify({ id: name + "-1", text: text.padEnd(1500, "It is a line of its log. ") }));
`;
const tools = Object.fromEntries(
  steps.map(([name, milliseconds, fields]): [string, ToolDeclaration] => [
    name,
    {
      description: `Does the step ${name}, and returns { id, text }.`,
      parameters: {
        type: "object",
        properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
        required: [...fields],
        additionalProperties: false,
      },
      parallelSafe: true,
      command: [process.execPath, "step.mjs", name, String(milliseconds)],
    },
  ]),
);

const args: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  fetch_pr: { number: "123" },
  run_build: { target: "//main:app" },
  analyze: { pr: "fetch_pr-1", build: "run_build-1" },
  summarize: { analysis: "analyze-1" },
  post_report: { summary: "summarize-1" },
};
const waves = [["fetch_pr", "run_build"], ["analyze"], ["summarize"], ["post_report"]];
const response = "The pull request builds, the analysis found nothing, and the report is posted.";
const plan = "Fetch the pull request and build it, analyze both, summarize, then post the report.";

const documentOf = (actions: readonly object[], stop = false): string =>
  JSON.stringify({
    status: stop ? "SUCCESS" : "EXECUTING",
    thoughts: actions.length === 0 ? [] : [{ type: "PLAN", content: plan }],
    actions,
    stop,
    response: stop ? response : null,
  });
const action = (name: string, params: object): object => ({
  action_id: name,
  action: name,
  type: "tool",
  params,
});
/** All steps at once: references say what needs what. */
const whole = documentOf([
  action("fetch_pr", args["fetch_pr"] ?? {}),
  action("run_build", args["run_build"] ?? {}),
  action("analyze", { pr: "${{results.fetch_pr.id}}", build: "${{results.run_build.id}}" }),
  action("summarize", { analysis: "${{results.analyze.id}}" }),
  action("post_report", { summary: "${{results.summarize.id}}" }),
]);

interface Variant {
  readonly name: string;
  readonly task: Partial<Task>;
  /** The answer to the request with this number, from 0 on. */
  readonly answer: (call: number) => Reply;
}

const variants: readonly Variant[] = [
  {
    name: "plain tool calls",
    task: {},
    answer: (call) => {
      const calls = waves[call];
      if (calls === undefined) return { text: response };
      const text = call === 0 ? plan : "";
      return { text, toolCalls: calls.map((name) => ({ name, arguments: args[name] ?? {} })) };
    },
  },
  {
    name: "protocol, all in one document",
    task: { protocol: "actions" },
    answer: (call) => ({ text: call === 0 ? whole : documentOf([], true) }),
  },
  {
    name: "protocol, one step per document",
    task: { protocol: "actions" },
    answer: (call) => {
      const names = waves[call];
      if (names === undefined) return { text: documentOf([], true) };
      return { text: documentOf(names.map((name) => action(name, args[name] ?? {}))) };
    },
  },
];

interface Measured {
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly seconds: number;
}

const lengthOf = (value: unknown): number => JSON.stringify(value).length;

async function measure({ task, answer }: Variant, delay: number): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
  await writeFile(join(folder, "step.mjs"), program);
  const requests: RecordedRequest[] = [];
  let output = 0;
  const server = await startModelServer((request) => {
    const reply = answer(requests.length);
    requests.push(request);
    output +=
      (reply.text ?? "").length + (reply.toolCalls === undefined ? 0 : lengthOf(reply.toolCalls));
    return { ...reply, delay };
  });
  const host = new JobHost({ provider: { baseUrl: server.baseUrl }, environment: process.env });
  try {
    await host.installJobsEntry({
      models: { driving: "m" },
      permissions: { preset: "read-only", tools: ["*"] },
      tools,
      tasks: {
        report: { prompt: "Report on pull request 123.", model: { category: "driving" }, ...task },
      },
      jobs: { report: { work: { kind: "Ref", taskId: "report" } } },
    });
    const begin = performance.now();
    const { outcome } = await host.runJob("report", { workingDirectory: folder });
    const seconds = (performance.now() - begin) / 1000;
    if (outcome.kind !== "succeeded") throw new Error(JSON.stringify(outcome));
    const text = JSON.stringify(requests.at(-1)?.messages);
    for (const [name] of steps) {
      if (!text.includes(`What ${name} found`)) throw new Error(`${name} did not run`);
    }
    return {
      calls: requests.length,
      input: requests.reduce((sum, { body }) => sum + lengthOf(body), 0) / charactersPerToken,
      output: output / charactersPerToken,
      seconds,
    };
  } finally {
    await host.close();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const sorted = (list: readonly number[]): number[] => list.toSorted((a, b) => a - b);
const shown = (list: readonly number[], digits: number): string => {
  const [low = 0, middle = 0, high = 0] = [0, 0.5, 1].map(
    (share) => sorted(list)[Math.round((list.length - 1) * share)],
  );
  const [least, median, most] = [low, middle, high].map((one) => one.toFixed(digits));
  return least === most ? `${median}` : `${median} (${least}–${most})`;
};

const delays = [0, 2000];
const measured = new Map<string, Measured[]>();
for (let round = 0; round <= rounds; round += 1) {
  for (const delay of delays) {
    for (const variant of variants) {
      const one = await measure(variant, delay);
      console.error(
        `${variant.name}, ${delay} ms: ${one.calls} calls, ${one.seconds.toFixed(2)} s`,
      );
      // The first round starts the runtime for the first time.
      if (round === 0) continue;
      const key = `${variant.name} ${delay}`;
      measured.set(key, [...(measured.get(key) ?? []), one]);
    }
  }
}
console.log(`Medians of ${rounds} rounds, with the least and the greatest value:`);
console.log(
  `| | model calls | input tokens | output tokens | wall time, s | with 2 s per model call, s |`,
);
console.log(`| --- | --- | --- | --- | --- | --- |`);
for (const { name } of variants) {
  const [quick = [], slow = []] = delays.map((delay) => measured.get(`${name} ${delay}`));
  const cells = [
    shown(
      quick.map(({ calls }) => calls),
      0,
    ),
    shown(
      quick.map(({ input }) => input),
      0,
    ),
    shown(
      quick.map(({ output }) => output),
      0,
    ),
    shown(
      quick.map(({ seconds }) => seconds),
      2,
    ),
    shown(
      slow.map(({ seconds }) => seconds),
      2,
    ),
  ];
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
